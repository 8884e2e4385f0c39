// The accumulator acct without the exact tree. With the triggers calls and func compiled functions
// count down, in g or in a word of their own, and call stemmaAcctEnter at the end. With the
// trigger time nothing is compiled in: the sampler asks at stack guards (stemma_guard.go), so
// that the next function that checks its stack after a tick takes the sample.
//
// What makes a sample cheap: it walks from the innermost frame to the marker, which lies some frames
// further out than the last sample, by frame pointers wherever there are some. Then returns of the innermost
// frames are not intercepted, which are most returns.

package runtime

import (
	"internal/goarch"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/sample"
	"unsafe"
)

// stemmaAcctGroups tells that the marker need not tell which frames are new: it goes from one group of frames to the
// next, and the next sample walks the innermost group again.
var stemmaAcctGroups bool

// stemmaAcctMarks sets how marks lie, before the first sample. To give each new edge its weight the marks must be the
// paper's sampled bits, in every frame; so it is beside the exact tree, which shows the algorithm and not its speed.
func stemmaAcctMarks() {
	if a := &stemmaAcct; a.on {
		stemmaStride, stemmaAcctGroups = 1, a.alone && !a.all
	}
}

// stemmaAcctEnterGo is called by stemmaAcctEnter, whose frame pointer is bp. It may run on any stack but a
// signal's, with or without a P, at a place that is no safe point: it must not split the stack, nor let
// the scheduler in.
//
//go:nosplit
func stemmaAcctEnterGo(bp uintptr) {
	gp := getg()
	if stemmaAcctKnown(gp, bp) {
		return
	}
	systemstack(func() {
		if stemmaAcctDue(gp) {
			stemmaAcctSample(gp, stemmaEnteredAt(bp))
		}
	})
}

// stemmaAcctKnown takes the sample of a call where nothing is new: all frames down to the marker are known, and all
// nodes are in the cache. That is nearly each sample, and most of what one costs is code and data that the processor's
// caches have not: so this is little of both, and stays on the goroutine's stack. It reports false, and has changed
// nothing, if something is new. It runs where stemmaAcctEnterGo does. A signal handler may unwind the stack at any
// place: marks are moved as stemmaMark moves them.
//
//go:nosplit
func stemmaAcctKnown(gp *g, bp uintptr) bool {
	mp, t := gp.m, stemmaTraceIn(gp)
	if !stemmaAcctGroups || stemmaAcct.trigger != stemmaTriggerCalls || gp.stemma.Countdown().Seed == 0 || t == nil ||
		gp != mp.curg || mp.p == 0 || stemmaSmp.active.Load() == 0 {
		return false
	}
	th := stemmaThreadOf(mp)
	if th == nil || th.buf == 0 {
		return false
	}
	k := (*sample.Known)(unsafe.Pointer(th.buf))
	pc := stemmaReturnOf(bp)
	base, ok := stemmaAcctNew(gp, t, k, pc, bp)
	if !ok || !t.HasRoom(k) {
		return false
	}
	node := k.Find(&stemmaSmp.Samples, base, pc-1)
	if node == 0 {
		return false
	}
	stemmaMarkTop(gp, t, false)
	t.PushKnown(k, gp.stack.hi)
	stemmaMarkTop(gp, t, true)
	stemmaSmp.Add(node, layout.WeightCPU, 0, 1)
	stemmaSmp.Count(layout.StatSamples, 1)
	own := gp.stemma.Countdown()
	own.Left = stemmaAcctStride(&own.Seed) - 1
	if stemmaTraceCheck {
		stemmaAcctCheck(gp, bp, node)
	}
	return true
}

// stemmaAcctNew finds the frames from the one at pc, which stemmaAcctEnter was called from, to the marker of t, or to
// the end of the stack if t has none. base is the node that they are below. ok is false if there are frames whose
// size is not known.
//
//go:nosplit
func stemmaAcctNew(gp *g, t *sample.Trace, k *sample.Known, pc, bp uintptr) (base uint32, ok bool) {
	marker := uintptr(0)
	if t.Len() > 0 {
		e := t.Top()
		marker, base = gp.stack.hi-e.Off+goarch.PtrSize, e.Ref
	}
	k.N = 0
	sp := stemmaPlaceOf(bp+layout.ReturnAbove) + goarch.PtrSize
	bp = *(*uintptr)(unsafe.Pointer(bp))
	for {
		slot, end, plain := bp+goarch.PtrSize, uintptr(0), true
		if bp != 0 && *stemmaPlainAt(pc) == pc {
			end = stemmaPlaceOf(slot) + goarch.PtrSize
			bp = *(*uintptr)(unsafe.Pointer(bp))
		} else {
			if end, plain = stemmaKnownSize(pc, sp); end == 0 || end > gp.stack.hi {
				return 0, false
			}
			slot = stemmaSlotIn(sp, end)
			switch {
			case !plain:
				bp = 0
			case end != sp+goarch.PtrSize:
				bp = *(*uintptr)(unsafe.Pointer(slot - goarch.PtrSize))
			}
		}
		raw := *(*uintptr)(unsafe.Pointer(slot))
		if raw == stemmaTrampPC || raw == stemmaFPFuncs.goexit {
			return base, end == marker || marker == 0 && raw != stemmaTrampPC
		}
		f := sample.NewFrame{PC: raw, Sym: raw - 1}
		if plain {
			f.Place, f.Below = end-goarch.PtrSize, end-goarch.PtrSize-slot
		}
		if !k.Add(f) {
			return 0, false
		}
		pc, sp = raw, end
	}
}

// stemmaAcctCheck compares the node that stemmaAcctKnown has found with that of a full walk.
//
//go:nosplit
func stemmaAcctCheck(gp *g, bp uintptr, node uint32) {
	systemstack(func() {
		want := stemmaExpect(gp, stemmaThreadOf(gp.m), stemmaEnteredAt(bp))
		if want != 0 && want != node+1 {
			stemmaMismatch(gp, node, want-1)
		}
	})
}

// stemmaEnteredAt returns the place that stemmaAcctEnter was called from.
//
//go:nosplit
func stemmaEnteredAt(bp uintptr) stemmaPlace {
	pc, sp := stemmaReturnOf(bp), stemmaPlaceOf(bp+layout.ReturnAbove)+goarch.PtrSize
	return stemmaPlace{pc: pc, sp: sp, bp: *(*uintptr)(unsafe.Pointer(bp)), sym: pc - 1, how: stemmaEntered}
}

// stemmaAcctDue begins a new countdown, and reports whether the call at which the old one ended is to be sampled: not
// where there was none, as this was the first call, unless the new one ends here. It runs on the system stack.
func stemmaAcctDue(gp *g) bool {
	own := gp.stemma.Countdown()
	left, seed, key := &own.Left, &own.Seed, *gp.stemma.seed()
	if stemmaAcct.trigger == stemmaTriggerFunc {
		c := (*layout.Countdown)(unsafe.Pointer(gp.stemma.Func))
		left, seed, key = &c.Left, &c.Seed, uint64(gp.stemma.Func)
	}
	first := *seed == 0
	if first {
		*seed = stemmaAcctSeed(key)
	}
	stride := stemmaAcctStride(seed)
	if first && stride > 1 {
		*left = stride - 2 // this call is one of them
		return false
	}
	if first {
		stride = stemmaAcctStride(seed)
	}
	*left = stride - 1
	return true
}
