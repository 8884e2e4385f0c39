package toolchain

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/module"
	"github.com/stemma-go/stemma/internal/packages"
)

// CheckModule returns an error if a rule of the file of -module is of no function that is built with the flags of a, or
// of natives alone. It is asked before anything is compiled, since compilers of packages know nothing of each other.
// Types are for the compiler to check.
func (b *Build) CheckModule(o Options, a *Args, patterns []string, tests bool) error {
	if o.Defined == nil || slices.ContainsFunc(patterns, func(p string) bool { return strings.Contains(p, "@") }) {
		return nil // packages of other modules cannot be listed
	}
	flags := append([]string{"-deps"}, b.warmBuild(o, a).flags...)
	pkgs, err := packages.List(&packages.Config{Dir: b.Dir, Flags: flags, Tests: tests}, patterns...)
	if err != nil {
		return err
	}
	natives, err := os.ReadFile(filepath.Join(b.Entry.Dir, nativeName))
	if err != nil {
		return err
	}
	c := &moduleCheck{natives: strings.Fields(string(natives)), funcs: make(map[*packages.Package][]declared)}
	if b.user != "" {
		if c.overlay, err = b.userOverlay(); err != nil {
			return err
		}
	}
	for _, p := range pkgs {
		if p.Error != nil || len(p.Errors) > 0 {
			return nil // the go command reports it
		}
		if !strings.HasSuffix(p.Path(), ".test") {
			c.pkgs = append(c.pkgs, p)
		}
	}
	for i := range o.Defined.Rules {
		if err := c.check(&o.Defined.Rules[i], tests); err != nil && !c.broken {
			return fmt.Errorf("%s:%d: %w", o.Defined.Path, o.Defined.Rules[i].Line, err)
		}
	}
	return nil
}

// A moduleCheck looks for functions in packages.
type moduleCheck struct {
	pkgs    []*packages.Package
	natives []string
	overlay overlay                          // the user's, with absolute paths
	funcs   map[*packages.Package][]declared // of those that were parsed
	broken  bool                             // a file cannot be read: that is for the compiler to report
}

// A declared function has the name that patterns have, without its package, and a body in Go or not.
type declared struct {
	name string
	body bool
}

// check reports a rule that matches nothing.
func (c *moduleCheck) check(r *module.Rule, tests bool) error {
	var names, paths []string
	native, bodyless := "", false
	for _, p := range c.pkgs {
		path := p.Path()
		if p.Name == "main" && !tests { // whose tests make it a library
			path = "main"
		}
		if !r.MayMatch(path) {
			paths = append(paths, path)
			continue
		}
		for _, f := range c.functions(p) {
			name := path + "." + f.name
			names = append(names, name)
			switch {
			case !layout.MatchFunc(r.Pattern, name):
			case slices.Contains(c.natives, path):
				native = path
			case !f.body:
				bodyless = true
			default:
				return nil
			}
		}
	}
	switch {
	case native != "":
		return fmt.Errorf("%s: package %s is below the runtime, and is not instrumented; count what calls it",
			r.Pattern, native)
	case bodyless:
		return fmt.Errorf("%s: it has no body in Go, and cannot count itself; count what calls it", r.Pattern)
	case names != nil:
		return fmt.Errorf("%s: no such function in this build%s", r.Pattern, humanize.DidYouMean("", r.Pattern, names))
	case tests && packageOf(r.Pattern) == "main":
		return fmt.Errorf("%s: in tests the functions of a package main have its import path instead of main",
			r.Pattern)
	}
	return fmt.Errorf("%s: no package of this build can have such a function%s", r.Pattern,
		humanize.DidYouMean("package ", packageOf(r.Pattern), paths))
}

// packageOf returns the package of a pattern of one function, as far as that can be seen.
func packageOf(pattern string) string {
	if path, _, ok := strings.Cut(pattern, ".(*"); ok {
		return path
	}
	slash := strings.LastIndexByte(pattern, '/') + 1
	name, _, _ := strings.Cut(pattern[slash:], ".")
	return pattern[:slash] + name
}

// functions returns the functions that a package declares. A file that cannot be read is for the compiler to report.
func (c *moduleCheck) functions(p *packages.Package) []declared {
	if list, ok := c.funcs[p]; ok {
		return list
	}
	list, aliases := []declared{}, make(map[string]ast.Expr)
	var files []*ast.File
	for _, file := range append(slices.Clone(p.GoFiles), p.CgoFiles...) {
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.Dir, file)
		}
		if to := c.overlay.Replace[file]; to != "" {
			file = to
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			c.broken = true
			continue
		}
		files = append(files, f)
		for _, d := range f.Decls {
			addAliases(aliases, d)
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				list = append(list, declared{declaredName(d, aliases), d.Body != nil})
			}
		}
	}
	c.funcs[p] = list
	return list
}

// addAliases adds the types that a declaration gives other names.
func addAliases(aliases map[string]ast.Expr, d ast.Decl) {
	types, ok := d.(*ast.GenDecl)
	if !ok || types.Tok != token.TYPE {
		return
	}
	for _, spec := range types.Specs {
		if spec := spec.(*ast.TypeSpec); spec.Assign.IsValid() {
			aliases[spec.Name.Name] = spec.Type
		}
	}
}

// declaredName returns F, T.F or (*T).F. A receiver may be declared with one of the aliases.
func declaredName(d *ast.FuncDecl, aliases map[string]ast.Expr) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	pointer := false
	for t, seen := d.Recv.List[0].Type, 0; ; seen++ {
		switch x := t.(type) {
		case *ast.ParenExpr:
			t = x.X
		case *ast.StarExpr:
			pointer, t = true, x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			if to := aliases[x.Name]; to != nil && seen < 100 { // what refers to itself does not compile
				t = to
				continue
			}
			if pointer {
				return "(*" + x.Name + ")." + d.Name.Name
			}
			return x.Name + "." + d.Name.Name
		default:
			return d.Name.Name
		}
	}
}
