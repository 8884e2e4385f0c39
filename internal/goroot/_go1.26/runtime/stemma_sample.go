// The sampling engine: the sampler thread, partial safepoints in which
// running goroutines walk their own stacks, and samples of waiting ones.
//
// The sampler is an M without a P, like sysmon. At each tick it asks some of
// the Ps that run something for a sample, by leaving a ticket on the P and
// setting the stack guard of its goroutine. The goroutine finds the ticket in
// its next function prologue (newstack) and walks its own stack. If it has not
// by the next tick, a signal makes it, at an asynchronous safe point. Nobody
// stops and nobody waits. Of the goroutines that wait, the sampler picks a few
// at random and walks them itself, while their scan bit keeps them from running.

package runtime

import (
	"internal/abi"
	"internal/goarch"
	"internal/runtime/atomic"
	rt "internal/runtime/stemma"
	"internal/runtime/sys"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// stemmaSmp is the state of the sampling engine. Its memory is mapped, outside
// the Go heap.
var stemmaSmp struct {
	rt.Samples
	on        bool          // the memory is there; set once, in schedinit
	active    atomic.Uint32 // samples are being taken
	started   atomic.Uint32 // the sampler thread exists
	interval  atomic.Int64  // nanoseconds
	sampler   uint8         // an rt.Sampler constant
	walk      uint8         // an rt.Walk constant
	waiting   bool          // sample waiting goroutines too
	signal    bool          // ask by signal at once
	note      note          // the sampler sleeps here while it is not active
	asleep    atomic.Uint32
	drain     mutex      // held by whoever describes places
	buf       [1]uintptr // the sampler's own buffer
	retrieved int64      // when parked goroutines were last looked at

	stwG    *g // the goroutine of the sampler stw
	stwLock mutex
	stwIdle atomic.Bool
	stwDt   int64
	stwAt   int64
}

// A stemmaTicket sits on a P: a request for one sample of what it runs.
type stemmaTicket struct {
	state  atomic.Uint32
	late   bool  // it was not met by the first tick; the sampler's own
	asked  int64 // nanotime of the request
	weight int64 // nanoseconds that the sample stands for
	owed   int64 // weight of requests that were dropped; the sampler's own
	buf    uintptr
}

// States of a ticket. The sampler takes it from free to asked and from
// dropped to free; the P takes it from asked to taken or dropped, and
// from taken to free.
const (
	stemmaTicketFree = iota
	stemmaTicketAsked
	stemmaTicketTaken
	stemmaTicketDropped
)

// What g.stemmaAsk says: the goroutine was asked for a sample, and if it may
// be taken at an asynchronous safe point.
const (
	stemmaAskGuard  = 1
	stemmaAskSignal = 2
	stemmaAskAgain  = 3 // the request has become one for preemption, see stemmaRepeat
)

// stemmaBufSize is the size of a buffer for one stack trace, of which only what
// is used is backed: a million frames.
const stemmaBufSize = 8 << 20

// stemmaSampleInit maps the record, in schedinit, after stemmaInit.
func stemmaSampleInit() {
	lockInit(&stemmaSmp.drain, lockRankLeafRank)
	lockInit(&stemmaSmp.stwLock, lockRankForcegc)
	acct := stemmaHasEngine("acct")
	if !acct && !stemmaHasEngine("sample") {
		return
	}
	nodes := uintptr(1 << 22)
	if n, ok := stemmaParse(stemmaOption("nodes")); ok && n > 0 {
		nodes = min(max(n, 16), 1<<26)
	}
	const placesSize = 1 << 28
	size := rt.SmpEnd + nodes*rt.SampleNodeSize
	stemmaMakeDir("samples", size)
	stemma.making = true
	samples := stemmaMap("samples", 0, size)
	places := stemmaMap("places", 0, placesSize)
	buckets := stemmaMap("", 0, rt.SampleBuckets)
	known := stemmaMap("", 0, rt.PlacesKnown)
	stemmaSmp.Init(samples, buckets, places, known, uint32(nodes), placesSize)
	sec, nsec, _ := time_now()
	stemmaSmp.Describe(stemmaRun, uint32(stemmaGetpid()), uint64(sec)*1e9+uint64(nsec), buildVersion, argslice)
	stemmaSmp.sampler = stemmaIndex(rt.SamplerNames[:], stemmaSampleOption("sampler"), rt.SamplerISPS)
	walk := uint8(rt.WalkFP)
	if stemmaSmp.sampler == rt.SamplerISPS {
		walk = rt.WalkIncremental
	}
	stemmaSmp.walk = stemmaIndex(rt.WalkNames[:], stemmaSampleOption("walk"), walk)
	if stemmaSmp.sampler != rt.SamplerISPS && stemmaSmp.walk >= rt.WalkIncremental {
		stemmaSmp.walk = rt.WalkFP // the sampler was changed in the environment
	}
	stemmaSmp.waiting = stemmaSampleOption("waiting") != "off"
	stemmaSmp.signal = stemmaSampleOption("ask") == "signal"
	every := stemmaDuration(stemmaSampleOption("every"))
	if every < 10e3 {
		every = 1e6
	}
	stemmaSmp.interval.Store(every)
	if acct {
		stemmaAcctInit()
	}
	stemmaSmp.Configure(stemmaSmp.sampler, stemmaSmp.walk, uint64(stemmaSmp.interval.Load()), false)
	stemmaCheckSettings()
	stemmaSmp.on, stemma.making = true, false
	stemmaSamplingAPI = &stemmaSamplingAPIs
}

// stemmaHasEngine tells whether the program was built with an engine; several
// are separated by plus signs, since commas separate options.
func stemmaHasEngine(name string) bool {
	s := stemmaOption("engine")
	for len(s) >= len(name) {
		if s[:len(name)] == name && (len(s) == len(name) || s[len(name)] == '+') {
			return true
		}
		i := 0
		for i < len(s) && s[i] != '+' {
			i++
		}
		s = s[min(i+1, len(s)):]
	}
	return false
}

// stemmaDuration returns the nanoseconds in a number with the unit ns, us, ms or s, or
// without a unit; 0 if it is anything else.
func stemmaDuration(s string) int64 {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	n, ok := stemmaParse(s[:i])
	unit := int64(0)
	switch s[i:] {
	case "", "ns":
		unit = 1
	case "us":
		unit = 1e3
	case "ms":
		unit = 1e6
	case "s":
		unit = 1e9
	}
	if !ok || n > 1e10 {
		return 0
	}
	return int64(n) * unit
}

// stemmaIndex returns the place of name in names, or what is the default.
func stemmaIndex(names []string, name string, def uint8) uint8 {
	for i, s := range names {
		if s != "" && s == name {
			return uint8(i)
		}
	}
	return def
}

// stemmaSampleMain starts sampling, in main, when the runtime can start threads.
func stemmaSampleMain() {
	if stemmaSmp.on && stemmaSampleOption("start") != "off" {
		stemmaStartSampling(stemmaSmp.interval.Load())
	}
}

// stemmaStartSampling begins to take samples. It runs on a goroutine.
func stemmaStartSampling(interval int64) {
	stemmaSmp.interval.Store(interval)
	if stemmaSmp.started.CompareAndSwap(0, 1) {
		stemmaFPInit()
		stemmaTraceInit()
		stemmaSmp.Configure(stemmaSmp.sampler, stemmaSmp.walk, uint64(interval), stemmaTraceCheck)
		if stemmaSmp.sampler == rt.SamplerSTW {
			go stemmaStopWorldLoop()
		}
		stemmaSmp.active.Store(1)
		systemstack(func() { newm(stemmaSampler, nil, -1) })
		return
	}
	if stemmaSmp.active.Swap(1) == 0 && stemmaSmp.asleep.CompareAndSwap(1, 0) {
		notewakeup(&stemmaSmp.note)
	}
}

// stemmaStopSampling ends it. Requests that are out are still met.
func stemmaStopSampling() {
	stemmaSmp.active.Store(0)
	stemmaRetrieveAll()
}

// stemmaSampler is the sampler thread. It never has a P, so it must not
// allocate or have write barriers, and it counts as a system M, or
// deadlocks would no longer be found.
//
//go:nowritebarrierrec
func stemmaSampler() {
	lock(&sched.lock)
	sched.nmsys++
	checkdead()
	unlock(&sched.lock)
	const prSetTimerslack, sysPrctl = 29, 157
	linux.Syscall6(sysPrctl, prSetTimerslack, 1, 0, 0, 0, 0) // or each sleep is 50 µs too long
	last, idle := nanotime(), int64(1)
	for {
		if stemmaSmp.active.Load() == 0 {
			stemmaDrain()
			stemmaSamplerSleep()
			last = nanotime()
		}
		// The time that the last tick took is part of the interval. While no P runs
		// anything ticks come less often, at most every 10 ms; what counts is
		// the time that has really passed.
		interval := stemmaSmp.interval.Load()
		if idle > 1 {
			interval = max(interval, min(interval*idle, 10e6))
		}
		if rest := last + interval - nanotime(); rest >= 1000 {
			usleep(uint32(min(rest/1000, 1e6)))
		}
		now := nanotime()
		running := stemmaSampleTick(now, now-last)
		last = now
		if idle *= 2; running > 0 {
			idle = 1
		}
	}
}

// stemmaSamplerSleep waits until sampling starts again.
//
//go:nowritebarrierrec
func stemmaSamplerSleep() {
	noteclear(&stemmaSmp.note)
	stemmaSmp.asleep.Store(1)
	if stemmaSmp.active.Load() != 0 && stemmaSmp.asleep.CompareAndSwap(1, 0) {
		return
	}
	notesleep(&stemmaSmp.note)
}

// stemmaSampleTick asks for the samples of one interval, which was dt nanoseconds
// long, and returns how many Ps run goroutines. It runs on the sampler thread.
//
//go:nowritebarrierrec
func stemmaSampleTick(now, dt int64) int {
	stemmaSmp.Count(rt.StatTicks, 1)
	if stemmaSmp.Stat(rt.StatTicks)%64 == 0 {
		stemmaSmp.Set(rt.StatSamplerCPU, stemmaThreadCPU())
	}
	stemmaDrain()
	if now-stemmaSmp.retrieved > stemmaRetrieve {
		stemmaSmp.retrieved = now
		stemmaRetrieveParked(now)
	}
	switch stemmaSmp.sampler {
	case rt.SamplerSTW:
		stemmaAskStopWorld(now, dt)
		return 1
	case rt.SamplerACCT:
		stemmaAcctTick()
		return 1
	}
	lock(&allpLock)
	// Not gcount: while GOMAXPROCS grows, some Ps are nil.
	running, goroutines := 0, int(atomic.Loaduintptr(&allglen))-int(sched.gFree.stack.size+sched.gFree.noStack.size+sched.ngsys.Load())
	for _, pp := range allp {
		if pp == nil {
			continue
		}
		goroutines -= int(pp.gFree.size)
		if stemmaRunning(pp) != nil {
			running++
		}
	}
	// Section 3.1: as many samples as there are Ps, divided between running and waiting
	// goroutines by their numbers, but at least one for each. The weight of a sample makes
	// up for those that were not chosen.
	n, waiting := int(gomaxprocs), 0
	if stemmaSmp.waiting {
		waiting = max(0, goroutines-running)
	}
	ask := 0
	if running > 0 {
		ask = min(running, max(1, n*running/(running+waiting)))
	}
	stemmaAskRunning(now, dt, running, ask)
	unlock(&allpLock)
	if waiting > 0 {
		stemmaSampleWaiting(dt, min(waiting, max(1, n-ask)))
	}
	return running
}

// stemmaRunning returns the goroutine that a P runs, nil if there is none. The answer may
// be out of date at once.
//
//go:nowritebarrierrec
func stemmaRunning(pp *p) *g {
	if pp.status != _Prunning {
		return nil
	}
	mp := pp.m.ptr()
	if mp == nil {
		return nil
	}
	gp := mp.curg
	if gp == nil || gp == mp.g0 || readgstatus(gp)&^_Gscan != _Grunning {
		return nil
	}
	return gp
}

// stemmaAskRunning asks as many as ask of the Ps that run something, from a random one on,
// and settles the tickets of the others. allpLock is held.
//
//go:nowritebarrierrec
func stemmaAskRunning(now, dt int64, running, ask int) {
	start, asked := int(cheaprandn(uint32(len(allp)))), 0
	share := dt * int64(running) / int64(max(1, ask))
	for i := range allp {
		pp := allp[(start+i)%len(allp)]
		if pp == nil {
			continue
		}
		gp := stemmaRunning(pp)
		t := &pp.stemmaTicket
		if t.state.Load() == stemmaTicketDropped {
			t.owed += t.weight
			stemmaSmp.Count(rt.StatDropped, 1)
			t.state.Store(stemmaTicketFree)
		}
		if gp == nil {
			if t.state.CompareAndSwap(stemmaTicketAsked, stemmaTicketDropped) {
				stemmaSmp.Count(rt.StatDropped, 1)
				t.owed += t.weight
				t.state.Store(stemmaTicketFree)
			}
			continue
		}
		if t.state.Load() == stemmaTicketAsked {
			if !t.late {
				t.late = true
				stemmaSmp.Count(rt.StatLate, 1)
			}
			stemmaBySignal(pp, gp)
		}
		if asked == ask {
			continue
		}
		asked++
		t.owed += share
		if t.state.Load() != stemmaTicketFree {
			continue
		}
		t.weight, t.owed = t.owed, 0
		t.asked, t.late = now, false
		t.state.Store(stemmaTicketAsked)
		stemmaSmp.Count(rt.StatRequests, 1)
		gp.stemmaAsk = stemmaAskGuard
		if stemmaSmp.signal {
			stemmaBySignal(pp, gp)
		}
		atomic.Storeuintptr(&gp.stackguard0, stackPreempt)
	}
}

// stemmaBySignal makes the goroutine of a P take its sample at an
// asynchronous safe point.
//
//go:nowritebarrierrec
func stemmaBySignal(pp *p, gp *g) {
	gp.stemmaAsk = stemmaAskSignal
	if mp := pp.m.ptr(); mp != nil && preemptMSupported && debug.asyncpreemptoff == 0 {
		preemptM(mp)
	}
}

// stemmaGuard is called by newstack, on g0, when gp has come to a prologue
// with a preemption request, at a synchronous safe point. It takes the sample
// that gp was asked for, and reports whether that was all that was asked.
func stemmaGuard(gp *g, preempt bool) bool {
	if stemmaEvery != 0 && (!preempt || gp.stemmaAsk == 0) {
		return stemmaEveryGuard(gp, preempt)
	}
	if !preempt {
		return false
	}
	if gp.stemmaAsk == 0 {
		return false
	}
	stemmaAnswer(gp)
	stemmaSelf(gp, true)
	return !gp.preempt && !gp.preemptStop && !gp.preemptShrink
}

// stemmaRepeat is called by newstack when gp cannot stop in a prologue, since its M
// holds a lock, say. The runtime repeats a request for preemption when it can be met,
// so the one for a sample becomes such: then nothing need look for it where locks are
// given up. It runs on g0.
func stemmaRepeat(gp *g) {
	if gp.stemmaAsk != 0 && !gp.preempt && stemmaWithout != "repeat" {
		gp.stemmaAsk = stemmaAskAgain
		gp.preempt = true
	}
}

// stemmaAnswer takes back the request for a sample that gp is about to take. One for
// preemption that came meanwhile stays: whoever makes one sets gp.preempt, the guard
// and then the P's preempt, for which a signal comes, or looks whether it is met and
// makes it again.
func stemmaAnswer(gp *g) {
	if gp.stemmaAsk == stemmaAskAgain {
		stemmaSmp.Count(rt.StatRepeated, 1)
		if !gp.m.p.ptr().preempt {
			gp.preempt = false
		}
	}
	gp.stemmaAsk = 0
	// The guard last: whoever asks for preemption sets preempt first, which the caller
	// looks at after this.
	gp.stackguard0 = gp.stack.lo + stackGuard
}

// stemmaAsync is called by asyncPreempt2, on g0, when gp has been interrupted
// at an asynchronous safe point. It takes the sample that gp was asked for, and
// reports whether that was all that was asked.
func stemmaAsync(gp *g) bool {
	if gp.stemmaAsk == 0 {
		return false
	}
	stemmaAnswer(gp)
	stemmaSelf(gp, false)
	pp := gp.m.p.ptr()
	return !gp.preempt && !gp.preemptStop && !pp.preempt
}

// stemmaWantsAsync tells a signal handler that gp was asked by signal.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaWantsAsync(gp *g) bool {
	return gp.stemmaAsk == stemmaAskSignal && readgstatus(gp)&^_Gscan == _Grunning
}

// stemmaSelf takes the sample that the ticket of this P asks for. It runs on
// the g0 of the M that runs gp, with a P.
func stemmaSelf(gp *g, atGuard bool) {
	pp := getg().m.p.ptr()
	t := &pp.stemmaTicket
	if !t.state.CompareAndSwap(stemmaTicketAsked, stemmaTicketTaken) {
		return // the ticket was for another goroutine
	}
	if stemmaSmp.walk >= rt.WalkIncremental {
		stemmaTrace(gp, atGuard, uint64(t.weight))
	} else {
		stemmaRecord(gp, atGuard, &t.buf, rt.WeightCPU, uint64(t.weight))
	}
	stemmaSmp.Count(rt.StatSamples, 1)
	stemmaSmp.Latency(uint64(nanotime() - t.asked))
	t.state.Store(stemmaTicketFree)
}

// stemmaScheduled clears the request of a goroutine that is about to run on
// pp: its ticket was for the one before it. It runs on g0 in execute and coroswitch_m.
//
//go:nowritebarrierrec
func stemmaScheduled(gp *g, pp *p) {
	gp.stemmaAsk = 0
	if stemmaEvery != 0 && gp.syscallsp == 0 {
		gp.stackguard0 = stackPreempt
	}
	if t := &pp.stemmaTicket; t.state.Load() == stemmaTicketAsked {
		t.state.CompareAndSwap(stemmaTicketAsked, stemmaTicketDropped)
	}
}

// stemmaSampleWaiting walks as many as k random goroutines that do not run.
// Each of the tries stands for its share of all goroutines, whether it hits one
// that waits or not, so that the estimate needs no exact number of them.
//
//go:nowritebarrierrec
func stemmaSampleWaiting(dt int64, k int) {
	ptr, length := atomicAllG()
	k = min(k, int(length)) << stemmaMoreTries
	for range k {
		gp := atomicAllGIndex(ptr, uintptr(cheaprandn(uint32(length))))
		s := readgstatus(gp)
		if s != _Gwaiting && s != _Gsyscall && s != _Grunnable || isSystemGoroutine(gp, false) {
			stemmaSmp.Count(rt.StatMissed, 1)
			continue
		}
		if !stemmaHold(gp, s) {
			stemmaSmp.Count(rt.StatBusy, 1)
			continue
		}
		stemmaRecord(gp, gp.syncSafePoint, &stemmaSmp.buf[0], rt.WeightWait, uint64(dt)*uint64(length)/uint64(k))
		casfrom_Gscanstatus(gp, s|_Gscan, s)
		stemmaSmp.Count(rt.StatWaiting, 1)
	}
}

// stemmaHold keeps a goroutine with the status s from running until its scan bit is
// cleared. It reports false for one that is on its way, and for one that waits in name
// only: it has an M, and runs on, while the garbage collector may scan it. The one
// that ends a mark phase does so on its own stack, of which its sched knows nothing.
//
//go:nowritebarrierrec
func stemmaHold(gp *g, s uint32) bool {
	if !castogscanstatus(gp, s, s|_Gscan) {
		return false
	}
	if s == _Gwaiting && gp.m != nil && stemmaWithout != "hold" {
		casfrom_Gscanstatus(gp, s|_Gscan, s)
		return false
	}
	return true
}

// stemmaRecord walks the whole stack of gp, which does not run, and adds its
// weight to the tree.
//
//go:nowritebarrierrec
func stemmaRecord(gp *g, atGuard bool, buf *uintptr, kind int, weight uint64) {
	pcs, ok := stemmaFullWalk(gp, atGuard, buf)
	base := uint32(0)
	if !ok {
		stemmaSmp.Count(rt.StatFailed, 1)
		base = stemmaSmp.Child(0, rt.PCTruncated)
	}
	stemmaSmp.Add(stemmaSmp.Stack(base, pcs), kind, weight, 1)
}

// stemmaFullWalk returns the addresses of all frames of gp, innermost first, in a
// buffer that it maps when it is first used. It reports false if it did not
// reach the outermost frame.
//
//go:nowritebarrierrec
func stemmaFullWalk(gp *g, atGuard bool, buf *uintptr) (pcs []uintptr, ok bool) {
	if *buf == 0 {
		p, errno := mmap(nil, stemmaBufSize, _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE|mapNoReserve, -1, 0)
		if errno != 0 {
			return nil, false
		}
		*buf = uintptr(p)
	}
	pcs = unsafe.Slice((*uintptr)(unsafe.Pointer(*buf)), stemmaBufSize/goarch.PtrSize)
	if stemmaSmp.walk != rt.WalkUnwinder {
		if n, ok := stemmaWalkFP(gp, atGuard, pcs); ok {
			return pcs[:n], true
		}
	}
	n, ok := stemmaWalkUnwinder(gp, pcs)
	return pcs[:n], ok
}

// stemmaWalkUnwinder walks with the runtime's own unwinder. The frames that
// an asynchronous preemption has put on top are left out, and goexit.
//
//go:nowritebarrierrec
func stemmaWalkUnwinder(gp *g, pcs []uintptr) (n int, ok bool) {
	var u unwinder
	u.init(gp, unwindSilentErrors)
	for ; u.valid() && n < len(pcs); u.next() {
		f := u.frame.fn
		if f.flag&abi.FuncFlagTopFrame != 0 {
			return n, true
		}
		if f.funcID == abi.FuncID_asyncPreempt && n <= 1 {
			n = 0
			continue
		}
		pcs[n] = u.symPC()
		n++
	}
	return n, false
}

// stemmaFPFuncs are the address ranges of functions that a frame pointer walk
// must know: a frame that was interrupted lies beyond them.
var stemmaFPFuncs struct{ async, asyncEnd, sigpanic, sigpanicEnd, goexit uintptr }

// stemmaFPInit looks the ranges up.
func stemmaFPInit() {
	r := &stemmaFPFuncs
	r.async, r.asyncEnd = stemmaSpan(abi.FuncPCABI0(asyncPreempt))
	r.sigpanic, r.sigpanicEnd = stemmaSpan(abi.FuncPCABIInternal(sigpanic))
	r.goexit = abi.FuncPCABI0(goexit) + sys.PCQuantum
}

// stemmaSpan returns the entry of a function, and the first address behind it.
func stemmaSpan(entry uintptr) (lo, hi uintptr) {
	f := findfunc(entry)
	for hi = entry + 1; findfunc(hi) == f; hi++ {
	}
	return f.entry(), hi
}

// stemmaWalkFP follows the frame pointers. It reports false where the chain
// does not lead to goexit within gp's stack, as in callbacks from C.
//
//go:nowritebarrierrec
func stemmaWalkFP(gp *g, atGuard bool, pcs []uintptr) (n int, ok bool) {
	pc, sp, bp := gp.sched.pc, gp.sched.sp, gp.sched.bp
	if gp.syscallsp != 0 {
		pc, sp, bp = gp.syscallpc, gp.syscallsp, gp.syscallbp
	}
	r := &stemmaFPFuncs
	lo, hi := sp, gp.stack.hi-2*goarch.PtrSize
	pcs[0] = pc - 1
	n = 1
	if atGuard && gp.syscallsp == 0 {
		// In the prologue, the frame of pc is not linked yet.
		if pc = stemmaReturn(gp, sp); pc == r.goexit {
			return n, true
		}
		pcs[1] = pc - 1
		n = 2
	}
	for n < len(pcs)-1 {
		if bp < lo || bp > hi {
			return n, false
		}
		slot := bp + goarch.PtrSize
		ret := stemmaReturn(gp, slot)
		if ret == r.goexit {
			return n, true
		}
		lo, bp = slot, *(*uintptr)(unsafe.Pointer(bp))
		injected := pc-1 >= r.async && pc-1 < r.asyncEnd
		if !injected && !(pc-1 >= r.sigpanic && pc-1 < r.sigpanicEnd) {
			pcs[n] = ret - 1
			pc = ret
			n++
			continue
		}
		if injected && n <= 2 {
			n = 0 // asyncPreempt and what it called are not part of the trace
		}
		// The frame was interrupted at ret, perhaps before it was linked.
		pcs[n] = ret
		n++
		f := findfunc(ret)
		if !f.valid() {
			return n, false
		}
		delta := uintptr(funcspdelta(f, ret))
		slot += goarch.PtrSize + delta
		if slot > hi+goarch.PtrSize || f.flag&abi.FuncFlagSPWrite != 0 {
			return n, false
		}
		if delta > 0 {
			bp = *(*uintptr)(unsafe.Pointer(slot - goarch.PtrSize))
		}
		if pc = stemmaReturn(gp, slot); pc == r.goexit {
			return n, true
		}
		pcs[n] = pc - 1
		n++
		lo = slot
	}
	return n, false
}

// stemmaDrain describes the addresses of new nodes. It runs on the sampler
// thread, or, when the program ends, on the system stack of a goroutine.
//
//go:nowritebarrierrec
func stemmaDrain() {
	lock(&stemmaSmp.drain)
	for {
		pc, ok := stemmaSmp.NextPlace()
		if !ok {
			break
		}
		w := stemmaSmp.BeginPlace(pc)
		if f := findfunc(pc); f.valid() {
			u, uf := newInlineUnwinder(f, pc)
			for ; uf.valid(); uf = u.next(uf) {
				file, line := u.fileLine(uf)
				sf := u.srcFunc(uf)
				w.Frame(sf.name(), file, uint32(line), uint32(sf.startLine))
			}
		}
		w.End()
	}
	unlock(&stemmaSmp.drain)
}

// stemmaSampleExit completes the record when the program ends in an orderly way.
func stemmaSampleExit() {
	if !stemmaSmp.on {
		return
	}
	stemmaSmp.active.Store(0)
	stemmaRetrieveAll()
	systemstack(stemmaDrain)
}

// stemmaThreadCPU returns the CPU time of this thread.
//
//go:nowritebarrierrec
func stemmaThreadCPU() uint64 {
	const sysClockGettime, threadCPU = 228, 3
	var ts timespec
	linux.Syscall6(sysClockGettime, threadCPU, uintptr(unsafe.Pointer(&ts)), 0, 0, 0, 0)
	return uint64(ts.tv_sec)*1e9 + uint64(ts.tv_nsec)
}

// stemmaAskStopWorld wakes the goroutine of the sampler stw, as sysmon wakes the
// collector's.
//
//go:nowritebarrierrec
func stemmaAskStopWorld(now, dt int64) {
	if !stemmaSmp.stwIdle.Load() {
		stemmaSmp.stwDt += dt
		stemmaSmp.Count(rt.StatLate, 1)
		return
	}
	lock(&stemmaSmp.stwLock)
	stemmaSmp.stwIdle.Store(false)
	stemmaSmp.stwDt += dt
	stemmaSmp.stwAt = now
	var list gList
	list.push(stemmaSmp.stwG)
	injectglist(&list)
	unlock(&stemmaSmp.stwLock)
	stemmaSmp.Count(rt.StatRequests, 1)
}

// stemmaStopWorldLoop is the goroutine of the sampler stw, the baseline: it stops
// the world and walks every goroutine, as runtime.GoroutineProfile does.
func stemmaStopWorldLoop() {
	stemmaSmp.stwG = getg()
	for {
		lock(&stemmaSmp.stwLock)
		stemmaSmp.stwIdle.Store(true)
		goparkunlock(&stemmaSmp.stwLock, waitReasonForceGCIdle, traceBlockSystemGoroutine, 1)
		dt := uint64(stemmaSmp.stwDt)
		stemmaSmp.stwDt = 0
		stw := stopTheWorld(stwGoroutineProfile)
		systemstack(func() {
			forEachGRace(func(gp *g) { stemmaStopped(gp, dt) })
		})
		startTheWorld(stw)
		stemmaSmp.Latency(uint64(nanotime() - stemmaSmp.stwAt))
	}
}

// stemmaStopped samples a goroutine while the world is stopped. One that was
// preempted for it was on CPU.
func stemmaStopped(gp *g, dt uint64) {
	s := readgstatus(gp)
	if s != _Gwaiting && s != _Gsyscall && s != _Grunnable || isSystemGoroutine(gp, false) {
		return
	}
	kind, stat := rt.WeightWait, rt.StatWaiting
	if s == _Grunnable && (gp.syncSafePoint || gp.asyncSafePoint) {
		kind, stat = rt.WeightCPU, rt.StatSamples
	}
	if kind == rt.WeightCPU || stemmaSmp.waiting {
		stemmaRecord(gp, gp.syncSafePoint, &stemmaSmp.buf[0], kind, dt)
		stemmaSmp.Count(stat, 1)
	}
}
