package liveness

import (
	"cmd/compile/internal/ir"
	"cmd/compile/internal/ssa"
	"internal/runtime/stemma/layout"
	"slices"
)

// StemmaMarkUnsafe calls mark for the ID of each value, and markBlock for that of
// each block whose end, lies between a load of g's shard and a use of what was made
// of it: there a goroutine must not be moved to another P.
func StemmaMarkUnsafe(f *ssa.Func, mark, markBlock func(ssa.ID)) {
	made := stemmaMadeOfShard(f)
	if len(made) == 0 {
		return
	}
	m := &stemmaMarker{made, mark, markBlock}
	for _, b := range f.Blocks {
		for i, v := range b.Values {
			for k, a := range v.Args {
				if _, ok := made[a]; !ok {
					continue
				}
				if v.Op == ssa.OpPhi {
					m.before(a, b.Preds[k].Block(), -1)
				} else {
					m.before(a, b, i)
				}
			}
		}
		for _, c := range b.ControlValues() {
			if _, ok := made[c]; ok {
				m.before(c, b, -1)
			}
		}
	}
}

// stemmaMadeOfShard returns the values that are computed from a shard, with their
// indexes in their blocks: loads of it, alone or folded into an addition, copies,
// sums, and what was spilled.
func stemmaMadeOfShard(f *ssa.Func) map[*ssa.Value]int {
	made := map[*ssa.Value]int{}
	for more := true; more; { // blocks may come before those that dominate them
		more = false
		for _, b := range f.Blocks {
			for i, v := range b.Values {
				if _, ok := made[v]; ok || v.Type.IsMemory() || !stemmaReadsShard(v) && !stemmaUses(v, made) {
					continue
				}
				made[v] = i
				more = true
			}
		}
		if len(made) == 0 {
			return nil
		}
	}
	return made
}

// stemmaReadsShard reports whether v reads the shard in g, whatever else it does.
func stemmaReadsShard(v *ssa.Value) bool {
	return v.AuxInt == layout.GShard && v.MemoryArg() != nil && slices.ContainsFunc(v.Args, stemmaIsG)
}

func stemmaIsG(v *ssa.Value) bool {
	for v.Op == ssa.OpCopy || v.Op == ssa.OpLoadReg || v.Op == ssa.OpStoreReg {
		v = v.Args[0]
	}
	return v.Op == ssa.OpGetG || v.Op == ssa.OpAMD64LoweredGetG
}

func stemmaUses(v *ssa.Value, made map[*ssa.Value]int) bool {
	return slices.ContainsFunc(v.Args, func(a *ssa.Value) bool { _, ok := made[a]; return ok })
}

// A stemmaMarker marks what lies between values and their uses.
type stemmaMarker struct {
	made            map[*ssa.Value]int
	mark, markBlock func(ssa.ID)
}

// before marks all that is executed behind a, up to and with value i of b, or the
// end of b if i is negative.
func (m *stemmaMarker) before(a *ssa.Value, b *ssa.Block, i int) {
	seen := map[*ssa.Block]bool{}
	var to func(b *ssa.Block, end int)
	to = func(b *ssa.Block, end int) {
		begin, reached := 0, a.Block == b && m.made[a] < end
		if reached {
			begin = m.made[a] + 1
		}
		for _, v := range b.Values[begin:end] {
			m.mark(v.ID)
		}
		if reached {
			return
		}
		for _, e := range b.Preds {
			if p := e.Block(); !seen[p] {
				seen[p] = true
				m.markBlock(p.ID)
				to(p, len(p.Values))
			}
		}
	}
	if i < 0 {
		m.markBlock(b.ID)
		to(b, len(b.Values))
		return
	}
	to(b, i+1)
}

// StemmaMarkUnencoded calls mark for the ID of each value, and markBlock for
// that of each block, at which the word of an invocation is in registers alone:
// on entry between g and the slot, and before a call between the slot and g.
// There a goroutine must not stop, because a re-encoding could not find it.
func StemmaMarkUnencoded(f *ssa.Func, mark, markBlock func(ssa.ID)) {
	if len(f.Stemma.Sites) == 0 || !f.Stemma.Moves {
		return
	}
	entering := stemmaEntering(f)
	for _, b := range f.Blocks {
		in := entering[b]
		for _, v := range b.Values {
			switch {
			case v.Op == ssa.OpAMD64MOVQatomicload && stemmaIsSlot(v):
				in = true
				continue // stopped before the load is harmless
			case v.Op == ssa.OpAMD64MOVQload && stemmaIsContext(v):
				in = true
				continue
			}
			if !in {
				continue
			}
			mark(v.ID)
			if v.Op == ssa.OpAMD64MOVQstore && (stemmaIsSlot(v) || stemmaIsContext(v)) {
				in = false
			}
		}
		if in {
			markBlock(b.ID)
		}
	}
}

// stemmaEntering returns the blocks that begin with the word in a register: those
// on the ways from the load of g's word to the store in the slot.
func stemmaEntering(f *ssa.Func) map[*ssa.Block]bool {
	entering := map[*ssa.Block]bool{}
	var visit func(b *ssa.Block)
	visit = func(b *ssa.Block) {
		for _, e := range b.Succs {
			next := e.Block()
			if entering[next] {
				continue
			}
			entering[next] = true
			stored := false
			for _, v := range next.Values {
				stored = stored || v.Op == ssa.OpAMD64MOVQstore && stemmaIsSlot(v)
			}
			if !stored {
				visit(next)
			}
		}
	}
	for _, b := range f.Blocks {
		loaded := false
		for _, v := range b.Values {
			switch {
			case v.Op == ssa.OpAMD64MOVQload && stemmaIsContext(v):
				loaded = true
			case v.Op == ssa.OpAMD64MOVQstore && stemmaIsSlot(v):
				loaded = false
			}
		}
		if loaded {
			visit(b)
		}
	}
	return entering
}

// stemmaIsSlot reports whether v loads or stores the slot of the frame.
func stemmaIsSlot(v *ssa.Value) bool {
	n, ok := v.Aux.(*ir.Name)
	return ok && n.Sym().Name == ".stemma"
}

// stemmaIsContext reports whether v loads or stores g's word.
func stemmaIsContext(v *ssa.Value) bool {
	return v.AuxInt == layout.GCtx && v.Args[0].Op == ssa.OpGetG
}
