package ssa

import (
	rt "internal/runtime/stemma"
	rec "internal/runtime/stemma/layout" // ssa has a function layout
	"strings"
)

// StemmaCounters tells what became of the counters of an instrumented function,
// or, with calling context encoding, which calls are sites.
type StemmaCounters struct {
	Number int         // of counters when the function was built
	Now    map[int]int // where each counter went, or -1 if nothing increments it
	Left   int         // how many there are now
	Sites  map[ID]int  // cce: for each call value the index + 1 of its site
	Moves  bool        // cce: words in frames may change while the goroutine is stopped

	Ops     bool // operations are counted
	Each    bool // in each block by itself, to check what is derived without
	Weights []StemmaWeight
}

// stemmaIsSlow reports whether b is the slow path of the entry of an
// instrumented function, which is laid out last, out of the way.
func stemmaIsSlow(b *Block) bool {
	for _, v := range b.Values {
		if v.Op == OpAMD64LoweredWB && v.AuxInt == rt.EnterAux {
			return true
		}
	}
	return false
}

// stemmaReleases reports whether v ends the time for which the context register was held free
// (ssagen's stemmaHoldContext). It makes v a copy of its memory: a word that is no pointer need not be
// kept alive, and to spill it would make a leaf need a frame.
func (s *regAllocState) stemmaReleases(v *Value) bool {
	if v.Op != OpKeepAlive || v.Args[0].Op != OpAMD64LoweredGetClosurePtr || v.Args[0].Type.IsPtrShaped() {
		return false
	}
	s.advanceUses(v)
	v.Op = OpCopy
	v.SetArgs1(v.Args[1])
	return true
}

// stemmaMerge merges counters that are always incremented together: in one
// block, with nothing in between that can leave the function. It runs when
// nil checks that cannot fail are gone and blocks are fused, before write barriers split
// blocks again, and before loads and stores take the place of the nil checks that are left.
func stemmaMerge(f *Func) {
	if f.Stemma.Number == 0 {
		return
	}
	stemmaCountOps(f)
	stores := map[int][]*Value{}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if c := stemmaCounterOf(v); c >= 0 {
				stores[c] = append(stores[c], v)
			}
		}
	}
	into := map[int]int{}
	for _, b := range f.Blocks {
		stemmaMergeBlock(b, stores, into)
	}
	stemmaRenumber(f, stores, into)
	copyelim(f)
	deadcode(f) // of what is left of increments, the next pass would believe that it changes memory
}

// stemmaCounterOf returns the counter that v increments, or -1.
func stemmaCounterOf(v *Value) int {
	if v.Op != OpStore || v.Args[0].Op != OpOffPtr || v.Args[0].Args[0].Op != OpAdd64 {
		return -1
	}
	sum := v.Args[0].Args[0]
	if !stemmaIsShard(sum.Args[0]) && !stemmaIsShard(sum.Args[1]) {
		return -1
	}
	return int(v.Args[0].AuxInt-rt.Base) / rec.CounterSize
}

// stemmaIsShard reports whether v is the load of the shard from g.
func stemmaIsShard(v *Value) bool {
	return v.Op == OpLoad && v.Args[0].Op == OpOffPtr && v.Args[0].AuxInt == rec.GShard &&
		v.Args[0].Args[0].Op == OpGetG
}

// stemmaMergeBlock removes from b each increment that another one in b, of a
// counter that is incremented nowhere else, makes superfluous.
func stemmaMergeBlock(b *Block, stores map[int][]*Value, into map[int]int) {
	checked := map[*Value]bool{} // the memory that nil checks see
	var counts []*Value
	for _, v := range b.Values {
		if v.Op == OpNilCheck {
			checked[v.Args[1]] = true
		}
		if c := stemmaCounterOf(v); c >= 0 && len(stores[c]) == 1 {
			counts = append(counts, v)
		}
	}
	for _, v := range counts {
		for m := v.MemoryArg(); m != nil && m.Block == b && !checked[m]; m = stemmaBefore(m) {
			c := stemmaCounterOf(m)
			if c < 0 || len(stores[c]) != 1 {
				continue
			}
			into[stemmaCounterOf(v)] = c
			break
		}
	}
	for _, v := range counts {
		if _, ok := into[stemmaCounterOf(v)]; ok {
			mem := v.MemoryArg()
			v.Op, v.Aux, v.AuxInt = OpCopy, nil, 0
			v.SetArgs1(mem)
		}
	}
}

// stemmaBefore returns the memory before m, if making m cannot leave the
// function; else nil.
func stemmaBefore(m *Value) *Value {
	switch m.Op {
	case OpStore, OpZero, OpMove, OpVarDef, OpVarLive, OpCopy:
		return m.MemoryArg()
	case OpSelect1:
		if strings.HasPrefix(m.Args[0].Op.String(), "Atomic") {
			return m.Args[0].MemoryArg()
		}
	}
	if strings.HasPrefix(m.Op.String(), "Atomic") {
		return m.MemoryArg()
	}
	return nil
}

// stemmaRenumber closes the gaps that merged counters left.
func stemmaRenumber(f *Func, stores map[int][]*Value, into map[int]int) {
	now := map[int]int{}
	left := 0
	for c := range f.Stemma.Number {
		if _, merged := into[c]; merged {
			continue
		}
		now[c] = left
		if c != 0 && len(stores[c]) == 0 {
			now[c] = -1 // in dead code
			continue
		}
		left++
	}
	for c, vs := range stores {
		if _, merged := into[c]; merged || now[c] == c {
			continue
		}
		for _, v := range vs {
			stemmaMove(v, rt.Base+rec.CounterSize*int64(now[c]))
		}
	}
	for c := range into {
		root := c
		for {
			next, merged := into[root]
			if !merged {
				break
			}
			root = next
		}
		now[c] = now[root]
	}
	f.Stemma.Now, f.Stemma.Left = now, left
}

// stemmaMove makes the increment v use another address: in the store, and in
// the load that belongs to it.
func stemmaMove(v *Value, offset int64) {
	old := v.Args[0]
	addr := v.Block.NewValue1I(v.Pos, OpOffPtr, old.Type, offset, old.Args[0])
	v.SetArg(0, addr)
	for _, a := range v.Args[1].Args {
		if a.Op == OpLoad && a.Args[0] == old {
			a.SetArg(0, addr)
		}
	}
}
