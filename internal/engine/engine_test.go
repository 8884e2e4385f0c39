package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/engine"
)

// compilerFiles is what the names of the compiler's files for engines begin with.
const compilerFiles = "internal/goroot/_goroot/cmd/compile/internal/ssagen/stemma_"

// allowed are the files that may have the name of an engine, each with the reason. What
// ends in / is a directory.
var allowed = map[string]string{
	"internal/engine/": "the list",
	"sampling.go":      "package stemma is linked into programs, and the list is not, for one message",
	"measure.go":       "the same",

	compilerFiles + "acct.go":  "a strategy says of which engines it is",
	compilerFiles + "cct.go":   "the same",
	compilerFiles + "dacce.go": "the same",
	compilerFiles + "pcc.go":   "the same",
	compilerFiles + "lucce.go": "the same",

	"internal/goroot/layout/sample.go": "the name of a sampler in records",
	"profile/renamed.go":               "a former name, in older records",

	"internal/encoder/":        "encoders as published, by the names of their papers",
	"internal/command/replay/": "the same",
	"cmd/stemma-mcp/":          "a module of its own, which knows stemma by its command line",
	"internal/testing/e2e/":    "tests say which engines they build with",
	"bench/":                   "an experiment says which engines it measures",
}

// named matches the names that are no common words, and flags that choose any; common
// those that are, which only what compares them takes for engines.
var common = regexp.MustCompile("^\"(none|sample)\"$")
var named = regexp.MustCompile(`\b(cct|dacce|lucce|pcce|pcc|acct)\b|engine=(none|sample)\b`)

// TestNames looks for names of engines in the code, outside of the files that may have them:
// what depends on the engine belongs into its descriptor.
func TestNames(t *testing.T) {
	used := make(map[string]bool)
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		names, err := namesIn(file)
		if err != nil {
			return err
		}
		file = strings.TrimPrefix(filepath.ToSlash(file), "../../")
		for at := range allowed {
			if len(names) > 0 && (file == at || strings.HasSuffix(at, "/") && strings.HasPrefix(file, at)) {
				used[at] = true
				names = nil
			}
		}
		for _, n := range names {
			t.Errorf("%s: %s names an engine; ask its descriptor, see package engine", file, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for at := range allowed {
		if !used[at] {
			t.Errorf("%s names no engine any more; take it out of the list", at)
		}
	}
}

// namesIn returns the string literals of a file that name an engine.
func namesIn(file string) (list []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	imports := make(map[*ast.BasicLit]bool)
	for _, i := range f.Imports {
		imports[i.Path] = true
	}
	compared := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if lit, ok := e.(*ast.BasicLit); ok && common.MatchString(lit.Value) {
				list = append(list, lit.Value)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			compared(n.X, n.Y)
		case *ast.CaseClause:
			compared(n.List...)
		}
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && !imports[lit] &&
			named.MatchString(lit.Value) {
			list = append(list, lit.Value)
		}
		return true
	})
	return list, nil
}

// TestTable compares the table of engines in the README with the list.
func TestTable(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), engine.Table()) {
		t.Errorf("README.md does not have this table of engines:\n%s", engine.Table())
	}
}

// TestList checks that descriptors fit together.
func TestList(t *testing.T) {
	for _, e := range engine.List {
		if engine.Lookup(e.Name) != e {
			t.Errorf("%s: two engines of one name", e.Name)
		}
		if (e.Gives&engine.IDs != 0) != (e.Decoder != engine.NoDecoder) {
			t.Errorf("%s: gives IDs, or has a decoder, but not both", e.Name)
		}
		if (e.Gives != 0) != (e.File != "") {
			t.Errorf("%s: gives something, or leaves a record, but not both", e.Name)
		}
		if e.File == "" {
			continue
		}
		first := e
		for _, other := range engine.List {
			if other.File == e.File && other.Flag == e.Flag {
				first = other
				break
			}
		}
		if have := engine.Recorded(e.File, e.Flag|1<<31); have != first || have.Decoder != e.Decoder {
			t.Errorf("%s: its records are taken for those of %s", e.Name, have.Name)
		}
		for _, flag := range e.Flags {
			if engine.FlagNamed(flag) == nil {
				t.Errorf("%s has -%s, which is not in the table of flags", e.Name, flag)
			}
		}
	}
	if engine.Giving(engine.Counts) != "-engine="+engine.Default().Name {
		t.Errorf("exact counts need %s, and not the default", engine.Giving(engine.Counts))
	}
}

// TestAskedMetrics: what a metric needs is asked for with it, and once.
func TestAskedMetrics(t *testing.T) {
	for list, want := range map[string]string{"": "", "calls": "", "ops,inuse": "alloc inuse ops",
		"wait,alloc": "alloc wait", "calls,alloc,inuse,alloc": "alloc inuse",
		"alloc_objects,alloc_space": "alloc", "contentions": "wait", "inuse_space": "alloc inuse"} {
		var names []string
		for _, m := range engine.AskedMetrics(list) {
			names = append(names, m.Name)
		}
		if have := strings.Join(names, " "); have != want {
			t.Errorf("%q asks for %q, want %q", list, have, want)
		}
	}
	for i, m := range engine.Metrics {
		if m.Needs != "" && !slices.Contains(engine.MetricNames()[:i], m.Needs) {
			t.Errorf("%s stands before %s, which it needs", m.Name, m.Needs)
		}
	}
}
