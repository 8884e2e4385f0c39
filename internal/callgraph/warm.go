package callgraph

import (
	"cmp"
	"slices"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
)

// AppendWarm appends the warm file of the graph, as package layout describes it, and
// returns how many of the calls are in it.
func (g *Graph) AppendWarm(b []byte) (file []byte, encoded int) {
	calls, _, order := g.Acyclic()
	index := make([]uint32, len(order))
	for i, f := range order {
		index[f] = uint32(i)
	}
	edges := g.edges(calls, index)
	b = raw.Append(b, layout.WarmHeader{
		Magic: layout.WarmMagic, Version: layout.WarmVersion, Funcs: uint32(len(order)), Edges: uint32(len(edges)),
		Source: g.Source, Nodes: uint64(len(order)), Graph: uint64(g.Edges()),
	})
	for _, i := range order {
		f, text := &g.Binary.Funcs[i], g.Binary.Text
		b = raw.Append(b,
			layout.WarmFunc{Data: f.Data - text, Meta: f.Meta - text, Entry: f.Entry - text, Cells: f.Cells})
	}
	for _, e := range edges {
		b = raw.Append(b, e)
	}
	return b, len(calls)
}

// edges returns caller, cell, callee and weight of each edge of calls. A group is
// known when a path of edges leads from each member to each other: further edges
// would say nothing new.
func (g *Graph) edges(calls []Call, index []uint32) (edges []layout.WarmEdge) {
	class := make([]int, len(index)) // of functions: union-find
	for f := range class {
		class[f] = f
	}
	find := func(f int) int {
		for class[f] != f {
			class[f] = class[class[f]]
			f = class[f]
		}
		return f
	}
	for i := range calls {
		c := &calls[i]
		first, weight := find(c.Targets[0]), c.Weight
		for k, t := range c.Targets {
			if root := find(t); k == 0 || root != first {
				class[root] = first
				edges = append(edges,
					layout.WarmEdge{Caller: index[c.Caller], Cell: c.Cell, Callee: index[t], Weight: weight})
				weight = 0 // that of a site is what its edges have together
			}
		}
	}
	slices.SortFunc(edges, func(a, b layout.WarmEdge) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Callee, b.Callee))
	})
	return edges
}
