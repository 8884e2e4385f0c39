package encoder

import (
	"cmp"
	"fmt"
	"slices"
)

// Tables are the addition values of one epoch, with what decoding needs.
// The state of a frame is a number whose meaning is theirs, 0 at the beginning of a
// path; its id is the part that a context has to keep. They are never changed.
type Tables interface {
	// Enter returns the state of the callee's frame, unless the call is not encoded.
	Enter(state uint64, c Call) (uint64, bool)
	// ID is the id in a state.
	ID(state uint64) uint64
	// Caller returns the site from which f was entered so that it has this id, and
	// the id that the caller has.
	Caller(f Func, id uint64) (Site, uint64, error)
	// Compares reports whether a call of this site has to look its target up.
	Compares(s Site) bool
	Sizes() TableSizes
}

// TableSizes sum up tables.
type TableSizes struct {
	Encoded  int    // edges or sites with an addition value
	LeftOut  int    // those that would make ids too large
	NumCC    uint64 // sum over all functions
	MaxNumCC uint64
	Bytes    uint64 // of a record from which the tables can be made again
}

// numCCs sets the fields of that name.
func (s *TableSizes) numCCs(n int, at func(int) uint64) {
	for i := range n {
		s.NumCC = addCapped(s.NumCC, at(i))
		s.MaxNumCC = max(s.MaxNumCC, at(i))
	}
}

// unknownID is the error for an id that no call leads to.
func unknownID(f Func, id uint64) error {
	return fmt.Errorf("no call of function %d leads to id %d", f, id)
}

// EdgeTables hold one addition value for each edge, as the DACCE paper has it. A
// dynamic site needs to compare its target with those that are known.
type EdgeTables struct {
	p     *Program
	av    map[Call]uint64
	in    [][]interval
	numCC []uint64

	leftOut int
}

// NumberEdges numbers a graph by weight: the hottest edges are no back edges, and
// at each function the hottest one gets 0 (section 4). Ids stay below limit, for
// which the coldest edges are left out.
func NumberEdges(g *Graph, limit uint64) *EdgeTables {
	n := edgeNumbering(g, func(Call) bool { return true })
	n.number(n.chooseHot(), limit)
	return newEdgeTables(g.p, n)
}

// NumberStatic numbers a complete graph as PCCE does without a profile: it knows no
// weights, and recursive and indirect edges are not encoded (DACCE paper, section 2).
func NumberStatic(g *Graph, limit uint64) *EdgeTables {
	n := edgeNumbering(g, func(c Call) bool { return g.p.Sites[c.Site].Kind == Static })
	n.number(n.chooseStatic(), limit)
	return newEdgeTables(g.p, n)
}

// NumberProfiled numbers a graph as PCCE does with a profile (DACCE paper, section 6.1): indirect edges are compared
// and encoded like others, and the most frequent edge of a function gets 0. Back edges are those of
// a search from the root, which follows frequent edges first.
func NumberProfiled(g *Graph, limit uint64) *EdgeTables {
	n := edgeNumbering(g, func(Call) bool { return true })
	slices.SortStableFunc(n.links, func(a, b link) int { return cmp.Compare(b.weight, a.weight) })
	n.number(n.chooseStatic(), limit)
	return newEdgeTables(g.p, n)
}

// edgeNumbering makes each edge that is wanted a link.
func edgeNumbering(g *Graph, want func(Call) bool) *numbering {
	n := newNumbering(g.p.Funcs)
	for _, e := range g.Edges {
		if want(e.Call) {
			caller := g.p.Sites[e.Site].Caller
			n.links = append(n.links, link{from: int(caller), to: int(e.Func), call: e.Call, weight: e.Weight})
		}
	}
	return n
}

func newEdgeTables(p *Program, n *numbering) *EdgeTables {
	t := &EdgeTables{p, make(map[Call]uint64), n.intervals(), n.numCC, n.leftOut}
	for _, l := range n.links {
		if l.encoded {
			t.av[l.call] = l.av
		}
	}
	return t
}

// NumCC returns the numCC of a function, 0 if the tables do not know it.
func (t *EdgeTables) NumCC(f Func) uint64 {
	if int(f) < len(t.numCC) {
		return t.numCC[f]
	}
	return 0
}

// ID implements [Tables].
func (t *EdgeTables) ID(state uint64) uint64 { return state }

// Enter implements [Tables].
func (t *EdgeTables) Enter(state uint64, c Call) (uint64, bool) {
	av, ok := t.av[c]
	return state + av, ok
}

// Caller implements [Tables].
func (t *EdgeTables) Caller(f Func, id uint64) (Site, uint64, error) {
	if int(f) < len(t.in) {
		if in, ok := findInterval(t.in[f], id); ok {
			return in.site, id - in.av, nil
		}
	}
	return 0, 0, unknownID(f, id)
}

// Compares implements [Tables].
func (t *EdgeTables) Compares(s Site) bool { return t.p.Sites[s].Kind == Dynamic }

// Sizes implements [Tables]: site, callee and value of each edge, and numCC of
// each function.
func (t *EdgeTables) Sizes() TableSizes {
	s := TableSizes{Encoded: len(t.av), LeftOut: t.leftOut, Bytes: uint64(16*len(t.av) + 8*len(t.numCC))}
	s.numCCs(len(t.numCC), func(f int) uint64 { return t.numCC[f] })
	return s
}
