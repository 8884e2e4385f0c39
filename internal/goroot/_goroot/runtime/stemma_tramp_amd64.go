package runtime

import (
	"internal/abi"
	"internal/goarch"
	"internal/runtime/stemma/sample"
	"unsafe"
)

const stemmaHasTrampoline = true

// stemmaRecoversFP says whether recovery finds the frame pointer by the stack pointer. Here it takes that of the
// function that recovers.
const stemmaRecoversFP = false

func stemmaTrampoline()
func stemmaTrampolineSlow()

// stemmaTrampolineEntry returns what is in a patched slot.
func stemmaTrampolineEntry() uintptr {
	pc := abi.FuncPCABI0(stemmaTrampoline) + 2 // behind POPQ R12
	if *(*uint16)(unsafe.Pointer(pc - 2)) != 0x5c41 {
		throw("stemma: the trampoline does not begin with POPQ R12")
	}
	return pc
}

// stemmaTrampolineSpans notes where the trampoline lies.
func stemmaTrampolineSpans() {
	r := &stemmaFPFuncs
	r.tramp, _ = stemmaSpan(abi.FuncPCABI0(stemmaTrampoline))
	_, r.trampEnd = stemmaSpan(abi.FuncPCABI0(stemmaTrampolineSlow))
	r.trampStep, r.trampStepEnd = stemmaSpan(abi.FuncPCABI0(stemmaTrampolineStep))
}

// Where return addresses are: calls push them.

const (
	stemmaPlainShift    = 0     // of addresses in the table of plain ones
	stemmaPopped        = 0     // how far above a slot's place the stack pointer is when the frame is about to return
	stemmaTailCallsMove = false // the slot of a function that ends in a jump to another one becomes that one's
)

// find finds the slot of a frame of delta bytes. It reports whether the slot may be patched as far as that goes, and
// false where it would not be on gp's stack.
//
//go:nosplit
//go:nowritebarrierrec
func (fr *stemmaFrame) find(gp *g, at stemmaHalted, delta uintptr) (patchable, ok bool) {
	fr.slot = at.sp + delta
	if fr.slot < gp.stack.lo || fr.slot > gp.stack.hi-goarch.PtrSize {
		return false, false
	}
	fr.raw, fr.end = *(*uintptr)(unsafe.Pointer(fr.slot)), fr.slot+goarch.PtrSize
	return true, true
}

// stemmaPlaceOf returns the place of a slot which the frame pointer below it leads to.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaPlaceOf(slot uintptr) uintptr { return slot }

// stemmaSlotIn returns the slot of a frame between two stack pointers, its own and its caller's.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaSlotIn(sp, end uintptr) uintptr { return end - goarch.PtrSize }

// stemmaInterruptedAt returns where a frame was interrupted: at pc, if the frame of the function that was called in its
// place ends at sp.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaInterruptedAt(pc, sp uintptr) stemmaHalted {
	return stemmaHalted{pc: pc, sp: sp, interrupted: true}
}

// stemmaPushedCall undoes a call that a signal handler has just pushed, of a function that has not begun.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaPushedCall(sp, lr uintptr) (pc, oldSP, oldLR uintptr) {
	return *(*uintptr)(unsafe.Pointer(sp)), sp + goarch.PtrSize, 0
}

// stemmaGuardReturn returns the return address of a function that has stopped in its prologue.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaGuardReturn(gp *g, at stemmaPlace) uintptr { return stemmaReturn(gp, at.sp) }

// stemmaCallersFP returns the frame pointer of the caller of a frame that was interrupted and is not empty; bp is the
// register, which the frame has perhaps not set yet.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaCallersFP(fr *stemmaFrame, bp uintptr) uintptr {
	return *(*uintptr)(unsafe.Pointer(fr.slot - goarch.PtrSize))
}

// stemmaEndOf returns the stack pointer of the caller of the frame with a slot, whose function has called at pc.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaEndOf(slot, pc uintptr) uintptr { return slot + goarch.PtrSize }

// stemmaInPlace reports whether all entries of the trace of gp, which does not run, are those of slots.
func stemmaInPlace(gp *g, t *sample.Trace) bool { return true }
