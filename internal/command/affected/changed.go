package affected

import (
	"bytes"
	"cmp"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A change is known by the functions whose code differs. What else of a file differs, a declaration say, may matter
// to whatever depends on the package. Two versions of a package are compared, not of a file, so that a function that
// has moved from one file to another is the same. Comments are nothing, but for those that say something to the
// compiler, to cgo or to go test.

// A Change is something that a change of files touches.
type Change struct {
	File     string `json:"file"`               // relative to the top of the repository
	Function string `json:"function,omitempty"` // as Go calls it, without its package: (*T).M; "" for all else
	What     string `json:"what,omitempty"`     // what it is, if it is no function whose body has changed

	dir      string // absolute and real, of the file
	test     bool   // the file is compiled into tests only
	external bool   // into those of a package of their own
	tree     bool   // the file is a directory, all of which may have changed
	fresh    bool   // the function, or file, is new or gone: nobody uses it but what has changed as well
}

// Changes returns what differs between the two versions of a repository. Modules are those of the files whose
// changes git may not know.
func Changes(r *Repository, modules []*Module) ([]Change, error) {
	files, err := r.files()
	if err != nil {
		return nil, err
	}
	g := &changes{r: r, packages: make(map[unit]*versions)}
	for _, f := range append(files, r.ignored(modules)...) {
		if err := g.file(f); err != nil {
			return nil, err
		}
	}
	for _, v := range g.packages {
		v.compare(g)
	}
	slices.SortFunc(g.list, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Function, b.Function), cmp.Compare(a.What, b.What))
	})
	return slices.Compact(g.list), nil
}

// changes is the state of Changes.
type changes struct {
	r        *Repository
	packages map[unit]*versions
	list     []Change
}

// A unit is what one version of a package is made of; tests that are compiled into it are one of their own.
type unit struct {
	dir, name string
	test      bool
}

// versions are those of the changed files of a unit.
type versions struct{ old, now map[string][]function }

// add adds a change of a file.
func (g *changes) add(c Change) {
	full := g.r.path(c.File)
	c.dir = filepath.Join(real(filepath.Dir(full)))
	if c.tree {
		c.dir = real(full)
	}
	c.test = strings.HasSuffix(c.File, "_test.go")
	g.list = append(g.list, c)
}

// file takes a file that may have changed. What go test does not read as Go has changed as a whole.
func (g *changes) file(f file) error {
	switch {
	case f.newMode == "ignored":
		g.add(Change{File: f.name, What: "file that git ignores, which may be another one,"})
		return nil
	case f.oldMode == gitlink || f.newMode == gitlink:
		g.add(Change{File: f.name, What: "repository", tree: true})
		return nil
	case !g.isPlain(f):
		g.add(Change{File: f.name, What: "file"})
		return nil
	}
	old, now, err := g.r.texts(f)
	switch {
	case err != nil:
		return err
	case bytes.Equal(old, now) && (old == nil) == (now == nil):
		return nil
	case !strings.HasSuffix(f.name, ".go") || inTestdata(f.name):
		g.add(Change{File: f.name, What: "file"})
		return nil
	}
	g.source(parse(f.name, old), parse(f.name, now))
	return nil
}

// isPlain reports whether both versions of a file are plain ones: a link has the contents of another file, and the way
// to it.
func (g *changes) isPlain(f file) bool {
	const link = "120000"
	if f.oldMode == link || f.newMode == link {
		return false
	}
	info, err := os.Lstat(g.r.path(f.name))
	return g.r.next != "" || err != nil || info.Mode().IsRegular()
}

// source takes two versions of a Go file.
func (g *changes) source(old, now *source) {
	change := func(what string) {
		external := strings.HasSuffix(cmp.Or(now.pkg, old.pkg), "_test")
		g.add(Change{File: now.name, What: what, external: external})
	}
	if old.broken || now.broken {
		change("syntax")
		return
	}
	if old.pkg != now.pkg && old.pkg != "" && now.pkg != "" {
		change("package")
	}
	if old.pkg == "" || now.pkg == "" {
		g.add(Change{File: now.name, What: "file", fresh: true}) // its package may be none any more
	}
	kinds := maps.Clone(old.decls)
	maps.Copy(kinds, now.decls)
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if old.decls[kind] != now.decls[kind] {
			change(kind)
		}
	}
	for _, s := range []*source{old, now} {
		at := unit{path.Dir(s.name), s.pkg, strings.HasSuffix(s.name, "_test.go")}
		v := g.packages[at]
		if v == nil {
			v = &versions{make(map[string][]function), make(map[string][]function)}
			g.packages[at] = v
		}
		to := v.old
		if s == now {
			to = v.now
		}
		for key, list := range s.funcs {
			to[key] = append(to[key], list...)
		}
	}
}

// compare adds the functions that differ.
func (v *versions) compare(g *changes) {
	differing := func(list, others map[string][]function, gone bool) {
		for key := range list {
			for _, f := range list[key] {
				if !slices.ContainsFunc(others[key], f.is) {
					g.function(key, f, others[key], gone)
				}
			}
		}
	}
	differing(v.now, v.old, false)
	differing(v.old, v.now, true)
}

// is reports whether f is the same function as another version.
func (f function) is(other function) bool {
	same := f.file == other.file || f.place == other.place
	return same && f.text == other.text && f.directive == other.directive
}

// function adds a function that the other version has otherwise, or not at all. Gone is one of the old version.
func (g *changes) function(key string, f function, others []function, gone bool) {
	c := Change{File: f.file, external: strings.HasSuffix(f.pkg, "_test")}
	isTest := strings.HasSuffix(f.file, "_test.go")
	differs := func(is func(o function) bool) bool { return slices.ContainsFunc(others, is) }
	switch {
	case key == "init" || key == "TestMain" && isTest:
		c.What = key
	case f.native || differs(func(o function) bool { return o.native }):
		c.What = "function " + key + ", whose calls are not counted,"
	case len(others) == 0 && f.method:
		c.What = "methods" // what a type implements has changed
	case len(others) == 0 && types.Universe.Lookup(key) != nil:
		c.What = "function " + key + ", which Go also has,"
	case len(others) == 0 && gone && !isTest && token.IsExported(key):
		c.What = "function " + key + ", which is gone," // others may not compile
	case len(others) == 0:
		c.Function, c.fresh = key, true
	case differs(func(o function) bool { return o.signature != f.signature }):
		c.What = "signature of " + key
	case differs(func(o function) bool { return o.directive != f.directive }):
		c.What = "directive of " + key
	default:
		c.Function = key
	}
	g.add(c)
}

func inTestdata(name string) bool { return slices.Contains(strings.Split(name, "/"), "testdata") }
