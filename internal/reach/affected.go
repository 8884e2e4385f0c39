package reach

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Package is what go list says of one.
type Package struct {
	ImportPath                                            string
	Dir                                                   string
	GoFiles, CgoFiles, CFiles, HFiles, SFiles, EmbedFiles []string
	TestGoFiles, XTestGoFiles                             []string
	TestEmbedFiles, XTestEmbedFiles                       []string
	Deps, TestImports, XTestImports                       []string
}

// Packages returns the packages that match patterns, as go list has them; all of the module without patterns.
func Packages(patterns ...string) ([]*Package, error) {
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	const fields = "ImportPath,Dir,GoFiles,CgoFiles,CFiles,HFiles,SFiles,EmbedFiles,TestGoFiles,XTestGoFiles," +
		"TestEmbedFiles,XTestEmbedFiles,Deps,TestImports,XTestImports"
	cmd := exec.Command("go", append([]string{"list", "-e", "-json=" + fields}, patterns...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	var list []*Package
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(Package)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		list = append(list, p)
	}
}

// hasTests tells whether go test has something to run.
func (p *Package) hasTests() bool { return len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 }

// An Affected is the tests of a package that changes can affect.
type Affected struct {
	Package string   `json:"package"`
	All     bool     `json:"all"`           // all tests, those that were not recorded, too
	Why     string   `json:"why,omitempty"` // of All
	Tests   []string `json:"tests"`
	// for go test -run and -bench, if not all
	Run   string `json:"run,omitempty"`
	Bench string `json:"bench,omitempty"`
}

// flags sets what go test is to be called with.
func (a *Affected) flags() {
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

// A selector is the state of Select.
type selector struct {
	packages []*Package
	byPath   map[string]*Package
	suites   map[string]*Suite
	affected map[string]*Affected
	unknown  []string
}

// Select returns the tests that changes can affect, by package, and the changed files of which it is not known what
// reads them. A test that was recorded is affected by a change of a function that it reached. What else changes
// affects all tests of the packages that depend on the package. So do changes of packages without a record.
func Select(packages []*Package, suites []Suite, list []Change) (affected []Affected, unknown []string) {
	s := &selector{packages: packages, byPath: make(map[string]*Package), suites: make(map[string]*Suite),
		affected: make(map[string]*Affected)}
	for _, p := range packages {
		s.byPath[p.ImportPath] = p
	}
	for i := range suites {
		s.suites[suites[i].Package] = &suites[i]
	}
	for _, c := range list {
		s.change(c)
	}
	for _, p := range packages {
		if a := s.affected[p.ImportPath]; a != nil {
			slices.Sort(a.Tests)
			a.Tests = slices.Compact(a.Tests)
			if a.All {
				a.Tests = []string{}
			} else {
				a.flags()
			}
			affected = append(affected, *a)
		}
	}
	return affected, s.unknown
}

// change adds what one change affects.
func (s *selector) change(c Change) {
	name := c.File[strings.LastIndexByte(c.File, '/')+1:]
	if slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum"}, name) {
		for _, p := range s.packages {
			s.all(p, c.File+" has changed")
		}
		return
	}
	p, external := s.packageOf(c, name)
	switch {
	case p == nil && c.Function == "" && c.What == "file":
		s.unknown = append(s.unknown, c.File)
	case p == nil:
		// it is not built, on this system or in this module
	case c.Function != "":
		symbol := symbolPath(p.ImportPath)
		if external {
			symbol += "_test"
		}
		s.function(p, c, symbol+"."+c.Function)
	default:
		s.dependents(p, c)
	}
}

// packageOf returns the package that a file belongs to, nil for none. External is that of tests beside it.
func (s *selector) packageOf(c Change, name string) (p *Package, external bool) {
	for _, p := range s.packages {
		if p.Dir != c.dir {
			continue
		}
		for _, files := range [][]string{p.GoFiles, p.CgoFiles, p.CFiles, p.HFiles, p.SFiles, p.TestGoFiles} {
			if slices.Contains(files, name) {
				return p, false
			}
		}
		if slices.Contains(p.XTestGoFiles, name) {
			return p, true
		}
	}
	full := filepath.Join(c.dir, name)
	for _, p := range s.packages {
		rel, err := filepath.Rel(p.Dir, full)
		if err != nil || strings.HasPrefix(rel, "..") {
			continue
		}
		rel = filepath.ToSlash(rel)
		if strings.HasPrefix(rel, "testdata/") ||
			slices.Contains(slices.Concat(p.EmbedFiles, p.TestEmbedFiles, p.XTestEmbedFiles), rel) {
			return p, false
		}
	}
	if strings.HasSuffix(name, ".go") { // a file that was removed
		for _, p := range s.packages {
			if p.Dir == c.dir {
				return p, false
			}
		}
	}
	return nil, false
}

// function adds the tests that reached a function, or a closure of it.
func (s *selector) function(p *Package, c Change, symbol string) {
	is := func(name string) bool {
		rest, ok := strings.CutPrefix(strings.ReplaceAll(name, "[...]", ""), symbol)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '-')
	}
	if c.test && IsTestName(c.Function) {
		s.add(p, c.Function) // which may be new
	}
	for _, q := range s.packages {
		if !q.hasTests() || !s.dependsOn(q, p) {
			continue
		}
		suite := s.suites[q.ImportPath]
		if suite == nil {
			if !c.test || q == p {
				s.all(q, "its tests were not recorded")
			}
			continue
		}
		shared := slices.ContainsFunc(suite.Shared, is)
		for _, t := range suite.Tests {
			if shared || slices.ContainsFunc(t.Functions, is) {
				s.add(q, t.Name)
			}
		}
	}
}

// dependents adds all tests of the packages that depend on p, or of p alone if only its tests have changed.
func (s *selector) dependents(p *Package, c Change) {
	why := fmt.Sprintf("%s: %s has changed", c.File, c.What)
	for _, q := range s.packages {
		if q == p || !c.test && s.dependsOn(q, p) {
			s.all(q, why)
		}
	}
}

// dependsOn tells whether the tests of q are built from p.
func (s *selector) dependsOn(q, p *Package) bool {
	if q == p || slices.Contains(q.Deps, p.ImportPath) {
		return true
	}
	for _, path := range slices.Concat(q.TestImports, q.XTestImports) {
		if path == p.ImportPath {
			return true
		}
		if i := s.byPath[path]; i != nil && slices.Contains(i.Deps, p.ImportPath) {
			return true
		}
	}
	return false
}

// add adds a test of a package.
func (s *selector) add(p *Package, test string) {
	a := s.affected[p.ImportPath]
	if a == nil {
		a = &Affected{Package: p.ImportPath}
		s.affected[p.ImportPath] = a
	}
	a.Tests = append(a.Tests, test)
}

// all adds all tests of a package, if there are any.
func (s *selector) all(p *Package, why string) {
	if !p.hasTests() {
		return
	}
	s.add(p, "")
	if a := s.affected[p.ImportPath]; !a.All {
		a.All, a.Why = true, why
	}
}
