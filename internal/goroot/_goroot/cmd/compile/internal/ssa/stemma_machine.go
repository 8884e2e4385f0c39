package ssa

import (
	rec "internal/runtime/stemma/layout"
	"slices"
	"strings"
)

// What counters of operations stand for in the machine code of another build (CCCP, section 5.2: cross-profiling). A
// build that counts operations places its counters where they are the same on all machines. So a plain build for any
// machine finds the same counters, places none of them, and says how many instructions each would have stood for.
//
// An instruction belongs to the block that it is in when it is emitted. Blocks keep their IDs until then, and are
// executed as often as they were, or are gone. One that is new is the rest of another one (write barriers), or lies on
// an edge.

// stemmaNever is what a block was that is executed seldom, and not for the program.
const stemmaNever ID = -2

// What an edge of the flow graph is beside the index of a counter's [stemmaStands].
const (
	stemmaTreeEdge = -1 - iota // it is in the tree
	stemmaNoEdge               // it makes no difference, and has no counter
	stemmaWithin               // it was none: both ends were one block
)

// A stemmaWay is an edge of the flow graph when counters were placed.
type stemmaWay struct {
	to    ID
	index int // into stands, or one of the constants
}

// leads notes an edge.
func (g *stemmaFlow) leads(from, to *Block, index int) {
	if g.f.Stemma.Plain {
		g.edges[from.ID] = append(g.edges[from.ID], stemmaWay{to.ID, index})
	}
}

// stemmaIsNew notes that a block is new since counters were placed. It may have the ID of one that is gone.
func (f *Func) stemmaIsNew(b *Block) {
	s := &f.Stemma
	if !s.Plain || s.Flow == nil {
		return
	}
	if s.New == nil {
		s.New = map[ID]ID{}
	}
	s.New[b.ID] = stemmaExit
}

// stemmaIsRest notes that rest is executed as often as b, which it was the end of, and aside never.
func stemmaIsRest(rest, aside, b *Block) {
	if s := &b.Func.Stemma; s.New != nil {
		s.New[rest.ID], s.New[aside.ID] = b.ID, stemmaNever
	}
}

// origin returns the block that b was when counters were placed. ok is false if it was none.
func (g *stemmaFlow) origin(b *Block) (id ID, ok bool) {
	id = b.ID
	for {
		of, is := g.f.Stemma.New[id]
		if !is {
			_, known := g.next[id]
			return id, known
		}
		if of < 0 {
			return of, false
		}
		id = of
	}
}

// A StemmaCode is a number of instructions of an inlined call, or -1: of block From, or on the edge to block To.
type StemmaCode struct {
	From, To   *Block
	Inlined, N int
}

// StemmaInstructions returns what each counter of operations stands for, by the code that was emitted for f:
// instructions, of class OpInt, and operations, of class OpCounted. Counter 0 is that of invocations.
func (f *Func) StemmaInstructions(code []StemmaCode) (weights []StemmaWeight) {
	g := f.Stemma.Flow
	p := &stemmaPlaced{g: g, in: map[ID]stemmaList{}, tree: map[ID]stemmaList{}, on: make([]stemmaList, len(g.stands))}
	for _, c := range code {
		p.add(c)
	}
	for i, s := range g.stands {
		list := p.on[i]
		p.way(s.from, s.to, &list)
		for _, o := range p.tree[s.at] {
			list.add(o.Inlined, o.Class, -o.n)
		}
		for _, o := range g.between(s.from, s.to) {
			list.add(o.Inlined, rec.OpCounted, o.n)
		}
		for _, o := range slices.DeleteFunc(list, func(o stemmaN) bool { return o.n == 0 }) {
			for _, counter := range s.counters {
				weights = append(weights, StemmaWeight{counter, o.StemmaOps, o.n})
			}
		}
	}
	return weights
}

// A stemmaPlaced has the instructions of a function by where they were when counters were placed.
type stemmaPlaced struct {
	g    *stemmaFlow
	in   map[ID]stemmaList // in a block
	tree map[ID]stemmaList // on the edge of the tree that a block begins
	on   []stemmaList      // on other edges, as stands has them
}

// add adds instructions. What is on an edge that has no counter is executed as if the edge were never taken.
func (p *stemmaPlaced) add(c StemmaCode) {
	put := func(at map[ID]stemmaList, id ID) {
		list := at[id]
		list.add(c.Inlined, rec.OpInt, c.N)
		at[id] = list
	}
	from, ok := p.g.origin(c.From)
	switch {
	case from == stemmaNever:
	case ok && c.To == nil:
		put(p.in, from)
	case ok:
		switch index := p.g.edge(from, c.From, c.To); index {
		case stemmaTreeEdge:
			put(p.tree, from)
		case stemmaWithin:
			put(p.in, from)
		case stemmaNoEdge:
		default:
			p.on[index].add(c.Inlined, rec.OpInt, c.N)
		}
	case c.To == nil && len(c.From.Succs) == 1: // on the edges that it lies on
		for _, e := range c.From.Preds {
			if _, ok := p.g.origin(e.b); ok {
				p.add(StemmaCode{e.b, c.From, c.Inlined, c.N})
			}
		}
	}
}

// edge returns the index of the edge that led from a block, which is from now, to what is to now, or to where that
// leads.
func (g *stemmaFlow) edge(id ID, from, to *Block) (index int) {
	past := func(b *Block) (ID, bool) {
		for range g.f.Blocks {
			if id, ok := g.origin(b); ok {
				return id, true
			}
			if len(b.Succs) != 1 {
				break
			}
			b = b.Succs[0].b
		}
		return 0, false
	}
	is := func(b *Block) func(stemmaWay) bool {
		id, ok := past(b)
		return func(w stemmaWay) bool { return ok && w.to == id }
	}
	ways := g.edges[id]
	if i := slices.IndexFunc(ways, is(to)); i >= 0 {
		return ways[i].index
	}
	if is, known := past(to); known && is == id {
		return stemmaWithin
	}
	// Where it led has become a part of another block: it is the one that is no other edge.
	for _, e := range from.Succs {
		if e.b != to {
			ways = slices.DeleteFunc(slices.Clone(ways), is(e.b))
		}
	}
	if len(ways) == 1 {
		return ways[0].index
	}
	return stemmaNoEdge
}

// way adds what is on the tree's way from block a to the exit, less what is on that from b.
func (p *stemmaPlaced) way(a, b ID, list *stemmaList) {
	add := func(x ID, sign int) {
		for _, at := range []stemmaList{p.in[x], p.tree[x]} {
			for _, o := range at {
				list.add(o.Inlined, o.Class, sign*o.n)
			}
		}
	}
	for a != b {
		if p.g.depth[a] >= p.g.depth[b] { // 0 for the exit
			add(a, 1)
			a = p.g.next[a]
		} else {
			add(b, -1)
			b = p.g.next[b]
		}
	}
}

// StemmaLoops returns how many bytes each loop clears or copies that is within b, since it is one operation.
func StemmaLoops(b *Block) (list []int64) {
	for _, v := range b.Values {
		if !strings.HasSuffix(v.Op.String(), "Loop") {
			continue
		}
		switch opcodeTable[v.Op].auxType {
		case auxInt64:
			list = append(list, v.AuxInt)
		case auxSymValAndOff: // with the alignment
			list = append(list, v.AuxValAndOff().Val64())
		default:
			list = append(list, 0) // not known: executed as if once
		}
	}
	return list
}
