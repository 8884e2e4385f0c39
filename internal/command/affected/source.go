package affected

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"
)

// A function is what a version of a file says of one. Two are the same if they are equal but for the file.
type function struct {
	file, pkg string
	place     string // what else of the file gives it a meaning: constraints, and imports
	text      string // its tokens
	signature string
	directive string // in its comment
	native    bool   // it may not be instrumented, so that its calls are not seen
	method    bool
}

// A source is one version of a Go file. That of a file which is not there has nothing.
type source struct {
	name   string // relative to the top
	pkg    string // of the package clause
	funcs  map[string][]function
	decls  map[string]string // all else, by kind: the tokens
	broken bool              // it cannot be parsed
}

// parse reads a version of a file, nil for one that is not there.
func parse(name string, text []byte) *source {
	s := &source{name: name, funcs: make(map[string][]function), decls: make(map[string]string)}
	if text == nil {
		return s
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		s.broken = true
		return s
	}
	s.pkg = f.Name.Name
	slice := func(n ast.Node) []byte { return text[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset] }
	own := make(map[*ast.Comment]bool) // that are a function's
	linked := linknames(f)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			kind := d.Tok.String()
			s.decls[kind] += tokens(slice(d), false) + preamble(d) + "\n"
		case *ast.FuncDecl:
			key := funcName(d)
			s.funcs[key] = append(s.funcs[key], function{file: name, pkg: s.pkg, signature: signature(d),
				text: tokens(slice(d), isExample(name, key)), directive: directivesOf(d, own),
				native: native(d) || linked[key], method: d.Recv != nil})
		}
	}
	s.decls["directive"] = directives(f, own)
	s.place()
	return s
}

// place sets what gives the functions of the file a meaning.
func (s *source) place() {
	parts := strings.Split(strings.TrimSuffix(strings.TrimSuffix(path.Base(s.name), ".go"), "_test"), "_")
	var suffix []string // which may be a system and an architecture
	if len(parts) > 1 {
		suffix = parts[max(1, len(parts)-2):]
	}
	place := fmt.Sprint(suffix, s.decls["directive"], s.decls["import"])
	for _, list := range s.funcs {
		for i := range list {
			list[i].place = place
		}
	}
}

// isExample reports whether the comments of a function may be what its output is compared with.
func isExample(file, fn string) bool {
	return strings.HasSuffix(file, "_test.go") && strings.HasPrefix(fn, "Example")
}

// tokens returns what the compiler sees of a piece of a file, and comments if they are asked for. What ends a line or
// a list is nothing before a bracket: whether it is there depends on how lines are broken.
func tokens(text []byte, comments bool) string {
	var s scanner.Scanner
	mode := scanner.Mode(0)
	if comments {
		mode = scanner.ScanComments
	}
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(text)), text, nil, mode)
	var b strings.Builder
	end := "" // which may be nothing
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return b.String()
		}
		if tok != token.RPAREN && tok != token.RBRACE && tok != token.RBRACK {
			b.WriteString(end)
		}
		end = ""
		switch {
		case tok == token.SEMICOLON || tok == token.COMMA:
			end = tok.String() + "\n"
		case lit != "":
			b.WriteString(lit + "\n")
		default:
			b.WriteString(tok.String() + "\n")
		}
	}
}

// preamble returns the comments above import "C", which are a C file.
func preamble(d *ast.GenDecl) (text string) {
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.ImportSpec)
		if !ok || s.Path.Value != `"C"` {
			continue
		}
		for _, group := range []*ast.CommentGroup{d.Doc, s.Doc} {
			if group != nil {
				for _, c := range group.List {
					text += c.Text + "\n"
				}
			}
		}
	}
	return text
}

// isDirective reports whether a comment says something to the compiler or cgo.
func isDirective(c *ast.Comment) bool {
	for _, prefix := range []string{"//go:generate", "//go:fix"} {
		if strings.HasPrefix(c.Text, prefix) {
			return false
		}
	}
	for _, prefix := range []string{"//go:", "//line ", "/*line ", "//export ", "// +build", "//extern ", "//+build"} {
		if strings.HasPrefix(c.Text, prefix) {
			return true
		}
	}
	return false
}

// directivesOf returns the directives above a function, and notes that they are its own.
func directivesOf(f *ast.FuncDecl, own map[*ast.Comment]bool) (text string) {
	if f.Doc == nil {
		return ""
	}
	for _, c := range f.Doc.List {
		if isDirective(c) {
			own[c] = true
			text += c.Text + "\n"
		}
	}
	return text
}

// directives returns all others, each with the declaration that it comes before.
func directives(f *ast.File, own map[*ast.Comment]bool) (text string) {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if !isDirective(c) || own[c] {
				continue
			}
			next := slices.IndexFunc(f.Decls, func(d ast.Decl) bool { return d.End() > c.Pos() })
			text += fmt.Sprintln(c.Text, next < 0, c.Pos() > f.Package)
			if next >= 0 {
				if fn, ok := f.Decls[next].(*ast.FuncDecl); ok {
					text += funcName(fn) + "\n"
				}
			}
		}
	}
	return text
}

// linknames returns the functions that a directive anywhere in the file links to another name.
func linknames(f *ast.File) map[string]bool {
	names := make(map[string]bool)
	for _, group := range f.Comments {
		for _, c := range group.List {
			if words := strings.Fields(c.Text); len(words) > 1 && words[0] == "//go:linkname" {
				names[words[1]] = true
			}
		}
	}
	return names
}

// signature returns the types of a function's parameters and results, without their names.
func signature(f *ast.FuncDecl) string {
	var b strings.Builder
	lists := []*ast.FieldList{f.Recv, f.Type.TypeParams, f.Type.Params, f.Type.Results}
	for i, list := range lists {
		fmt.Fprint(&b, "|")
		if list == nil {
			continue
		}
		for _, field := range list.List {
			for range max(1, len(field.Names)) {
				fmt.Fprint(&b, expression(field.Type), ",")
			}
			if i == 1 {
				fmt.Fprint(&b, field.Names) // of type parameters, which the others may have
			}
		}
	}
	return b.String()
}

// expression returns an expression as text.
func expression(x ast.Expr) string {
	var b strings.Builder
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil:
			b.WriteByte(')')
		case *ast.Ident:
			fmt.Fprintf(&b, "(%s", n.Name)
		case *ast.BasicLit:
			fmt.Fprintf(&b, "(%s", n.Value)
		case *ast.ChanType:
			fmt.Fprintf(&b, "(%T %d", n, n.Dir)
		case *ast.UnaryExpr:
			fmt.Fprintf(&b, "(%T %v", n, n.Op)
		case *ast.BinaryExpr:
			fmt.Fprintf(&b, "(%T %v", n, n.Op)
		default:
			fmt.Fprintf(&b, "(%T", n)
		}
		return true
	})
	return b.String()
}

// native reports whether the function may not be instrumented, so that its calls are not seen.
func native(f *ast.FuncDecl) bool {
	if f.Body == nil {
		return true
	}
	return f.Doc != nil && slices.ContainsFunc(f.Doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:nosplit") || strings.HasPrefix(c.Text, "//go:linkname")
	})
}

// funcName returns the name of a function as Go's tracebacks have it, without the package and type parameters.
func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	t, form := f.Recv.List[0].Type, "%s.%s"
	if p, ok := t.(*ast.ParenExpr); ok {
		t = p.X
	}
	if star, ok := t.(*ast.StarExpr); ok {
		t, form = star.X, "(*%s).%s"
	}
	switch x := t.(type) {
	case *ast.IndexExpr:
		t = x.X
	case *ast.IndexListExpr:
		t = x.X
	}
	name := "?"
	if id, ok := t.(*ast.Ident); ok {
		name = id.Name
	}
	return fmt.Sprintf(form, name, f.Name.Name)
}
