// Incremental stack tracing: the half that reads and patches stacks. Package rt
// does the bookkeeping; see rt/sample/trace.go for the terms.
//
// What is patched is the return address of a plain frame: one of a compiled function
// that has no name of the runtime's packages. Frames of assembly and of the runtime, which may look at their own
// return addresses, are recorded at once, and the next plain one is patched. What the runtime has under names of other
// packages, as time.Sleep, is plain: none of it uses its return address, but for the race detector.
// Whatever reads return addresses from a stack asks stemmaLR for the true one.

package runtime

import (
	"internal/abi"
	"internal/goarch"
	"internal/runtime/atomic"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/sample"
	"internal/stringslite"
	"unsafe"
)

// stemmaTrampPC is what is in a patched slot; until there is any, an address
// that no function has.
var stemmaTrampPC uintptr = stemmaNoTramp

const stemmaNoTramp = 1

// stemmaPlain has return addresses into plain frames, each at the place that its low
// bits say. Entries are single words; any M may replace one.
var stemmaPlain [sample.PlainSize]uintptr

// stemmaTraceCheck compares every incremental trace with a walk of the unwinder.
// Of those that differ, Print shows both, and Fail makes the first one fatal.
var stemmaTraceCheck, stemmaTracePrint, stemmaTraceFail bool

// stemmaWithout turns parts of incremental tracing off, for tests of the checks.
var stemmaWithout string

// stemmaEvery is the mode, for tests, in which a sample is taken in every prologue
// that checks the stack: below a sampled function, and after a return that
// the slow path of the trampoline intercepts. With stemmaEverySlow all do.
var stemmaEvery uint8

// stemmaMoreTries is how often more, as a power of two, the sampler looks for goroutines
// that wait, for tests: goroutines that are not what they seem are so for moments.
var stemmaMoreTries uint8

const (
	stemmaEveryFast = 1
	stemmaEverySlow = 2
)

const (
	stemmaGap        = 128 // frames between patched ones that are recorded at once
	stemmaEntries    = 64  // of a new trace
	stemmaObjects    = 512
	stemmaTraceAlloc = sample.TraceSize + sample.EntryPad + stemmaEntries*sample.EntrySize +
		stemmaObjects*sample.ObjSize
	stemmaTraceMax = 1 << 16 // goroutines that are traced at the same time
	stemmaRetrieve = 100e6   // nanoseconds after which what is pending is completed
)

// stemmaTraces are all traces, those in use and free ones.
var stemmaTraces struct {
	lock  stemmaSpin              // of all but busy
	list  [stemmaTraceMax]uintptr // integers: the collector need not look at them
	n     atomic.Uint32           // of them: those who read the list without the lock see what it says
	free  uintptr
	chunk uintptr // memory for more
	left  uintptr
	buf   uintptr    // for stemmaComplete
	busy  stemmaSpin // buf is in use
}

// A stemmaSpin is a lock that is held for moments, on g0, and that signal handlers take only if
// it is free: the thread that they interrupted may hold it.
type stemmaSpin struct{ held atomic.Uint32 }

// lock reports whether it has got the lock; in a signal handler it may not.
//
//go:nowritebarrierrec
func (l *stemmaSpin) lock() bool {
	for !l.held.CompareAndSwap(0, 1) {
		if gp := getg(); gp == gp.m.gsignal {
			return false
		}
		osyield()
	}
	return true
}

//go:nowritebarrierrec
func (l *stemmaSpin) unlock() { l.held.Store(0) }

// stemmaIncremental reports whether stacks are walked incrementally.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaIncremental() bool {
	return stemmaSmp.walk == layout.WalkIncremental || stemmaSmp.walk == layout.WalkMarker
}

// stemmaTraceInit prepares incremental tracing, before the sampler starts.
func stemmaTraceInit() {
	if !stemmaIncremental() {
		return
	}
	if raceenabled || !stemmaHasTrampoline {
		stemmaSmp.walk = layout.WalkFP // the race detector reads return addresses itself
		return
	}
	stemmaAcctMarks()
	stemmaTrampPC = stemmaTrampolineEntry()
	check := stemmaWord("STEMMA_TRACE_CHECK")
	stemmaTraceCheck = stemmaOption("verify") == "on" || check != ""
	stemmaTracePrint, stemmaTraceFail = check == "print", check == "throw"
	stemmaWithout = stemmaWord("STEMMA_TRACE_WITHOUT")
	if steps, ok := stemmaNumber("STEMMA_TRACE_STEP"); ok {
		stemmaStepInit(int64(steps))
	}
	switch stemmaWord("STEMMA_TRACE_EVERY") {
	case "fast":
		stemmaEvery = stemmaEveryFast
	case "slow":
		stemmaEvery = stemmaEverySlow
	case "waiting":
		stemmaMoreTries = 14
	}
}

// stemmaTraceIn returns the trace that gp has, or nil.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaTraceIn(gp *g) *sample.Trace { return (*sample.Trace)(unsafe.Pointer(gp.stemma.trace)) }

// stemmaTraceOf returns the trace of gp, nil if there is no memory for one, or no time. It
// runs on g0, or in a signal handler that has interrupted gp.
//
//go:nowritebarrierrec
func stemmaTraceOf(gp *g) *sample.Trace {
	if gp.stemma.trace != 0 {
		return stemmaTraceIn(gp)
	}
	m := &stemmaTraces
	if !m.lock.lock() {
		return nil
	}
	t := (*sample.Trace)(unsafe.Pointer(m.free))
	if t != nil {
		m.free = t.Next
	} else if n := m.n.Load(); n < stemmaTraceMax {
		if mem := stemmaTraceMemory(stemmaTraceAlloc); mem != nil {
			t = (*sample.Trace)(mem)
			entries := add(mem, sample.TraceSize)
			objs := add(entries, sample.EntryPad+stemmaEntries*sample.EntrySize)
			plain := &stemmaPlain
			if stemmaSmp.walk == layout.WalkMarker || stemmaEvery == stemmaEverySlow {
				plain = &stemmaNotPlain
			}
			t.Init(&stemmaSmp.Samples, 0, unsafe.Pointer(plain), stemmaTrampPC, stemmaFPFuncs.goexit,
				entries, stemmaEntries, objs, stemmaObjects)
			if stemmaSmp.walk == layout.WalkMarker && stemmaEvery == 0 {
				t.Stride = uintptr(stemmaStride)
			}
			m.list[n] = uintptr(mem)
			m.n.Store(n + 1)
		}
	}
	if t != nil {
		t.G = uintptr(unsafe.Pointer(gp))
		t.Completed = nanotime()
		gp.stemma.trace = uintptr(unsafe.Pointer(t))
	}
	m.lock.unlock()
	return t
}

// stemmaTraceMemory returns zeroed memory outside the heap. The lock is held.
//
//go:nowritebarrierrec
func stemmaTraceMemory(size uintptr) unsafe.Pointer {
	m := &stemmaTraces
	if m.left < size {
		chunk := max(1<<20, alignUp(size, 1<<16))
		p, errno := mmap(nil, chunk, _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE|mapNoReserve, -1, 0)
		if errno != 0 {
			return nil
		}
		m.chunk, m.left = uintptr(p), chunk
	}
	p := m.chunk
	m.chunk += size
	m.left -= size
	return unsafe.Pointer(p)
}

// stemmaLR returns the true return address of a frame that ends at fp, whose slot
// holds lr. It may run in a signal handler. It is inlined.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaLR(gp *g, lr, fp uintptr) uintptr {
	if lr == stemmaTrampPC {
		lr = stemmaIntercepted(gp, lr, fp)
	}
	return lr
}

// stemmaIntercepted is stemmaLR for a return address that is the trampoline's.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaIntercepted(gp *g, lr, fp uintptr) uintptr {
	if gp.stemma.trace == 0 || stemmaWithout == "unwind" {
		return lr
	}
	return stemmaTraceIn(gp).Find(gp.stack.hi - (fp - goarch.PtrSize))
}

// stemmaSlotAt returns where the slot of an entry of gp's trace is.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaSlotAt(gp *g, e sample.Entry) *uintptr {
	return (*uintptr)(unsafe.Pointer(gp.stack.hi - e.Off - e.Below))
}

// stemmaReturn reads the return address in a slot of gp's stack, which the frame pointer below it leads to.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaReturn(gp *g, slot uintptr) uintptr {
	return stemmaLR(gp, *(*uintptr)(unsafe.Pointer(slot)), stemmaPlaceOf(slot)+goarch.PtrSize)
}

// stemmaFPReturn is for walks of frame pointers, which do not know whose stack
// they are on: mostly that of this M's goroutine. by names the walk. It is inlined.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaFPReturn(pc, slot uintptr, by string) uintptr {
	if pc == stemmaTrampPC {
		pc = stemmaFPIntercepted(pc, slot, by)
	}
	return pc
}

// stemmaFPReturns is stemmaFPReturn for all return addresses that a walk of the
// execution tracer, which began at the frame pointer fp, has read.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaFPReturns(pcs []uintptr, fp uintptr) {
	for i := range pcs {
		pcs[i] = stemmaFPReturn(pcs[i], fp+goarch.PtrSize, "trace")
		fp = *(*uintptr)(unsafe.Pointer(fp))
	}
}

// stemmaFPIntercepted is stemmaFPReturn for a return address that is the trampoline's.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaFPIntercepted(pc, slot uintptr, by string) uintptr {
	if stemmaWithout == by {
		return pc
	}
	if gp := getg().m.curg; gp != nil && gp.stack.lo <= slot && slot < gp.stack.hi {
		return stemmaLR(gp, pc, stemmaPlaceOf(slot)+goarch.PtrSize)
	}
	for i := range stemmaTraces.n.Load() {
		gp := (*g)(unsafe.Pointer((*sample.Trace)(unsafe.Pointer(stemmaTraces.list[i])).G))
		if gp != nil && gp.stack.lo <= slot && slot < gp.stack.hi {
			return stemmaLR(gp, pc, stemmaPlaceOf(slot)+goarch.PtrSize)
		}
	}
	return pc
}

// A stemmaFrame is what stemmaStep finds out about a frame.
type stemmaFrame struct {
	slot  uintptr // where its return address is; 0 if that is in the link register
	raw   uintptr // what is there
	end   uintptr // the stack pointer of its caller
	plain bool    // its slot may be patched
	exact bool    // its return address is where its caller was interrupted
	top   bool    // it is goexit or the like, which nobody called
}

// place returns the place of the frame's slot.
//
//go:nosplit
//go:nowritebarrierrec
func (fr *stemmaFrame) place() uintptr { return fr.end - goarch.PtrSize }

// caller returns where the caller of the frame is.
//
//go:nosplit
//go:nowritebarrierrec
func (fr *stemmaFrame) caller() stemmaHalted {
	if fr.exact {
		return stemmaInterruptedAt(fr.raw, fr.end)
	}
	return stemmaHalted{pc: fr.raw, sp: fr.end}
}

// A stemmaHalted is where a frame has stopped: at a return address or, if it was interrupted, anywhere. Then the link
// register may have its return address.
type stemmaHalted struct {
	pc, sp, lr  uintptr
	interrupted bool
}

// stemmaStep looks at the frame of gp that has stopped at a place. It reports false where the stack cannot be followed.
//
//go:nowritebarrierrec
func stemmaStep(gp *g, at stemmaHalted) (fr stemmaFrame, ok bool) {
	pc := at.pc
	f := findfunc(pc)
	if f.valid() && f.flag&abi.FuncFlagTopFrame != 0 {
		fr.top = true
		return fr, true
	}
	if !f.valid() || f.flag&abi.FuncFlagSPWrite != 0 && f.funcID != abi.FuncID_cgocallback {
		return fr, false
	}
	delta := uintptr(funcspdelta(f, pc))
	patchable, ok := fr.find(gp, at, delta)
	if !ok {
		return fr, false
	}
	if fr.end == gp.stktopsp && fr.raw != stemmaFPFuncs.goexit && fr.raw != stemmaTrampPC {
		if top := findfunc(fr.raw); top.valid() && top.flag&abi.FuncFlagTopFrame != 0 {
			fr.raw = stemmaFPFuncs.goexit // each plugin has one of its own
			return fr, true
		}
	}
	if p := stemmaPlainAt(pc); *p == pc {
		fr.plain = patchable
		return fr, true
	} else if stemmaIsPlain(f) {
		fr.plain = patchable
		if delta > 0 && !at.interrupted { // else its frame pointer may not be in place
			*p = pc
		}
	}
	// The runtime's own function for this, isInjectedCall, is there since go1.26.6.
	fr.exact = f.funcID == abi.FuncID_sigpanic || f.funcID == abi.FuncID_asyncPreempt ||
		f.funcID == abi.FuncID_debugCallV2
	return fr, true
}

// stemmaPlainAt returns where stemmaPlain has an address.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaPlainAt(pc uintptr) *uintptr { return &stemmaPlain[pc>>stemmaPlainShift%sample.PlainSize] }

// stemmaIsPlain reports whether return addresses of frames of f may be patched:
// those of compiled functions that have no name of the runtime's packages.
//
//go:nowritebarrierrec
func stemmaIsPlain(f funcInfo) bool {
	if f.flag != 0 && f.flag&(abi.FuncFlagTopFrame|abi.FuncFlagSPWrite|abi.FuncFlagAsm) != 0 {
		return false
	}
	if f.funcID != abi.FuncIDNormal && (f.funcID != abi.FuncIDWrapper || stemmaTailCallsMove) {
		return false
	}
	name := funcname(f)
	if stringslite.HasPrefix(name, "runtime.") || stringslite.HasPrefix(name, "internal/runtime/") ||
		stringslite.HasPrefix(name, "internal/synctest.") {
		return false
	}
	const linked = ".runtime_" // functions of the runtime under the names of other packages
	for i := 0; i+len(linked) <= len(name); i++ {
		if name[i] == '.' && name[i:i+len(linked)] == linked {
			return false
		}
	}
	return true
}

// stemmaTrace takes a sample of gp, which is at the given place, incrementally. It runs
// where stemmaLocate may. It reports false, and has recorded nothing, if there is no memory, or
// if another thread is at what it needs.
//
//go:nowritebarrierrec
func stemmaTrace(gp *g, th *stemmaThread, at stemmaPlace, weight uint64) bool {
	ref, expect, ok := stemmaLocate(gp, th, at)
	if ok && !stemmaTraceIn(gp).Sample(&stemmaSmp.Samples, ref, weight, expect) {
		stemmaMismatch(gp, ref, expect-1)
	}
	return ok
}

// stemmaLocate returns a ref of the frame of gp at the given place: it
// records the innermost frames down to the first plain one, patches that, and
// leaves the rest for later, or finds it done. A ref that is not resolved is an object of its own. It
// runs on g0 with a P, or in a signal handler that has interrupted gp in its own code. It reports
// false if there is no memory, or if another thread is at what it needs. expect is what a check
// has found: the node + 1, or 0.
//
//go:nowritebarrierrec
func stemmaLocate(gp *g, th *stemmaThread, at stemmaPlace) (ref, expect uint32, ok bool) {
	s := &stemmaSmp.Samples
	t := stemmaTraceOf(gp)
	if t == nil {
		return 0, 0, false
	}
	stemmaDropDead(gp, t, at.sp)
	if t.Room() <= 2*stemmaGap || t.Pending() > 0 && nanotime()-t.Completed > stemmaRetrieve {
		if !stemmaComplete(gp, t) && t.Room() <= 2*stemmaGap {
			return 0, 0, false
		}
	}
	if t.Len()+1 >= t.Cap() && !stemmaGrow(t) {
		return 0, 0, false
	}
	if stemmaTraceCheck {
		expect = stemmaExpect(gp, th, at)
	}
	ok = true
	if stemmaSmp.walk == layout.WalkMarker {
		ref, ok = stemmaMark(gp, t, th, at)
	} else {
		ref = t.Child(s, stemmaCaller(gp, t, at, sample.NoRef), at.sym)
	}
	return ref, expect, ok
}

// stemmaExpect returns the node + 1 that a full walk of gp finds, 0 if it
// does not reach the end of the stack.
//
//go:nowritebarrierrec
func stemmaExpect(gp *g, th *stemmaThread, at stemmaPlace) uint32 {
	node, ok := stemmaUnwindFrom(gp, th, at)
	if !ok {
		return 0
	}
	stemmaSmp.Count(layout.StatChecked, 1)
	return node + 1
}

// stemmaUnwindFrom returns the node that the runtime's unwinder finds from a place in gp on. It
// reports false if it does not reach the end of the stack.
//
//go:nowritebarrierrec
func stemmaUnwindFrom(gp *g, th *stemmaThread, at stemmaPlace) (node uint32, ok bool) {
	var u unwinder
	flags := unwindFlags(unwindSilentErrors)
	if at.how == stemmaInterrupted {
		flags |= unwindTrap
	}
	u.initAt(at.pc, at.sp, at.lr, gp, flags)
	pcs := th.stemmaBuffer()
	n, ok := stemmaUnwind(&u, pcs)
	base := uint32(0)
	if !ok {
		base = stemmaSmp.Child(0, layout.PCTruncated)
	}
	return stemmaSmp.Stack(base, pcs[:n]), ok
}

// stemmaMismatch counts a trace that differs from a full walk, and shows both
// if that is asked for.
//
//go:nowritebarrierrec
func stemmaMismatch(gp *g, have, want uint32) {
	stemmaSmp.Count(layout.StatMismatches, 1)
	if stemmaTraceFail {
		throw("stemma: an incremental trace differs from a full walk")
	}
	if !stemmaTracePrint {
		return
	}
	for _, n := range [2]uint32{have, want} {
		print("stemma: g ", gp.goid, " trace:\n")
		for n != 0 {
			var pc uintptr
			n, pc = stemmaSmp.Frame(n)
			print("\t", hex(pc), " ", funcname(findfunc(pc)), "\n")
		}
	}
}

// stemmaDropDead drops entries of frames that are gone without having returned.
// None should be: whatever leaves frames so tells stemmaLeft. They are counted.
//
//go:nowritebarrierrec
func stemmaDropDead(gp *g, t *sample.Trace, sp uintptr) {
	dead := false
	for t.Len() > 0 && gp.stack.hi-t.Top().Off+stemmaPopped < sp {
		stemmaSmp.Count(layout.StatDead, 1)
		t.Drop()
		dead = true
	}
	if dead && stemmaSmp.walk == layout.WalkMarker {
		stemmaMarkTop(gp, t, true)
	}
}

// stemmaGrow gives t twice as many entries.
//
//go:nowritebarrierrec
func stemmaGrow(t *sample.Trace) bool {
	if !stemmaTraces.lock.lock() {
		return false
	}
	n := 2 * t.Cap()
	mem := stemmaTraceMemory(sample.EntryPad + uintptr(n)*sample.EntrySize)
	stemmaTraces.lock.unlock()
	if mem != nil {
		t.SetEntries(mem, n)
	}
	return mem != nil
}

// stemmaCaller returns the ref of the frame that called the one at the given place,
// whose own ref is known if it is resolved, else sample.NoRef. It leaves the first
// plain frame outwards patched.
//
//go:nowritebarrierrec
func stemmaCaller(gp *g, t *sample.Trace, at stemmaPlace, known uint32) uint32 {
	s := &stemmaSmp.Samples
	var pcs [stemmaGap]uintptr
	n := 0
	ref := uint32(0)
	stop := at.stop()
	for {
		fr, ok := stemmaStep(gp, stop)
		if !ok || n == len(pcs) {
			s.Count(layout.StatFailed, 1)
			ref = s.Child(0, layout.PCTruncated)
			break
		}
		if fr.top {
			n = max(n-1, 0) // goexit itself is in no trace
			break
		}
		if fr.raw == stemmaTrampPC {
			if t.Len() == 0 || t.Top().Off != gp.stack.hi-fr.place() {
				throw("stemma: a patched return address has no entry")
			}
			ref = t.Top().Ref
			break
		}
		if fr.raw == stemmaFPFuncs.goexit {
			break
		}
		if known != sample.NoRef {
			known, _ = s.Frame(known)
		}
		if fr.plain && known != 0 {
			ref = t.Push(gp.stack.hi-fr.place(), fr.place()-fr.slot, fr.raw, known)
			*(*uintptr)(unsafe.Pointer(fr.slot)) = stemmaTrampPC
			break
		}
		stop = fr.caller()
		pcs[n] = fr.raw - 1
		if fr.exact {
			pcs[n] = stop.pc
		}
		n++
	}
	for i := n - 1; i >= 0; i-- {
		ref = t.Child(s, ref, pcs[i])
	}
	return ref
}

// stemmaReturned is the slow path of the trampoline: a function of gp has
// returned, to the frame whose registers are in the trace. It runs on g0,
// perhaps without a P, at any place in the program: it must not lock, allocate or
// block.
//
//go:nowritebarrierrec
func stemmaReturned(gp *g) {
	t := stemmaTraceIn(gp)
	if t == nil {
		throw("stemma: return to the trampoline of a goroutine that is not traced")
	}
	s := &stemmaSmp.Samples
	place := t.SP - goarch.PtrSize
	for t.Len() > 0 && gp.stack.hi-t.Top().Off < place {
		s.Count(layout.StatDead, 1)
		t.Drop()
	}
	if t.Len() == 0 || gp.stack.hi-t.Top().Off != place {
		throw("stemma: return to the trampoline without an entry")
	}
	if t.Room() <= 2*stemmaGap {
		stemmaComplete(gp, t)
	}
	e := t.Top()
	*stemmaSlotAt(gp, e) = e.PC // below the stack pointer
	t.Drop()
	t.Target = e.PC
	s.Count(layout.StatSlow, 1)
	s.Count(layout.StatReturns, 1)
	if stemmaEvery != 0 {
		stemmaRearm(gp, t.SP-goarch.PtrSize+stemmaPopped)
	}
	if stemmaSmp.walk == layout.WalkMarker {
		stemmaMarkOut(gp, t)
		return
	}
	known := uint32(sample.NoRef)
	if sample.Resolved(e.Ref) {
		known = e.Ref
	}
	t.Link(e.Ref, stemmaCaller(gp, t, stemmaPlace{pc: e.PC, sp: t.SP}, known))
	if t.Len() == 0 && t.Pending() > 0 {
		stemmaFlush(gp, t)
	}
}

// stemmaFlush moves what is known into the tree.
//
//go:nowritebarrierrec
func stemmaFlush(gp *g, t *sample.Trace) {
	done, wrong := t.Flush(&stemmaSmp.Samples)
	stemmaSmp.Count(layout.StatRetrieved, done)
	stemmaSmp.Count(layout.StatMismatches, wrong)
	if wrong > 0 && stemmaTraceFail {
		throw("stemma: an incremental trace differs from a full walk")
	}
	t.Completed = nanotime()
}

// stemmaComplete is the operation retrieve for one goroutine: it walks the
// frames that are not known yet, so that nothing is pending. gp runs on this
// M, or does not run. In a signal handler it reports false if another thread is at it.
//
//go:nowritebarrierrec
func stemmaComplete(gp *g, t *sample.Trace) bool {
	m, s := &stemmaTraces, &stemmaSmp.Samples
	if !m.busy.lock() {
		return false
	}
	base := uint32(0)
	stop := uintptr(0)
	for i := range t.Len() {
		e := t.Entry(i)
		place := gp.stack.hi - e.Off
		if t.Skeleton(e.Ref) {
			pcs, ok := stemmaOutward(gp, e.PC, place+goarch.PtrSize, stop)
			if !ok {
				s.Count(layout.StatFailed, 1)
				base = s.Child(0, layout.PCTruncated)
			}
			t.Link(e.Ref, s.Stack(base, pcs))
		}
		base, _ = t.Resolve(s, e.Ref)
		t.SetRef(i, base)
		stop = place
	}
	stemmaFlush(gp, t)
	m.busy.unlock()
	return true
}

// stemmaOutward returns the addresses of the frames that led to the one at pc and sp,
// up to and without the one that the slot with the place stop returns into; all, if it is 0.
//
//go:nowritebarrierrec
func stemmaOutward(gp *g, pc, sp, stop uintptr) (pcs []uintptr, ok bool) {
	m := &stemmaTraces
	if m.buf == 0 {
		p, errno := mmap(nil, stemmaBufSize, _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE|mapNoReserve, -1, 0)
		if errno != 0 {
			return nil, false
		}
		m.buf = uintptr(p)
	}
	pcs = unsafe.Slice((*uintptr)(unsafe.Pointer(m.buf)), stemmaBufSize/goarch.PtrSize)
	at := stemmaHalted{pc: pc, sp: sp}
	for n := 0; n < len(pcs); n++ {
		fr, ok := stemmaStep(gp, at)
		if !ok {
			return pcs[:n], false
		}
		if fr.top {
			return pcs[:max(n-1, 0)], stop == 0
		}
		if fr.place() == stop || fr.raw == stemmaFPFuncs.goexit {
			return pcs[:n], true
		}
		if fr.raw == stemmaTrampPC || stop != 0 && fr.place() > stop {
			return pcs[:n], false
		}
		at = fr.caller()
		pcs[n] = fr.raw - 1
		if fr.exact {
			pcs[n] = at.pc
		}
	}
	return pcs, false
}

// stemmaLeft is called when gp is about to go on with stack pointer sp, in
// recovery: the frames below are gone without having returned. It runs on g0.
func stemmaLeft(gp *g, sp uintptr) {
	t := stemmaTraceIn(gp)
	if t == nil || t.Len() == 0 || gp.stack.hi-t.Top().Off >= sp || stemmaWithout == "recovery" {
		return
	}
	stemmaComplete(gp, t)
	for t.Len() > 0 && gp.stack.hi-t.Top().Off < sp {
		e := t.Top()
		*stemmaSlotAt(gp, e) = e.PC
		t.Drop()
	}
	if stemmaSmp.walk == layout.WalkMarker {
		stemmaMarkTop(gp, t, true)
	}
}

// stemmaUnpatch completes a trace and restores all return addresses, or none: if a link register has one already, the
// trampoline will still be met.
func stemmaUnpatch(gp *g, t *sample.Trace) {
	if t.Len() > 0 || t.Pending() > 0 || t.Returns > 0 {
		stemmaComplete(gp, t)
	}
	if !stemmaInPlace(gp, t) {
		return
	}
	for t.Len() > 0 {
		e := t.Top()
		*stemmaSlotAt(gp, e) = e.PC
		t.Drop()
	}
}

// stemmaGoroutineEnd is called by gdestroy, on g0: the trace of gp is completed and
// given back. After Goexit there are frames that have not returned.
func stemmaGoroutineEnd(gp *g) {
	if gp.stemma.ran != 0 { // it ends between the tick and the stop of jvmti
		gp.stemma.ran = 0
		stemmaSmp.Count(layout.StatDropped, 1)
	}
	t := stemmaTraceIn(gp)
	if t == nil || stemmaWithout == "gdestroy" {
		return
	}
	if t.Len() > 0 || t.Pending() > 0 || t.Returns > 0 {
		stemmaComplete(gp, t)
	}
	for t.Len() > 0 {
		t.Drop() // nobody reads its slot any more
	}
	gp.stemma.trace = 0
	stemmaTraces.lock.lock()
	t.G = 0
	t.Next = stemmaTraces.free
	stemmaTraces.free = uintptr(unsafe.Pointer(t))
	stemmaTraces.lock.unlock()
}

// stemmaRetrieveParked completes the traces of goroutines that have something
// pending and do not run. It runs on the sampler thread, now and then.
//
//go:nowritebarrierrec
func stemmaRetrieveParked(now int64) {
	for i := range stemmaTraces.n.Load() {
		t := (*sample.Trace)(unsafe.Pointer(stemmaTraces.list[i]))
		gp := (*g)(unsafe.Pointer(t.G))
		if gp == nil || t.Pending() == 0 || now-t.Completed < stemmaRetrieve {
			continue
		}
		s := readgstatus(gp)
		if s != _Gwaiting && s != _Grunnable || !stemmaHold(gp, s) {
			continue
		}
		if gp.stemma.trace == uintptr(unsafe.Pointer(t)) {
			stemmaComplete(gp, t)
		}
		casfrom_Gscanstatus(gp, s|_Gscan, s)
	}
}

// stemmaRetrieveAll stops the world and completes all traces; patched return
// addresses are restored. It runs on a goroutine, when sampling ends.
func stemmaRetrieveAll() {
	if stemmaTraces.n.Load() == 0 {
		return
	}
	stw := stopTheWorld(stwGoroutineProfile)
	systemstack(func() {
		for i := range stemmaTraces.n.Load() {
			t := (*sample.Trace)(unsafe.Pointer(stemmaTraces.list[i]))
			if gp := (*g)(unsafe.Pointer(t.G)); gp != nil {
				stemmaUnpatch(gp, t)
			}
		}
	})
	startTheWorld(stw)
}

// stemmaEveryGuard takes a sample in the mode stemmaEvery, for newstack. It
// reports whether that was the only reason why the stack check failed.
func stemmaEveryGuard(gp *g, preempt bool) bool {
	if !preempt && gp.stackguard0 == gp.stack.lo+stackGuard {
		return false
	}
	frame := uintptr(0)
	if f := findfunc(gp.sched.pc); f.valid() {
		frame = uintptr(max(funcMaxSPDelta(f)-abi.StackSmall, 0))
	}
	gp.stackguard0 = gp.stack.lo + stackGuard
	wanted := gp.preempt || gp.preemptStop || gp.preemptShrink
	if gp.sched.sp-frame <= gp.stackguard0 {
		// It needs a larger stack as well. If nobody has asked for preemption the check is made again, and then fails
		// for that alone: newstack takes the guard for a request, and would preempt the goroutine whenever it is
		// scheduled.
		return preempt && !wanted
	}
	if th := stemmaThreadOf(getg().m); th != nil && canPreemptM(getg().m) && stemmaSmp.active.Load() != 0 {
		// A signal handler of this thread uses its buffer as well.
		if th.state.CompareAndSwap(stemmaTicketFree, stemmaTicketTaken) {
			stemmaTrace(gp, th, stemmaGuardOf(gp), 1)
			stemmaSmp.Count(layout.StatSamples, 1)
			th.state.Store(stemmaTicketFree)
		}
	}
	stemmaRearm(gp, gp.sched.sp-frame-goarch.PtrSize)
	if gp.preempt || gp.preemptStop || gp.preemptShrink {
		gp.stackguard0 = stackPreempt
		return !preempt // then it comes again
	}
	return true
}

// stemmaRearm makes the next function fail its stack check whose frame begins
// at sp or below.
//
//go:nowritebarrierrec
func stemmaRearm(gp *g, sp uintptr) {
	if gp.stackguard0 == gp.stack.lo+stackGuard ||
		gp.stackguard0 < stackFork && gp.stackguard0 > gp.stack.lo && gp.stackguard0 < gp.stack.hi {
		gp.stackguard0 = max(sp, gp.stack.lo+stackGuard)
	}
}
