package goroot

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// hookLines are the fields of a hook as they stand in the table: those that share a line, in their order. Where does
// not fit behind a long anchor, and then has a line of its own, as Part has.
var hookLines = [][]string{{"File", "Decl", "Part"}, {"Anchor", "Where"}, {"Lines"}, {"Why"}}

// TestHookForm holds all literals of hooks to one form. How long lines may be is for internal.TestLines.
func TestHookForm(t *testing.T) {
	names, err := filepath.Glob("hooks*.go")
	if err != nil {
		t.Fatal(err)
	}
	hooks := 0
	for _, name := range names {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || lit.Type != nil || len(lit.Elts) == 0 {
				return true
			}
			hooks++
			checkHookForm(t, fset, lit)
			return false
		})
	}
	if hooks != len(allHooks()) {
		t.Errorf("%d literals found for %d hooks", hooks, len(allHooks()))
	}
}

// checkHookForm checks one literal.
func checkHookForm(t *testing.T, fset *token.FileSet, lit *ast.CompositeLit) {
	t.Helper()
	at := fset.Position(lit.Pos())
	last, group := at.Line, 0
	for _, e := range lit.Elts {
		key := e.(*ast.KeyValueExpr).Key.(*ast.Ident).Name
		line := fset.Position(e.Pos()).Line
		of := slices.IndexFunc(hookLines, func(l []string) bool { return slices.Contains(l, key) })
		switch first := key == hookLines[of][0]; {
		case of < group:
			t.Errorf("%s: %s comes too late", at, key)
		case key == "File" && line != at.Line, key == "Decl" && line != at.Line:
			t.Errorf("%s: %s is not on the first line", at, key)
		case key != "File" && first && line == last:
			t.Errorf("%s: %s does not begin a line", at, key)
		}
		last, group = fset.Position(e.End()).Line, of
	}
}
