package ssa

import (
	rec "internal/runtime/stemma/layout"
	"slices"
	"strings"
)

// Spills: how often a block stores a value because it does not stay in a register until it is needed again, and how
// often it loads one back. That is known for good only when registers are allocated, on one machine. Here it is
// guessed from generic SSA, the same for all: a call leaves nothing in registers, and of more values than
// stemmaRegisters the one that is needed last makes room (Belady). What is in registers where a block begins is
// what one of its predecessors ends with, as in the register allocator.

// stemmaRegisters is how many integers and pointers stay in registers between calls.
const stemmaRegisters = 13

// stemmaSpills finds out what is in registers. Values that own reports are not the program's. A function that would
// need too much memory has no spills.
func stemmaSpills(f *Func, own map[*Value]bool) *stemmaRegs {
	n := f.NumBlocks()
	r := &stemmaRegs{f: f, own: own, index: map[*Value]int{}, stores: make([]int, n), loads: make([]int, n),
		joins: make([]int, n), kept: make([]int, n), begins: make([][]int, n), ends: make([][]int, n),
		touches: make([][stemmaParts]int, n)}
	r.number()
	const most = 1 << 21 // words of 8 bytes for what is live
	if r.words*n > most {
		return r
	}
	r.live()
	r.spilled = make([]bool, len(r.index))
	order := f.postorder()
	for i := len(order) - 1; i >= 0; i-- {
		r.block(order[i])
	}
	for _, b := range order {
		r.join(b)
	}
	for v, i := range r.index {
		if r.spilled[i] {
			r.stores[v.Block.ID]++
			r.touches[v.Block.ID][stemmaPartOfValue(v)]++
		}
	}
	return r
}

// join counts what the successor of b begins with in registers, and b does not end with. No edge is critical, so
// a block with several successors has none that others lead to.
func (r *stemmaRegs) join(b *Block) {
	if len(b.Succs) != 1 {
		return
	}
	for _, i := range r.begins[b.Succs[0].b.ID] {
		if !slices.Contains(r.ends[b.ID], i) {
			r.joins[b.ID]++
		}
	}
}

// stemmaRegs is the state of stemmaSpills.
type stemmaRegs struct {
	f            *Func
	own          map[*Value]bool
	index        map[*Value]int // values that need a register, by number: first those that other blocks use
	words        int            // of a set of values that other blocks use
	in, out      []stemmaSet    // by block, what is live at its ends
	begins, ends [][]int        // by block, what is in registers there
	spilled      []bool         // by number
	parts        []int          // by number, the part of the frame that it is stored in

	// By block: how many of its values are stored, how many values it loads back, how many its successor needs in
	// registers that are in none at its end, and how often an operation that may write over its first operand must not.
	stores, loads, joins, kept []int
	touches                    [][stemmaParts]int // by block, stores and loads back, by the part of the frame
}

// A stemmaSet is a set of small numbers.
type stemmaSet []uint64

func (s stemmaSet) has(i int) bool { return i/64 < len(s) && s[i/64]>>(i%64)&1 != 0 }
func (s stemmaSet) add(i int)      { s[i/64] |= 1 << (i % 64) }

// stemmaIsKept reports whether v is computed into a register, and not made anew wherever it is needed.
func stemmaIsKept(v *Value) bool {
	t := v.Type
	if t.IsMemory() || t.IsVoid() || t.IsFlags() || t.IsTuple() || t.IsResults() || t.Size() == 0 || t.Size() > 8 {
		return false
	}
	switch v.Op {
	case OpSP, OpSB, OpSPanchored, OpAddr, OpLocalAddr, OpGetG, OpGetClosurePtr, OpArg, OpOffPtr, OpCopy, OpNilCheck,
		OpInvalid, OpUnknown:
		return false
	}
	return !strings.HasPrefix(v.Op.String(), "Const")
}

// stemmaKept returns the value that is in a register for v.
func stemmaKept(v *Value) *Value {
	for v.Op == OpOffPtr || v.Op == OpCopy || v.Op == OpNilCheck {
		v = v.Args[0]
	}
	return v
}

// number gives numbers to values.
func (r *stemmaRegs) number() {
	far := map[*Value]bool{}
	use := func(a *Value, b *Block) {
		if a = stemmaKept(a); a.Block != b {
			far[a] = true
		}
	}
	for _, b := range r.f.Blocks {
		for _, v := range b.Values {
			for i, a := range v.Args {
				if v.Op == OpPhi {
					far[stemmaKept(a)] = true
					use(a, b.Preds[i].b)
				} else {
					use(a, b)
				}
			}
		}
		for _, c := range b.ControlValues() {
			use(c, b)
		}
	}
	for _, local := range []bool{false, true} {
		for _, b := range r.f.Blocks {
			for _, v := range b.Values {
				if far[v] != local && !r.own[v] && stemmaIsKept(v) {
					r.index[v] = len(r.index)
					r.parts = append(r.parts, stemmaPartOfValue(v))
				}
			}
		}
		if !local {
			r.words = (len(r.index) + 63) / 64
		}
	}
}

// needs calls do for the number of each value that v takes from a register.
func (r *stemmaRegs) needs(v *Value, do func(i int)) {
	if v.Op == OpPhi || r.own[v] {
		return
	}
	for _, a := range v.Args {
		r.need(a, do)
	}
}

func (r *stemmaRegs) need(a *Value, do func(i int)) {
	if i, ok := r.index[stemmaKept(a)]; ok {
		do(i)
	}
}

// live finds out what is live at the ends of blocks.
func (r *stemmaRegs) live() {
	n := r.f.NumBlocks()
	r.in, r.out = make([]stemmaSet, n), make([]stemmaSet, n)
	made := make([]stemmaSet, n)
	for _, b := range r.f.Blocks {
		for _, sets := range [][]stemmaSet{r.in, r.out, made} {
			sets[b.ID] = make(stemmaSet, r.words)
		}
		r.liveIn(b, made[b.ID])
		for _, e := range b.Succs {
			for _, v := range e.b.Values {
				if v.Op == OpPhi && !r.own[v] {
					r.need(v.Args[e.i], r.out[b.ID].add)
				}
			}
		}
	}
	order := r.f.postorder()
	for changed := true; changed; {
		changed = false
		for _, b := range order {
			changed = r.flow(b, made[b.ID]) || changed
		}
	}
}

// liveIn notes what b makes, and what it needs from other blocks.
func (r *stemmaRegs) liveIn(b *Block, made stemmaSet) {
	for _, v := range b.Values {
		if i, ok := r.index[v]; ok && i < 64*r.words {
			made.add(i)
		}
	}
	before := func(i int) {
		if i < 64*r.words && !made.has(i) {
			r.in[b.ID].add(i)
		}
	}
	for _, v := range b.Values {
		r.needs(v, before)
	}
	for _, c := range b.ControlValues() {
		r.need(c, before)
	}
}

// flow brings what successors need through b, and reports whether that is more than before.
func (r *stemmaRegs) flow(b *Block, made stemmaSet) (changed bool) {
	in, out := r.in[b.ID], r.out[b.ID]
	for _, e := range b.Succs {
		for k, x := range r.in[e.b.ID] {
			out[k] |= x
		}
	}
	for k, x := range out {
		if x = in[k] | x&^made[k]; x != in[k] {
			in[k], changed = x, true
		}
	}
	return changed
}

// block executes b. The first predecessor that was executed before says what is in registers.
func (r *stemmaRegs) block(b *Block) {
	s := &stemmaStep{stemmaRegs: r, b: b, uses: map[int][]int{}}
	for _, e := range b.Preds {
		if have := r.ends[e.b.ID]; have != nil && !stemmaIsSlowGeneric(e.b) {
			for _, i := range have {
				if r.in[b.ID].has(i) {
					s.have = append(s.have, i)
				}
			}
			break
		}
	}
	r.begins[b.ID] = slices.Clone(s.have)
	order := stemmaInOrder(b)
	for at, v := range order {
		r.needs(v, func(i int) { s.uses[i] = append(s.uses[i], at) })
	}
	for _, c := range b.ControlValues() {
		r.need(c, func(i int) { s.uses[i] = append(s.uses[i], len(order)) })
	}
	for at, v := range order {
		s.execute(at, v)
	}
	s.at = len(order)
	for _, c := range b.ControlValues() {
		r.need(c, s.fetch)
	}
	r.ends[b.ID] = append([]int{}, s.have...)
}

// A stemmaStep is a place in the execution of a block.
type stemmaStep struct {
	*stemmaRegs
	b    *Block
	at   int           // a value of the block, in their order
	uses map[int][]int // by number, where in the block
	have []int         // in registers
}

// execute executes v.
func (s *stemmaStep) execute(at int, v *Value) {
	s.at = at
	s.needs(v, s.fetch)
	if v.Op.IsCall() {
		s.have = s.have[:0]
	}
	if stemmaOverwrites(v) && s.needed(v.Args[0]) && !(opcodeTable[v.Op].commutative && !s.needed(v.Args[1])) {
		s.kept[s.b.ID]++
	}
	if i, ok := s.index[v]; ok {
		s.put(i, v.Type.IsFloat())
	}
}

// stemmaOverwrites reports whether a machine whose instructions have two operands computes v into its first argument:
// whatever computes, but for additions and comparisons, which such machines can do otherwise.
func stemmaOverwrites(v *Value) bool {
	if len(v.Args) == 0 || !stemmaIsKept(v) || stemmaIsCompare(v) || stemmaIs(v, "Add", "SignExt", "ZeroExt", "Trunc") {
		return false
	}
	switch class, n := stemmaClassOf(v); class {
	case rec.OpInt, rec.OpMul, rec.OpFloat, rec.OpFloatDiv:
		return n > 0
	}
	return false
}

// needed reports whether a is in a register, and needed later.
func (s *stemmaStep) needed(a *Value) bool {
	i, ok := s.index[stemmaKept(a)]
	return ok && s.next(i) < stemmaNobody
}

// fetch loads value i back if it is not in a register.
func (s *stemmaStep) fetch(i int) {
	if !slices.Contains(s.have, i) {
		s.loads[s.b.ID]++
		s.touches[s.b.ID][s.parts[i]]++
		s.spilled[i] = true
		s.put(i, false)
	}
}

// put puts value i into a register. Those of floating point are others, and there are enough.
func (s *stemmaStep) put(i int, float bool) {
	if float || len(s.have) < stemmaRegisters {
		s.have = append(s.have, i)
		return
	}
	last, out := -1, 0
	for k, j := range s.have {
		if next := s.next(j); next > last {
			last, out = next, k
		}
	}
	s.have[out] = i
}

// What next returns for a value that is not needed in its block: by other blocks, and nowhere.
const stemmaOthers, stemmaNobody = 1 << 30, 1 << 31

// next returns where value i is needed next: behind the block's end, if other blocks need it, and later still if nobody
// does.
func (s *stemmaStep) next(i int) int {
	for _, at := range s.uses[i] {
		if at > s.at {
			return at
		}
	}
	if s.out[s.b.ID].has(i) {
		return stemmaOthers
	}
	return stemmaNobody
}

// stemmaInOrder returns the values of b, each behind those that it needs: calls and stores in the order of memory, the
// rest where it is needed first. They are not scheduled yet.
func stemmaInOrder(b *Block) []*Value {
	o := &stemmaOrder{b: b, done: map[*Value]bool{}, readers: map[*Value][]*Value{}}
	for _, v := range b.Values {
		if v.Op == OpPhi {
			o.visit(v)
		} else if m := v.MemoryArg(); m != nil && !stemmaWrites(v) {
			o.readers[m] = append(o.readers[m], v)
		}
	}
	for _, first := range []bool{true, false} {
		for _, v := range b.Values {
			if !first || stemmaWrites(v) {
				o.visit(v)
			}
		}
	}
	return o.list
}

// stemmaWrites reports whether v is a state of memory, or a call.
func stemmaWrites(v *Value) bool { return v.Op.IsCall() || v.Type.IsMemory() }

// A stemmaOrder is the state of stemmaInOrder.
type stemmaOrder struct {
	b       *Block
	done    map[*Value]bool
	readers map[*Value][]*Value // by the state of memory that they read
	list    []*Value
}

// visit adds v, behind all that it needs, and behind all that reads the memory that it changes.
func (o *stemmaOrder) visit(v *Value) {
	if o.done[v] || v.Block != o.b {
		return
	}
	o.done[v] = true
	if v.Op == OpPhi { // it needs nothing of its own block
		o.list = append(o.list, v)
		return
	}
	for _, a := range v.Args {
		o.visit(a)
	}
	if m := v.MemoryArg(); m != nil && stemmaWrites(v) {
		for _, u := range o.readers[m] {
			o.visit(u)
		}
	}
	o.list = append(o.list, v)
}
