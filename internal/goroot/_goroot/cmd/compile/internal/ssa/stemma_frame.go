package ssa

import (
	"cmd/compile/internal/ir"
	"cmd/compile/internal/types"
	"math/bits"
)

// How far accesses to the frame are from the stack pointer. An instruction of 12 bits for a signed distance reaches
// 2 KB, and a large frame is larger. From the stack pointer upwards a frame has arguments of calls, what has no
// pointers, what has some, and behind the frame the function's own arguments, as cmpstackvarlt of package ssagen sorts
// them. Where in its part something lies nobody knows before registers are allocated; so that is a share.

// stemmaReach is how far 12 bits for a signed distance reach.
const stemmaReach = 1 << 11

// The parts of a frame.
const (
	stemmaPlain = iota
	stemmaPointers
	stemmaParams
	stemmaParts
)

// stemmaFar has for each part of a frame how many eighths of it are farther than stemmaReach.
type stemmaFar [stemmaParts]int

// stemmaPartOf returns the part of the frame that a value of type t is in.
func stemmaPartOf(t *types.Type) int {
	if t.HasPointers() {
		return stemmaPointers
	}
	return stemmaPlain
}

// stemmaPartOfValue returns the part of the frame that v is stored in when it leaves its register.
func stemmaPartOfValue(v *Value) int {
	if v.Op == OpArgIntReg || v.Op == OpArgFloatReg {
		return stemmaParams
	}
	return stemmaPartOf(v.Type)
}

// stemmaFrameOf guesses the frame of f, whose values have left registers as r says.
func stemmaFrameOf(f *Func, own map[*Value]bool, r *stemmaRegs) (far stemmaFar) {
	size := r.together()
	known := map[*ir.Name]bool{}
	arguments := int64(0)
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if own[v] {
				continue
			}
			if call, ok := v.Aux.(*AuxCall); ok {
				arguments = max(arguments, call.ArgWidth())
			}
			if n, ok := v.Aux.(*ir.Name); ok && v.Op == OpLocalAddr && n.Class == ir.PAUTO && !known[n] {
				known[n] = true
				size[stemmaPartOf(n.Type())] += n.Type().Size()
			}
		}
	}
	begin := arguments
	for part, n := range size {
		far[part] = stemmaShare(begin, begin+n)
		begin += n
	}
	if begin > stemmaReach {
		far[stemmaParams] = 8
	}
	return far
}

// stemmaShare returns how many eighths of what lies between two distances are beyond stemmaReach.
func stemmaShare(begin, end int64) int {
	switch {
	case end <= stemmaReach:
		return 0
	case begin >= stemmaReach:
		return 8
	}
	return int(8 * (end - stemmaReach) / (end - begin))
}

// together returns how many bytes the values that are stored take in the parts of a frame, as far as they are live at
// the same time where a block ends.
func (r *stemmaRegs) together() (most [stemmaParts]int64) {
	var stored [stemmaParts]stemmaSet
	for part := range stored {
		stored[part] = make(stemmaSet, r.words)
	}
	for v, i := range r.index {
		if i < min(len(r.spilled), 64*r.words) && r.spilled[i] {
			stored[stemmaPartOfValue(v)].add(i)
		}
	}
	for _, out := range r.out {
		for part, set := range stored[:stemmaParams] {
			n := 0
			for k, x := range out {
				n += bits.OnesCount64(x & set[k])
			}
			most[part] = max(most[part], 8*int64(n))
		}
	}
	return most
}

// ofSpills returns how many eighths of accesses are far, of those of block b to values that have left registers.
func (far *stemmaFar) ofSpills(r *stemmaRegs, b *Block) (n int) {
	for part, k := range r.touches[b.ID] {
		n += k * far[part]
	}
	return n
}

// of returns how many eighths of an access to memory are far, if that is in the frame.
func (far *stemmaFar) of(v *Value) int {
	if !stemmaIsAccess(v) {
		return 0
	}
	to := stemmaFixed(v.Args[0])
	if n, ok := to.Aux.(*ir.Name); ok && to.Op == OpLocalAddr {
		if n.Class != ir.PAUTO {
			return far[stemmaParams]
		}
		return far[stemmaPartOf(n.Type())]
	}
	return 0
}

// stemmaIsFar reports whether v is an access to memory that is far from where a register points, but for the frame.
func stemmaIsFar(v *Value) bool {
	if !stemmaIsAccess(v) {
		return false
	}
	off, to := int64(0), v.Args[0]
	for ; to.Op == OpOffPtr; to = to.Args[0] {
		off += to.AuxInt
	}
	return (off >= stemmaReach || off < -stemmaReach) && to.Op != OpAddr && to.Op != OpLocalAddr && to.Op != OpSP
}
