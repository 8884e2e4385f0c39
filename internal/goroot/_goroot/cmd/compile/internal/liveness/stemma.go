package liveness

import (
	"cmd/compile/internal/ir"
	"cmd/compile/internal/ssa"
	"cmd/internal/obj"
	"internal/runtime/stemma/layout"
	"slices"
	"strings"
	"unsafe"
)

// StemmaMarkUnencoded calls mark for the ID of each value, and markBlock for
// that of each block, at which the word of an invocation is in registers alone:
// on entry between g, or the slow path, and the slot, and before a call between the slot and g.
// There a goroutine must not stop, because a re-encoding could not find it. Of a pair the version is the last to be
// stored in the slot, and g has it when its cell is stored.
func StemmaMarkUnencoded(f *ssa.Func, mark, markBlock func(ssa.ID)) {
	if len(f.Stemma.Sites) == 0 || !f.Stemma.Moves {
		return
	}
	entering := stemmaEntering(f)
	for _, b := range f.Blocks {
		in := entering[b]
		for i, v := range b.Values {
			switch {
			case stemmaReadsData(v) && slices.ContainsFunc(b.Values[i:], stemmaTakesWord):
				in = true // what it reads and the word, which comes later, must be of one epoch
				continue
			case v.Op == ssa.StemmaTarget.AtomicLoad && stemmaIsSlot(v):
				if in { // half of a pair is loaded
					mark(v.ID)
				}
				in = true
				continue // stopped before the first load is harmless
			case stemmaTakesWord(v), f.Stemma.Pairs && stemmaLeavesID(v):
				if in {
					mark(v.ID)
				}
				in = true
				continue
			}
			if !in {
				continue
			}
			mark(v.ID)
			if stemmaFillsSlot(v) || v.Op == ssa.StemmaTarget.Store && stemmaIsContext(v) {
				in = false
			}
		}
		if in {
			markBlock(b.ID)
		}
	}
	stemmaMarkFresh(f, mark, markBlock)
}

// stemmaMarkFresh marks what lies between the slot and g where g gets a word that was not loaded from the slot: the one
// that has just been stored there. The slot's store comes before on all ways.
func stemmaMarkFresh(f *ssa.Func, mark, markBlock func(ssa.ID)) {
	seen := map[*ssa.Block]bool{}
	var back func(b *ssa.Block, values []*ssa.Value)
	back = func(b *ssa.Block, values []*ssa.Value) {
		for _, v := range slices.Backward(values) {
			if stemmaFillsSlot(v) {
				return
			}
			mark(v.ID)
		}
		for _, e := range b.Preds {
			if before := e.Block(); !seen[before] {
				seen[before] = true
				markBlock(before.ID)
				back(before, before.Values)
			}
		}
	}
	for _, b := range f.Blocks {
		for i, v := range b.Values {
			if stemmaLeavesFresh(f, v) {
				mark(v.ID)
				back(b, b.Values[:i])
			}
		}
	}
}

// stemmaLeavesFresh reports whether v stores in g a word, or the id of a pair, that was not loaded from the slot.
func stemmaLeavesFresh(f *ssa.Func, v *ssa.Value) bool {
	if f.Stemma.Pairs {
		return stemmaLeavesID(v) && !stemmaIsSlotLoad(v.Args[1])
	}
	return v.Op == ssa.StemmaTarget.Store && stemmaIsContext(v) && stemmaIsFresh(v.Args[1])
}

// stemmaLeavesID reports whether v stores the id of a pair in g, with or without the version.
func stemmaLeavesID(v *ssa.Value) bool {
	return stemmaStores(v) && v.AuxInt == layout.GID && v.Args[0].Op == ssa.OpGetG
}

// stemmaIsFresh reports whether v, the word that a call leaves in g, is made of one that is not loaded from the slot.
func stemmaIsFresh(v *ssa.Value) bool {
	switch v.Op {
	case ssa.StemmaTarget.Add, ssa.StemmaTarget.AddLoad, ssa.StemmaTarget.AddConst, ssa.OpCopy, ssa.OpLoadReg,
		ssa.OpStoreReg:
		for _, a := range v.Args {
			if stemmaIsSlotLoad(a) {
				return false
			}
		}
		return v.Op == ssa.StemmaTarget.Add || stemmaIsFresh(v.Args[0])
	}
	return !stemmaIsSlotLoad(v) && v.Op != ssa.StemmaTarget.Const
}

// stemmaIsSlotLoad reports whether v is the word that was loaded from the slot, or kept in another register since.
func stemmaIsSlotLoad(v *ssa.Value) bool {
	for v.Op == ssa.OpCopy || v.Op == ssa.OpSelect0 {
		v = v.Args[0]
	}
	return v.Op == ssa.StemmaTarget.AtomicLoad && stemmaIsSlot(v)
}

// stemmaEntering returns the blocks that begin with the word in a register: those
// on the ways from what gave the word to the store in the slot.
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
				stored = stored || stemmaFillsSlot(v)
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
			case stemmaTakesWord(v):
				loaded = true
			case stemmaFillsSlot(v):
				loaded = false
			}
		}
		if loaded {
			visit(b)
		}
	}
	return entering
}

// stemmaTakesWord reports whether v leaves the word of an invocation in a register: it loads it from g, or the slow
// path returns it. With the checker there is the slow path alone.
func stemmaTakesWord(v *ssa.Value) bool {
	return v.Op == ssa.StemmaTarget.Load && stemmaIsContext(v) ||
		v.Op == ssa.StemmaTarget.WB && v.AuxInt == layout.EnterAux
}

// stemmaReadsData reports whether v loads what a re-encoding changes: words of the function's data.
func stemmaReadsData(v *ssa.Value) bool {
	sym, ok := v.Aux.(*obj.LSym)
	return ok && v.Op.SymEffect()&ssa.SymRead != 0 && strings.HasPrefix(sym.Name, "stemma:")
}

// stemmaIsSlot reports whether v loads or stores the slot of the frame.
func stemmaIsSlot(v *ssa.Value) bool {
	n, ok := v.Aux.(*ir.Name)
	return ok && n.Sym().Name == ".stemma"
}

// stemmaFillsSlot reports whether v stores the last word of the slot: the only one, or the version, which lies first.
func stemmaFillsSlot(v *ssa.Value) bool {
	return stemmaStores(v) && stemmaIsSlot(v) && v.AuxInt == int64(unsafe.Offsetof(layout.Pair{}.Version))
}

// stemmaStores reports whether v stores one word or two.
func stemmaStores(v *ssa.Value) bool {
	return v.Op == ssa.StemmaTarget.Store || v.Op == ssa.StemmaTarget.StorePair
}

// stemmaIsContext reports whether v loads or stores g's word.
func stemmaIsContext(v *ssa.Value) bool {
	return v.AuxInt == layout.GCtx && v.Args[0].Op == ssa.OpGetG
}
