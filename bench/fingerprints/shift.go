package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// shiftAll moves the lines of all Go files below a directory: each declaration gets empty lines before it, another
// number in each file. Test data stays, as programs may read it.
func shiftAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, shift(text, 1+len(text)%7), 0o644)
	})
}

// shift returns a Go file with some empty lines before each of its declarations, behind the package clause. What
// does not parse is returned as it is.
func shift(text []byte, lines int) []byte {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return text
	}
	var out bytes.Buffer
	done := 0
	for _, decl := range f.Decls {
		at := fset.PositionFor(begins(decl), false).Offset
		if at < done || at == 0 || text[at-1] != '\n' {
			continue
		}
		out.Write(text[done:at])
		out.WriteString(strings.Repeat("\n", lines))
		done = at
	}
	out.Write(text[done:])
	return out.Bytes()
}

// begins returns where a declaration begins, with the comment that belongs to it.
func begins(decl ast.Decl) token.Pos {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc != nil {
			return d.Doc.Pos()
		}
	case *ast.GenDecl:
		if d.Doc != nil {
			return d.Doc.Pos()
		}
	}
	return decl.Pos()
}
