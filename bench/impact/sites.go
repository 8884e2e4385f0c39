package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A site is a place in a function that can be changed.
type site struct {
	file       string
	line       int
	begin, end int // offsets of what is replaced
	with       string
}

func (s site) String() string { return fmt.Sprintf("%s:%d", s.file, s.line) }

// apply changes the file, and returns what changes it back.
func (s site) apply() (undo func() error, err error) {
	text, err := os.ReadFile(s.file)
	if err != nil {
		return nil, err
	}
	changed := string(text[:s.begin]) + s.with + string(text[s.end:])
	undo = func() error { return os.WriteFile(s.file, text, 0o644) }
	return undo, os.WriteFile(s.file, []byte(changed), 0o644)
}

// opposites are the operators that are replaced.
var opposites = map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ,
	token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD}

// findSites returns what can be changed in the functions of a module: operators, and numbers. Tests are left alone.
func findSites(dir string) (sites []site, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		add := func(pos token.Pos, n int, with string) {
			p := fset.Position(pos)
			sites = append(sites, site{path, p.Line, p.Offset, p.Offset + n, with})
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BinaryExpr:
					if op, ok := opposites[n.Op]; ok {
						add(n.OpPos, len(n.Op.String()), op.String())
					}
				case *ast.BasicLit:
					if n.Kind == token.INT {
						add(n.ValuePos, len(n.Value), n.Value+"+1")
					}
				}
				return true
			})
		}
		return nil
	})
	return sites, err
}
