package cct

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stemma-go/stemma/internal/nodetable"
	"github.com/stemma-go/stemma/profile"
)

// TestBuilder compares the nodes that a builder finds with those of a map, in trees that are deep, wide and both, some
// with room from the start and some without.
func TestBuilder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, near := range []uint32{1, 3, 1000, 1 << 20} { // how far back from the last node a parent lies
		tree := new(Tree)
		b := newBuilder(tree, r.IntN(5000))
		want := make(map[nodetable.Key]uint32)
		for range 50000 {
			all := uint32(len(tree.Nodes))
			k := nodetable.Key{Parent: all - 1 - r.Uint32N(min(near, all)), Place: r.Uint32N(4), Func: r.Uint32N(30)}
			if r.IntN(3) == 0 {
				k.Parent, k.Place = r.Uint32N(min(5, all)), r.Uint32N(2000)
			}
			n := b.node(k.Parent, k.Place, k.Func)
			if w, ok := want[k]; ok && w != n || !ok && n != all {
				t.Fatalf("near %d: %v is node %d, want %d of %d", near, k, n, w, all)
			}
			want[k] = n
		}
		if len(want)+1 != len(tree.Nodes) {
			t.Errorf("near %d: %d nodes, want %d", near, len(tree.Nodes), len(want)+1)
		}
	}
}

// TestBytesANode bounds what a context takes while a tree is made, with all that is thrown away: a node has 24 bytes, a
// slot that is two thirds taken 6. Three contexts in four are inlined calls, which the profile has no nodes for.
func TestBytesANode(t *testing.T) {
	p := profile.New(profile.Calls)
	p.Strings = append(p.Strings, "main.f", "main.g")
	f := profile.Func{Name: 1, Cells: 1, Counters: 4,
		Sites: []profile.Site{{Kind: profile.SiteCall, Inlined: profile.None, Cell: 0, Counter: profile.None}}}
	for k := range int32(3) {
		f.Inlined = append(f.Inlined, profile.Inlined{Parent: k - 1, Callee: 2, Line: uint32(k), Counter: k + 1})
	}
	f.Sites = append(f.Sites, profile.Site{Kind: profile.SiteCall, Inlined: 2, Cell: 1, Counter: profile.None})
	f.Cells = 2
	p.Funcs = append(p.Funcs, f)
	index := profile.NewNodeIndex(p, 0)
	index.Node(0, 0, 1)
	r := rand.New(rand.NewPCG(7, 8))
	for len(p.Nodes) < 100000 {
		index.Node(1+r.Uint32N(uint32(len(p.Nodes)-1)), r.Uint32N(2), 1)
	}
	for i := range p.Columns[0].Values {
		p.Columns[0].Values[i] = 1
	}
	p.Processes = []profile.Process{{Full: true}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tree := New(p)
	runtime.ReadMemStats(&after)
	contexts := uint64(len(tree.Nodes))
	if contexts < 3*uint64(len(p.Nodes)) {
		t.Fatalf("%d contexts of %d nodes", contexts, len(p.Nodes))
	}
	// 20 bytes a node of the profile for homes and places; a table and a list that were too small
	if each := (after.TotalAlloc - before.TotalAlloc) / contexts; each > 60 {
		t.Errorf("%d bytes a context, want at most 60", each)
	}
}
