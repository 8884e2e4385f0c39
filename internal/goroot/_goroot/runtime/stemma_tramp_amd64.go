package runtime

import (
	"internal/abi"
	"unsafe"
)

const stemmaHasTrampoline = true

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
