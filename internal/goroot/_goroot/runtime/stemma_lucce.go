// Engine lucce in the running program: the slow path of function entry, and
// captures. The context of an invocation is a pair, an id and a version; see
// package layout, Lucce. There are no re-encodings: nothing stops the world, and no frame is
// ever rewritten, but when a segment begins.

package runtime

import (
	"internal/runtime/stemma/ids"
	"internal/runtime/stemma/layout"
	"internal/runtime/sys"
	"unsafe"
)

// stemmaNoStep is the step of cells that lead nowhere. The compiler addresses the cells.
var (
	stemmaNoStep layout.Step
	stemmaNoCell = &stemmaNoStep // the pair in g means nothing
	stemmaGoCell = &stemmaNoStep // a go statement has left its pair in g
)

// The assembly reads these.
var (
	stemmaEdges uintptr // address of the address of the table of edges
	stemmaSteps uintptr
)

// stemmaLucceInit makes stemma.lucce an encoder on top of stemma.contexts.
func stemmaLucceInit(shift uint) {
	stemma.lucce.Init(&stemma.contexts, stemmaFileSpan(layout.FileLog, ids.LogSize>>shift), shift)
	stemmaLimitContexts()
	stemmaEdges, stemmaSteps = stemma.lucce.Tables()
	stemmaVoid = uintptr(unsafe.Pointer(&stemmaNoCell))
	stemmaAPIs.here = stemmaLucceHere
}

// stemmaPairsOf returns the ccStack of gp.
//
//go:nosplit
func stemmaPairsOf(gp *g) ids.PairStack { return ids.PairStackOf(&gp.stemma.Pair().Base) }

// stemmaLucceEnterGo finds the pair of the function with the data g.stemma.Func, whose
// frame pointer is bp, and leaves the id in g.stemma.Node and the version in
// g. As stemmaEnterGo, it may run on any stack but a signal's, with or
// without a P, and must not split the stack.
//
//go:nosplit
func stemmaLucceEnterGo(bp uintptr) {
	gp := getg()
	if !stemmaCheckOn || stemmaCountdown > 0 {
		id, version, ok := stemmaLucceTry(gp, bp)
		if ok {
			gp.stemma.Node, gp.stemma.Pair().Version = uintptr(id), uintptr(version)
			return
		}
	}
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	systemstack(func() {
		lock(&stemma.lock)
		id, version := stemmaLucceEntry(gp, bp, pc, sp)
		gp.stemma.Node, gp.stemma.Pair().Version = uintptr(id), uintptr(version)
		unlock(&stemma.lock)
	})
}

// stemmaLucceTry is stemmaLucceNear for calls that the graph knows: it takes no lock.
//
//go:nosplit
func stemmaLucceTry(gp *g, bp uintptr) (id, version uint64, ok bool) {
	if stemmaIsFirst(bp) {
		return stemma.lucce.TryRoot(stemmaFromOf(gp), gp.stemma.Func)
	}
	for {
		pc := stemmaReturnOf(bp)
		s, pass, known := stemma.contexts.LookupPC(pc)
		if !known {
			return 0, 0, false
		}
		bp = *(*uintptr)(unsafe.Pointer(bp))
		if !pass {
			c, v := stemmaPairAt(stemmaSlotOf(bp))
			return stemma.lucce.TryCall(stemmaPairsOf(gp), s, gp.stemma.Func, c, v)
		}
	}
}

// stemmaLucceEntry returns the pair of the function that is being entered on
// gp, whose stack goes on at pc and sp. It runs on the system stack, under the lock.
func stemmaLucceEntry(gp *g, bp, pc, sp uintptr) (id, version uint64) {
	l := &stemma.lucce
	l.Header().Slow++
	data := gp.stemma.Func
	if f, isNew := l.Learn(data); isNew {
		stemmaDescribePCs(f)
	}
	id, version, ok := stemmaLucceNear(gp, bp, data)
	if !ok {
		id, version = stemmaLucceFar(gp, bp, pc, sp, data)
	}
	if stemmaCheckOn {
		stemmaCheckUpdated(gp, pc, sp, id, version, data)
	}
	return id, version
}

// stemmaLucceNear finds the caller by way of frame pointers and the return
// addresses that are known. ok is false if one is not. It runs on the system stack, under the lock.
func stemmaLucceNear(gp *g, bp, data uintptr) (id, version uint64, ok bool) {
	for {
		pc := stemmaReturnOf(bp)
		s, pass, known := stemma.contexts.LookupPC(pc)
		if !known {
			return 0, 0, false
		}
		bp = *(*uintptr)(unsafe.Pointer(bp))
		if !pass {
			c, v := stemmaPairAt(stemmaSlotOf(bp))
			id, version = stemma.lucce.Call(stemmaPairsOf(gp), s, data, c, v)
			return id, version, true
		}
	}
}

// stemmaPairAt returns the pair in the frame whose slot is at the given address.
//
//go:nosplit
func stemmaPairAt(slot uintptr) (c, v uint64) {
	pair := (*layout.Pair)(unsafe.Pointer(slot - unsafe.Offsetof(layout.Pair{}.ID)))
	return pair.ID, pair.Version
}

// stemmaLucceFar finds the caller by unwinding, and learns the return addresses
// in between for the next time. It runs on the system stack, under the lock.
func stemmaLucceFar(gp *g, bp, pc, sp, data uintptr) (id, version uint64) {
	l := &stemma.lucce
	frames, linked := stemmaWalk(gp, pc, sp, bp, false)
	if len(frames) == 0 {
		stemmaLearnFirst(bp)
		f, _ := l.Learn(data)
		return l.Root(stemmaFromOf(gp), stemma.encode.below, stemmaDataAt(data).Func, f)
	}
	c, v := stemmaPairOf(gp, frames)
	if len(frames) == 1 && linked {
		stemmaLearnPCs(bp, &frames[0].Frame)
	}
	return l.Called(stemmaPairsOf(gp), &frames[0].Frame, data, c, v)
}

// stemmaPairOf returns the pair of the first of the frames that stemmaWalk has
// found. There is at least one. It runs on the system stack, under the lock.
func stemmaPairOf(gp *g, frames []ids.Walked) (c, v uint64) {
	last := len(frames) - 1
	if slot := frames[last].Slot; slot != 0 {
		c, v = stemmaPairAt(slot)
		last--
	}
	for i := last; i >= 0; i-- {
		c, v = stemma.lucce.Down(stemmaPairsOf(gp), stemmaFromOf(gp), stemma.encode.below, frames[i:], c, v)
	}
	return c, v
}

// stemmaFromOf returns what gp began with: the ID of a go statement, or a root and 0.
//
//go:nosplit
func stemmaFromOf(gp *g) [2]uint64 { return [2]uint64{uint64(gp.stemma.Start), uint64(gp.stemma.From)} }

// stemmaLucceNewG notes the context of the go statement at callerpc in creator.
// It runs on the system stack, with a P.
func stemmaLucceNewG(newg, creator *g, callerpc uintptr) {
	newg.stemma.Epoch = stemma.encode.epoch
	f := findfunc(callerpc)
	if stemma.encode.mute || !f.valid() || f.flag&layout.FuncFlagSlot == 0 {
		return
	}
	var hi, lo uint64
	if creator.stemma.Ctx == uintptr(unsafe.Pointer(&stemmaGoCell)) {
		pair := creator.stemma.Pair()
		hi, lo = stemmaLucceCapture(creator, uint64(pair.ID), uint64(pair.Version), callerpc)
	} else {
		pc, sp := creator.sched.pc, creator.sched.sp
		if creator == getg() { // the function of a timer runs on g0, which systemstack does not leave
			pc, sp = sys.GetCallerPC(), sys.GetCallerSP()
		}
		if hi, lo = stemmaLucceCaptured(creator, pc, sp, callerpc); lo == 0 {
			return
		}
	}
	newg.stemma.Start, newg.stemma.From = uintptr(hi), uintptr(lo)
	if stemmaWants(layout.EventGo) && getg().m.p != 0 {
		stemmaWriteEvent(layout.EventGo, stemmaNextGoid(), hi, lo)
	}
	if stemmaCheckOn {
		stemmaCheckCapture(creator, hi, lo)
	}
}

// stemmaLucceCapture returns the ID of the context in which an invocation of gp with the
// pair c, v calls something that returns to pc. It may run on any stack but a signal's.
//
//go:nosplit
func stemmaLucceCapture(gp *g, c, v uint64, pc uintptr) (hi, lo uint64) {
	if stemma.encode.mute {
		return 0, 0
	}
	if hi, lo, ok := stemma.lucce.TryCapture(stemmaPairsOf(gp), c, v, pc); ok {
		return hi, lo
	}
	systemstack(func() {
		lock(&stemma.lock)
		hi, lo = stemma.lucce.CaptureID(stemmaPairsOf(gp), c, v, pc)
		unlock(&stemma.lock)
	})
	return hi, lo
}

// stemmaLucceCaptured returns the ID of the innermost instrumented call on gp's stack, which goes on at pc and sp, or
// of the place of the fault that stopped it; if ret is not 0, only if that returns to ret. It runs on the system
// stack.
func stemmaLucceCaptured(gp *g, pc, sp, ret uintptr) (hi, lo uint64) {
	lock(&stemma.lock)
	frames, _ := stemmaWalk(gp, pc, sp, 0, false)
	if len(frames) > 0 && (ret == 0 || frames[0].PC == ret) {
		c, v := stemmaPairOf(gp, frames)
		hi, lo = stemma.lucce.CaptureID(stemmaPairsOf(gp), c, v, stemmaPlaceInID(&frames[0]))
	}
	unlock(&stemma.lock)
	return hi, lo
}

// stemmaLucceHere returns the ID of the context in which it is called, as stemmaHere does.
func stemmaLucceHere() (hi, lo, run uint64)

// stemmaLucceHereSlow is called instead of stemmaLucceHere when the assembly
// cannot tell.
func stemmaLucceHereSlow() (hi, lo, run uint64) {
	gp, pc, sp := getg(), sys.GetCallerPC(), sys.GetCallerSP()
	if hi, lo = stemmaLucceHerePair(gp, pc); lo != 0 {
		return hi, lo, stemmaRun
	}
	systemstack(func() { hi, lo = stemmaLucceCaptured(gp, pc, sp, 0) })
	if lo != 0 {
		run = stemmaRun
	}
	return hi, lo, run
}

// stemmaLucceHerePair is stemmaLucceCapture for the pair that the call left in g. It returns 0 if that means nothing.
//
//go:nosplit
func stemmaLucceHerePair(gp *g, pc uintptr) (hi, lo uint64) {
	if gp.stemma.Ctx == uintptr(unsafe.Pointer(&stemmaNoCell)) {
		return 0, 0
	}
	pair := gp.stemma.Pair()
	return stemmaLucceCapture(gp, uint64(pair.ID), uint64(pair.Version), pc)
}

// stemmaCheckUpdated is stemmaCheckEntry for a pair.
func stemmaCheckUpdated(gp *g, pc, sp uintptr, id, version uint64, data uintptr) {
	if !stemmaCheckDue(gp, sp, false) {
		return
	}
	hi, lo := stemma.lucce.CaptureID(stemmaPairsOf(gp), id, version, stemmaEntryOf(data))
	startHi, startLo := stemmaStartOf(gp)
	stemmaCheck.BeginID(hi, lo, startHi, startLo)
	stemmaCheckWalk(gp, pc, sp)
	stemmaCheck.End()
}
