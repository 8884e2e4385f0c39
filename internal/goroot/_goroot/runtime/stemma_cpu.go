// Time on CPU in exact contexts: a sample goes to the node of the innermost instrumented function, which its frame
// has, and not to a stack. Only what the runtime, assembly and C have on top of it is walked.

package runtime

import (
	"internal/abi"
	"internal/goarch"
	"internal/runtime/stemma/layout"
	"unsafe"
)

// stemmaCPUOn reports whether the time on CPU of contexts is sampled.
func stemmaCPUOn() bool { return stemmaOption("cpu") == "on" }

// stemmaSampleContext records the sample of a thread that was interrupted here, on the stack of gp. It runs in a
// signal handler, and reads the tree while others make it grow.
//
//go:nowritebarrierrec
func stemmaSampleContext(th *stemmaThread, here stemmaPlace, gp *g, mp *m, weight uint64) {
	var u unwinder
	stemmaBeginWalk(&u, here, gp, mp)
	pcs := th.stemmaBuffer()
	base, n, entered := uint32(0), 0, true
	for ; u.valid() && n < len(pcs) && base == 0; u.next() {
		fn := u.frame.fn
		if fn.flag&abi.FuncFlagTopFrame != 0 {
			break
		}
		pcs[n] = u.symPC()
		n++
		if node := stemmaNodeOfFrame(&u, entered); node != 0 {
			base = stemmaSmp.Child(0, layout.PCNode|uintptr(node))
		}
		// The slow path of function entry is called before the node is known, and by assembly.
		entered = fn.funcID == abi.FuncIDNormal && fn.flag&(abi.FuncFlagAsm|layout.FuncFlagSlot) == abi.FuncFlagAsm
	}
	if base == 0 {
		base = stemmaSmp.Child(0, stemmaOutside(gp, mp))
	}
	if n == 0 && len(pcs) > 0 {
		pcs[0], n = stemmaForeign(here.pc), 1
	}
	stemmaSmp.Add(stemmaSmp.Stack(base, pcs[:n]), layout.WeightCPU, weight, 1)
}

// stemmaNodeOfFrame returns the node of the frame that u is at, 0 if its function is not instrumented, or not known to
// have one yet.
//
//go:nowritebarrierrec
func stemmaNodeOfFrame(u *unwinder, entered bool) uint32 {
	f, gp := &u.frame, u.g.ptr()
	slot := uint32(0)
	switch {
	case f.fn.flag&layout.FuncFlagSlot != 0:
		slot = *(*uint32)(unsafe.Pointer(f.varp - goarch.PtrSize))
	case f.fn.flag&layout.FuncFlagLeaf != 0:
		entered = true
	default:
		return 0
	}
	return stemma.tree.NodeOfFrame(slot, uint32(gp.stemma.Ctx), uint64(f.fn.entry()), entered)
}

// stemmaOutside returns what a thread does that runs in no context: the pseudo-address under which that is recorded.
//
//go:nowritebarrierrec
func stemmaOutside(gp *g, mp *m) uintptr {
	curg := mp.curg
	switch {
	case gp == nil || curg == nil && mp.isextra:
		return layout.PCForeign
	case curg == nil:
		return layout.PCScheduler
	case curg.startpc == abi.FuncPCABIInternal(gcBgMarkWorker) || curg.startpc == abi.FuncPCABIInternal(bgsweep) ||
		curg.startpc == abi.FuncPCABIInternal(bgscavenge):
		return layout.PCCollector
	}
	return layout.PCRuntime
}
