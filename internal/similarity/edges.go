package similarity

import (
	"fmt"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/nodetable"
)

// Edges are the weights of the edges of one of several trees. The index of an edge is the same in all of these trees.
// An edge that a tree does not have weighs 0 there, or lies beyond the end; edge 0 is none.
//
// A tree of ten million contexts has a text of kilobytes for each, and [Weights] of them would need as much memory.
type Edges []float64

// Weighted are the edges of a tree with their weights: [Weights] or [Edges].
type Weighted[W any] interface {
	Total() float64
	// both calls visit for each edge of either, with its weights in both.
	both(other W, visit func(weight, other float64))
}

// Total returns the sum of all weights.
func (e Edges) Total() float64 {
	var sum float64
	for _, v := range e {
		sum += v
	}
	return sum
}

func (e Edges) both(other Edges, visit func(weight, other float64)) {
	for i := range max(len(e), len(other)) {
		var v, w float64
		if i < len(e) {
			v = e[i]
		}
		if i < len(other) {
			w = other[i]
		}
		if v > 0 || w > 0 {
			visit(v, w)
		}
	}
}

// AverageEdges is [Average] of edges that have their indexes in common.
func AverageEdges(list ...Edges) Edges {
	var avg Edges
	for _, e := range list {
		if len(e) > len(avg) {
			avg = append(avg, make(Edges, len(e)-len(avg))...)
		}
		total := e.Total()
		for i, v := range e {
			if total > 0 {
				avg[i] += v / total / float64(len(list))
			}
		}
	}
	return avg
}

// Align returns the edges of trees of different builds. An edge is a path of functions and
// call sites; what is the same function and the same call site is found out by names and by
// the order in the code, so that lines may differ. See naming.
func Align(trees ...Tree) []Edges {
	n := newNaming(trees)
	list := make([]Edges, len(trees))
	for i := range trees {
		list[i] = weigh(trees[i].Tree, n.contexts(i))
	}
	return list
}

// AlignByText returns the edges of trees that are the same by [ByLine] or [ByFunction].
func AlignByText(level Level, trees ...Tree) []Edges {
	calls := make(map[string]uint32)
	paths := newPaths()
	list := make([]Edges, len(trees))
	for i := range trees {
		list[i] = weigh(trees[i].Tree, paths.of(trees[i].Tree, level.calls(trees[i].Tree, calls)))
	}
	return list
}

// weigh returns the edges of a tree, whose nodes have these indexes of contexts.
func weigh(t *cct.Tree, contexts []uint32) Edges {
	last := uint32(0)
	for _, c := range contexts {
		last = max(last, c)
	}
	e := make(Edges, last+1)
	for i, c := range contexts {
		if c > 0 {
			e[c] += float64(t.Nodes[i].Count)
		}
	}
	return e
}

// text returns what must be the same of a call of f from s.
func (level Level) text(f *cct.Func, s *cct.Site) string {
	if level == ByFunction {
		return f.Name
	}
	return fmt.Sprintf("%s\x00%s\x00%d\x00%d", f.Name, s.File, s.Line, s.Via)
}

// calls returns for each node of a tree the index of the call that entered it, by its text, from 1 on. It adds texts
// to known that are new.
func (level Level) calls(t *cct.Tree, known map[string]uint32) []uint32 {
	type call struct{ fn, site uint32 }
	met := make(map[call]uint32)
	list := make([]uint32, len(t.Nodes))
	for i := 1; i < len(t.Nodes); i++ {
		c := call{t.Nodes[i].Func, t.Nodes[i].Site}
		id, ok := met[c]
		if !ok {
			text := level.text(&t.Funcs[c.fn], &t.Sites[c.site])
			if id = known[text]; id == 0 {
				id = uint32(len(known) + 1)
				known[text] = id
			}
			met[c] = id
		}
		list[i] = id
	}
	return list
}

// Paths give each path of calls an index, from 1 on. That of no calls is 0.
type paths struct {
	last  []path // of each path: the path to the caller, and the last call
	table nodetable.Table
}

type path struct{ caller, call uint32 }

func newPaths() *paths { return &paths{last: make([]path, 1), table: nodetable.New(0)} }

func (p *paths) key(i uint32) nodetable.Key {
	return nodetable.Key{Parent: p.last[i].caller, Func: p.last[i].call}
}

// index returns the index of a path that has one call more than that with index caller.
func (p *paths) index(caller, call uint32) uint32 {
	for s := p.table.Search(nodetable.Key{Parent: caller, Func: call}); ; {
		slot := s.Next()
		i, ok := p.table.Node(slot)
		if ok && p.last[i] != (path{caller, call}) {
			continue
		}
		if !ok {
			i = uint32(len(p.last))
			p.last = append(p.last, path{caller, call})
			if p.table.Put(slot, i); p.table.Full() {
				p.table.Grow(p.key)
			}
		}
		return i
	}
}

// of returns for each node of a tree the index of its path. Each node was entered by the call in calls, which it
// overwrites with the result.
func (p *paths) of(t *cct.Tree, calls []uint32) []uint32 {
	p.table.Reserve(len(t.Nodes), p.key)
	for i := 1; i < len(t.Nodes); i++ {
		calls[i] = p.index(calls[t.Nodes[i].Parent], calls[i])
	}
	return calls
}
