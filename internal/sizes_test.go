package internal_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rowOfFolder is a line of ARCHITECTURE.md about a folder, by its path from the top or from internal.
var rowOfFolder = regexp.MustCompile("(?m)^\\| (?:`([a-z0-9_/-]+)/`|the top folder) \\| (.*) \\|$")

// maxArchitecture is how many bytes ARCHITECTURE.md may have: it is read by whoever arrives.
const maxArchitecture = 18_000

// TestFolders holds ARCHITECTURE.md and the first sentence of each package comment to each other. How large a folder
// may be nobody says: it has one idea.
func TestFolders(t *testing.T) {
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > maxArchitecture {
		t.Errorf("ARCHITECTURE.md has %d bytes, want at most %d; move what few need to docs/internals", len(text),
			maxArchitecture)
	}
	for file := range documents(t) {
		if strings.HasPrefix(file, "docs/internals/") && !strings.Contains(string(text), "]("+file+")") {
			t.Errorf("ARCHITECTURE.md has no link to %s", file)
		}
	}
	rows := make(map[string]string)
	for _, m := range rowOfFolder.FindAllStringSubmatch(string(text), -1) {
		dir := "../" + m[1]
		if !isFolder(dir) {
			dir = m[1]
		}
		rows[filepath.ToSlash(filepath.Join("internal", dir))] = m[2]
	}
	sentences := firstSentences(t)
	for dir, sentence := range sentences {
		if rows[dir] != sentence {
			t.Errorf("ARCHITECTURE.md has %q about %s, and its package comment %q", rows[dir], dir, sentence)
		}
	}
	if len(sentences) < 55 || len(rows) < len(sentences) {
		t.Errorf("%d package comments, %d rows; want all", len(sentences), len(rows))
	}
}

// firstSentences returns what the comment of each package says first, without its name and the period, by folder. The
// tests of e2e have one sentence together, and what is internal to a module of its own is that module's matter.
func firstSentences(t *testing.T) map[string]string {
	t.Helper()
	list := make(map[string]string)
	for name, file := range sources(t, ".go") {
		dir := path.Dir(name)
		if strings.Contains(name, "_goroot/") || strings.HasPrefix(name, "bench/") ||
			strings.HasPrefix(name, "examples/") || strings.Contains(dir, "/internal/") ||
			strings.HasPrefix(dir, "internal/testing/e2e/") ||
			dir == "internal" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := list[dir]; !ok {
			list[dir] = ""
		}
		synopsis := new(doc.Package).Synopsis(f.Doc.Text())
		words := strings.SplitN(strings.TrimSuffix(synopsis, "."), " ", 3)
		switch {
		case len(words) == 3 && (words[0] == "Package" || words[0] == "Command"):
			list[dir] = words[2]
		case len(words) == 3 && f.Name.Name == "main":
			list[dir] = words[1] + " " + words[2]
		}
	}
	return list
}

// How long functions may be, in lines from the first to the last.
const (
	maxMedian   = 12
	max90       = 27 // of ten functions nine are no longer
	maxFunction = 100
)

// TestFunctionLengths measures the functions of the module, those of tests left out. Those of bench, which is a module
// of its own, count for the longest only.
func TestFunctionLengths(t *testing.T) {
	var all []int
	for name, file := range ownSources(t) {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
			if n > maxFunction {
				t.Errorf("%s: %s has %d lines, want at most %d; divide it", name, fn.Name.Name, n, maxFunction)
			}
			if !strings.HasPrefix(name, "bench/") {
				all = append(all, n)
			}
		}
	}
	if len(all) < 2400 {
		t.Fatalf("%d functions were looked at, want all", len(all))
	}
	slices.Sort(all)
	median, most := all[len(all)/2], all[len(all)*9/10]
	if median > maxMedian || most > max90 {
		t.Errorf("of %d functions half have more than %d lines and a tenth more than %d, want at most %d and %d",
			len(all), median-1, most-1, maxMedian, max90)
	}
	t.Logf("%d functions: median %d lines, p90 %d, longest %d", len(all), median, most, all[len(all)-1])
}

// ownSources returns the Go files of the module that are neither tests nor programs for them.
func ownSources(t *testing.T) map[string]string {
	t.Helper()
	list := sources(t, ".go")
	for name := range list {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "bench/programs/") {
			delete(list, name)
		}
	}
	return list
}
