package ssa

import (
	"cmd/compile/internal/types"
	rec "internal/runtime/stemma/layout"
	"slices"
	"strings"
)

// What operations take on a machine depends on more than their number: what the compiler puts between them, and what
// falls away since an instruction does two of them at once. So classes are finer than what is counted, and some
// are of no operations at all. All of it is read off generic SSA, which is the same for all machines; how much of an
// instruction each is stands in tables (package cost).

// A stemmaCosts knows what classes depend on besides an operation itself.
type stemmaCosts struct {
	calls    bool                // the function calls something
	used     map[*Value]bool     // by a value, not only by a branch
	stored   map[*Value]bool     // an address that something else than loads and stores uses
	near     map[*Value]bool     // a nil check of a pointer that its block loads from or stores to
	compared map[*Value]bool     // a load that is only compared
	regs     *stemmaRegs         // what is in registers
	symbols  map[*Block][]*Value // addresses that a block uses
	big      map[*Block][]int64  // constants of more than 12 bits that a block uses
	widened  map[*Value][]*Block // where a number was widened to be compared
	far      stemmaFar
}

func newStemmaCosts(f *Func, own map[*Value]bool) *stemmaCosts {
	c := &stemmaCosts{used: map[*Value]bool{}, stored: map[*Value]bool{}, near: map[*Value]bool{},
		compared: map[*Value]bool{}, symbols: map[*Block][]*Value{}, big: map[*Block][]int64{},
		widened: map[*Value][]*Block{}}
	for _, b := range f.Blocks {
		c.uses(b, own)
	}
	for v, only := range c.compared {
		c.compared[v] = only && v.Op == OpLoad
	}
	c.regs = stemmaSpills(f, own)
	c.far = stemmaFrameOf(f, own, c.regs)
	return c
}

// uses notes how the values of b use others.
func (c *stemmaCosts) uses(b *Block, own map[*Value]bool) {
	touched, known := map[*Value]bool{}, map[*Value]bool{}
	for _, v := range b.Values {
		if own[v] {
			continue
		}
		c.calls = c.calls || v.Op.IsCall()
		for i, a := range v.Args {
			c.used[a] = true
			if only, ok := c.compared[a]; !ok || only {
				c.compared[a] = stemmaIsEquality(v)
			}
			to := stemmaFixed(a)
			switch {
			case i == 0 && stemmaIsAccess(v):
				touched[stemmaKept(to)] = true
			case v.Op != OpOffPtr:
				c.stored[to] = true
			}
			if stemmaIsBig(a) && v.Op != OpPhi && !slices.Contains(c.big[b], a.AuxInt) {
				c.big[b] = append(c.big[b], a.AuxInt)
			}
			if to.Op == OpAddr && !known[to] && v.Op != OpPhi && v.Op != OpOffPtr {
				known[to] = true
				c.symbols[b] = append(c.symbols[b], to)
			}
		}
	}
	for _, v := range b.Values {
		if v.Op == OpNilCheck && touched[stemmaKept(v)] {
			c.near[v] = true
		}
	}
}

// stemmaFixed returns the address that a is a fixed distance from.
func stemmaFixed(a *Value) *Value {
	for a.Op == OpOffPtr {
		a = a.Args[0]
	}
	return a
}

// stemmaIsAccess reports whether v reads or writes the memory that its first argument points to.
func stemmaIsAccess(v *Value) bool {
	return v.Op == OpLoad || v.Op == OpStore || v.Op == OpMove || v.Op == OpZero
}

// stemmaIsEquality reports whether v compares with a constant for equality.
func stemmaIsEquality(v *Value) bool {
	return stemmaIs(v, "Eq", "Neq") && (stemmaIsConst(v.Args[0]) || stemmaIsConst(v.Args[1]))
}

// stemmaIs reports whether the name of v's operation begins with one of these.
func stemmaIs(v *Value, prefixes ...string) bool {
	name := v.Op.String()
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

func stemmaIsConst(v *Value) bool { return stemmaIs(v, "Const") }

// refine returns the class of v in a family.
func (c *stemmaCosts) refine(v *Value, family rec.OpClass) rec.OpClass {
	switch family {
	case rec.OpInt:
		return c.refineInt(v)
	case rec.OpBits:
		switch {
		case stemmaIs(v, "Rotate"):
			return rec.OpRotate
		case stemmaIs(v, "Ctz", "BitLen"):
			return rec.OpZeros
		case stemmaIs(v, "Bswap"):
			return rec.OpSwap
		}
	case rec.OpCheck:
		switch {
		case v.Op == OpNilCheck && !c.near[v]:
			return rec.OpNil
		case v.Op == OpIsSliceInBounds:
			return rec.OpSlice
		}
	case rec.OpMove:
		if v.Op == OpZero {
			return rec.OpClear
		}
	}
	return family
}

// refineInt is refine for integers and pointers.
func (c *stemmaCosts) refineInt(v *Value) rec.OpClass {
	switch {
	case stemmaIs(v, "Lsh", "Rsh"):
		switch {
		case stemmaIsConst(v.Args[1]):
			return rec.OpShift
		case v.AuxInt != 0:
			return rec.OpShiftBy
		}
		return rec.OpShiftAny
	case stemmaIsCompare(v):
		if c.used[v] {
			return rec.OpBool
		}
		return rec.OpCompare
	case stemmaIs(v, "SignExt", "ZeroExt"):
		switch from := v.Args[0]; {
		case from.Op == OpLoad:
			return rec.OpWiden
		case v.Op == OpZeroExt16to32 || v.Op == OpZeroExt16to64 || v.Op == OpZeroExt32to64:
			return rec.OpZero
		}
		return rec.OpExtend
	case v.Op == OpCondSelect:
		return rec.OpSelect
	case stemmaIs(v, "AddPtr", "PtrIndex", "SubPtr") && !c.stored[v]:
		return rec.OpPlace
	}
	return rec.OpInt
}

func stemmaIsCompare(v *Value) bool { return stemmaIs(v, "Eq", "Neq", "Less", "Leq", "IsNonNil") }

// leave returns the class of a return.
func (c *stemmaCosts) leave() rec.OpClass {
	if c.calls {
		return rec.OpReturn
	}
	return rec.OpLeave
}

// of adds what v costs besides itself.
func (c *stemmaCosts) of(v *Value, add func(rec.OpClass, int)) {
	switch {
	case v.Op == OpPhi && !v.Type.IsMemory():
		add(rec.OpPhi, 1)
	case v.Op == OpInlMark:
		add(rec.OpMark, 1)
	case v.Op == OpLoad && !c.compared[v]:
		add(rec.OpBytes, stemmaParted(v.Args[0], v.Type))
	case stemmaIsAccess(v) && v.Op != OpLoad:
		t := v.Aux.(*types.Type)
		if v.Op == OpStore {
			add(rec.OpPieces, stemmaParted(v.Args[0], t))
		}
		if needwb(v, nil) { // what is known to be zero still is unknown here
			add(rec.OpBarrier, 1)
		}
	case v.Op.IsCall():
		add(rec.OpArgument, stemmaArguments(v))
	case stemmaIsCompare(v) && len(v.Args) == 2:
		for _, a := range v.Args {
			if stemmaIsConst(a) && a.AuxInt != 0 {
				add(rec.OpConstant, 1)
			}
			if class, ok := c.widen(a, v.Block); ok {
				add(class, 1)
			}
		}
	}
	if stemmaIsFar(v) {
		add(rec.OpFar, 1)
	}
	add(rec.OpFrame, c.far.of(v))
}

// widen returns the class of what it takes to compare number a in b where registers are compared as a whole: there the
// rest of the register has to be its sign or 0. It is after a load, and where a was widened before.
func (c *stemmaCosts) widen(a *Value, b *Block) (class rec.OpClass, ok bool) {
	t := a.Type
	if !t.IsInteger() || t.Size() == 8 || a.Op == OpLoad || stemmaIsConst(a) || stemmaIs(a, "SignExt", "ZeroExt") {
		return 0, false
	}
	for _, before := range c.widened[a] {
		if b.Func.Sdom().IsAncestorEq(before, b) {
			return 0, false
		}
	}
	c.widened[a] = append(c.widened[a], b)
	switch {
	case t.Size() < 4:
		return rec.OpHalf, true
	case t.IsSigned():
		return rec.OpWord, true
	}
	return rec.OpUword, true
}

// stemmaIsBig reports whether a is an integer that takes more than 12 bits.
func stemmaIsBig(a *Value) bool {
	return stemmaIsConst(a) && a.Type.IsInteger() && (a.AuxInt >= stemmaReach || a.AuxInt < -stemmaReach)
}

// stemmaParted returns in how many parts more than one an access of a type to an address was written, if the compiler
// has joined them (pass memcombine), which it does on machines that allow any address; else 0. What it makes is
// unsigned, and larger than what the address is one of.
func stemmaParted(to *Value, t *types.Type) int {
	if to.Op == OpConvert || !to.Type.IsPtr() {
		return 0
	}
	switch t {
	case types.Types[types.TUINT16], types.Types[types.TUINT32], types.Types[types.TUINT64]:
	default:
		return 0
	}
	elem := to.Type.Elem().Size()
	if elem == 0 || elem >= t.Size() {
		return 0
	}
	return int(t.Size()/elem) - 1
}

// stemmaArguments returns how many arguments of a call are in registers.
func stemmaArguments(v *Value) int {
	n := len(v.Args) - 1
	switch v.Op {
	case OpClosureCall:
		n -= 2
	case OpInterCall:
		n--
	}
	return max(n, 0)
}

// ofBlock adds what a block costs besides its values.
func (c *stemmaCosts) ofBlock(b *Block, add func(rec.OpClass, int)) {
	switch b.Kind {
	case BlockPlain:
		add(rec.OpJump, 1)
	case BlockRet:
		if r := b.Controls[0]; r != nil && r.Op == OpMakeResult {
			add(rec.OpResult, len(r.Args)-1)
		}
	}
	add(rec.OpSymbol, len(c.symbols[b]))
	add(rec.OpBig, len(c.big[b]))
	r := c.regs
	add(rec.OpSpill, r.stores[b.ID])
	add(rec.OpReload, r.loads[b.ID])
	add(rec.OpJoin, r.joins[b.ID])
	add(rec.OpKept, r.kept[b.ID])
	add(rec.OpFrame, c.far.ofSpills(r, b))
}
