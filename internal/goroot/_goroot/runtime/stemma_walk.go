// Walks of a whole stack, where it is not traced incrementally, and what they record.

package runtime

import (
	"internal/abi"
	"internal/runtime/stemma/layout"
	"internal/runtime/sys"
)

// stemmaBufSize is the size of a buffer for one stack trace, a million frames. Only
// what is used of it is backed.
const stemmaBufSize = 8 << 20

// stemmaRecord walks the whole stack of gp, which does not run, and adds its
// weight to the tree. th is the thread that does it.
//
//go:nowritebarrierrec
func stemmaRecord(gp *g, th *stemmaThread, kind int, weight uint64) {
	pcs, ok := stemmaFullWalk(gp, th)
	base := uint32(0)
	if !ok {
		stemmaSmp.Count(layout.StatFailed, 1)
		base = stemmaSmp.Child(0, layout.PCTruncated)
	}
	stemmaSmp.Add(stemmaSmp.Stack(base, pcs), kind, weight, 1)
}

// stemmaFullWalk returns the addresses of all frames of gp, which does not run, innermost
// first. It reports false if it did not reach the outermost frame.
//
// Where the function has no frame, as in a prologue that has called morestack, the stack pointer or the link register
// leads to the return address. That syncSafePoint tells so is not to be relied on: who is about to run gp clears it
// before it has gp. A goroutine that has not run yet is left to the unwinder.
//
//go:nowritebarrierrec
func stemmaFullWalk(gp *g, th *stemmaThread) (pcs []uintptr, ok bool) {
	pcs = th.stemmaBuffer()
	at := stemmaPlace{pc: gp.sched.pc, sp: gp.sched.sp, lr: gp.sched.lr, bp: gp.sched.bp, how: stemmaAfterCall}
	if gp.syscallsp != 0 {
		at.pc, at.sp, at.lr, at.bp = gp.syscallpc, gp.syscallsp, 0, gp.syscallbp
	} else if f := findfunc(at.pc); f.valid() && at.pc != f.entry() && funcspdelta(f, at.pc) == 0 {
		at.how = stemmaAtGuard
	}
	at.sym = at.pc - 1
	if stemmaSmp.walk != layout.WalkUnwinder {
		if n, ok := stemmaWalkFP(gp, at, pcs); ok {
			return pcs[:n], true
		}
	}
	n, ok := stemmaWalkUnwinder(gp, pcs)
	return pcs[:n], ok
}

// stemmaWalkUnwinder walks with the runtime's own unwinder. The frames that
// an asynchronous preemption has put on top are left out, and goexit.
//
//go:nowritebarrierrec
func stemmaWalkUnwinder(gp *g, pcs []uintptr) (n int, ok bool) {
	var u unwinder
	for u.init(gp, unwindSilentErrors); u.valid() && n < len(pcs); u.next() {
		f := u.frame.fn
		if f.flag&abi.FuncFlagTopFrame != 0 {
			return n, true
		}
		if f.funcID == abi.FuncID_asyncPreempt && n <= 1 {
			n = 0
			continue
		}
		pcs[n] = u.symPC()
		n++
	}
	return n, false
}

// stemmaFPFuncs are the address ranges of functions that must be known by their
// addresses: a frame that was interrupted lies beyond asyncPreempt and sigpanic, and in the
// trampoline a goroutine's trace is being changed.
var stemmaFPFuncs struct {
	async, asyncEnd, sigpanic, sigpanicEnd, goexit uintptr
	tramp, trampEnd, trampStep, trampStepEnd       uintptr
}

// stemmaFPInit looks the ranges up.
func stemmaFPInit() {
	r := &stemmaFPFuncs
	r.async, r.asyncEnd = stemmaSpan(abi.FuncPCABI0(asyncPreempt))
	r.sigpanic, r.sigpanicEnd = stemmaSpan(abi.FuncPCABIInternal(sigpanic))
	r.goexit = abi.FuncPCABI0(goexit) + sys.PCQuantum
	stemmaTrampolineSpans()
}

// stemmaSpan returns the entry of a function, and the first address behind it.
func stemmaSpan(entry uintptr) (lo, hi uintptr) {
	f := findfunc(entry)
	for hi = entry + 1; findfunc(hi) == f; hi++ {
	}
	return f.entry(), hi
}
