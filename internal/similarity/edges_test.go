package similarity_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/similarity"
)

// randomTree returns a tree of some functions, each called from some lines; two nodes may be the same path.
func randomTree(r *rand.Rand) similarity.Tree {
	t := &cct.Tree{Funcs: []cct.Func{{Pseudo: true}}, Sites: []cct.Site{{}}, Nodes: []cct.Node{{}}}
	for range 4 {
		t.Funcs = append(t.Funcs, cct.Func{Name: string(rune('a' + r.IntN(4)))})
		t.Sites = append(t.Sites, cct.Site{File: "f.go", Line: r.IntN(3), Via: cct.Via(r.IntN(2))})
	}
	for i := range r.IntN(60) {
		t.Nodes = append(t.Nodes, cct.Node{Parent: uint32(r.IntN(i + 1)), Func: uint32(1 + r.IntN(4)),
			Site: uint32(1 + r.IntN(4)), Count: uint64(r.IntN(5))})
	}
	return similarity.Tree{Tree: t}
}

// TestEdges holds edges by index against those by text, of random trees.
func TestEdges(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		trees := []similarity.Tree{randomTree(r), randomTree(r), randomTree(r)}
		for _, level := range []similarity.Level{similarity.ByLine, similarity.ByFunction} {
			edges := similarity.AlignByText(level, trees...)
			var texts []similarity.Weights
			for _, tree := range trees {
				texts = append(texts, similarity.Of(tree.Tree, level))
			}
			edges = append(edges, similarity.AverageEdges(edges...))
			texts = append(texts, similarity.Average(texts...))
			for i := range edges {
				for k := range edges {
					have := [...]float64{edges[i].Total(), similarity.Overlap(edges[i], edges[k]),
						similarity.HotEdgeCoverage(edges[i], edges[k], 0.51)}
					want := [...]float64{texts[i].Total(), similarity.Overlap(texts[i], texts[k]),
						similarity.HotEdgeCoverage(texts[i], texts[k], 0.51)}
					for m := range have {
						if !near(have[m], want[m]) {
							t.Fatalf("trees %d and %d, level %d: have %v, want %v", i, k, level, have, want)
						}
					}
				}
			}
		}
	}
}
