// Package schemas tests the schemas of what commands print as JSON. It is here since the library that validates is
// none of those that stemma needs.
package schemas

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/stemma-go/stemma/internal/command/affected"
	"github.com/stemma-go/stemma/internal/command/diff"
	"github.com/stemma-go/stemma/internal/command/events"
	"github.com/stemma-go/stemma/internal/command/replay"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/fingerprint"
)

var update = flag.Bool("update", false, "write the schemas in docs/reference/schemas")

// root is the tree that this module lies in, and schemas where its schemas are.
const (
	root    = "../.."
	schemas = root + "/docs/reference/schemas"
)

// forms returns a value of each type that a command prints as JSON, by the name of its schema.
func forms() map[string]any {
	all := map[string]any{"env": map[string]string{}}
	for _, m := range []map[string]any{report.JSONForms, events.JSONForms, diff.JSONForms, affected.JSONForms,
		replay.JSONForms} {
		maps.Copy(all, m)
	}
	return all
}

// schemaOf returns the schema of a type: fields have their comments for descriptions.
func schemaOf(t *testing.T, name string, typ reflect.Type) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(typ, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():         {Type: "string", Format: "date-time"},
		reflect.TypeFor[time.Duration]():     {Type: "integer", Description: "nanoseconds"},
		reflect.TypeFor[fingerprint.Value](): {Type: "string", Pattern: "^[0-9a-f]{16}$"},
	}})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	describe(t, s, typ)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.ID = "https://github.com/stemma-go/stemma/docs/reference/schemas/" + name + ".json"
	return s
}

// describe gives the properties of a schema the comments of the fields that they are made from.
func describe(t *testing.T, s *jsonschema.Schema, typ reflect.Type) {
	switch {
	case s == nil:
	case typ.Kind() == reflect.Pointer:
		describe(t, s, typ.Elem())
	case typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array:
		describe(t, s.Items, typ.Elem())
	case typ.Kind() == reflect.Map:
		describe(t, s.AdditionalProperties, typ.Elem())
	case typ.Kind() == reflect.Struct && s.Properties != nil:
		about := comments(t, typ)
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			p := s.Properties[name]
			if p == nil {
				continue // no field of the JSON form
			}
			describe(t, p, f.Type)
			if text := about[f.Name]; text != "" && p.Description == "" {
				p.Description = text
			} else if text != "" {
				p.Description = text + "; " + p.Description
			}
		}
	}
}

// comments returns the comments of the fields of a struct of this tree.
func comments(t *testing.T, typ reflect.Type) map[string]string {
	t.Helper()
	dir := strings.TrimPrefix(typ.PkgPath(), "github.com/stemma-go/stemma/")
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no source: %v", typ, err)
	}
	found := map[string]string{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != typ.Name() {
				return true
			}
			if st, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range st.Fields.List {
					text := field.Comment.Text()
					for _, name := range field.Names {
						found[name.Name] = strings.Join(strings.Fields(text), " ")
					}
				}
			}
			return false
		})
	}
	return found
}

// TestSchemas compares the schemas with the types that are printed, and asks for each to be named in docs.
func TestSchemas(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "reference", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := forms()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		want, err := json.MarshalIndent(schemaOf(t, name, reflect.TypeOf(all[name])), "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		file := filepath.Join(schemas, name+".json")
		if *update {
			if err := os.WriteFile(file, want, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not what is printed (%v); run go test -run TestSchemas -update, and look at the change",
				file, err)
		}
		if !bytes.Contains(page, []byte("(schemas/"+name+".json)")) {
			t.Errorf("docs/reference/json.md does not name %s", name)
		}
	}
	files, err := filepath.Glob(schemas + "/*.json")
	if err != nil || len(files) != len(all) {
		t.Errorf("%d schemas for %d forms, %v", len(files), len(all), err)
	}
}

// validate checks a text against a schema as it is in docs.
func validate(t *testing.T, name string, text []byte) {
	t.Helper()
	file, err := os.ReadFile(path.Join(schemas, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(file, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	d, n := json.NewDecoder(bytes.NewReader(text)), 0
	for d.More() { // one value, or one for each line
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := r.Validate(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		n++
	}
	if n == 0 {
		t.Errorf("%s: nothing was printed", name)
	}
}

// TestPrinted validates what commands print: of records that are in the tree, and of programs that it builds.
func TestPrinted(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "stemma")
	build := exec.Command("go", "build", "-o", tool, "./cmd/stemma")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seen := map[string]bool{}
	in := func(dir, schema string, args ...string) {
		t.Helper()
		seen[schema] = true
		cmd := exec.Command(tool, args...)
		cmd.Dir = dir
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("stemma %q: %v\n%s", args, err, &stderr)
		}
		validate(t, schema, out)
	}
	record, err := filepath.Abs(root + "/internal/command/testdata/former/sealed.stemma")
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]string{nil, {"-contexts"}, {"-func=main"}, {"-by=package"}, {"-by=line"}, {"-classes"},
		{"-contexts", "-hide=main", "-top=2"}, {"-focus=main"}} {
		in(".", "report", append(append([]string{"report", "-json"}, more...), record)...)
	}
	in(".", "diff", "diff", "-format=json", record, record)

	texts := t.TempDir()
	for name, calls := range map[string]string{"old.txt": "3", "new.txt": "4"} {
		text := "Unit calls/op assume=exact\nBenchmarkLoop-2 \t 600\t " + calls + " calls/op\t 12.5 ops/op\n"
		if err := os.WriteFile(filepath.Join(texts, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	in(texts, "diff-benchmarks", "diff", "-format=json", "old.txt", "new.txt")
	if testing.Short() {
		return
	}

	dir := t.TempDir()
	files := map[string]string{"go.mod": "module m\n\ngo 1.26.0\n", "main.go": program, "m_test.go": programTest}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@b", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	in(dir, "env", "env", "-json", "GOFLAGS", "GOROOT")
	run(tool, "run", "-metrics=calls,wait,existing", "-o", "counts.stemma", ".")
	in(dir, "report", "report", "-json", "-contexts", "-metric=wait", "counts.stemma")
	in(dir, "report", "report", "-json", "-goroutines", "counts.stemma")
	run(tool, "run", "-engine=dacce", "-events=go,panic", "-event-log", "-o", "ids.stemma", ".")
	in(dir, "report-ids", "report", "-json", "ids.stemma")
	in(dir, "events", "events", "-json", "-fingerprint", "ids.stemma")
	in(dir, "events-log", "events", "-json", "-log", "ids.stemma")
	run(tool, "test", ".")
	in(dir, "affected", "affected", "-json")
	run("git", "init", "-q")
	run("git", "add", "go.mod", "main.go", "m_test.go")
	run("git", "commit", "-q", "-m", "one")
	changed := strings.Replace(program, "n * 2", "n * 3", 1)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
	in(dir, "affected-changed", "affected", "-json", "-changed=HEAD")

	// These need a program that waits for a sampler, and a recording of all calls; other tests have those.
	for name := range forms() {
		if !seen[name] && name != "report-requests" && name != "replay" {
			t.Errorf("%s: nothing was printed that has this form", name)
		}
	}
}

// The program starts goroutines, panics, and has a function that a test reaches.
const program = `package main

import "sync"

func double(n int) int { return n * 2 }

func main() {
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			defer func() { recover() }()
			panic(double(i))
		})
	}
	wg.Wait()
}
`

const programTest = `package main

import "testing"

func TestDouble(t *testing.T) {
	if double(2) == 5 {
		t.Fail()
	}
}
`
