package cct

import (
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/profile"
)

// spills is a class that only costs something.
const spills = uint32(layout.OpSpill)

// withOps is a program whose main.loop ran 3 times and went round 50 times, 20 times through main.abs, inlined there.
func withOps(t *testing.T) *profile.Profile {
	t.Helper()
	p := profile.New(profile.Calls, profile.Ops)
	p.Strings = append(p.Strings, "main.loop", "main.abs", "loop.go")
	p.Funcs = append(p.Funcs, profile.Func{
		Name: 1, File: 3, Line: 10, Counters: 3,
		Inlined: []profile.Inlined{{Parent: profile.None, Callee: 2, File: 3, Line: 12, Counter: 2}},
		Weights: []profile.Weight{
			{Counter: 0, Inlined: profile.None, Class: 0, N: 4}, // before and behind the loop
			{Counter: 1, Inlined: profile.None, Class: 0, N: 5}, // a round without main.abs
			{Counter: 2, Inlined: profile.None, Class: 0, N: -2},
			{Counter: 2, Inlined: 0, Class: 1, N: 3},
			{Counter: 0, Inlined: profile.None, Class: spills, N: 7}, // no operations
		},
	})
	p.Nodes = append(p.Nodes, profile.Node{Func: 1, First: 1})
	p.Columns[0].Values = append(p.Columns[0].Values, 3, 50, 20)
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

func countsOf(tree *Tree) map[string]uint64 {
	counts := map[string]uint64{}
	for _, n := range tree.Nodes {
		counts[tree.Funcs[n.Func].Name] += n.Count
	}
	return counts
}

func TestOps(t *testing.T) {
	p := withOps(t)
	tree, err := Of(p, profile.Ops.Name)
	if err != nil {
		t.Fatal(err)
	}
	if have := countsOf(tree); have["main.loop"] != 3*4+50*5-20*2 || have["main.abs"] != 20*3 {
		t.Errorf("have %v operations, want 222 of main.loop and 60 of main.abs", have)
	}
	costs := &Costs{}
	costs.Classes[0], costs.Classes[1], costs.Classes[spills] = 0.5, 10, 2
	tree, err = OfCosts(p, costs, profile.Metric{Name: "instructions"})
	if err != nil {
		t.Fatal(err)
	}
	if have := countsOf(tree); have["main.loop"] != 111+3*7*2 || have["main.abs"] != 600 {
		t.Errorf("have %v instructions, want 153 of main.loop and 600 of main.abs", have)
	}
	costs.Known = map[uint32][]profile.Weight{1: {{Counter: 1, Inlined: 0, Class: 5, N: 2}}}
	if tree, err = OfCosts(p, costs, profile.Metric{Name: "instructions"}); err != nil {
		t.Fatal(err)
	}
	if have := countsOf(tree); have["main.loop"] != 0 || have["main.abs"] != 100 {
		t.Errorf("have %v instructions where they are known, want 100 of main.abs", have)
	}
	p.Columns = p.Columns[:1]
	if _, err := OfCosts(p, nil, profile.Ops); err == nil {
		t.Error("a profile without operations has costs")
	}
}

// TestOpsOfTwoMoments reads counters of a program that runs: those of a loop may be older than those in it.
func TestOpsOfTwoMoments(t *testing.T) {
	p := withOps(t)
	copy(p.Columns[0].Values[1:], []uint64{1, 0, 9})
	tree, err := Of(p, profile.Ops.Name)
	if err != nil {
		t.Fatal(err)
	}
	if have := countsOf(tree); have["main.loop"] != 0 || have["main.abs"] != 27 {
		t.Errorf("have %v operations, want none of main.loop and 27 of main.abs", have)
	}
}

// TestOpsVary has two runs with as many calls, but rounds of a loop that differ.
func TestOpsVary(t *testing.T) {
	runs := []*profile.Profile{withOps(t), withOps(t)}
	for i, p := range runs {
		p.Processes = []profile.Process{{Run: uint64(i + 1)}}
	}
	runs[1].Columns[0].Values[2] += 10
	runs[1].Columns[0].Values[3]--
	p, err := profile.Repeats(func(yield func(*profile.Profile, error) bool) {
		for i := 0; i < len(runs) && yield(runs[i], nil); i++ {
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Of(p, profile.Ops.Varying().Name)
	if err != nil {
		t.Fatal(err)
	}
	if have := countsOf(tree); have["main.loop"] != 10*5+2 || have["main.abs"] != 3 {
		t.Errorf("have %v operations that vary, want 52 of main.loop and 3 of main.abs", have)
	}
}
