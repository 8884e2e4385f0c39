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

// stemmaAcctBelow is how many of the innermost frames of a sample have no marker: the
// next sample walks them again. It is 0 where the marker must tell which frames are new.
var stemmaAcctBelow int

// stemmaAcctMarks sets how marks lie, before the first sample. To give each new edge its weight the marks must be the
// paper's sampled bits, in every frame; so it is beside the exact tree, which shows the algorithm and not its speed.
func stemmaAcctMarks() {
	a := &stemmaAcct
	switch {
	case !a.on:
	case a.alone && !a.all:
		stemmaStride, stemmaAcctBelow = 4, 4
	default:
		stemmaStride = 1
	}
}

// stemmaAcctEnterGo is called by stemmaAcctEnter, whose frame pointer is bp. It may run on any stack but a
// signal's, with or without a P, at a place that is no safe point: it must not split the stack, nor let
// the scheduler in.
//
//go:nosplit
func stemmaAcctEnterGo(bp uintptr) {
	gp := getg()
	systemstack(func() {
		if stemmaAcctDue(gp) {
			pc := *(*uintptr)(unsafe.Pointer(bp + layout.ReturnAbove))
			stemmaAcctSample(gp, stemmaPlace{pc: pc, sp: bp + layout.ReturnAbove + goarch.PtrSize,
				bp: *(*uintptr)(unsafe.Pointer(bp)), sym: pc - 1, how: stemmaEntered})
		}
	})
}

// stemmaAcctDue begins a new countdown, and tells whether the call at which the old one ended is to be sampled. The
// first countdown, of a goroutine or of a function, has a length at random, so that those which
// are called less than n times have their chance. It runs on the system stack.
func stemmaAcctDue(gp *g) bool {
	a := &stemmaAcct
	left, first := (*int64)(unsafe.Pointer(&gp.stemmaCtx)), gp.stemmaStart == 0
	if a.trigger == stemmaTriggerFunc {
		c := (*layout.Countdown)(unsafe.Pointer(gp.stemmaFunc))
		left, first = &c.Left, stemmaAcctList(c)
		stemmaAcctDecay()
	} else {
		gp.stemmaStart = 1
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
