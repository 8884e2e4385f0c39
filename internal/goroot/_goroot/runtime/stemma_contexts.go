// What the engines with context IDs have in common in the running program: how their record
// is laid out, walks of stacks, and what package stemma finds.

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"internal/runtime/stemma/ids"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/memory"
	"internal/runtime/stemma/recorder"
	"internal/runtime/sys"
	"unsafe"
)

// stemmaVoid is what g holds if its word, or its pair, is not valid.
var stemmaVoid = stemmaNoWord

// stemmaContexts is the state that the encoder has beside its tables.
type stemmaContexts struct {
	on        bool
	lucce     bool         // the context is a pair, see stemma_lucce.go
	mute      bool         // nothing is recorded: all IDs are zero, and no entry of a ccStack is interned
	epoch     uintptr      // changes only while the world is stopped
	frames    []ids.Walked // scratch memory of walks, under the lock
	framesMem memory.Span  // of frames
	below     uint64       // after a walk: the word, or version, of the frame below the root that it ended at, or 0
	first     bool         // after a walk: it found nothing up to where the goroutine began
	walked    int          // after a walk: how many frames it found
	encoder   *g
	lock      mutex       // guards the parking of encoder
	idle      atomic.Bool // encoder is parked
	pace      ids.Pace
}

// The assembly reads these.
var (
	stemmaPCs   uintptr // the table of return addresses
	stemmaText  uintptr // what the pc of an ID is relative to
	stemmaStamp uint64  // what the lower half of an ID has beside the address: ids.Dacce.Stamp
	stemmaFixed bool    // there are no further epochs: engines pcce and lucce
)

// stemmaFramesSize is the room for the frames of one walk.
const stemmaFramesSize = 1 << 29

// stemmaContextsShift returns by how much the encoder must be smaller than it is where
// addresses are not limited: by 1 << shift.
func stemmaContextsShift() (shift uint) {
	const size = 1<<28 + ids.EpochsSize + ids.LogSize + layout.InternedBytes + ids.ArenaSize +
		stemmaFramesSize
	for room := stemmaAddresses(); shift < ids.MaxShift && room < size>>shift; shift++ {
	}
	return shift
}

// stemmaContextsInit is stemmaInit for calling context encoding.
func stemmaContextsInit() {
	shift := stemmaContextsShift()
	funcsSize := uintptr(1<<28) >> shift
	stemmaMakeDir(layout.FileIDs)
	head := stemmaFileSpan(layout.FileIDs, layout.ContextsSize)
	funcs := stemmaFileSpan(layout.FileFuncs, funcsSize)
	stemma.encode.lucce = stemmaFlagged(layout.HdrFlagLucce)
	nodes := stemmaFileSpan(layout.FileNodes, layout.InternedBytes>>shift)
	known := stemmaTables(recorder.KnownSize)
	pcs := stemmaTables(ids.PCSize)
	mem := stemmaRoom(ids.ArenaSize >> shift)
	frames := stemmaRoom(stemmaFramesSize >> shift)
	stemma.encode.frames = unsafe.Slice((*ids.Walked)(frames),
		(stemmaFramesSize>>shift)/unsafe.Sizeof(ids.Walked{}))
	stemma.encode.framesMem = memory.NewSpan(frames, stemmaFramesSize>>shift)
	stemma.encode.framesMem.Need(2 * uint64(unsafe.Sizeof(ids.Walked{}))) // see ids.Dacce.Rewrite
	sec, nsec, _ := time_now()
	start := uint64(sec)*1e9 + uint64(nsec)
	stemmaPCs, stemmaText = uintptr(pcs), firstmoduledata.text
	stemma.record.Init(head, known, funcs, layout.ContextsSize, uint64(funcsSize))
	stemma.record.Describe(stemmaRun, uint32(stemmaGetpid()), start, buildVersion, defaultGOROOT, stemmaArguments())
	stemma.contexts.Init(&stemma.record, head, nodes, pcs, mem, uint64(stemmaText), shift)
	stemmaStamp = layout.IDMark // and epoch 0
	stemmaAPI2 = &stemmaAPIs
	if stemma.encode.lucce {
		stemmaLucceInit(shift)
	} else {
		stemmaDacceInit(shift)
	}
	stemmaGoexit = abi.FuncPCABI0(goexit) + sys.PCQuantum // see newproc1
	stemmaClearpoolsEntry = abi.FuncPCABIInternal(clearpools)
	stemma.encode.on = true
	stemmaRoot(getg(), layout.RootOther)
	stemmaRoot(getg().m.gsignal, layout.RootOther)
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
	stemmaRotateIDsInit(shift)
}

func stemmaHereNothing() (hi, lo, run uint64) { return 0, 0, 0 }

// stemmaLimitContexts bounds how many contexts are recorded if the build has a limit, and the memory of ccStacks if a
// variable is set.
func stemmaLimitContexts() {
	if n, ok := stemmaParse(stemmaOption("nodes")); ok && n > 0 {
		stemma.contexts.LimitInterned(uint64(n))
	}
	if n, ok := stemmaNumber("STEMMA_CCSTACK_SIZE"); ok {
		stemma.contexts.LimitStacks(n)
	}
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

// stemmaLearnPCs learns the return addresses between the frame pointer bp and
// the frame f, which the chain of frame pointers was seen to lead to.
func stemmaLearnPCs(bp uintptr, f *ids.Frame) {
	for {
		pc := stemmaReturnOf(bp)
		bp = *(*uintptr)(unsafe.Pointer(bp))
		if stemmaSlotOf(bp) == f.Slot {
			stemma.contexts.LearnPC(pc, f)
			return
		}
		if !stemmaLearnPass(pc) {
			return
		}
	}
}

// stemmaLearnPass learns that a return address is in a function without a context, and reports whether it has. It does
// not for sigpanic: where that returns to is an instruction that has faulted. If a call comes right before it, that is
// the return address of the call as well, and another place.
func stemmaLearnPass(pc uintptr) bool {
	if f := findfunc(pc); f.valid() && f.funcID == abi.FuncID_sigpanic {
		return false
	}
	stemma.contexts.LearnPC(pc, nil)
	return true
}

// stemmaGoexit is where the first function of every goroutine returns to.
var stemmaGoexit uintptr

// stemmaIsFirst reports whether the function with the frame pointer bp is the first instrumented one of its
// goroutine: below it are only wrappers, whose return addresses are known.
//
//go:nosplit
func stemmaIsFirst(bp uintptr) bool {
	for {
		pc := stemmaReturnOf(bp)
		if pc == stemmaGoexit {
			return true
		}
		if _, pass, known := stemma.contexts.LookupPC(pc); !known || !pass {
			return false
		}
		bp = *(*uintptr)(unsafe.Pointer(bp))
	}
}

// stemmaLearnFirst learns the return addresses between the frame pointer bp and the beginning of the goroutine, where
// the last walk has found nothing that is instrumented, and the chain of frame pointers to be whole.
func stemmaLearnFirst(bp uintptr) {
	if !stemma.encode.first {
		return
	}
	// The frame in which the chain ends returns to goexit. Each plugin has one of its own.
	for next := uintptr(0); ; bp = next {
		next = *(*uintptr)(unsafe.Pointer(bp))
		if next == 0 || !stemmaLearnPass(stemmaReturnOf(bp)) {
			return
		}
	}
}

// stemmaWalk finds the instrumented frames of gp's stack from pc and sp on,
// innermost first: all, or as far as the first that holds a word. The frame with
// the frame pointer bp, the callee's, is not among them. linked tells that the
// frame pointers lead from bp to the last frame. It runs on the system stack,
// under the lock; the result is good until the next walk.
func stemmaWalk(gp *g, pc, sp, bp uintptr, all bool) (frames []ids.Walked, linked bool) {
	return stemmaWalkFrom(gp, pc, sp, bp, all, 0)
}

// stemmaWalkFrom is stemmaWalk without the first skip frames that it finds. It finds how many there are,
// stemma.encode.walked, even where there is no room for more of them.
func stemmaWalkFrom(gp *g, pc, sp, bp uintptr, all bool, skip int) (frames []ids.Walked, linked bool) {
	var u unwinder
	u.initAt(pc, sp, stemmaLinkAt(gp, pc, sp), gp, unwindSilentErrors)
	frames = stemma.encode.frames[:0]
	stemma.encode.below, stemma.encode.first, stemma.encode.walked = 0, false, 0
	through, begun := false, bp == 0
	linked = true
	next := bp
	for ; u.valid(); u.next() {
		f := u.frame.fn
		if !begun {
			begun = stemmaIsOf(bp, &u.frame)
			continue
		}
		if f.entry() == stemmaClearpoolsEntry {
			// What is further out has a context of its own: here begins the root gc.
			stemma.encode.below = stemmaWordBelow(&u)
			break
		}
		if f.funcID == abi.FuncID_goexit {
			stemma.encode.first = linked && next != 0 && *(*uintptr)(unsafe.Pointer(next)) == 0 && len(frames) == 0
			break
		}
		if linked && next != 0 {
			next = *(*uintptr)(unsafe.Pointer(next))
			linked = stemmaIsOf(next, &u.frame) // else it may lead anywhere: into C, say
		}
		w, ok := stemmaWalked(&u)
		if !ok {
			through = true
			continue
		}
		w.Through = through
		through = false
		if n := uint64(len(frames)+1) * uint64(unsafe.Sizeof(w)); stemma.encode.walked >= skip &&
			len(frames) < cap(frames) && stemma.encode.framesMem.Need(n) {
			frames = append(frames, w)
		}
		stemma.encode.walked++
		if w.Slot != 0 && !all {
			break
		}
	}
	return frames, linked
}

// stemmaLinkAt returns the link register for a walk of gp's stack from pc and sp on, 0 for what is on the stack. A
// goroutine that stopped in a function's prologue has no frame of that function.
func stemmaLinkAt(gp *g, pc, sp uintptr) uintptr {
	if pc == gp.sched.pc && sp == gp.sched.sp {
		return gp.sched.lr
	}
	return 0
}

// stemmaClearpoolsEntry is where runtime.clearpools begins.
var stemmaClearpoolsEntry uintptr

// stemmaWalked returns the frame that u stands at, if its function is instrumented
// and got as far as to hold its word.
func stemmaWalked(u *unwinder) (w ids.Walked, ok bool) {
	c := &stemma.contexts
	f := u.frame.fn
	if f.flag&(layout.FuncFlagSlot|layout.FuncFlagLeaf) == 0 {
		return w, false
	}
	w.PC, w.Site = u.frame.pc, -1
	if f.flag&layout.FuncFlagSlot == 0 {
		if u.calleeFuncID != abi.FuncID_sigpanic && (u.frame.pc == f.entry() || u.frame.varp <= u.frame.sp) {
			return w, false // stopped before it had a frame; one that a fault has stopped may have none
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
	if w.Func == 0 && !c.Crowded() {
		return w, false // stopped before it held a word
	}
	w.Site = pcdatavalue1(f, layout.PCDataSite, u.symPC(), false)
	if w.Site < 0 {
		w.PC = u.symPC()
		stemmaRecordFault(f, w.PC, "runtime.sigpanic")
	}
	return w, true
}

// stemmaPlaceInID returns what stands for a frame's place in an ID, where readers look for the instruction before it:
// the address that its call returns to, or one in the instruction that faulted.
func stemmaPlaceInID(w *ids.Walked) uintptr {
	if w.Site < 0 {
		return w.PC + 1
	}
	return w.PC
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
	if f.npcdata > layout.PCDataSite {
		sites = pcdatastart(f, layout.PCDataSite)
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

// stemmaCaptureAt is stemmaCapture for the frame of gp, which runs, with the given
// slot: the word must not change between its load and its use.
//
//go:nosplit
func stemmaCaptureAt(gp *g, slot, pc uintptr) (hi, lo uint64) {
	if stemma.encode.lucce {
		c, v := stemmaPairAt(slot)
		return stemmaLucceCapture(gp, c, v, pc)
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
