package affected

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// What the compiler calls.
//
// If a function has nothing but a return statement, and is inlined into the declaration of a variable of a package, the
// compiler may find what it returns, and put that into the program's data. Then nobody calls it when the program runs,
// and no record has it. So whoever depends on the package of the variable is taken to depend on such a function.

// statics are the calls in a package that the compiler may make: by the functions that they are of, each as its import
// path and name, or as a point and its name if it is a method.
type statics struct {
	vars, testVars []string            // in declarations of variables
	returns        map[string][]string // in functions that only return something
}

// A fileCalls is the state of finding them in a file.
type fileCalls struct {
	path    string // of the package
	imports []*ast.ImportSpec
}

// static finds the calls of a package, once. What cannot be parsed has none: it does not compile.
func (p *Package) static() *statics {
	if p.calls != nil {
		return p.calls
	}
	s := &statics{returns: make(map[string][]string)}
	p.calls = s
	for i, names := range [][]string{p.GoFiles, p.CgoFiles, p.TestGoFiles, p.XTestGoFiles} {
		for _, name := range names {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil,
				parser.SkipObjectResolution)
			if err != nil {
				continue
			}
			c := fileCalls{path: p.ImportPath, imports: f.Imports}
			if i == 3 {
				c.path += "_test"
			}
			vars := &s.vars
			if i >= 2 {
				vars = &s.testVars
			}
			for _, d := range f.Decls {
				s.declaration(c, d, vars)
			}
		}
	}
	return s
}

// declaration takes the calls of one declaration.
func (s *statics) declaration(c fileCalls, d ast.Decl, vars *[]string) {
	switch d := d.(type) {
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR {
				for _, x := range v.Values {
					*vars = append(*vars, c.calls(x)...)
				}
			}
		}
	case *ast.FuncDecl:
		if d.Body == nil || len(d.Body.List) != 1 {
			return
		}
		if r, ok := d.Body.List[0].(*ast.ReturnStmt); ok {
			key := c.path + "." + d.Name.Name
			if d.Recv != nil {
				key = "." + d.Name.Name
			}
			s.returns[key] = append(s.returns[key], c.calls(r)...)
		}
	}
}

// calls returns what is called when an expression, or statement, is evaluated.
func (c *fileCalls) calls(x ast.Node) (list []string) {
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // it is called later, or below
		case *ast.CallExpr:
			f := ast.Unparen(n.Fun)
			switch i := f.(type) {
			case *ast.IndexExpr:
				f = i.X
			case *ast.IndexListExpr:
				f = i.X
			}
			switch f := f.(type) {
			case *ast.FuncLit:
				list = append(list, c.calls(f.Body)...)
			case *ast.Ident:
				list = append(list, c.path+"."+f.Name)
				list = append(list, c.named(".", f.Name)...)
			case *ast.SelectorExpr:
				list = append(list, c.selected(f)...)
			}
		}
		return true
	})
	return list
}

// named returns the functions of a name in the packages that are imported under another one.
func (c *fileCalls) named(as, name string) (list []string) {
	for _, i := range c.imports {
		if i.Name != nil && i.Name.Name == as {
			list = append(list, strings.Trim(i.Path.Value, "\"`")+"."+name)
		}
	}
	return list
}

// selected returns the function of an imported package, or the methods, that a selector may stand for. Package names
// that are not the last element of their paths are not known.
func (c *fileCalls) selected(x *ast.SelectorExpr) (list []string) {
	id, ok := x.X.(*ast.Ident)
	if !ok {
		return []string{"." + x.Sel.Name}
	}
	if list = c.named(id.Name, x.Sel.Name); len(list) > 0 {
		return list
	}
	var others []string
	for _, i := range c.imports {
		if i.Name != nil {
			continue
		}
		of := strings.Trim(i.Path.Value, "\"`")
		if others = append(others, of+"."+x.Sel.Name); path.Base(of) == id.Name {
			return others[len(others)-1:]
		}
	}
	return append(others, "."+x.Sel.Name)
}

// evaluates reports whether calls, or what they return, may have called a function.
func (s *selector) evaluates(calls []string, key string) bool {
	known := make(map[string]bool)
	for todo := slices.Clone(calls); len(todo) > 0; {
		k := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if k == key {
			return true
		}
		if known[k] {
			continue
		}
		known[k] = true
		of, isMethod := k[:strings.LastIndex(k, ".")], k[0] == '.'
		if p := s.byPath[strings.TrimSuffix(of, "_test")]; !isMethod && p != nil && !p.Standard {
			todo = append(todo, p.static().returns[k]...)
		}
		for _, p := range s.Packages {
			if isMethod && !p.Standard {
				todo = append(todo, p.static().returns[k]...)
			}
		}
	}
	return false
}

// static adds all tests of packages that depend on variables whose values a function may have given when they were
// compiled.
func (s *selector) static(p *Package, c Change) {
	key := p.ImportPath + "." + c.Function
	if c.external {
		key = p.ImportPath + "_test." + c.Function
	}
	if i := strings.LastIndex(c.Function, "."); i >= 0 {
		key = c.Function[i:]
	}
	for _, q := range s.where(func(q *Package) bool { return s.dependsOn(q, p) }) {
		of := Change{File: c.File, What: "func " + c.Function + ", by which a variable gets its value,"}
		switch calls := q.static(); {
		case !c.test && s.evaluates(calls.vars, key):
			s.dependents(q, of)
		case s.evaluates(calls.testVars, key):
			s.all(q, of.File+": "+of.What+" has changed")
		}
	}
}
