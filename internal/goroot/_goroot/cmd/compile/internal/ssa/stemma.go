package ssa

import (
	"cmd/internal/obj"
	rec "internal/runtime/stemma/layout"
	"unsafe"
)

// StemmaCounters is what became of the counters of an instrumented function,
// or, with calling context encoding, which calls are sites.
type StemmaCounters struct {
	Number int         // of counters when the function was built
	Now    map[int]int // where each counter went, or -1 if nothing increments it
	Left   int         // how many there are now
	Sites  map[ID]int  // cce: for each call value the index + 1 of its site
	Moves  bool        // cce: words in frames may change while the goroutine is stopped
	Pairs  bool        // and are pairs

	Calls map[int]StemmaCall // the calls that counters count, by the counter before it went anywhere
	Alone map[int]bool       // the counters that stay on their own, to check others with

	Ops     bool // operations are counted
	Each    bool // in each block on its own, to check what is derived without
	Flow    *stemmaFlow
	Weights []StemmaWeight
	First   int       // counter that was placed for operations; the last one is Number-1
	Plain   bool      // no counter is there, but for what it would stand for: see stemma_machine.go
	New     map[ID]ID // plain: blocks that are new since, and the block that each was a part of, or stemmaExit
	Code    any       // plain: package ssagen's, what has become of blocks
}

// Operations of our own. They are entries of the table of operations that belong to an architecture which this
// compiler never compiles for: nothing else in it knows of them, so each pass leaves them as they are, and
// what it asks of an operation the table answers.
const (
	// OpStemmaCount increments a counter of a node. AuxInt: the counter; arg0: the node; arg1: memory. It returns
	// memory.
	OpStemmaCount = OpS390XADDload

	// OpStemmaDiffers compares the function of a node with another one. Aux: its metadata; arg0: the node; arg1:
	// memory. It returns a bool, which controls a block; when that is lowered, flags.
	OpStemmaDiffers = OpS390XSUBload

	// OpStemmaDue counts down. AuxInt: where, from arg0 on; arg1: memory, which others than this operation do not
	// read there. It returns a bool, whether the count is below 0, which controls a block; when that is lowered, flags.
	OpStemmaDue = OpS390XORload

	// OpStemmaWord loads the word of a frame from its slot: an atomic load, to all that moves and merges values, but no
	// more than a load to the machine. Nobody writes the slot while the goroutine runs. Aux and AuxInt: the slot;
	// arg0: the stack pointer; arg1: memory. It returns a tuple of the word and memory.
	OpStemmaWord = OpS390XORload

	// OpStemmaEnter calls the slow path of function entry. Aux: the function's metadata; arg0: what the cell holds;
	// arg1: memory. It returns a tuple of the node and memory. The registers are those that the assembly says.
	OpStemmaEnter = OpS390XANDload
)

func init() {
	if StemmaTarget.define != nil {
		StemmaTarget.define()
	}
}

// stemmaMaskBits returns the bits of a mask of registers, which are its first word. Go 1.26 has no more than that.
func stemmaMaskBits(m regMask) uint64 { return *(*uint64)(unsafe.Pointer(&m)) }

// stemmaMask returns the mask with some of the first 64 registers.
func stemmaMask(bits uint64) (m regMask) {
	*(*uint64)(unsafe.Pointer(&m)) = bits
	return m
}

// stemmaLower does what values of our own need when all others are those of the machine.
func stemmaLower(f *Func) {
	if StemmaTarget.lower != nil {
		StemmaTarget.lower(f)
	}
}

// stemmaIsSlow reports whether b is the slow path of the entry of an
// instrumented function, which is laid out last, out of the way.
func stemmaIsSlow(b *Block) bool {
	for _, v := range b.Values {
		if v.Op == OpStemmaEnter || v.Op == StemmaTarget.WB && v.AuxInt == rec.EnterAux {
			return true
		}
	}
	return false
}

// StemmaSpills returns what spills arguments where the ways through the check of the entry sequence meet, before the
// first call: there is no safe point on them. The compiler looks for spills in the block of the entry alone, and would
// spill once more what it does not find there.
func StemmaSpills(f *Func) (spills []*Value) {
	for i, b := range []*Block{f.Entry, stemmaBehindCheck(f.Entry)} {
		if b == nil {
			break
		}
		for _, v := range b.Values {
			if v.Op.IsCall() {
				return spills
			}
			if i > 0 && v.Op == OpStoreReg && v.Args[0].Op == OpArgIntReg {
				spills = append(spills, v)
			}
		}
	}
	return spills
}

// stemmaBehindCheck returns the block in which the slow path meets the way past it, if block b ends in the choice
// between them and nothing else leads there. Else it returns nil.
func stemmaBehindCheck(b *Block) *Block {
	past := func(b *Block) *Block { // past blocks that nothing else leads to
		for len(b.Preds) == 1 && len(b.Succs) == 1 {
			b = b.Succs[0].b
		}
		return b
	}
	var slow *Block
	for len(b.Succs) == 2 && (slow == nil || len(b.Preds) == 1) { // lucce checks twice
		i := 0
		if !stemmaIsSlow(b.Succs[i].b) {
			i = 1
		}
		if slow = b.Succs[i].b; !stemmaIsSlow(slow) || len(slow.Succs) != 1 {
			return nil
		}
		b = b.Succs[1-i].b
	}
	if slow == nil {
		return nil
	}
	if meet := past(b); len(meet.Preds) == 2 && meet == past(slow.Succs[0].b) {
		return meet
	}
	return nil
}

// stemmaReleases reports whether v ends the time for which the context register was held free
// (ssagen's stemmaHoldContext). It makes v a copy of its memory: a word that is no pointer need not be
// kept alive, and to spill it would make a leaf need a frame.
func (s *regAllocState) stemmaReleases(v *Value) bool {
	if v.Op != OpKeepAlive || v.Args[0].Op != StemmaTarget.closure || v.Args[0].Type.IsPtrShaped() {
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
	stemmaDropCounts(f)
	stemmaWeigh(f)
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

// stemmaDropCounts removes the increments for calls that the compiler has replaced by something else.
func stemmaDropCounts(f *Func) {
	dropped := false
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Op != OpStemmaCount {
				continue
			}
			if call, ok := f.Stemma.Calls[stemmaCounterOf(v)]; ok && !call.IsMade() {
				stemmaForget(v)
				dropped = true
			}
		}
	}
	if dropped {
		copyelim(f)
	}
}

// stemmaForget makes an increment nothing.
func stemmaForget(v *Value) {
	mem := v.MemoryArg()
	v.Op, v.Aux, v.AuxInt = OpCopy, nil, 0
	v.SetArgs1(mem)
}

// A StemmaCall is a call that a counter counts.
type StemmaCall struct {
	Value *Value
	Fn    *obj.LSym
}

// IsMade reports whether the call is still there. The compiler may have made something else of it, or use its value
// for something else.
func (c StemmaCall) IsMade() bool {
	if !c.Value.Op.IsCall() {
		return false
	}
	aux, ok := c.Value.Aux.(*AuxCall)
	return ok && aux.Fn == c.Fn
}

// stemmaCounterOf returns the counter that v increments, or -1.
func stemmaCounterOf(v *Value) int {
	if v.Op != OpStemmaCount {
		return -1
	}
	return int(v.AuxInt)
}

// stemmaMergeBlock removes from b each increment that another one in b, of a
// counter that is incremented nowhere else, makes superfluous.
func stemmaMergeBlock(b *Block, stores map[int][]*Value, into map[int]int) {
	merges := func(c int) bool { return c >= 0 && len(stores[c]) == 1 && !b.Func.Stemma.Alone[c] }
	left := map[*Value]bool{} // the memory that something sees which may leave the function
	var counts []*Value
	for _, v := range b.Values {
		if v.Op != OpPhi && !v.Type.IsMemory() && StemmaMayLeave(v) {
			left[v.MemoryArg()] = true
		}
		if merges(stemmaCounterOf(v)) {
			counts = append(counts, v)
		}
	}
	for _, v := range counts {
		for m := v.MemoryArg(); m != nil && m.Block == b && !left[m]; m = stemmaBefore(m) {
			if c := stemmaCounterOf(m); merges(c) {
				into[stemmaCounterOf(v)] = c
				break
			}
		}
	}
	for _, v := range counts {
		if _, ok := into[stemmaCounterOf(v)]; ok {
			stemmaForget(v)
		}
	}
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
			v.AuxInt = int64(now[c])
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
