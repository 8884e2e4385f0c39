package sample

import (
	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// This file splices new frames into a tree of samples, as "Approximating the
// Calling Context Tree via Sampling" (Arnold and Sweeney, 2000) does in section 3.
//
// A frame that a sample has looked at has its sampled bit set. The bit of the innermost of them is that its
// return address is that of a known place, the trampoline, which moves outwards as frames return; whoever creates a
// frame clears it without knowing. So a sample walks outwards to the innermost sampled
// frame, SF_old, whose node is in the frame's entry, and splices the frames in between in
// below that node: for the paper's walk from N_last to N_old by parents there is no need.
//
// A frame may be one whose return address must not change: it has no bit, and counts
// as new for each walk that comes to it. So does the innermost group of frames, where the runtime patches a slot of
// every fourth frame only.

// A NewFrame is a frame between the innermost one and that of the last sample, which no sample has looked at.
type NewFrame struct {
	Place uintptr // of the slot that returns into it; 0 if that may not be patched
	PC    uintptr // the return address
	Sym   uintptr // the address that stands for the frame in the tree
	Below uintptr // how far the slot is below its place
}

// Splice adds frames, innermost first, below base, and an entry for each that may be patched; hi is the end of the
// stack. It returns the node that has the callees of the innermost one. The base is what the entry of SF_old has, the
// node of its caller; old says that there is such a frame. With all, each new edge gets the weight of one sample: the
// strategy increment-all-new-edges. The outermost of the frames returns into SF_old, which it splices in again, since
// that may call from elsewhere now; the edge that leads there is none of the new ones.
func (t *Trace) Splice(s *Samples, base uint32, frames []NewFrame, hi uintptr, all, old bool) uint32 {
	for i := len(frames) - 1; i >= 0; i-- {
		if all && !(old && i == len(frames)-1) {
			n := s.Child(base, frames[i].Sym)
			s.Add(n, layout.WeightCPU, 0, 1)
			base = s.Home(n)
		} else {
			base = s.Call(base, frames[i].Sym)
		}
		if f := &frames[i]; f.Place != 0 {
			t.Push(hi-f.Place, f.Below, f.PC, base)
		}
	}
	return base
}

// groupFrames is how many frames make a group. The innermost one has an entry.
const groupFrames = 4

// SpliceGroups is Splice where the mark need not tell which frames are new: there is an entry for each group of
// frames, and none for the innermost group, which the next sample walks again. It returns the node of the innermost
// frame, which is at leaf.
func (t *Trace) SpliceGroups(s *Samples, base uint32, frames []NewFrame, leaf, hi uintptr) uint32 {
	for i := len(frames) - 1; i >= 0; i-- {
		base = s.Call(base, frames[i].Sym)
		if i > 0 && i%groupFrames == 0 {
			t.pushGroup(&frames[i], hi, base)
		}
	}
	return s.Child(base, leaf)
}

// pushGroup pushes the entry of a group, by its innermost frame.
//
//go:nosplit
func (t *Trace) pushGroup(f *NewFrame, hi uintptr, ref uint32) {
	if f.Place != 0 {
		*t.entry(t.n) = Entry{Off: hi - f.Place, Below: f.Below, PC: f.PC, Ref: ref}
		t.n++
	}
}

// Known are the frames of a sample whose nodes are all in the cache, innermost first, and what else is found out
// about them. It lies where there is room: who fills it in has little stack.
type Known struct {
	Frames [maxKnown]NewFrame
	N      int
	refs   [maxKnown / groupFrames]uint32 // of the innermost frame of each group
}

const maxKnown = 256

// Add adds a frame, outwards. It reports false if there are too many.
//
//go:nosplit
func (k *Known) Add(f NewFrame) bool {
	if uint(k.N) >= maxKnown {
		return false
	}
	k.Frames[k.N] = f
	k.N++
	return true
}

// Find returns what SpliceGroups would, if all nodes are in the cache, and else 0. Nothing is changed but k.
//
//go:nosplit
func (k *Known) Find(s *Samples, base uint32, leaf uintptr) uint32 {
	if s.lost {
		return 0
	}
	for i := uint(k.N) - 1; i < maxKnown; i-- {
		if base = s.tryCall(base, k.Frames[i].Sym); base == 0 {
			return 0
		}
		k.refs[i/groupFrames] = base
	}
	return s.tryChild(base, leaf)
}

// PushKnown pushes the entries of frames for which Find has found the refs. There must be room for all.
//
//go:nosplit
func (t *Trace) PushKnown(k *Known, hi uintptr) {
	if k.N == 0 {
		return
	}
	for i := uint(k.N-1) / groupFrames; i > 0; i-- {
		t.pushGroup(&k.Frames[i*groupFrames%maxKnown], hi, k.refs[i%uint(len(k.refs))])
	}
}

// HasRoom reports whether the entries of k fit.
//
//go:nosplit
func (t *Trace) HasRoom(k *Known) bool { return t.n+uint64(k.N)/groupFrames < t.capEntries }

// FuncTriggerSize is the number of counters of the trigger func; functions
// whose hashes are equal share one.
const FuncTriggerSize = 1 << 16
