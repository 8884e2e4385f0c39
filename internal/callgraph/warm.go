package callgraph

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// AppendWarm appends the warm file of the graph, as package rt describes it, and
// returns how many of the calls are in it.
func (g *Graph) AppendWarm(b []byte) (file []byte, encoded int) {
	calls, _, order := g.Acyclic()
	index := make([]uint32, len(order))
	for i, f := range order {
		index[f] = uint32(i)
	}
	edges := g.edges(calls, index)
	le := binary.LittleEndian
	b = le.AppendUint64(b, rt.WarmMagic)
	for _, v := range []int{rt.WarmVersion, len(order), len(edges), int(g.Source)} {
		b = le.AppendUint32(b, uint32(v))
	}
	b = le.AppendUint64(b, uint64(len(order)))
	b = le.AppendUint64(b, uint64(g.Edges()))
	for _, i := range order {
		f := &g.Binary.Funcs[i]
		for _, addr := range []uint64{f.Data, f.Meta, f.Entry} {
			b = le.AppendUint64(b, addr-g.Binary.Text)
		}
		b = le.AppendUint64(b, uint64(f.Cells))
	}
	for _, e := range edges {
		for _, v := range e {
			b = le.AppendUint32(b, v)
		}
	}
	return b, len(calls)
}

// edges returns caller, cell, callee and weight of each edge of calls. A group is
// known when a path of edges leads from each member to each other: further edges
// would say nothing new.
func (g *Graph) edges(calls []Call, index []uint32) (edges [][4]uint32) {
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
		first := find(c.Targets[0])
		for k, t := range c.Targets {
			if root := find(t); k == 0 || root != first {
				class[root] = first
				edges = append(edges, [4]uint32{index[c.Caller], c.Cell, index[t], c.Weight})
			}
		}
	}
	slices.SortFunc(edges, func(a, b [4]uint32) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]), cmp.Compare(a[2], b[2]))
	})
	return edges
}
