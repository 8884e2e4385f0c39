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
	"internal/runtime/atomic"
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
	if !stemmaAcctGroups || stemmaAcct.trigger != stemmaTriggerCalls || gp.stemma.Countdown().Begun == 0 || t == nil ||
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
	gp.stemma.Countdown().Left = stemmaAcct.n - 1
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

// stemmaAcctDue begins a new countdown, and reports whether the call at which the old one ended is to be sampled. The
// first countdown, of a goroutine or of a function, has a length at random, so that those which
// are called less than n times have their chance. It runs on the system stack.
func stemmaAcctDue(gp *g) bool {
	a := &stemmaAcct
	own := gp.stemma.Countdown()
	left, first := &own.Left, own.Begun == 0
	if a.trigger == stemmaTriggerFunc {
		c := (*layout.Countdown)(unsafe.Pointer(gp.stemma.Func))
		left, first = &c.Left, stemmaAcctList(c)
		stemmaAcctDecay()
	} else {
		own.Begun = 1
	}
	*left = a.n - 1
	if !first {
		return true
	}
	*left = int64(cheaprandn(uint32(a.n))) - 1 // -1 stands for this call
	if *left >= 0 {
		return false
	}
	*left = a.n - 1
	return true
}

// stemmaAcctFuncs is the list of the countdowns of functions that were called, by their addresses; they lie in the
// program's data. 1 is its end.
var stemmaAcctFuncs uintptr = 1

// stemmaAcctList puts c into the list, and reports whether it was not in it.
func stemmaAcctList(c *layout.Countdown) bool {
	next := (*uintptr)(unsafe.Pointer(&c.Next))
	if *next != 0 || !atomic.Casuintptr(next, 0, 1) {
		return false
	}
	for {
		first := atomic.Loaduintptr(&stemmaAcctFuncs)
		atomic.Storeuintptr(next, first)
		if atomic.Casuintptr(&stemmaAcctFuncs, first, uintptr(unsafe.Pointer(c))) {
			return true
		}
	}
}

// stemmaAcctDecay moves the countdowns of all functions back, every tenth of a second in which one has ended.
func stemmaAcctDecay() {
	a := &stemmaAcct
	now, last := nanotime(), a.decayed.Load()
	if now-last < stemmaDecayEvery || !a.decayed.CompareAndSwap(last, now) {
		return
	}
	for p := atomic.Loaduintptr(&stemmaAcctFuncs); p != 1; {
		c := (*layout.Countdown)(unsafe.Pointer(p))
		c.Left = sample.Decayed(c.Left, a.n)
		p = atomic.Loaduintptr((*uintptr)(unsafe.Pointer(&c.Next)))
	}
}
