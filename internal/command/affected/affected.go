package affected

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// An Affected is the tests of a package that changes can affect.
type Affected struct {
	Package string   `json:"package"`
	Dir     string   `json:"dir,omitempty"` // of its module, if that is another one than here
	All     bool     `json:"all"`           // all tests, those that were not recorded as well
	Why     string   `json:"why,omitempty"` // of All
	Tests   []string `json:"tests"`         // none, and not all: the package may not compile any more
	// for go test -run and -bench, if not all
	Run   string `json:"run,omitempty"`
	Bench string `json:"bench,omitempty"`
	// a command that runs them, and what it needs in its environment
	Command []string `json:"command"`
	Env     []string `json:"env,omitempty"`
}

// complete sets how the tests are run. Those that need the instrumentation are run with it.
func (a *Affected) complete(m *Module, p *Package, suite *Suite) {
	a.Dir = m.At
	a.Command = []string{"go", "test"}
	if (a.All || len(a.Tests) > 0) && (p == nil || m.asserts(p)) {
		a.Command[0] = "stemma"
	}
	if m.At != "" {
		a.Command = append(a.Command, "-C", m.At)
	}
	if m.Off {
		a.Env = []string{"GOWORK=off"}
	}
	if suite != nil && a.Command[0] == "stemma" {
		a.Command = append(a.Command, suite.Flags...)
	}
	if !a.All {
		a.patterns()
		a.Command = append(a.Command, "-run", a.Run)
	}
	if a.Bench != "" {
		a.Command = append(a.Command, "-bench", a.Bench)
	}
	a.Command = append(a.Command, a.Package)
}

// patterns sets what go test is to be called with.
func (a *Affected) patterns() {
	var run, bench []string
	for _, t := range a.Tests {
		if strings.HasPrefix(t, "Benchmark") {
			bench = append(bench, t)
		} else {
			run = append(run, t)
		}
	}
	a.Run = "^(" + strings.Join(run, "|") + ")$"
	if run == nil {
		a.Run = "^$"
	}
	if bench != nil {
		a.Bench = "^(" + strings.Join(bench, "|") + ")$"
	}
}

// asserts reports whether the tests of a package have assertions that a plain build leaves out.
func (m *Module) asserts(p *Package) bool {
	return m.needs(p, func(path string) bool { return path == stemmaPath || path == stemmaPath+"/stemmatest" })
}

// dependsOn reports whether the tests of q are built from p.
func (m *Module) dependsOn(q, p *Package) bool {
	return q == p || m.needs(q, func(path string) bool { return path == p.ImportPath })
}

// needs reports whether the tests of p are built from a package whose path is one that is asked for.
func (m *Module) needs(p *Package, is func(path string) bool) bool {
	if slices.ContainsFunc(p.Deps, is) {
		return true
	}
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		if is(path) {
			return true
		}
		if i := m.byPath[path]; i != nil && slices.ContainsFunc(i.Deps, is) {
			return true
		}
	}
	return false
}

// A selector is the state of Select, for one module.
type selector struct {
	*Module
	modules  []*Module
	suites   map[string]*Suite
	affected map[string]*Affected
	missing  map[string][]string // tests that the record of a package does not have
}

// Select returns the tests that changes can affect, by module and package, and the changed files whose
// readers are not known. A test that was recorded is affected by a change of a function that it reached. What else
// changes affects all tests of the packages that depend on the package. So do changes of packages without a record.
func Select(modules []*Module, suites []Suite, list []Change) (affected []Affected, unknown []string) {
	of := make(map[string]*Suite)
	for i := range suites {
		of[suites[i].Package] = &suites[i]
	}
	if len(list) == 0 {
		return nil, nil // not even of modules whose packages are not known
	}
	known := make([]bool, len(list))
	for _, m := range modules {
		if m.Failed != nil {
			a := Affected{Package: "./...", All: true, Why: "its packages are not known: " + m.Failed.Error(),
				Tests: []string{}}
			a.complete(m, nil, nil)
			affected = append(affected, a)
			continue
		}
		s := &selector{Module: m, modules: modules, suites: of, affected: make(map[string]*Affected),
			missing: make(map[string][]string)}
		for i, c := range list {
			if s.change(c) {
				known[i] = true
			}
		}
		affected = append(affected, s.result()...)
	}
	for i, c := range list {
		if !known[i] && !slices.Contains(unknown, c.File) {
			unknown = append(unknown, c.File)
		}
	}
	return affected, unknown
}

// result returns what was selected, in the order of the packages.
func (s *selector) result() (list []Affected) {
	for _, p := range s.Packages {
		a := s.affected[p.ImportPath]
		if a == nil {
			continue
		}
		slices.Sort(a.Tests)
		a.Tests = append([]string{}, slices.Compact(a.Tests)...)
		if a.All {
			a.Tests = []string{}
		}
		a.complete(s.Module, p, s.suites[p.ImportPath])
		list = append(list, *a)
	}
	return list
}

// change adds what one change affects, and reports whether it is known what that is.
func (s *selector) change(c Change) bool {
	if s.configuration(c) {
		return true
	}
	name := filepath.Base(filepath.FromSlash(c.File))
	list := s.packagesOf(c, name)
	for _, p := range list {
		switch {
		case c.Function != "":
			s.function(p, c)
		case c.fresh:
			s.build(p)
		default:
			s.dependents(p, c)
		}
	}
	others := s.readersOf(c, name)
	for _, p := range others {
		s.dependents(p, c)
	}
	return len(list)+len(others) > 0
}

// configuration takes files that say what modules are built from.
func (s *selector) configuration(c Change) bool {
	name := filepath.Base(c.File)
	switch {
	case isHidden(filepath.Dir(c.File)):
		return false
	case slices.Contains([]string{"go.work", "go.work.sum"}, name),
		name == "modules.txt" && filepath.Base(c.dir) == "vendor":
	case name == "go.mod" || name == "go.sum":
		exists := slices.ContainsFunc(s.modules, func(m *Module) bool { return m.Dir == c.dir })
		if exists && !s.concerns(c.dir) {
			return true
		}
	default:
		return false
	}
	for _, p := range s.Packages {
		s.all(p, c.File+" has changed")
	}
	return true
}

// cExts are those of files beside Go's that are compiled, or that such files may include or link.
var cExts = []string{".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".inc", ".def", ".f", ".F", ".for",
	".f90", ".s", ".S", ".sx", ".swig", ".swigcxx", ".syso", ".a", ".o", ".so"}

// packagesOf returns the packages that a file is compiled into, or was before it was removed.
func (s *selector) packagesOf(c Change, name string) (list []*Package) {
	ext := filepath.Ext(name)
	if c.tree {
		return s.where(func(p *Package) bool { return within(c.dir, p.Dir) })
	}
	if list = s.files[filepath.Join(c.dir, name)]; len(list) > 0 {
		return list
	}
	if ext != ".go" && !slices.Contains(cExts, ext) && name != "default.pgo" || inTestdata(c.File) {
		return nil
	}
	if list = s.where(func(p *Package) bool { return p.Dir == c.dir }); len(list) > 0 || ext != ".go" {
		return list
	}
	return s.gone(c)
}

// where returns the packages that are not Go's own for which is holds.
func (s *selector) where(is func(*Package) bool) (list []*Package) {
	for _, p := range s.Packages {
		if !p.Standard && is(p) {
			list = append(list, p)
		}
	}
	return list
}

// within reports whether a path is a directory or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// gone returns a package that has no files any more, or none that is built here, as something may import it.
func (s *selector) gone(c Change) []*Package {
	in := s.Module
	for _, m := range s.modules {
		if within(m.Dir, c.dir) && (!within(in.Dir, c.dir) || len(m.Dir) > len(in.Dir)) {
			in = m
		}
	}
	rel, err := filepath.Rel(in.Dir, c.dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	p := &Package{ImportPath: strings.TrimSuffix(in.Path+"/"+filepath.ToSlash(rel), "/."), Dir: c.dir}
	if isHidden(rel) && !slices.ContainsFunc(s.Packages, func(q *Package) bool { return s.dependsOn(q, p) }) {
		return nil
	}
	return []*Package{p}
}

// isHidden reports whether go leaves a directory out.
func isHidden(rel string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"), func(dir string) bool {
		return dir == "testdata" || dir != "." && dir != "" && (dir[0] == '.' || dir[0] == '_')
	})
}

// readersOf returns the packages that may have what is in a file in other ways: embedded, included, or as testdata.
func (s *selector) readersOf(c Change, name string) []*Package {
	full := filepath.Join(c.dir, name)
	return s.where(func(p *Package) bool {
		if slices.Contains(cExts, filepath.Ext(name)) && !inTestdata(c.File) && p.callsC() && !isCached(p) {
			return true
		}
		rel, err := filepath.Rel(p.Dir, full)
		if err != nil || !filepath.IsLocal(rel) {
			return false
		}
		return p.embeds(filepath.ToSlash(rel)) || strings.HasPrefix(filepath.ToSlash(rel), "testdata/")
	})
}

// isCached reports whether a package is of the module cache.
func isCached(p *Package) bool {
	return p.Module != nil && strings.Contains(filepath.Base(p.Module.Dir), "@")
}

// symbol returns the name of a function, as tracebacks have it.
func (c *Change) symbol(p *Package) string {
	path := symbolPath(p.ImportPath)
	if c.external {
		path += "_test"
	}
	return path + "." + c.Function
}

// function adds the tests that reached a function, or a closure of it. The package is built in any case: it may not
// compile any more.
func (s *selector) function(p *Package, c Change) {
	s.build(p)
	if c.test && IsTestName(c.Function) {
		s.add(p, c.Function) // which may be new
	}
	if c.fresh {
		return
	}
	s.static(p, c)
	symbol := c.symbol(p)
	is := func(name string) bool {
		rest, ok := strings.CutPrefix(strings.ReplaceAll(name, "[...]", ""), symbol)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '-')
	}
	for _, q := range s.Packages {
		if q.hasTests() && s.owns(q) && (q == p || !c.test) && s.dependsOn(q, p) {
			s.reached(q, is)
		}
	}
}

// reached adds the tests of a package that reached a function, or may have.
func (s *selector) reached(q *Package, is func(name string) bool) {
	suite := s.suites[q.ImportPath]
	switch {
	case suite == nil:
		s.all(q, "its tests were not recorded")
		return
	case suite.Incomplete != "":
		s.all(q, suite.Incomplete)
		return
	}
	shared := slices.ContainsFunc(suite.Shared, is)
	for _, t := range suite.Tests {
		if shared || t.Partial || slices.ContainsFunc(t.Functions, is) {
			s.add(q, t.Name)
		}
	}
	for _, name := range s.unrecorded(q, suite) {
		s.add(q, name)
	}
}

// unrecorded returns the tests of a package that were not run when it was recorded.
func (s *selector) unrecorded(q *Package, suite *Suite) []string {
	list, ok := s.missing[q.ImportPath]
	if !ok {
		for _, name := range q.tests() {
			if !slices.ContainsFunc(suite.Tests, func(t Test) bool { return t.Name == name }) {
				list = append(list, name)
			}
		}
		s.missing[q.ImportPath] = list
	}
	return list
}

// dependents adds all tests of the packages that depend on p, or of p alone if only its tests have changed.
func (s *selector) dependents(p *Package, c Change) {
	why := fmt.Sprintf("%s: %s has changed", c.File, c.What)
	if c.What == "" {
		why = c.File + " has changed"
	}
	s.build(p)
	for _, q := range s.Packages {
		if q == p || !c.test && s.dependsOn(q, p) {
			s.all(q, why)
		}
	}
}

// build adds a package without any of its tests. Those of other modules are built there.
func (s *selector) build(p *Package) {
	elsewhere := slices.ContainsFunc(s.modules, func(m *Module) bool {
		return m != s.Module && p.Module != nil && m.Dir == real(p.Module.Dir)
	})
	if !elsewhere && s.byPath[p.ImportPath] == p {
		s.get(p)
	}
}

// get returns what is selected of a package.
func (s *selector) get(p *Package) *Affected {
	a := s.affected[p.ImportPath]
	if a == nil {
		a = &Affected{Package: p.ImportPath}
		s.affected[p.ImportPath] = a
	}
	return a
}

// add adds a test of a package.
func (s *selector) add(p *Package, test string) {
	if s.owns(p) && p.hasTests() {
		a := s.get(p)
		a.Tests = append(a.Tests, test)
	}
}

// all adds all tests of a package, if there are any.
func (s *selector) all(p *Package, why string) {
	if s.owns(p) && p.hasTests() {
		if a := s.get(p); !a.All {
			a.All, a.Why = true, why
		}
	}
}
