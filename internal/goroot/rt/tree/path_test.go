package tree

import (
	"math/rand/v2"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// TestPaths asks for the homes of all nodes of random trees, with labels, adapters and faults, in any order, so that
// many of their paths are remembered no more: each home is what a walk to the root finds.
func TestPaths(t *testing.T) {
	backs, forgotten := 0, 0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 43))
		m := newLabelled(t, false)
		for range 10 << r.IntN(6) {
			f := m.function(1 + r.IntN(4))
			f.Flags |= []uint32{0, 0, 0, 0, newAdapter, layout.MetaFlagAdapter, layout.MetaFlagWrapper}[r.IntN(7)]
		}
		nodes := []uint32{m.enter(m.metas[0])}
		for range 5_000 {
			up := nodes[max(len(nodes)-1-r.IntN(40), 0)]
			switch f := m.metas[r.IntN(len(m.metas))]; r.IntN(20) {
			case 0:
				nodes = append(nodes, m.relabel(up, []string{"a=1", "a=2", "b=1"}[r.IntN(3)]))
			case 1:
				if here := m.tree.EnterFault(m.tree.Home(up), uint64(0x400000+r.IntN(100))); here != 0 {
					nodes = append(nodes, here)
				}
			default:
				cells := 1
				if meta := m.tree.meta(up); meta != nil {
					cells = int(meta.Cells)
				}
				m.call(up, r.IntN(cells))
				nodes = append(nodes, m.enter(f))
			}
		}
		for range 4 * len(nodes) {
			n := nodes[r.IntN(len(nodes))]
			for ; r.IntN(4) == 0; n = m.tree.node(n).Parent { // also labels
			}
			if m.tree.remember(n).node != n {
				forgotten++
			}
			want := n
			if home := m.tree.homeAbove(m.tree.node(n).Parent, m.tree.node(n).Func, m.tree.meta(n)); home != 0 {
				want = home
				backs++
			}
			if home := m.tree.Home(n); home != want {
				t.Fatalf("seed %d: the home of node %d is %d, a walk finds %d", seed, n, home, want)
			}
		}
	}
	if backs < 1000 || forgotten < 1000 {
		t.Errorf("%d nodes of back edges, %d paths that were forgotten", backs, forgotten)
	}
}
