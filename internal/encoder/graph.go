package encoder

import (
	"maps"
	"slices"

	"github.com/stemma-go/stemma/internal/topo"
)

// An Edge <p,n,l> is a call that was seen: a site, which tells the caller p, and
// a callee. Go statements are no edges: a goroutine begins a path of its own.
type Edge struct {
	Call
	Weight uint64 // calls, or an estimate of them
}

// A Graph is a call graph as far as it is known.
type Graph struct {
	p     *Program
	Edges []Edge
	index map[Call]int
}

// NewGraph returns a graph without edges.
func NewGraph(p *Program) *Graph { return &Graph{p: p, index: make(map[Call]int)} }

// Add returns the index of an edge, which it adds if it is new.
func (g *Graph) Add(c Call) (index int, isNew bool) {
	i, ok := g.index[c]
	if !ok {
		i = len(g.Edges)
		g.Edges = append(g.Edges, Edge{Call: c})
		g.index[c] = i
	}
	return i, !ok
}

// Clone returns a copy of g: an encoder counts in its graph.
func (g *Graph) Clone() *Graph { return &Graph{g.p, slices.Clone(g.Edges), maps.Clone(g.index)} }

// Nodes returns the number of functions that have an edge, [Root] included.
func (g *Graph) Nodes() int {
	seen := map[Func]bool{Root: true}
	for _, e := range g.Edges {
		seen[e.Func] = true
		seen[g.p.Sites[e.Site].Caller] = true
	}
	return len(seen)
}

// inOrder returns a graph without edges, in the order of the numbers.
func inOrder(nodes int) *topo.Order {
	order := make([]int, nodes)
	for i := range order {
		order[i] = i
	}
	return topo.New(order)
}
