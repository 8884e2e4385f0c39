package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"runtime"

	"golang.org/x/tools/go/packages"
)

// loader parses and type-checks packages of the standard library from source.
// It does what go/packages does, without the go command: its time would count
// as that of this program.
type loader struct {
	fset   *token.FileSet
	ctxt   build.Context
	sizes  types.Sizes
	loaded map[string]*packages.Package // by path as imported from std: vendor/… is spelled out
}

func newLoader(goroot string) *loader {
	ctxt := build.Default
	ctxt.GOROOT, ctxt.GOPATH = goroot, ""
	ctxt.CgoEnabled = false
	return &loader{
		fset:   token.NewFileSet(),
		ctxt:   ctxt,
		sizes:  types.SizesFor("gc", runtime.GOARCH),
		loaded: make(map[string]*packages.Package),
	}
}

// load returns the package that files in dir know as path.
func (l *loader) load(path, dir string) (*packages.Package, error) {
	if path == "unsafe" {
		return &packages.Package{ID: path, PkgPath: path, Name: path, Types: types.Unsafe,
			Fset: l.fset, TypesInfo: newInfo(), TypesSizes: l.sizes}, nil
	}
	found, err := l.ctxt.Import(path, dir, 0)
	if err != nil {
		return nil, err
	}
	if p := l.loaded[found.ImportPath]; p != nil {
		return p, nil
	}
	p := &packages.Package{
		ID: found.ImportPath, PkgPath: found.ImportPath, Name: found.Name, Dir: found.Dir,
		Fset: l.fset, TypesInfo: newInfo(), TypesSizes: l.sizes,
		Imports: make(map[string]*packages.Package),
	}
	l.loaded[found.ImportPath] = p
	if err := l.parse(p, found.GoFiles); err != nil {
		return nil, err
	}
	for _, name := range found.Imports {
		q, err := l.load(name, found.Dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		p.Imports[name] = q
	}
	return p, l.check(p)
}

func newInfo() *types.Info {
	return &types.Info{
		Types:        make(map[ast.Expr]types.TypeAndValue),
		Defs:         make(map[*ast.Ident]types.Object),
		Uses:         make(map[*ast.Ident]types.Object),
		Implicits:    make(map[ast.Node]types.Object),
		Instances:    make(map[*ast.Ident]types.Instance),
		Scopes:       make(map[ast.Node]*types.Scope),
		Selections:   make(map[*ast.SelectorExpr]*types.Selection),
		FileVersions: make(map[*ast.File]string),
	}
}

func (l *loader) parse(p *packages.Package, names []string) error {
	for _, name := range names {
		name = filepath.Join(p.Dir, name)
		f, err := parser.ParseFile(l.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		p.GoFiles = append(p.GoFiles, name)
		p.CompiledGoFiles = append(p.CompiledGoFiles, name)
		p.Syntax = append(p.Syntax, f)
	}
	return nil
}

func (l *loader) check(p *packages.Package) (err error) {
	config := types.Config{
		Importer: imported(p.Imports),
		Sizes:    l.sizes,
	}
	p.Types, err = config.Check(p.PkgPath, l.fset, p.Syntax, p.TypesInfo)
	return err
}

// imported is the importer of one package.
type imported map[string]*packages.Package

func (m imported) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	p, ok := m[path]
	if !ok {
		return nil, fmt.Errorf("no package %q", path)
	}
	return p.Types, nil
}
