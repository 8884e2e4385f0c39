package internal_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// maxPackage is how many lines a package may have, its tests left out: what one reads in a sitting.
const maxPackage = 2500

// largePackages may have more, each with its reason.
var largePackages = map[string]string{
	"internal/goroot/_goroot/runtime": "a part of Go's package runtime: what needs g, m and p can be nowhere else",
}

// TestPackageSizes counts the lines of each package.
func TestPackageSizes(t *testing.T) {
	lines := map[string]int{}
	for name, file := range ownSources(t) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines[path.Dir(name)] += bytes.Count(src, []byte("\n"))
	}
	for pkg, n := range lines {
		if large := largePackages[pkg] != ""; n > maxPackage && !large {
			t.Errorf("%s: %d lines, want at most %d; divide it by what it is about", pkg, n, maxPackage)
		} else if n <= maxPackage && large {
			t.Errorf("%s: may have more than %d lines, and has %d", pkg, maxPackage, n)
		}
	}
	if len(lines) < 60 {
		t.Errorf("%d packages were looked at, want all", len(lines))
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
