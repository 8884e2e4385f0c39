// Calling context encoding in the running program (engine dacce): the slow path
// of function entry, the words of goroutines after a re-encoding, and captures.

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	rt "internal/runtime/stemma"
	"internal/runtime/stemma/layout"
	"internal/runtime/sys"
	"unsafe"
)

// stemmaNoWord in g leads every callee to the slow path.
const stemmaNoWord = uintptr(rt.KeyUnknown << rt.WordKey)

// stemmaVoid is what g holds if its word, or its pair, is not valid.
var stemmaVoid = stemmaNoWord

// stemmaEncoding is the state that the encoder has beside its tables.
type stemmaEncoding struct {
	on        bool
	lucce     bool        // the context is a pair, see stemma_lucce.go
	mute      bool        // nothing is recorded: all IDs are zero, and no entry of a ccStack is interned
	epoch     uintptr     // changes only while the world is stopped
	frames    []rt.Walked // scratch memory of walks, under the lock
	framesMem rt.Span     // of frames
	below     uint64      // after a walk: the word of the frame that lies below the root that it ended at, or 0
	encoder   *g
	lock      mutex       // guards the parking of encoder
	idle      atomic.Bool // encoder is parked
	every     int64       // nanoseconds between forced re-encodings; 0 without
	pace      stemmaPace
}

// The assembly reads these.
var (
	stemmaPCs   uintptr // the table of return addresses
	stemmaText  uintptr // what the pc of an ID is relative to
	stemmaStamp uint64  // what the lower half of an ID has beside the address: rt.Dacce.Stamp
	stemmaFixed bool    // there are no further epochs: engine pcce
)

// stemmaFramesSize is the room for the frames of one walk.
const stemmaFramesSize = 1 << 29

// stemmaEncodeShift returns by how much the encoder must be smaller than it is where
// addresses are not limited: by 1 << shift.
func stemmaEncodeShift() (shift uint) {
	const size = 1<<28 + rt.EpochsSize + rt.LogSize + rt.NodesSize + rt.ContextsArena + stemmaFramesSize
	for room := stemmaAddresses(); shift < rt.MaxShift && room < size>>shift; shift++ {
	}
	return shift
}

// stemmaEncodeInit is stemmaInit for calling context encoding.
func stemmaEncodeInit() {
	shift := stemmaEncodeShift()
	funcsSize := uintptr(1<<28) >> shift
	stemmaMakeDir("cce")
	head := stemmaFileSpan("cce", rt.ContextsSize)
	funcs := stemmaFileSpan("funcs", funcsSize)
	stemma.encode.lucce = stemmaOption("engine") == "lucce"
	nodes := stemmaFileSpan("nodes", rt.NodesSize>>shift)
	known := stemmaTables(rt.KnownSize)
	pcs := stemmaTables(rt.PCSize)
	mem := stemmaRoom(rt.ContextsArena >> shift)
	frames := stemmaRoom(stemmaFramesSize >> shift)
	stemma.encode.frames = unsafe.Slice((*rt.Walked)(frames), (stemmaFramesSize>>shift)/unsafe.Sizeof(rt.Walked{}))
	stemma.encode.framesMem = rt.NewSpan(frames, stemmaFramesSize>>shift)
	sec, nsec, _ := time_now()
	start := uint64(sec)*1e9 + uint64(nsec)
	stemmaPCs, stemmaText = uintptr(pcs), firstmoduledata.text
	stemma.record.Init(head, known, funcs, rt.ContextsSize, uint64(funcsSize))
	stemma.record.Describe(stemmaRun, uint32(stemmaGetpid()), start, buildVersion, defaultGOROOT, argslice)
	stemma.contexts.Init(&stemma.record, head, nodes, pcs, mem, uint64(stemmaText), shift)
	stemmaStamp = rt.IDMark // and epoch 0
	stemmaAPI2 = &stemmaAPIs
	if stemma.encode.lucce {
		stemmaUpdateInit(shift)
	} else {
		stemmaDacceInit(shift)
	}
	stemmaClearpoolsEntry = abi.FuncPCABIInternal(clearpools)
	stemma.encode.on = true
	stemmaRoot(getg(), rt.RootOther)
	stemmaRoot(getg().m.gsignal, rt.RootOther)
	stemmaEventsInit()
	if stemmaOption("verify") == "on" {
		stemmaCheckInit()
	}
	stemma.making = false
	if stemma.dirlen == 0 {
		// Nobody could ever decode an ID: there are none, and no events.
		stemma.encode.mute = true
		stemmaEvents.kinds = 0
		stemmaAPIs.here = stemmaHereNothing
	}
}

// stemmaDacceInit makes stemma.dacce an encoder on top of stemma.contexts.
func stemmaDacceInit(shift uint) {
	stemma.dacce.Init(&stemma.contexts, stemmaFileSpan("epochs", rt.EpochsSize>>shift), shift)
	if n, ok := stemmaNumber("STEMMA_CCSTACK_SIZE"); ok {
		stemma.dacce.LimitStacks(n)
	}
	if n, ok := stemmaNumber("STEMMA_REENCODE_US"); ok {
		stemma.encode.every = int64(n) * 1000
	}
}

func stemmaHereNothing() (hi, lo, run uint64) { return 0, 0, 0 }

// stemmaStackOf returns the ccStack of gp.
//
//go:nosplit
func stemmaStackOf(gp *g) rt.Stack {
	return rt.StackOf(&gp.stemmaStack, &gp.stemmaCap, uint64(gp.stemmaStart), uint64(gp.stemmaFrom))
}

// stemmaReturnOf returns the return address of the frame with the frame pointer bp.
//
//go:nosplit
func stemmaReturnOf(bp uintptr) uintptr { return *(*uintptr)(unsafe.Pointer(bp + layout.ReturnAbove)) }

// stemmaDataAt returns the data of a function, stemmaEntryOf where its code begins.
func stemmaDataAt(data uintptr) *layout.FuncData { return (*layout.FuncData)(unsafe.Pointer(data)) }

func stemmaEntryOf(data uintptr) uintptr {
	return uintptr((*layout.Meta)(unsafe.Pointer(uintptr(stemmaDataAt(data).Func))).Entry)
}

// stemmaEncodeGo finds the word of the function with the data g.stemmaFunc, whose
// frame pointer is bp, and leaves it in g.stemmaNode. As stemmaEnterGo, it may run
// on any stack but a signal's, with or without a P, and must not split the stack.
//
//go:nosplit
func stemmaEncodeGo(bp uintptr) {
	gp := getg()
	pc, sp := sys.GetCallerPC(), sys.GetCallerSP()
	systemstack(func() {
		lock(&stemma.lock)
		gp.stemmaNode = stemmaEncodeEntry(gp, bp, pc, sp)
		unlock(&stemma.lock)
		if stemmaMissed() || stemma.encode.every != 0 {
			if stemma.encode.idle.Load() && stemmaDue(nanotime()) {
				stemmaWake(gp)
			}
		}
	})
}

// stemmaEncodeEntry returns the word of the function that is being entered on
// gp, whose stack goes on at pc and sp. It runs on the system stack, under the lock.
func stemmaEncodeEntry(gp *g, bp, pc, sp uintptr) uintptr {
	c := &stemma.dacce
	c.Header().Slow++
	hits := uint64(1)
	if gp.stemmaPushes >= rt.PushStep {
		// The assembly lets every so many pushes through, to be counted.
		gp.stemmaPushes = 0
		hits = rt.PushStep
		c.Stats().Pushes += rt.PushStep
		c.Header().Slow--
	}
	data := gp.stemmaFunc
	if f, isNew := c.Enter(data); isNew {
		stemmaDescribePCs(f)
	}
	st := stemmaStackOf(gp)
	word, ok := stemmaEncodeNear(gp, &st, bp, data, hits)
	if !ok {
		word = stemmaEncodeFar(gp, &st, bp, pc, sp, data, hits)
	}
	if hits > 1 {
		depth := word & rt.MaxDeep
		c.Stats().Depths += depth
		c.Stats().MaxDepth = max(c.Stats().MaxDepth, depth)
	}
	if stemmaCheckOn {
		stemmaCheckEncoded(gp, &st, pc, sp, word, data)
	}
	return uintptr(word)
}

// stemmaEncodeNear finds the caller by way of frame pointers and the return
// addresses that are known. ok is false if one is not.
func stemmaEncodeNear(gp *g, st *rt.Stack, bp, data uintptr, hits uint64) (word uint64, ok bool) {
	c := &stemma.dacce
	through := false
	for {
		pc := stemmaReturnOf(bp)
		s, pass, known := c.LookupPC(pc)
		if !known {
			return 0, false
		}
		bp = *(*uintptr)(unsafe.Pointer(bp))
		if !pass {
			f := c.FrameOf(s, pc, bp-layout.SlotBelow)
			return c.Step(st, *(*uint64)(unsafe.Pointer(f.Slot)), &f, data, through, hits), true
		}
		through = true
	}
}

// stemmaEncodeFar finds the caller by unwinding, and learns the return addresses
// in between for the next time.
func stemmaEncodeFar(gp *g, st *rt.Stack, bp, pc, sp, data uintptr, hits uint64) uint64 {
	c := &stemma.dacce
	frames, bps := stemmaWalk(gp, pc, sp, bp, false)
	if len(frames) == 0 {
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
	return c.Step(st, w, &frames[0].Frame, data, frames[0].Through, hits)
}

// stemmaLearnPCs learns the return addresses between the frame pointer bp and
// the frame f, which the chain of frame pointers was seen to lead to.
func stemmaLearnPCs(bp uintptr, f *rt.Frame) {
	for {
		pc := stemmaReturnOf(bp)
		bp = *(*uintptr)(unsafe.Pointer(bp))
		if bp-layout.SlotBelow == f.Slot {
			stemma.contexts.LearnPC(pc, f)
			return
		}
		stemma.contexts.LearnPC(pc, nil)
	}
}

// stemmaWalk finds the instrumented frames of gp's stack from pc and sp on,
// innermost first: all, or as far as the first that holds a word. The frame with
// the frame pointer bp, the callee's, is not among them. linked tells that the
// frame pointers lead from bp to the last frame. It runs on the system stack,
// under the lock; the result is good until the next walk.
func stemmaWalk(gp *g, pc, sp, bp uintptr, all bool) (frames []rt.Walked, linked bool) {
	var u unwinder
	u.initAt(pc, sp, 0, gp, unwindSilentErrors)
	frames = stemma.encode.frames[:0]
	stemma.encode.below = 0
	through, begun := false, bp == 0
	linked = true
	next := bp
	for ; u.valid(); u.next() {
		f := u.frame.fn
		if !begun {
			begun = u.frame.varp == bp
			continue
		}
		if f.entry() == stemmaClearpoolsEntry {
			// What is further out has a context of its own: here begins the root gc.
			stemma.encode.below = stemmaWordBelow(&u)
			break
		}
		if linked && next != 0 {
			next = *(*uintptr)(unsafe.Pointer(next))
			linked = next == u.frame.varp // else it may lead anywhere: into C, say
		}
		w, ok := stemmaWalked(&u)
		if !ok {
			through = true
			continue
		}
		w.Through = through
		through = false
		if n := uint64(len(frames)+1) * uint64(unsafe.Sizeof(w)); stemma.encode.framesMem.Need(n) &&
			len(frames) < cap(frames) {
			frames = append(frames, w)
		}
		if w.Slot != 0 && !all {
			break
		}
	}
	return frames, linked
}

// stemmaWordBelow returns the word of the innermost frame further out than u that
// holds one: a root on top of it must leave its ccStack alone.
func stemmaWordBelow(u *unwinder) uint64 {
	for ; u.valid(); u.next() {
		if w, ok := stemmaWalked(u); ok && w.Slot != 0 {
			return *(*uint64)(unsafe.Pointer(w.Slot))
		}
	}
	return 0
}

// stemmaClearpoolsEntry is where runtime.clearpools begins.
var stemmaClearpoolsEntry uintptr

// stemmaWalked returns the frame that u stands at, if its function is instrumented
// and got as far as to hold its word.
func stemmaWalked(u *unwinder) (w rt.Walked, ok bool) {
	c := &stemma.contexts
	f := u.frame.fn
	if f.flag&(rt.FuncFlagSlot|rt.FuncFlagLeaf) == 0 {
		return w, false
	}
	w.PC, w.Site = u.frame.pc, -1
	if f.flag&rt.FuncFlagSlot == 0 {
		if u.frame.pc == f.entry() || u.frame.varp <= u.frame.sp {
			return w, false
		}
		w.PC = u.symPC()
		stemmaRecordFault(f, w.PC, "runtime.sigpanic")
		return w, true
	}
	w.Slot = u.frame.varp - layout.SlotBelow
	if w.Slot < u.frame.sp || u.frame.varp == u.frame.sp {
		return w, false // stopped before it had a frame
	}
	w.Func = c.Entered(f.entry())
	if w.Func == 0 {
		return w, false // stopped before it held a word
	}
	w.Site = pcdatavalue1(f, rt.PCDataSite, u.symPC(), false)
	if w.Site < 0 {
		w.PC = u.symPC()
		stemmaRecordFault(f, w.PC, "runtime.sigpanic")
	}
	return w, true
}

// stemmaDescribePCs records the return addresses in function number i.
func stemmaDescribePCs(i uint32) {
	c := &stemma.contexts
	f := findfunc(stemmaEntryOf(c.Data(i)))
	if !f.valid() {
		return
	}
	n, size := uint32(0), uint32(0)
	stemmaEachRange(f, f.pcsp, func(end uintptr, _ int32) { size = uint32(end - f.entry()) })
	sites := uint32(0) // none if all calls turned out to be dead code
	if f.npcdata > rt.PCDataSite {
		sites = pcdatastart(f, rt.PCDataSite)
	}
	stemmaEachRange(f, sites, func(_ uintptr, site int32) {
		if site >= 0 {
			n++
		}
	})
	w := c.BeginPCs(i, size, n)
	stemmaEachRange(f, sites, func(end uintptr, site int32) {
		if site >= 0 {
			w.PC(uint32(end-f.entry()), uint32(site))
		}
	})
	w.End()
}

// stemmaEachRange calls do for each range of f's code in the pc-value table at the
// given offset, with its end and its value. In the table of sites the end is a
// return address if the value is not -1.
func stemmaEachRange(f funcInfo, table uint32, do func(end uintptr, value int32)) {
	if table == 0 {
		return
	}
	p := f.datap.pctab[table:]
	pc, value := f.entry(), int32(-1)
	for ok := true; ; {
		p, ok = step(p, &pc, &value, pc == f.entry())
		if !ok {
			return
		}
		do(pc, value)
	}
}

// stemmaResume makes the words of gp, which is about to run, those of the current
// epoch. It runs on g0, with a P.
func stemmaResume(gp *g) {
	if gp.stemmaEpoch != stemma.encode.epoch {
		stemmaRewrite(gp, gp.sched.pc, gp.sched.sp)
	}
}

// stemmaExitSyscall is stemmaResume for a goroutine that comes back from a system
// call and has a P again. It must not split the stack.
//
//go:nosplit
func stemmaExitSyscall(gp *g) {
	if gp.stemmaEpoch != stemma.encode.epoch {
		systemstack(func() { stemmaRewrite(gp, gp.syscallpc, gp.syscallsp) })
	}
}

// stemmaRewrite gives the frames of gp, whose stack goes on at pc and sp, words
// of the current epoch. A word on its way to a callee is void. It runs on the
// system stack.
func stemmaRewrite(gp *g, pc, sp uintptr) {
	lock(&stemma.lock)
	frames, _ := stemmaWalk(gp, pc, sp, 0, true)
	st := stemmaStackOf(gp)
	stemma.dacce.Rewrite(&st, frames)
	gp.stemmaCtx = stemmaNoWord
	gp.stemmaEpoch = stemma.encode.epoch
	unlock(&stemma.lock)
}

// stemmaEncodeNewG notes the context of the go statement at callerpc in creator.
// It runs on the system stack, with a P.
func stemmaEncodeNewG(newg, creator *g, callerpc uintptr) {
	newg.stemmaEpoch = stemma.encode.epoch
	f := findfunc(callerpc)
	if stemma.encode.mute || !f.valid() || f.flag&rt.FuncFlagSlot == 0 {
		return
	}
	w, ok := creator.stemmaCtx, true
	if w>>rt.WordKey != 0 {
		w, ok = stemmaWordAt(creator, callerpc)
	}
	if !ok {
		return
	}
	hi, lo := stemmaCapture(creator, uint64(w), callerpc)
	newg.stemmaStart, newg.stemmaFrom = uintptr(hi), uintptr(lo)
	if stemmaWants(rt.EventGo) && getg().m.p != 0 {
		stemmaWriteEvent(rt.EventGo, newg.goid, hi, lo)
	}
	if stemmaCheckOn {
		stemmaCheckCapture(creator, hi, lo)
	}
}

// stemmaWordAt returns the word of the frame of creator that made the call that
// returns to pc. It runs on the system stack, of creator or for it.
func stemmaWordAt(creator *g, pc uintptr) (w uintptr, ok bool) {
	lock(&stemma.lock)
	frames, _ := stemmaWalk(creator, creator.sched.pc, creator.sched.sp, 0, false)
	if n := len(frames); n > 0 && frames[n-1].PC == pc && frames[n-1].Slot != 0 {
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
	if gp.stemmaCap <= 64 || stemma.encode.lucce {
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
	depth := uintptr(w & rt.MaxDeep)
	if depth != 0 && depth < gp.stemmaCap && depth != rt.MaxDeep {
		node := (*layout.StackEntry)(unsafe.Pointer(gp.stemmaStack + depth*layout.StackEntrySize)).Node
		if node == 0 {
			st := stemmaStackOf(gp)
			node = stemma.dacce.Recall(&st, w)
		}
		if rel := uint64(pc - stemmaText); node != 0 && rel>>rt.IDPCBits == 0 {
			return uint64(node)<<32 | w>>rt.WordID, stemmaStamp | rel
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

// stemmaHereSlow is called in the place of stemmaHere when the assembly cannot
// tell: it interns, or it looks for the caller's frame.
func stemmaHereSlow() (hi, lo, run uint64) {
	gp, pc, sp := getg(), sys.GetCallerPC(), sys.GetCallerSP()
	if stemma.encode.mute {
		return 0, 0, 0
	}
	if hi, lo = stemmaHereWord(gp, pc); lo != 0 {
		return hi, lo, stemmaRun
	}
	systemstack(func() {
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
			hi, lo = stemma.dacce.Capture(&st, w, frames[0].PC)
			run = stemmaRun
		}
		unlock(&stemma.lock)
	})
	return hi, lo, run
}

// stemmaHereWord is stemmaCapture for the word that the call left in g, which is
// void if the goroutine has been re-encoded since: it returns 0 then.
//
//go:nosplit
func stemmaHereWord(gp *g, pc uintptr) (hi, lo uint64) {
	w := uint64(gp.stemmaCtx)
	if w>>rt.WordKey != 0 {
		return 0, 0
	}
	return stemmaCapture(gp, w, pc)
}

// stemmaCaptureAt is stemmaCapture for the frame of gp, which runs, with the given
// slot: the word must not change between its load and its use.
//
//go:nosplit
func stemmaCaptureAt(gp *g, slot, pc uintptr) (hi, lo uint64) {
	if stemma.encode.lucce {
		c, v := stemmaPairAt(slot)
		return stemmaUpdateCapture(c, v, pc)
	}
	return stemmaCapture(gp, *(*uint64)(unsafe.Pointer(slot)), pc)
}

// A stemmaProgram is what package stemma of the program finds in stemmaAPI2. Its
// type there is another one of the same layout. The number at the end of the name is
// the version of the layout: a package of another version finds nothing, and does as
// in a normal build.
type stemmaProgram struct {
	here  func() (hi, lo, run uint64)
	event func(kind uint32, value uint64)
	dir   func() string
}

// stemmaAPI2 is nil in a program that is not instrumented.
//
//go:linkname stemmaAPI2
var stemmaAPI2 *stemmaProgram

var stemmaAPIs = stemmaProgram{stemmaHereDynamic, stemmaEvent, stemmaDir}

// stemmaDir returns the name of the live directory, or "".
func stemmaDir() string {
	if stemma.dirlen == 0 {
		return ""
	}
	return string(stemma.dir[:stemma.dirlen])
}
