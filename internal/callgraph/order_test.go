package callgraph

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// randomGraph returns a call graph of n functions.
func randomGraph(rnd *rand.Rand, n int) *Graph {
	g := &Graph{Binary: &Binary{Funcs: make([]Func, n)}}
	for f := range n {
		cells := rnd.IntN(4)
		g.Binary.Funcs[f].Cells = uint32(cells)
		for cell := range cells {
			c := Call{Caller: f, Cell: uint32(cell), Dynamic: rnd.IntN(3) == 0, Weight: uint32(1 + rnd.IntN(5))}
			targets := 1
			if c.Dynamic {
				targets += rnd.IntN(4)
			}
			for range targets {
				c.Targets = append(c.Targets, rnd.IntN(n))
			}
			slices.Sort(c.Targets)
			c.Targets = slices.Compact(c.Targets)
			g.Calls = append(g.Calls, c)
		}
	}
	return g
}

// Every caller of a call that is kept precedes all that it may call.
func TestAcyclic(t *testing.T) {
	all, static := 0, 0
	for seed := range uint64(300) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 2)), 3+int(seed%40))
		kept, back, order := g.Acyclic()
		if len(kept)+len(back) != len(g.Calls) {
			t.Fatalf("seed %d: %d calls kept and %d not, of %d", seed, len(kept), len(back), len(g.Calls))
		}
		place := make([]int, len(order))
		for at, f := range order {
			place[f] = at
		}
		for _, c := range kept {
			for _, f := range c.Targets {
				if place[c.Caller] >= place[f] {
					t.Errorf("seed %d: %d does not precede %d", seed, c.Caller, f)
				}
			}
		}
		all += len(g.Calls)
		static += len(kept)
	}
	if static < all/3 {
		t.Errorf("only %d of %d calls kept", static, all)
	}
}

// What is in a tree is kept; of a cycle one edge is not, and it is the lightest.
func TestAcyclicCycle(t *testing.T) {
	call := func(from, to int, weight uint32) Call {
		return Call{Caller: from, Targets: []int{to}, Weight: weight}
	}
	g := &Graph{Binary: &Binary{Funcs: make([]Func, 4)},
		Calls: []Call{call(0, 1, 1), call(2, 1, 10), call(1, 2, 100), call(2, 3, 1), call(3, 3, 1)}}
	_, back, order := g.Acyclic()
	if len(back) != 2 || back[0].Caller != 2 || back[1].Caller != 3 || !slices.Equal(order, []int{0, 1, 2, 3}) {
		t.Errorf("back edges %v, order %v", back, order)
	}
}

// A group is acyclic as a whole: what calls one of its members must not be called
// by another one.
func TestAcyclicGroup(t *testing.T) {
	g := &Graph{Binary: &Binary{Funcs: make([]Func, 4)}, Calls: []Call{
		{Caller: 0, Dynamic: true, Targets: []int{1, 2}, Weight: 1000},
		{Caller: 2, Targets: []int{3}, Weight: 100},
		{Caller: 3, Dynamic: true, Targets: []int{1}, Weight: 1},
	}}
	_, back, _ := g.Acyclic()
	if len(back) != 1 || back[0].Caller != 3 {
		t.Errorf("back edges %v, want that of 3", back)
	}
}
