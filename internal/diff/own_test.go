package diff

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/profile"
)

// randomNames returns names of functions as programs have them: methods, generic functions, closures in closures,
// some of which never ran.
func randomNames(r *rand.Rand) []string {
	var names []string
	for i := range 6 {
		for _, form := range []string{"main.f%d", "main.(*T%d).M", "example.com/m/lib.Map%d[go.shape.int]",
			"example.com/m/lib.(*List%d[go.shape.string]).Each", "main.init.%d", "main.glob..func%d",
			"main.T%d.String-fm"} {
			names = append(names, fmt.Sprintf(form, i))
		}
	}
	for range 60 {
		in := names[r.IntN(len(names))]
		names = append(names, fmt.Sprintf("%s%s%d", in, []string{".func", ".gowrap", ".deferwrap", "-range"}[r.IntN(4)],
			1+r.IntN(12)))
	}
	return names
}

// randomProfile returns a profile of a run of a random program. Two of one code and one work differ in
// some values, and those of one code in what was met.
func randomProfile(code, work, run uint64) *profile.Profile {
	r := rand.New(rand.NewPCG(code, 1))
	p := profile.New(profile.Calls)
	p.Processes = []profile.Process{{Args: []string{"random"}, GoVersion: "go1.26.8", Engine: "cct", Run: 1 + run}}
	str := func(s string) uint32 {
		p.Strings = append(p.Strings, s)
		return uint32(len(p.Strings) - 1)
	}
	file, known := str("/src/random.go"), make(map[string]bool)
	names := randomNames(r)
	for i, name := range names {
		line := uint32(10*i + 10)
		f := profile.Func{Name: str(name), File: file, Line: line, Cells: 4, Counters: 1}
		for k := range 4 {
			s := profile.Site{Kind: profile.SiteCall, Inlined: profile.None, File: file, Line: line + uint32(k)/2,
				Cell: int32(k), Counter: profile.None}
			if r.IntN(2) == 0 {
				s.Callee = str(names[r.IntN(len(names))])
			}
			f.Sites = append(f.Sites, s)
		}
		if !known[name] {
			p.Funcs = append(p.Funcs, f)
		}
		known[name] = true
	}
	r = rand.New(rand.NewPCG(code, work))
	type key struct{ parent, cell uint32 }
	taken := make(map[key]bool)
	for len(p.Nodes) < 150 {
		k := key{uint32(r.IntN(len(p.Nodes))), uint32(r.IntN(4))}
		if !taken[k] {
			taken[k] = true
			p.Nodes = append(p.Nodes, profile.Node{Func: uint32(1 + r.IntN(len(p.Funcs)-1)), Parent: k.parent,
				Cell: k.cell, First: uint32(len(p.Nodes))})
		}
	}
	r = rand.New(rand.NewPCG(work, run))
	c := p.Column(profile.Calls.Name)
	c.Values = make([]uint64, len(p.Nodes))
	for i := 1; i < len(p.Nodes); i++ {
		if c.Values[i] = uint64(i % 20); r.IntN(40) == 0 {
			c.Values[i]++
		}
	}
	return p
}

// TestOwnBaseline compares random records with what was written of them.
func TestOwnBaseline(t *testing.T) {
	for seed := range level.Rounds[uint64](50, 200) {
		p := randomProfile(seed, 1, 7)
		if err := p.CheckValid(); err != nil {
			t.Fatal(err)
		}
		if seed%2 == 1 { // two runs, in which something varies
			var err error
			if p, err = profile.Repeats(func(yield func(*profile.Profile, error) bool) {
				_ = yield(p, nil) && yield(randomProfile(seed, 1, 6), nil)
			}); err != nil {
				t.Fatal(err)
			}
		}
		record := FromProfile("record", p)
		for _, contexts := range []bool{false, true} {
			base, text := baseline(t, record, contexts)
			for _, pair := range [][2]*Side{{base, record}, {record, base}, {base, base}} {
				d := compare(t, pair[0], pair[1], Options{Renames: true})
				scope := Function
				if contexts {
					scope = Context
				}
				if have := changes(d, "calls", scope); have != "" || d.Values[0].Base != d.Values[0].New {
					t.Fatalf("seed %d, contexts %v: %s\n%s", seed, contexts, have, text)
				}
			}
		}
	}
}

// TestOneBuild compares random runs of one build: each function, context and place of a call is itself.
func TestOneBuild(t *testing.T) {
	for seed := range uint64(200) {
		a, b := FromProfile("a", randomProfile(seed, 1, 8)), FromProfile("b", randomProfile(seed, 2, 9))
		d := compare(t, a, b, Options{Renames: true})
		for _, r := range d.Matched() {
			t.Errorf("seed %d: %s is said to be %s, was %s", seed, r.Name, r.How, r.Was)
		}
		for _, scope := range []Scope{Function, Line} {
			for _, row := range d.All(d.Values[0], scope) {
				if row.InBase && row.InNew && (row.Was != "" || row.Line != row.WasLine) {
					t.Errorf("seed %d: %+v", seed, row)
				}
			}
		}
	}
}

// sampledSide returns what a sampler met: main.main calls functions that call main.leaf, all of one build.
func sampledSide(name string, met ...string) *Side {
	t := &cct.Tree{Sites: make([]cct.Site, 1), Nodes: make([]cct.Node, 1), Funcs: []cct.Func{
		{Name: "[root]", Pseudo: true}, {Name: "main.main", File: "/src/main.go", Line: 10},
		{Name: "main.leaf", File: "/src/main.go", Line: 20}}}
	t.Nodes = append(t.Nodes, cct.Node{Func: 1})
	for _, f := range met {
		line := 100 + 10*len(f) // the same in each run
		t.Funcs = append(t.Funcs, cct.Func{Name: "main." + f, File: "/src/main.go", Line: line})
		t.Sites = append(t.Sites, cct.Site{File: "/src/main.go", Line: 10 + len(f)},
			cct.Site{File: "/src/main.go", Line: line + 1})
		up, fn, site := uint32(len(t.Nodes)), uint32(len(t.Funcs)-1), uint32(len(t.Sites)-2)
		t.Nodes = append(t.Nodes, cct.Node{Func: fn, Parent: 1, Site: site, Count: 1},
			cct.Node{Func: 2, Parent: up, Site: site + 1, Count: 5})
	}
	v := &cct.Values{Tree: t, Types: []profile.Metric{profile.CPU}, Counts: [][]uint64{make([]uint64, len(t.Nodes))}}
	for i, n := range t.Nodes {
		v.Counts[0][i] = n.Count
	}
	return &Side{Name: name, Go: []string{"go1.26.8"}, Programs: []string{"prog"}, Sampled: v, Contexts: true}
}

// TestSampledNames compares what samplers met in runs of one build: another function has no other name.
func TestSampledNames(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	all := []string{"a", "bb", "ccc", "dddd", "eeeee", "ffffff", "main.ggggggg.func1", "hhhhhhhh.func2"}
	for range 100 {
		var met [2][]string
		for side := range met {
			for _, f := range all {
				if r.IntN(2) == 0 {
					met[side] = append(met[side], f)
				}
			}
		}
		d := compare(t, sampledSide("base", met[0]...), sampledSide("new", met[1]...), Options{Renames: true})
		if list := d.Matched(); len(list) > 0 {
			t.Fatalf("met %q and %q: %+v", met[0], met[1], list)
		}
	}
}

// waitingSide returns samples of goroutines that wait in gopark, of two functions, and of time on CPU there.
func waitingSide(name string, a, b uint64) *Side {
	t := &cct.Tree{Sites: make([]cct.Site, 1), Nodes: make([]cct.Node, 1), Funcs: []cct.Func{
		{Name: "[root]", Pseudo: true}, {Name: "main.a", File: "/src/main.go", Line: 10},
		{Name: "main.b", File: "/src/main.go", Line: 20}, {Name: "runtime.chanrecv", File: "/go/src/runtime/chan.go"},
		{Name: "runtime.gopark", File: "/go/src/runtime/proc.go"}}}
	counts := make([]uint64, 1)
	for i, n := range []uint64{a, b} {
		up := uint32(len(t.Nodes))
		t.Nodes = append(t.Nodes, cct.Node{Func: uint32(1 + i)}, cct.Node{Func: 3, Parent: up},
			cct.Node{Func: 4, Parent: up + 1})
		counts = append(counts, 0, 0, n)
	}
	v := &cct.Values{Tree: t, Types: []profile.Metric{profile.SampledWait, profile.CPU},
		Counts: [][]uint64{counts, counts}}
	return &Side{Name: name, Go: []string{"go1.26.8"}, Programs: []string{"prog"}, Sampled: v, Contexts: true}
}

// TestWaits compares how long functions wait: that is the time of those that call the runtime, and time on CPU is that
// of the runtime.
func TestWaits(t *testing.T) {
	d := compare(t, waitingSide("base", 5, 7), waitingSide("new", 9, 7), Options{})
	for value, want := range map[string]string{
		profile.SampledWait.Name: "main.a changed 5→9", profile.CPU.Name: "runtime.gopark changed 12→16"} {
		if have := changes(d, value, Function); have != want {
			t.Errorf("%s: have %s, want %s", value, have, want)
		}
	}
}
