// The marker variant of incremental tracing: one patched return address, which marks how
// far in the stack is unchanged since the last sample. All frames further out are
// known, with their nodes. A sample walks from the innermost frame to the
// marker, and so knows its whole context at once; when the marker's function returns,
// the marker moves outwards by some frames, which a later sample has to walk again.

package runtime

import (
	"internal/goarch"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/sample"
	"unsafe"
)

// stemmaStride is how many frames the marker moves outwards. A long stride saves
// interceptions when the stack shrinks, and costs steps when the next sample is taken.
// The accumulator needs it to be 1: then it lies where the new frames begin, or the group of them.
var stemmaStride = 16

// stemmaFrameSizes has for addresses behind calls how far from the stack pointer that of the caller is: the address in
// the upper bits, below it the distance in words, and whether the frame is plain. An M may replace any of them at any
// time.
var stemmaFrameSizes [1 << 13]uintptr

const (
	stemmaSizeBits  = 16 // bits below the address
	stemmaSizePlain = 1  // the slot may be patched
)

// stemmaFrameSize returns the place of an address. Addresses that share a place in stemmaPlain have others here.
//
//go:nosplit
func stemmaFrameSize(pc uintptr) *uintptr {
	return &stemmaFrameSizes[(pc^pc>>12)%uintptr(len(stemmaFrameSizes))]
}

// stemmaKnownSize returns the stack pointer of the caller of the frame at pc and sp, which called something, and
// whether the frame's slot may be patched. It returns 0 if that is not known.
//
//go:nosplit
func stemmaKnownSize(pc, sp uintptr) (end uintptr, plain bool) {
	e := *stemmaFrameSize(pc)
	if e>>stemmaSizeBits != pc {
		return 0, false
	}
	return sp + e%(1<<stemmaSizeBits)/2*goarch.PtrSize, e&stemmaSizePlain != 0
}

// stemmaLearnSize is for stemmaKnownSize.
//
//go:nowritebarrierrec
func stemmaLearnSize(pc, sp uintptr, fr stemmaFrame) {
	words := (fr.end - sp) / goarch.PtrSize
	if fr.top || fr.exact || fr.slot == 0 || words >= 1<<(stemmaSizeBits-1) {
		return
	}
	e := pc<<stemmaSizeBits | words*2
	if fr.plain {
		e |= stemmaSizePlain
	}
	*stemmaFrameSize(pc) = e
}

// stemmaNotPlain is an empty table of plain return addresses: it makes the trampoline take
// its slow path, which knows about the marker.
var stemmaNotPlain [sample.PlainSize]uintptr

// stemmaMark returns the node of the frame at the given place, and
// moves the marker to the innermost slot that may be patched. It runs where stemmaTrace
// does. It reports false if there is no memory for the entries. Where more frames are new than the buffer
// has room for, the outermost that it has is below PCTruncated.
//
//go:nowritebarrierrec
func stemmaMark(gp *g, t *sample.Trace, th *stemmaThread, at stemmaPlace) (ref uint32, ok bool) {
	s := &stemmaSmp.Samples
	buf := th.stemmaBuffer()
	if buf == nil {
		return 0, false
	}
	frames := unsafe.Slice((*sample.NewFrame)(unsafe.Pointer(&buf[0])), stemmaBufSize/unsafe.Sizeof(sample.NewFrame{}))
	stop := at.stop()
	bp := uintptr(0)
	if at.how == stemmaEntered {
		bp = at.bp
	}
	n, old := 0, false // old: a frame has its sampled bit set
	for ; ; n++ {
		fr, ok := stemmaFrame{slot: bp + goarch.PtrSize, plain: true}, true
		if bp != 0 && !stop.interrupted && *stemmaPlainAt(stop.pc) == stop.pc {
			fr.raw = *(*uintptr)(unsafe.Pointer(fr.slot))
			fr.end = stemmaPlaceOf(fr.slot) + goarch.PtrSize
			bp = *(*uintptr)(unsafe.Pointer(bp))
		} else {
			fr, ok = stemmaStepBP(gp, stop, &bp)
		}
		if !ok || n == len(frames) {
			s.Count(layout.StatFailed, 1)
			ref = s.Child(0, layout.PCTruncated)
			break
		}
		if fr.top {
			n = max(n-1, 0)
			break
		}
		if fr.raw == stemmaTrampPC {
			ref, old = t.Top().Ref, true
			break
		}
		if fr.raw == stemmaFPFuncs.goexit {
			break
		}
		stop = fr.caller()
		frame := sample.NewFrame{PC: stop.pc, Sym: stop.pc - 1}
		if fr.plain {
			frame.Place, frame.Below = fr.place(), fr.place()-fr.slot
		}
		if fr.exact {
			frame.Sym = stop.pc
		}
		frames[n] = frame
	}
	for t.Len()+n >= t.Cap() {
		if !stemmaGrow(t) {
			return 0, false
		}
	}
	stemmaMarkTop(gp, t, false)
	if stemmaAcctGroups {
		ref = t.SpliceGroups(s, ref, frames[:n], at.sym, gp.stack.hi)
	} else {
		ref = s.Child(t.Splice(s, ref, frames[:n], gp.stack.hi, stemmaAcct.on && stemmaAcct.all, old), at.sym)
	}
	stemmaMarkTop(gp, t, true)
	return ref, true
}

// stemmaStepBP is stemmaStep for a frame whose frame pointer may not be bp. bp is that of the
// innermost frame from there outwards that has one, or 0, if it is not known; it becomes that of the frame's caller.
//
//go:nowritebarrierrec
func stemmaStepBP(gp *g, at stemmaHalted, bp *uintptr) (fr stemmaFrame, ok bool) {
	known := false
	if !at.interrupted {
		fr.end, fr.plain = stemmaKnownSize(at.pc, at.sp)
		known = fr.end != 0 && fr.end <= gp.stack.hi
	}
	if ok = true; known {
		fr.slot = stemmaSlotIn(at.sp, fr.end)
		fr.raw = *(*uintptr)(unsafe.Pointer(fr.slot))
	} else if fr, ok = stemmaStep(gp, at); ok && !at.interrupted {
		stemmaLearnSize(at.pc, at.sp, fr)
	}
	switch {
	case !ok || fr.top || at.interrupted || !fr.plain:
		*bp = 0
	case fr.end != at.sp+goarch.PtrSize: // the function's prologue has stored its caller's below the slot
		*bp = *(*uintptr)(unsafe.Pointer(fr.slot - goarch.PtrSize))
	}
	return fr, ok
}

// stemmaMarkTop patches the slot of the innermost entry, or restores it.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaMarkTop(gp *g, t *sample.Trace, on bool) {
	if t.Len() == 0 {
		return
	}
	e := t.Top()
	slot := stemmaSlotAt(gp, e)
	if *slot = e.PC; on {
		*slot = stemmaTrampPC
	}
}

// stemmaMarkOut moves the marker outwards when its function has returned. Its own
// entry is gone. It runs where stemmaReturned does.
//
//go:nowritebarrierrec
func stemmaMarkOut(gp *g, t *sample.Trace) {
	for i := 1; i < stemmaStride && t.Len() > 1; i++ {
		t.Drop()
	}
	stemmaMarkTop(gp, t, true)
}
