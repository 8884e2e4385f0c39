package runtime

import (
	"internal/abi"
	"internal/goarch"
	"internal/runtime/stemma/sample"
	"internal/runtime/sys"
	"unsafe"
)

const stemmaHasTrampoline = true

// stemmaRecoversFP says whether recovery finds the frame pointer by the stack pointer.
const stemmaRecoversFP = true

func stemmaTrampoline()
func stemmaTrampolineSlow()

// stemmaTrampolineEntry returns what is in a patched slot: the address behind the first instruction, which does
// nothing, as a return address lies behind a call.
func stemmaTrampolineEntry() uintptr { return abi.FuncPCABI0(stemmaTrampoline) + sys.PCQuantum }

// stemmaTrampolineSpans notes where the trampoline lies.
func stemmaTrampolineSpans() {
	r := &stemmaFPFuncs
	r.tramp, _ = stemmaSpan(abi.FuncPCABI0(stemmaTrampoline))
	_, r.trampEnd = stemmaSpan(abi.FuncPCABI0(stemmaTrampolineSlow))
}

// There is no harness that steps through the trampoline: programs cannot ask the processor for that.

func stemmaStepInit(int64) {}

//go:nowritebarrierrec
func stemmaStepped(*sigctxt, *g) bool { return false }

// Where return addresses are: in the link register, until a function that has a frame stores it at the bottom of that,
// and from when it loads it back. A leaf that has a frame stores it, and does not load it back. The word below the
// stack pointer has the caller's frame pointer, which leads to the word below the caller's stack pointer.

const (
	stemmaPlainShift = 2              // of addresses in the table of plain ones: instructions have 4 bytes
	stemmaPopped     = goarch.PtrSize // how far above a slot's place the stack pointer is when the frame is gone

	// A function that ends in a jump to another one loads its return address, and that one stores it at the bottom of
	// its own frame. Only wrappers do.
	stemmaTailCallsMove = true
)

// find finds the return address of a frame of delta bytes. It reports whether there is a slot that may be patched,
// and false where it would not be on gp's stack. That of a frame which was interrupted may not: the function may be a
// leaf, or have loaded it. What the link register has is known only of a frame that was interrupted, or is at its
// stack check.
//
//go:nosplit
//go:nowritebarrierrec
func (fr *stemmaFrame) find(gp *g, at stemmaHalted, delta uintptr) (patchable, ok bool) {
	fr.end = at.sp + delta
	if at.sp < gp.stack.lo || fr.end > gp.stack.hi {
		return false, false
	}
	if delta == 0 {
		fr.raw = at.lr
		return false, at.lr != 0
	}
	fr.slot = at.sp
	fr.raw = *(*uintptr)(unsafe.Pointer(fr.slot))
	return !at.interrupted, true
}

// stemmaPlaceOf returns the place of a slot which the frame pointer below it leads to.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaPlaceOf(slot uintptr) uintptr { return *(*uintptr)(unsafe.Pointer(slot - goarch.PtrSize)) }

// stemmaSlotIn returns the slot of a frame between two stack pointers, its own and its caller's.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaSlotIn(sp, end uintptr) uintptr { return sp }

// stemmaInterruptedAt returns where a frame was interrupted: at pc, if the frame of the function that was called in its
// place ends at sp. The signal handler has pushed the link register before it pretended that call.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaInterruptedAt(pc, sp uintptr) stemmaHalted {
	return stemmaHalted{pc: pc, sp: sp + sys.StackAlign, lr: *(*uintptr)(unsafe.Pointer(sp)), interrupted: true}
}

// stemmaPushedCall undoes a call that a signal handler has just pushed, of a function that has not begun.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaPushedCall(sp, lr uintptr) (pc, oldSP, oldLR uintptr) {
	return lr, sp + sys.StackAlign, *(*uintptr)(unsafe.Pointer(sp))
}

// stemmaGuardReturn returns the return address of a function that has stopped in its prologue.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaGuardReturn(gp *g, at stemmaPlace) uintptr { return stemmaLR(gp, at.lr, at.sp) }

// stemmaCallersFP returns the frame pointer of the caller of a frame that was interrupted and is not empty; bp is the
// register, which the frame has perhaps not set yet, or has set back.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaCallersFP(fr *stemmaFrame, bp uintptr) uintptr {
	if bp != fr.slot-goarch.PtrSize {
		return bp
	}
	return *(*uintptr)(unsafe.Pointer(bp))
}

// stemmaEndOf returns the stack pointer of the caller of the frame with a slot, whose function has called at pc.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaEndOf(slot, pc uintptr) uintptr { return slot + uintptr(funcspdelta(findfunc(pc), pc)) }

// stemmaInPlace reports whether all entries of the trace of gp, which does not run, are those of slots: the innermost
// return address that was replaced is not in the link register, nor has it been saved with that. The world is stopped.
func stemmaInPlace(gp *g, t *sample.Trace) bool {
	if t.Len() == 0 {
		return true
	}
	at := stemmaHalted{pc: gp.sched.pc, sp: gp.sched.sp, lr: gp.sched.lr}
	if gp.syscallsp != 0 {
		at = stemmaHalted{pc: gp.syscallpc, sp: gp.syscallsp}
	}
	for range stemmaGap {
		fr, ok := stemmaStep(gp, at)
		if !ok || fr.top {
			return false
		}
		if fr.raw == stemmaTrampPC {
			return fr.slot == uintptr(unsafe.Pointer(stemmaSlotAt(gp, t.Top())))
		}
		at = fr.caller()
	}
	return false
}
