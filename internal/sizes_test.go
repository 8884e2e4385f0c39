package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFolders: each folder below internal has its place in ARCHITECTURE.md. How large one may be nobody says: it has
// one idea.
func TestFolders(t *testing.T) {
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, f := range folders {
		if !f.IsDir() {
			continue
		}
		looked++
		if !regexp.MustCompile("(?m)^[|] `" + f.Name() + "/").Match(text) {
			t.Errorf("internal/%s is not in ARCHITECTURE.md", f.Name())
		}
	}
	if looked < 20 {
		t.Errorf("%d folders were looked at, want all", looked)
	}
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
