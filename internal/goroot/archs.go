package goroot

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// # Few architectures
//
// The compiler of a Go release compiles for all architectures. Ours compiles for those that stemma knows, so it is
// built without the parts that belong to the others: their packages, and their rewrite rules, which are a third of
// package ssa. Its build takes less time.

const (
	compilerMain = "cmd/compile/main.go"
	compilerArch = "cmd/compile/internal/" // begins the import path of the package of an architecture
	compilerSSA  = "cmd/compile/internal/ssa"
)

// foreignRules matches the names of files with rewrite rules of other architectures. A name that is not known
// is left alone.
var foreignRules = regexp.MustCompile(
	`^rewrite(386|ARM|LOONG64|MIPS|MIPS64|PPC64|RISCV64|S390X|Wasm)(latelower|splitload)?\.go$`)

// OwnArchs returns the files of the compiler in root, a GOROOT, that are shorter if it compiles for stemma's
// architectures and others alone, by their paths relative to GOROOT/src.
func OwnArchs(root string, others ...string) (map[string][]byte, error) {
	archs := slices.Concat(Architectures, others)
	files := make(map[string][]byte)
	shorten := func(name string, how func(*source) ([]byte, error)) error {
		data, err := os.ReadFile(filepath.Join(root, "src", filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		p, err := parseSource(name, data)
		if err != nil {
			return err
		}
		files[name], err = how(p)
		return err
	}
	if err := shorten(compilerMain, func(p *source) ([]byte, error) { return p.onlyArchs(archs) }); err != nil {
		return nil, err
	}
	rules, err := os.ReadDir(filepath.Join(root, "src", filepath.FromSlash(compilerSSA)))
	if err != nil {
		return nil, err
	}
	for _, d := range rules {
		m := foreignRules.FindStringSubmatch(d.Name())
		if m != nil && !slices.ContainsFunc(archs, func(arch string) bool { return hasRules(arch, m[1]) }) {
			if err := shorten(path.Join(compilerSSA, d.Name()), (*source).withoutRules); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// hasRules reports whether an architecture has the rules that are called so in the names of files.
func hasRules(arch, rules string) bool {
	return strings.EqualFold(strings.TrimSuffix(arch, "le"), rules)
}

// onlyArchs returns the compiler's main file with some architectures in its table, and without the imports that the
// others need.
func (p *source) onlyArchs(archs []string) ([]byte, error) {
	var cut []ast.Node
	others := make(map[string]bool) // their packages
	needed := make(map[string]bool)
	var quoted []string
	for _, arch := range archs {
		quoted = append(quoted, strconv.Quote(arch))
	}
	ast.Inspect(p.ast, func(n ast.Node) bool {
		entry, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		arch, isArch := entry.Key.(*ast.BasicLit)
		init, isInit := entry.Value.(*ast.SelectorExpr)
		switch {
		case !isArch || !isInit || init.Sel.Name != "Init":
		case slices.Contains(quoted, arch.Value):
			needed[fmt.Sprint(init.X)] = true
		default:
			others[fmt.Sprint(init.X)] = true
			cut = append(cut, entry)
		}
		return true
	})
	for _, i := range p.ast.Imports {
		name, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), compilerArch)
		if ok && others[name] && !needed[name] {
			cut = append(cut, i)
		}
	}
	if len(others) == 0 {
		return nil, fmt.Errorf("%s: no table of architectures", p.name)
	}
	out := bytes.Clone(p.text)
	for _, n := range cut {
		begin, end := p.tok.Offset(n.Pos()), p.tok.Offset(n.End())
		if end < len(out) && out[end] == ',' {
			end++
		}
		copy(out[begin:end], bytes.Repeat([]byte(" "), end-begin))
	}
	_, err := parseSource(p.name, out)
	return out, err
}

// withoutRules returns a file of rewrite rules with only the functions by which others reach the rules: each has a
// name without an underscore. They are never called.
func (p *source) withoutRules() ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "package %s\n", p.ast.Name)
	for _, d := range p.ast.Decls {
		if imports, ok := d.(*ast.GenDecl); ok && imports.Tok == token.IMPORT {
			continue
		}
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(fn.Name.Name, "rewrite") {
			return nil, fmt.Errorf("%s: more than rewrite rules", p.name)
		}
		if strings.Contains(fn.Name.Name, "_") {
			continue
		}
		head := p.text[p.tok.Offset(fn.Pos()):p.tok.Offset(fn.Body.Pos())]
		fmt.Fprintf(&out, "\n%s{ panic(\"stemma compiles for %s\") }\n", head, strings.Join(Architectures, " and "))
	}
	return out.Bytes(), nil
}
