package cct

import (
	"path"
	"slices"
	"strings"
)

// A Class sums up the calls from one kind of function to another (CCCP, tables 1 and 2).
type Class struct {
	Caller, Callee string // application, library or native; outside calls a program
	Calls          uint64 // or what the tree counts
	Contexts       uint64 // contexts with such a call; none of the truncated ones
}

// Kinds of functions.
const (
	kindOutside     = "outside"
	kindApplication = "application"
	kindLibrary     = "library"
	kindNative      = "native"
)

// Classes adds up the contexts of t by what their function is and what called it. application
// shows what is the application among functions that are instrumented: see [Application]. A
// callee is a native if it is entered as one. The memory that a native allocates is the native's.
// What calls a program from outside is no function; inlined functions are functions
// like others. Classes are in the order of CCCP's table 2, natives and the outside behind.
func Classes(t *Tree, application func(fn uint32) bool) []Class {
	app := make([]bool, len(t.Funcs))
	for i := range t.Funcs {
		app[i] = application(uint32(i))
	}
	kind := func(n uint32) string {
		switch node := t.Nodes[n]; {
		case t.Funcs[node.Func].Pseudo:
			return kindOutside
		case t.Sites[node.Site].Via == ViaNative:
			return kindNative
		case app[node.Func]:
			return kindApplication
		}
		return kindLibrary
	}
	sums, lost := make(map[Class]Class), t.Truncated()
	for i, n := range t.Nodes {
		if n.Count == 0 {
			continue
		}
		call, caller := t.Allocator(uint32(i))
		callee := kindNative
		if call == caller { // not an allocation
			caller, callee = n.Parent, kind(uint32(i))
		}
		key := Class{Caller: kind(caller), Callee: callee}
		sum := sums[key]
		sum.Calls += n.Count
		if !lost[i] {
			sum.Contexts++
		}
		sums[key] = sum
	}
	var list []Class
	for _, caller := range []string{kindApplication, kindLibrary, kindNative, kindOutside} {
		for _, callee := range []string{kindApplication, kindLibrary, kindNative, kindOutside} {
			if sum, ok := sums[Class{Caller: caller, Callee: callee}]; ok {
				list = append(list, Class{caller, callee, sum.Calls, sum.Contexts})
			}
		}
	}
	return list
}

// Application returns what tells the functions of the main module from others: those of Go's
// own packages, of the module cache and of vendor directories are libraries. Package main is
// the application, and so is what lies in the same directory of the module cache. Where a function's
// file is not known, that of another one of its package decides, and else its name: Go's own
// packages have no dot in the first element of their path, which is not that of the main module.
func Application(t *Tree) func(fn uint32) bool {
	library := make(map[string]bool)
	root, own, mains := goroot(t), mainElement(t), mainDirs(t)
	for _, f := range t.Funcs {
		if f.File != "" && !f.Pseudo && !f.Type {
			p := Package(f.Name)
			library[p] = library[p] || isLibrary(p, f.File, root, own, mains)
		}
	}
	return func(fn uint32) bool {
		p := Package(t.Funcs[fn].Name)
		if lib, ok := library[p]; ok {
			return !lib
		}
		return isMain(p) || !isGo(p, own)
	}
}

// Standard returns a function that reports whether functions of the tree belong to Go: the standard library or the
// runtime.
func Standard(t *Tree) func(fn uint32) bool {
	root, own := goroot(t), mainElement(t)
	return func(fn uint32) bool {
		f := t.Funcs[fn]
		pkg := Package(f.Name)
		if path.IsAbs(f.File) && root != "" && !isMain(pkg) { // not what the compiler made
			return strings.HasPrefix(f.File, root+"/")
		}
		return !isMain(pkg) && !f.Pseudo && !f.Type && isGo(pkg, own)
	}
}

// isLibrary reports whether the package with a file is none of the main module.
func isLibrary(pkg, file, goroot, own string, mains []string) bool {
	dir := path.Dir(file)
	inGo := goroot != "" && strings.HasPrefix(dir, goroot+"/")
	if isMain(pkg) || inGo {
		return inGo && !isMain(pkg)
	}
	if root := copyOf(dir); root != "" {
		// A program may be built as module@version, and a checkout lie anywhere.
		return !slices.ContainsFunc(mains, func(main string) bool { return strings.HasPrefix(main+"/", root) })
	}
	// Built with -trimpath: a file has the path of its package in front.
	return goroot == "" && isGo(pkg, own)
}

// copyOf returns the directory of the module cache, or vendor, that is above dir and next to it; "" if there is none.
func copyOf(dir string) string {
	end := 0
	if i := strings.LastIndex(dir, "/vendor/"); i >= 0 {
		end = i + len("/vendor/")
	}
	if i := strings.LastIndex(dir, "@v"); i >= end {
		version, _, _ := strings.Cut(dir[i:], "/")
		return dir[:i] + version + "/"
	}
	return dir[:end]
}

// mainDirs returns the directories of package main.
func mainDirs(t *Tree) (dirs []string) {
	for _, f := range t.Funcs {
		if f.File != "" && isMain(Package(f.Name)) && !slices.Contains(dirs, path.Dir(f.File)) {
			dirs = append(dirs, path.Dir(f.File))
		}
	}
	return dirs
}

// isGo reports whether a package is one of Go's own by its path alone: that of own is the first
// element of the main module's path, if it is known.
func isGo(pkg, own string) bool {
	first := firstElement(pkg)
	return first != own && !strings.Contains(first, ".")
}

// mainElement returns the first element of the path of package main, if it was built with
// -trimpath, so that its files tell, and else "".
func mainElement(t *Tree) string {
	for _, f := range t.Funcs {
		if first := firstElement(f.File); f.File != "" && isMain(Package(f.Name)) {
			return first
		}
	}
	return ""
}

// isMain reports whether a package is that of a program, under go test as well.
func isMain(pkg string) bool { return pkg == "main" }

func firstElement(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	return first
}

// goroot returns where Go's own packages are, or "" where files do not tell. No other module has a
// package with a path that begins with internal/, nor one with the path os or sync.
func goroot(t *Tree) string {
	for _, f := range t.Funcs {
		p := Package(f.Name)
		if firstElement(p) != "internal" && !slices.Contains([]string{"os", "sync", "errors", "unicode/utf8"}, p) {
			continue
		}
		if root, ok := strings.CutSuffix(path.Dir(f.File), "/"+p); ok && root != "" {
			return root
		}
	}
	return ""
}
