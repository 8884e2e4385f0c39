// Package affected finds the functions that each test reached, and the tests that a change can
// affect.
//
// # Who owns a context
//
// A test owns the contexts below its function, in the goroutines that it starts as well. What is below nobody's is
// shared: initializers, TestMain, timers, the package testing. So is what sync.Once does, since it does it for
// whoever comes next as well. All tests of the record reach what is shared.
//
// With folded recursion the functions of subtests hang below the first call of the function that runs tests,
// beside those of other tests. A closure of a test belongs to that; one of another function to every test that runs
// subtests and reached that function; others to every test that runs subtests. Tests that call the same code by way
// of a cache, a pool or a goroutine that one of them started are not told apart: what only the first of them
// reached is not known to be of use to the others.
package affected

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// A Suite is the tests of a package that were recorded.
type Suite struct {
	Package string   `json:"package"` // import path
	Shared  []string `json:"shared"`  // functions that all of its tests reach
	Tests   []Test   `json:"tests"`

	Incomplete string   `json:"incomplete,omitempty"` // why the tests may have reached more
	Flags      []string `json:"flags,omitempty"`      // of stemma test, with which they were recorded
}

// A Test is a test, benchmark, fuzz test or example.
type Test struct {
	Name      string    `json:"name"`
	Functions []string  `json:"functions"` // those of its subtests as well, without the shared ones
	Subtests  []Subtest `json:"subtests,omitempty"`
	// it, or a subtest, was skipped or ended early, or not all of its subtests were run: it may reach more
	Partial bool `json:"partial,omitempty"`
}

// A Subtest is what t.Run called: all subtests of one function are one.
type Subtest struct {
	Function  string   `json:"function"`
	Functions []string `json:"functions"`
}

// runners call the functions of tests and subtests.
var runners = []string{"testing.tRunner", "testing.fRunner", "testing.runExample", "testing.(*B).runN"}

// enders end a test, or a subtest, before it has done all that it may do another time.
var enders = []string{"testing.(*common).SkipNow", "testing.(*common).FailNow"}

// onceName is what sync.Once calls only once.
const onceName = "sync.(*Once).doSlow"

// A set is a set of functions.
type set map[string]bool

func (s set) sorted() []string { return slices.Sorted(maps.Keys(s)) }

// An owner is a test, a function of subtests, or nobody.
type owner struct {
	name      string // symbol of its function; "" of nobody
	reached   set
	subtests  map[string]*owner // by function; of tests, those that are known to be theirs
	runsOther bool              // it runs subtests that cannot be told from those of others
}

func newOwner(name string) *owner {
	return &owner{name: name, reached: make(set), subtests: make(map[string]*owner)}
}

// A walk finds the owner of each node.
type walk struct {
	p      *profile.Profile
	names  []string // by function
	all    set      // of names
	shared *owner
	tests  map[string]*owner // by symbol
	subs   map[string]*owner // functions of subtests, by symbol
	of     []*owner          // by node
	sub    []*owner          // by node, the subtest that it is in; nil for none
	once   []bool            // by node, whether sync.Once called it
}

// Of returns the tests of a record. There are several suites if it is the sum of several test binaries:
// what is shared by one is then shared by all.
func Of(p *profile.Profile) []Suite {
	w := &walk{p: p, shared: newOwner(""), tests: make(map[string]*owner), subs: make(map[string]*owner),
		of: make([]*owner, len(p.Nodes)), sub: make([]*owner, len(p.Nodes)),
		once: make([]bool, len(p.Nodes)), all: make(set)}
	for i := range p.Funcs {
		w.names = append(w.names, cct.DisplayName(p.String(p.Funcs[i].Name)))
		w.all[w.names[i]] = true
	}
	w.of[0] = w.shared
	for i := 1; i < len(p.Nodes); i++ {
		w.enter(i)
	}
	homes := p.Homes()
	for i := 1; i < len(p.Nodes); i++ {
		if i := uint32(i); homes[i] != i && slices.Contains(runners, w.name(i)) && w.of[homes[i]] != w.of[i] {
			w.of[i].runsOther = true
		}
	}
	w.adopt()
	return w.suites()
}

func (w *walk) name(node uint32) string { return w.names[w.p.Nodes[node].Func] }

// enter finds the owner of a node, whose parent has one, and what the node reached.
func (w *walk) enter(i int) {
	n := w.p.Nodes[i]
	name, parent := w.names[n.Func], w.name(n.Parent)
	o, sub := w.of[n.Parent], w.sub[n.Parent]
	called := slices.Contains(runners, parent) && w.p.Funcs[n.Func].Kind == profile.FuncOrdinary
	switch {
	case name == onceName:
		o, sub = w.shared, nil
	case called && o == w.shared && isTest(name):
		o = w.owner(w.tests, name)
	case called && o != w.shared: // recursion is not folded
		sub = o.subtest(name)
	case called && !strings.HasPrefix(name, "testing."):
		o = w.owner(w.subs, name)
	case o == w.shared:
		// What Cleanup calls. What once called is nobody's.
		if test := w.testOf(name); test != nil && !w.once[n.Parent] {
			o = test
		}
	}
	w.once[i] = w.once[n.Parent] || name == onceName
	w.of[i], w.sub[i] = o, sub
	if w.executed(i) {
		w.reach(o, i)
		if sub != nil {
			w.reach(sub, i)
		}
	}
}

// executed reports whether a node counted anything.
func (w *walk) executed(i int) bool {
	counts := w.p.NodeCounts(i)
	return counts == nil || slices.ContainsFunc(counts, func(n uint64) bool { return n > 0 })
}

// reach adds the functions of a node, inlined ones and natives as well.
func (w *walk) reach(o *owner, i int) {
	f := &w.p.Funcs[w.p.Nodes[i].Func]
	if f.Kind != profile.FuncOrdinary {
		return
	}
	counts := w.p.NodeCounts(i)
	ran := func(counter int32) bool { return counter == profile.None || counts == nil || counts[counter] > 0 }
	o.reached[w.names[w.p.Nodes[i].Func]] = true
	for _, in := range f.Inlined {
		if ran(in.Counter) {
			o.reached[cct.DisplayName(w.p.String(in.Callee))] = true
		}
	}
	for _, s := range f.Sites {
		if s.Callee != 0 && s.Counter != profile.None && ran(s.Counter) {
			o.reached[cct.DisplayName(w.p.String(s.Callee))] = true
		}
	}
}

func (w *walk) owner(of map[string]*owner, name string) *owner {
	if of[name] == nil {
		of[name] = newOwner(name)
	}
	return of[name]
}

func (o *owner) subtest(name string) *owner {
	if o.subtests[name] == nil {
		o.subtests[name] = newOwner(name)
	}
	return o.subtests[name]
}

// testOf returns the test that a function is a closure of, nil if it is of none. A method may look like one: that of
// testing.BenchmarkResult does. But its type is no function of the record, and a test that made a closure is.
func (w *walk) testOf(name string) *owner {
	at := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[at:], '.')
	if dot < 0 {
		return nil
	}
	own, rest, closure := strings.Cut(name[at+dot+1:], ".")
	if !closure || rest == "" {
		return nil
	}
	if test := name[:at+dot+1] + own; isTest(test) && w.all[test] {
		return w.owner(w.tests, test)
	}
	return nil
}

// adopt gives subtests to the tests that they belong to, or may.
func (w *walk) adopt() {
	var free []*owner
	for _, s := range w.subs {
		if test := w.testOf(s.name); test != nil {
			test.take(s)
			continue
		}
		free = append(free, s)
	}
	for more := true; more; {
		more = false
		for _, test := range w.tests {
			for _, s := range free {
				if test.runsOther && test.subtests[s.name] == nil && w.mayRun(test, s) {
					test.take(s)
					more = true
				}
			}
		}
	}
}

// mayRun reports whether a test that runs subtests may run s: if s is a closure, one that reached the function that
// makes it.
func (w *walk) mayRun(test, s *owner) bool {
	at := strings.LastIndex(s.name, ".func")
	if at < 0 {
		return true
	}
	maker := s.name[:at]
	return test.reached[maker] || w.shared.reached[maker]
}

// take adds what a subtest reached.
func (o *owner) take(s *owner) {
	o.subtests[s.name] = s
	o.runsOther = o.runsOther || s.runsOther
	maps.Copy(o.reached, s.reached)
}

// suites returns the tests by package.
func (w *walk) suites() []Suite {
	packages := make(map[string][]Test)
	some := runsSome(w.p)
	for _, name := range slices.Sorted(maps.Keys(w.tests)) {
		o := w.tests[name]
		if len(o.reached) == 0 {
			continue
		}
		pkg, test := split(name)
		t := Test{Name: test, Functions: without(o.reached, w.shared.reached)}
		t.Partial = some || slices.ContainsFunc(enders, func(name string) bool { return o.reached[name] })
		for _, sub := range slices.Sorted(maps.Keys(o.subtests)) {
			t.Subtests = append(t.Subtests, Subtest{sub, without(o.subtests[sub].reached, w.shared.reached)})
		}
		packages[pkg] = append(packages[pkg], t)
	}
	var list []Suite
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		tests := packages[pkg]
		slices.SortFunc(tests, func(a, b Test) int { return strings.Compare(a.Name, b.Name) })
		list = append(list, Suite{Package: pkg, Shared: w.shared.reached.sorted(), Tests: tests,
			Incomplete: incomplete(w.p), Flags: flagsOf(w.p)})
	}
	return list
}

// incomplete returns why tests may have reached functions that are not in their record, "" if they have not.
func incomplete(p *profile.Profile) string {
	kinds := []string{profile.LossFuncs, profile.LossPages, profile.LossShards, profile.LossUnread,
		profile.LossUnreadable}
	for _, l := range p.Lost() {
		if slices.Contains(kinds, l.Kind) {
			return "the record of its tests is not complete"
		}
	}
	if !slices.ContainsFunc(p.Funcs, func(f profile.Func) bool { return len(f.Inlined) > 0 }) {
		return "its tests were recorded without inlined calls"
	}
	return ""
}

// runsSome reports whether test binaries were told to run only some subtests: -run and its like with a slash.
func runsSome(p *profile.Profile) bool {
	for _, proc := range p.Processes {
		for i, arg := range proc.Args {
			name, value, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			if !ok && i+1 < len(proc.Args) {
				value = proc.Args[i+1]
			}
			if strings.HasPrefix(arg, "-") && strings.Contains(value, "/") &&
				slices.Contains([]string{"test.run", "test.skip", "test.bench"}, name) {
				return true
			}
		}
	}
	return false
}

// flagsOf returns the flags of stemma test without which assertions on what is in the record would not be made.
func flagsOf(p *profile.Profile) (flags []string) {
	if p.Has(profile.AllocObjects) {
		flags = append(flags, "-metrics="+profile.Calls.Name+","+profile.AllocSpace.Name)
	}
	if slices.ContainsFunc(p.Processes, func(proc profile.Process) bool { return proc.Full }) {
		flags = append(flags, "-recursion=full")
	}
	return flags
}

// without returns what s has and t does not, sorted.
func without(s, t set) []string {
	list := []string{}
	for _, name := range s.sorted() {
		if !t[name] {
			list = append(list, name)
		}
	}
	return list
}

// split returns the import path of the package that a test is in, as go test takes it, and its name.
func split(symbol string) (pkg, name string) {
	at := strings.LastIndexByte(symbol, '/') + 1
	dot := strings.IndexByte(symbol[at:], '.')
	pkg, name = symbol[:at+dot], symbol[at+dot+1:]
	return strings.TrimSuffix(importPath(pkg), "_test"), name
}

// symbolPath returns an import path as symbols have it: gopkg.in/yaml%2ev3. A dot in its last part would end it.
func symbolPath(path string) string {
	last := strings.LastIndexByte(path, '/')
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c == '.' && i > last || c == '%' || c == '"' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02x", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// importPath is the inverse of symbolPath.
func importPath(symbol string) string {
	path, err := url.PathUnescape(symbol)
	if err != nil {
		return symbol
	}
	return path
}

// isTest reports whether a function is one that go test runs.
func isTest(symbol string) bool {
	_, name := split(symbol)
	return IsTestName(name)
}

// IsTestName reports whether go test would run a function of that name.
func IsTestName(name string) bool {
	for _, prefix := range []string{"Test", "Benchmark", "Fuzz", "Example"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && !strings.Contains(rest, ".") {
			r, _ := utf8.DecodeRuneInString(rest)
			return (rest == "" || !unicode.IsLower(r)) && name != "TestMain"
		}
	}
	return false
}

// Union returns the suites of several records; those of one package are one.
func Union(lists ...[]Suite) []Suite {
	type sets struct {
		shared     set
		tests      map[string]*owner
		whole      set // of tests: some record has all that they did
		incomplete string
		flags      []string
	}
	all := make(map[string]*sets)
	for _, list := range lists {
		for _, s := range list {
			if all[s.Package] == nil {
				all[s.Package] = &sets{shared: make(set), tests: make(map[string]*owner), whole: make(set)}
			}
			to := all[s.Package]
			to.shared.add(s.Shared)
			to.incomplete = cmp.Or(to.incomplete, s.Incomplete)
			to.flags = append(to.flags, s.Flags...)
			for _, t := range s.Tests {
				if to.tests[t.Name] == nil {
					to.tests[t.Name] = newOwner(t.Name)
				}
				to.tests[t.Name].reached.add(t.Functions)
				to.whole[t.Name] = to.whole[t.Name] || !t.Partial
				for _, sub := range t.Subtests {
					to.tests[t.Name].subtest(sub.Function).reached.add(sub.Functions)
				}
			}
		}
	}
	var union []Suite
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		flags := slices.Sorted(slices.Values(all[pkg].flags))
		s := Suite{Package: pkg, Shared: all[pkg].shared.sorted(), Incomplete: all[pkg].incomplete,
			Flags: slices.Compact(flags)}
		for _, name := range slices.Sorted(maps.Keys(all[pkg].tests)) {
			o := all[pkg].tests[name]
			t := Test{Name: name, Functions: without(o.reached, all[pkg].shared), Partial: !all[pkg].whole[name]}
			for _, sub := range slices.Sorted(maps.Keys(o.subtests)) {
				t.Subtests = append(t.Subtests, Subtest{sub, without(o.subtests[sub].reached, all[pkg].shared)})
			}
			s.Tests = append(s.Tests, t)
		}
		union = append(union, s)
	}
	return union
}

func (s set) add(names []string) {
	for _, name := range names {
		s[name] = true
	}
}
