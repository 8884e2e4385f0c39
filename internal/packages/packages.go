// Package packages loads packages with their syntax and types, as the go command lists them.
package packages

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Config says how packages are listed.
type Config struct {
	Dir   string   // where the go command runs; empty for the working directory
	Flags []string // of go list
	Tests bool     // also list the tests of packages
}

// A Package is one that was listed. Types are there after [Load] only.
type Package struct {
	ImportPath string // with the test that it was compiled for, in brackets
	Name       string
	Dir        string
	GoFiles    []string
	CgoFiles   []string
	Module     *struct{ Path, Version, GoVersion string }
	DepOnly    bool // it is only imported by those that were asked for
	Error      *struct{ Pos, Err string }

	CompiledGoFiles []string
	Imports         []string
	ImportMap       map[string]string

	Fset   *token.FileSet
	Syntax []*ast.File
	Types  *types.Package
	Info   *types.Info
	Errors []error // of listing, reading, parsing and checking it

	checked chan struct{} // closed when it has types
}

// Path returns the import path, without what it was compiled for.
func (p *Package) Path() string {
	path, _, _ := strings.Cut(p.ImportPath, " ")
	return path
}

// List returns the packages that the patterns match.
func List(c *Config, patterns ...string) ([]*Package, error) { return list(c, nil, patterns) }

func list(c *Config, more, patterns []string) (pkgs []*Package, err error) {
	args := append([]string{"list", "-e",
		"-json=ImportPath,Name,Dir,GoFiles,CgoFiles,CompiledGoFiles,Imports,ImportMap,Module,DepOnly,Error"}, more...)
	if c.Tests {
		args = append(args, "-test")
	}
	args = append(append(append(args, c.Flags...), "--"), patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir = c.Dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(Package)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Error != nil {
			text := p.Error.Err
			if p.Error.Pos != "" {
				text = p.Error.Pos + ": " + text
			}
			p.Errors = append(p.Errors, errors.New(text))
		}
		for i, f := range p.GoFiles {
			if !filepath.IsAbs(f) {
				p.GoFiles[i] = filepath.Join(p.Dir, f)
			}
		}
		pkgs = append(pkgs, p)
	}
}

// Load returns the packages that the patterns match, and all that they import, each behind what it imports
// itself. All are checked from their source.
func Load(c *Config, patterns ...string) ([]*Package, error) {
	pkgs, err := list(c, []string{"-deps", "-compiled"}, patterns)
	if err != nil {
		return nil, err
	}
	l := &loader{token.NewFileSet(), make(map[string]*Package), make(chan struct{}, runtime.GOMAXPROCS(0))}
	for _, p := range pkgs {
		p.Fset, p.checked = l.fset, make(chan struct{})
		l.byPath[p.ImportPath] = p
	}
	var all sync.WaitGroup
	for _, p := range pkgs {
		all.Go(func() { l.check(p) })
	}
	all.Wait()
	return pkgs, nil
}

// A loader checks packages side by side.
type loader struct {
	fset   *token.FileSet
	byPath map[string]*Package
	slots  chan struct{}
}

// check parses a package, and checks it when all that it imports is.
func (l *loader) check(p *Package) {
	defer close(p.checked)
	if p.ImportPath == "unsafe" {
		p.Types = types.Unsafe
		return
	}
	l.slots <- struct{}{}
	l.parse(p)
	<-l.slots
	p.Imports = append(slices.Clip(p.Imports), l.added(p)...)
	for _, path := range p.Imports {
		if q := l.byPath[path]; q != nil {
			<-q.checked
		}
	}
	l.slots <- struct{}{}
	defer func() { <-l.slots }()
	p.Info = &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue), Defs: make(map[*ast.Ident]types.Object),
		Uses: make(map[*ast.Ident]types.Object), Implicits: make(map[ast.Node]types.Object),
		Instances: make(map[*ast.Ident]types.Instance), Scopes: make(map[ast.Node]*types.Scope),
		Selections: make(map[*ast.SelectorExpr]*types.Selection), FileVersions: make(map[*ast.File]string),
	}
	conf := &types.Config{
		Importer: importer{l, p}, Sizes: types.SizesFor("gc", build.Default.GOARCH),
		Error: func(err error) { p.Errors = append(p.Errors, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		conf.GoVersion = "go" + p.Module.GoVersion
	}
	p.Types = types.NewPackage(p.Path(), p.Name)
	_ = types.NewChecker(conf, l.fset, p.Types, p.Info).Files(p.Syntax) // errors are in p.Errors
}

// added returns what the files of p import that the go command does not know of: it has written to them itself, to
// measure what tests cover.
func (l *loader) added(p *Package) (paths []string) {
	for _, f := range p.Syntax {
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err == nil && p.ImportMap[path] == "" && !slices.Contains(p.Imports, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// parse parses the files of a package.
func (l *loader) parse(p *Package) {
	for _, name := range p.CompiledGoFiles {
		if ext := filepath.Ext(name); ext != ".go" && ext != "" {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		f, err := parser.ParseFile(l.fset, name, nil, parser.AllErrors|parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			p.Errors = append(p.Errors, err)
		}
		if f != nil {
			p.Syntax = append(p.Syntax, f)
		}
	}
}

// An importer finds what a package imports.
type importer struct {
	l *loader
	p *Package
}

// Import implements types.Importer.
func (i importer) Import(path string) (*types.Package, error) {
	if to, ok := i.p.ImportMap[path]; ok {
		path = to
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	q := i.l.byPath[path]
	if q == nil || !slices.Contains(i.p.Imports, path) || q.Types == nil {
		return nil, fmt.Errorf("%s is not imported", path)
	}
	return q.Types, nil
}
