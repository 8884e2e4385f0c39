// Engine dacce in the running program: the slow path of function entry, the words of
// goroutines after a re-encoding, and captures.

package runtime

import (
	"internal/runtime/stemma/ids"
	"internal/runtime/stemma/layout"
	"internal/runtime/sys"
	"unsafe"
)

// stemmaNoWord in g leads every callee to the slow path.
const stemmaNoWord = uintptr(layout.NoWord)

// stemmaDacceInit makes stemma.dacce an encoder on top of stemma.contexts.
func stemmaDacceInit(shift uint) {
	stemma.dacce.Init(&stemma.contexts, stemmaFileSpan(layout.FileEpochs, ids.EpochsSize>>shift), shift)
	stemmaLimitContexts()
	forced, _ := stemmaNumber("STEMMA_REENCODE_US")
	stemma.encode.pace.Init(int64(forced) * 1000)
}

// stemmaStackOf returns the ccStack of gp.
//
//go:nosplit
func stemmaStackOf(gp *g) ids.Stack {
	return ids.StackOf(&gp.stemma.Stack.Base, &gp.stemma.Stack.Cap, uint64(gp.stemma.Start), uint64(gp.stemma.From))
}

// stemmaDacceEnterGo finds the word of the function with the data g.stemma.Func, whose
// frame pointer is bp, and leaves it in g.stemma.Node. As stemmaEnterGo, it may run
// on any stack but a signal's, with or without a P, and must not split the stack.
//
//go:nosplit
func stemmaDacceEnterGo(bp uintptr) {
	gp := getg()
	if !stemmaCheckOn && gp.stemma.Pushes < layout.PushStep && stemmaIsFirst(bp) {
		st := stemmaStackOf(gp)
		if w, ok := stemma.dacce.TryFirst(&st, gp.stemma.Func); ok {
			gp.stemma.Node = uintptr(w)
			return
		}
	}
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	systemstack(func() {
		many := gp.stemma.Pushes >= layout.PushStep
		lock(&stemma.lock)
		gp.stemma.Node = stemmaDacceEntry(gp, bp, pc, sp)
		unlock(&stemma.lock)
		e := &stemma.encode
		if !stemmaFixed && (many || e.pace.Missed(stemma.dacce.Missed())) && e.idle.Load() &&
			e.pace.Due(nanotime(), stemma.dacce.Work()) {
			stemmaWake(gp)
		}
	})
}

// stemmaDacceEntry returns the word of the function that is being entered on
// gp, whose stack goes on at pc and sp. It runs on the system stack, under the lock.
func stemmaDacceEntry(gp *g, bp, pc, sp uintptr) uintptr {
	c := &stemma.dacce
	c.Header().Slow++
	hits := uint64(1)
	if gp.stemma.Pushes >= layout.PushStep {
		// The assembly lets every so many pushes through, to be counted.
		gp.stemma.Pushes = 0
		hits = layout.PushStep
		c.Stats().Pushes += layout.PushStep
		c.Header().Slow--
	}
	data := gp.stemma.Func
	f, isNew := c.Enter(data)
	if isNew {
		stemmaDescribePCs(f)
	}
	if f == 0 {
		return uintptr(c.Refused())
	}
	st := stemmaStackOf(gp)
	word, ok := stemmaDacceNear(gp, &st, bp, data, hits)
	if !ok {
		word = stemmaDacceFar(gp, &st, bp, pc, sp, data, hits)
	}
	if hits > 1 {
		depth := word & layout.MaxDeep
		c.Stats().Depths += depth
		c.Stats().MaxDepth = max(c.Stats().MaxDepth, depth)
	}
	if stemmaCheckOn {
		stemmaCheckEncoded(gp, &st, pc, sp, word, data)
	}
	return uintptr(word)
}

// stemmaDacceNear finds the caller by way of frame pointers and the return
// addresses that are known. ok is false if one is not.
func stemmaDacceNear(gp *g, st *ids.Stack, bp, data uintptr, hits uint64) (word uint64, ok bool) {
	c := &stemma.dacce
	if stemmaIsFirst(bp) {
		return c.PushRoot(st, 0, data), true
	}
	through := false
	for {
		pc := stemmaReturnOf(bp)
		s, pass, known := c.LookupPC(pc)
		if !known {
			return 0, false
		}
		bp = *(*uintptr)(unsafe.Pointer(bp))
		if !pass {
			f := c.FrameOf(s, pc, stemmaSlotOf(bp))
			return c.Called(st, *(*uint64)(unsafe.Pointer(f.Slot)), &f, data, through, hits), true
		}
		through = true
	}
}

// stemmaDacceFar finds the caller by unwinding, and learns the return addresses
// in between for the next time.
func stemmaDacceFar(gp *g, st *ids.Stack, bp, pc, sp, data uintptr, hits uint64) uint64 {
	c := &stemma.dacce
	frames, bps := stemmaWalk(gp, pc, sp, bp, false)
	if len(frames) == 0 {
		stemmaLearnFirst(bp)
		return c.PushRoot(st, stemma.encode.below, data)
	}
	w := uint64(0)
	last := len(frames) - 1
	if slot := frames[last].Slot; slot != 0 {
		w = *(*uint64)(unsafe.Pointer(slot))
	} else {
		w = c.Down(st, 0, frames[last:])
	}
	for i := last - 1; i >= 0; i-- {
		w = c.Down(st, w, frames[i:])
	}
	if last == 0 && bps {
		stemmaLearnPCs(bp, &frames[0].Frame)
	}
	return c.Called(st, w, &frames[0].Frame, data, frames[0].Through, hits)
}

// stemmaWordBelow returns the word of the innermost frame further out than u that
// holds one, with lucce its version: a root on top of it must leave its ccStack alone.
func stemmaWordBelow(u *unwinder) uint64 {
	for ; u.valid(); u.next() {
		if w, ok := stemmaWalked(u); ok && w.Slot != 0 {
			if stemma.encode.lucce {
				_, v := stemmaPairAt(w.Slot)
				return v
			}
			return *(*uint64)(unsafe.Pointer(w.Slot))
		}
	}
	return 0
}

// stemmaResume counts how long gp, which is about to run, has waited, and makes its words those of the current
// epoch. It runs on g0, with a P.
func stemmaResume(gp *g) {
	stemmaWireG(gp)
	if stemmaWaitOn {
		stemmaRunAgain(gp)
	}
	if gp.stemma.Epoch != stemma.encode.epoch {
		stemmaRewrite(gp, gp.sched.pc, gp.sched.sp)
	}
}

// stemmaExitSyscall is stemmaResume for a goroutine that comes back from a system
// call and has a P again. It must not split the stack.
//
//go:nosplit
func stemmaExitSyscall(gp *g) {
	if iscgo && gp.m.p != 0 {
		stemmaWire(gp.m.p.ptr()) // what C did with the segment base, who knows
	}
	if stemmaWaitOn {
		systemstack(func() { stemmaRunAgain(gp) })
	}
	if gp.stemma.Epoch != stemma.encode.epoch {
		systemstack(func() { stemmaRewrite(gp, gp.syscallpc, gp.syscallsp) })
	}
}

// stemmaRewrite gives the frames of gp, whose stack goes on at pc and sp, words
// of the current epoch, or pairs of the current segment. One on its way to a callee is void. It runs on the
// system stack.
func stemmaRewrite(gp *g, pc, sp uintptr) {
	lock(&stemma.lock)
	stemmaMoveStart(gp)
	walk := func(skip int) ([]ids.Walked, int) {
		frames, _ := stemmaWalkFrom(gp, pc, sp, 0, true, skip)
		return frames, stemma.encode.walked
	}
	if stemma.encode.lucce {
		stemma.lucce.Rewrite(stemmaPairsOf(gp), stemmaFromOf(gp), walk)
	} else {
		st := stemmaStackOf(gp)
		stemma.dacce.Rewrite(&st, walk)
	}
	gp.stemma.Ctx = stemmaVoid
	gp.stemma.Epoch = stemma.encode.epoch
	unlock(&stemma.lock)
}

// stemmaRenew returns the context that C, to which a callback is about to return, calls back with once more: if saved,
// which it called with before, is void since a re-encoding, that of the frame that called C. Else each callback of that
// call would walk the stack. It runs on the goroutine, which is locked to its M and has a P, in cgocallbackg, which
// must not split the stack; there is no preemption on the system stack.
//
//go:nosplit
func stemmaRenew(gp *g, saved stemmaContext) stemmaContext {
	if !stemma.encode.on || saved.epoch == gp.stemma.Epoch && saved.ctx != stemmaVoid ||
		gp.m.ncgo == 0 { // called from a thread of C
		return saved
	}
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	systemstack(func() {
		lock(&stemma.lock)
		saved.ctx, saved.epoch = stemmaVoid, gp.stemma.Epoch
		if frames, _ := stemmaWalk(gp, pc, sp, 0, false); len(frames) > 0 {
			if stemma.encode.lucce {
				if cell, pair, ok := stemma.lucce.Left(&frames[0].Frame); ok {
					saved.ctx, saved.id, saved.version = cell, uintptr(pair.ID), uintptr(pair.Version)
				}
			} else if w, ok := stemma.dacce.Left(&frames[0].Frame); ok {
				saved.ctx = uintptr(w)
			}
		}
		unlock(&stemma.lock)
	})
	return saved
}

// stemmaDacceNewG notes the context of the go statement at callerpc in creator.
// It runs on the system stack, with a P.
func stemmaDacceNewG(newg, creator *g, callerpc uintptr) {
	newg.stemma.Epoch = stemma.encode.epoch
	f := findfunc(callerpc)
	if stemma.encode.mute || !f.valid() || f.flag&layout.FuncFlagSlot == 0 {
		return
	}
	w, ok := creator.stemma.Ctx, true
	if w>>layout.WordKey != 0 {
		pc, sp := creator.sched.pc, creator.sched.sp
		if creator == getg() { // the function of a timer runs on g0, which systemstack does not leave
			pc, sp = sys.GetCallerPC(), sys.GetCallerSP()
		}
		w, ok = stemmaWordAt(creator, pc, sp, callerpc)
	}
	if !ok {
		return
	}
	hi, lo := stemmaCapture(creator, uint64(w), callerpc)
	newg.stemma.Start, newg.stemma.From = uintptr(hi), uintptr(lo)
	if stemmaWants(layout.EventGo) && getg().m.p != 0 {
		stemmaWriteEvent(layout.EventGo, stemmaNextGoid(), hi, lo)
	}
	if stemmaCheckOn {
		stemmaCheckCapture(creator, hi, lo)
	}
}

// stemmaWordAt returns the word of the frame of creator, which goes on at pc and sp, that made the call that returns to
// ret. It runs on the system stack, of creator or for it.
func stemmaWordAt(creator *g, pc, sp, ret uintptr) (w uintptr, ok bool) {
	lock(&stemma.lock)
	frames, _ := stemmaWalk(creator, pc, sp, 0, false)
	if n := len(frames); n > 0 && frames[n-1].PC == ret && frames[n-1].Slot != 0 {
		w, ok = *(*uintptr)(unsafe.Pointer(frames[n-1].Slot)), true
	}
	unlock(&stemma.lock)
	return w, ok
}

// stemmaEndG takes the ccStack of a goroutine that has ended, unless it is small:
// the next goroutine in this g will need one. It runs on g0.
func stemmaEndG(gp *g) {
	if stemmaCallsOn {
		stemmaCallsExit(gp)
	}
	if stemma.encode.lucce {
		if pairs := stemmaPairsOf(gp); pairs.Room() > 64 {
			lock(&stemma.lock)
			stemma.lucce.FreePairs(pairs)
			unlock(&stemma.lock)
		}
		return
	}
	if gp.stemma.Stack.Cap <= 64 {
		return
	}
	lock(&stemma.lock)
	st := stemmaStackOf(gp)
	stemma.dacce.FreeStack(&st)
	unlock(&stemma.lock)
}

// stemmaCapture returns the ID of the context of gp in which a function with the
// word w calls something that returns to pc. Nothing may re-encode meanwhile: it
// runs on the system stack, or is nosplit.
//
//go:nosplit
func stemmaCapture(gp *g, w uint64, pc uintptr) (hi, lo uint64) {
	if stemma.encode.mute {
		return 0, 0
	}
	depth := uintptr(w & layout.MaxDeep)
	if depth != 0 && depth < gp.stemma.Stack.Cap && depth != layout.MaxDeep {
		node := (*layout.StackEntry)(unsafe.Pointer(gp.stemma.Stack.Base + depth*layout.StackEntrySize)).Interned
		if node == 0 {
			st := stemmaStackOf(gp)
			node = stemma.dacce.Recall(&st, w)
		}
		if rel := uint64(pc - stemmaText); node != 0 && rel>>layout.IDPCBits == 0 {
			return uint64(node)<<32 | w>>layout.WordID, stemmaStamp | rel
		}
	}
	systemstack(func() {
		lock(&stemma.lock)
		st := stemmaStackOf(gp)
		hi, lo = stemma.dacce.Capture(&st, w, pc)
		unlock(&stemma.lock)
	})
	return hi, lo
}

// stemmaHere returns the ID of the context in which it is called, and the run number: from
// compiled code, or through stemmaAPI2. All are 0 where no context is known.
func stemmaHere() (hi, lo, run uint64)
func stemmaHereDynamic() (hi, lo, run uint64)

// stemmaHereSlow is called instead of stemmaHere when the assembly cannot
// tell: it interns, or it looks for the caller's frame.
func stemmaHereSlow() (hi, lo, run uint64) {
	gp, pc, sp := getg(), sys.GetCallerPC(), sys.GetCallerSP()
	if stemma.encode.mute {
		return 0, 0, 0
	}
	if hi, lo = stemmaHereWord(gp, pc); lo != 0 {
		return hi, lo, stemmaRun
	}
	systemstack(func() { hi, lo = stemmaDacceCaptured(gp, pc, sp) })
	if lo != 0 {
		run = stemmaRun
	}
	return hi, lo, run
}

// stemmaDacceCaptured returns the ID of the innermost instrumented call on gp's stack, which goes on at pc and sp, or
// of the place of the fault that stopped it. It runs on the system stack.
func stemmaDacceCaptured(gp *g, pc, sp uintptr) (hi, lo uint64) {
	lock(&stemma.lock)
	frames, _ := stemmaWalk(gp, pc, sp, 0, false)
	if n := len(frames); n > 0 {
		st := stemmaStackOf(gp)
		w := uint64(0)
		if slot := frames[n-1].Slot; slot != 0 {
			w = *(*uint64)(unsafe.Pointer(slot))
		} else {
			w = stemma.dacce.Down(&st, 0, frames[n-1:])
		}
		for i := n - 2; i >= 0; i-- {
			w = stemma.dacce.Down(&st, w, frames[i:])
		}
		hi, lo = stemma.dacce.Capture(&st, w, stemmaPlaceInID(&frames[0]))
	}
	unlock(&stemma.lock)
	return hi, lo
}

// stemmaHereWord is stemmaCapture for the word that the call left in g, which is
// void if the goroutine has been re-encoded since: it then returns 0.
//
//go:nosplit
func stemmaHereWord(gp *g, pc uintptr) (hi, lo uint64) {
	w := uint64(gp.stemma.Ctx)
	if w>>layout.WordKey != 0 {
		return 0, 0
	}
	return stemmaCapture(gp, w, pc)
}
