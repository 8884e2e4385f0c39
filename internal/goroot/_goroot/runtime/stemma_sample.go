// The sampling engine: the sampler thread, partial safepoints in which
// running goroutines walk their own stacks, and samples of waiting ones.
//
// Threads that run are sampled when their timers say so (stemma_timer.go), in a signal handler, at
// the instruction that they are at (stemma_signal.go). Nobody stops and nobody waits. The paper's way
// is that the sampler sets the stack guard of running goroutines, which
// then take their samples in their next function prologues (newstack); that is
// the option ask=guard. The sampler is an M without a P, like sysmon. Of the goroutines
// that wait it picks a few at random at each tick and walks them itself, while their scan
// bits keep them from running.

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	rt "internal/runtime/stemma"
	"internal/runtime/stemma/memory"
	"internal/runtime/stemma/sample"
	"internal/runtime/sys"
	"internal/runtime/syscall/linux"
)

// stemmaSmp is the state of the sampling engine. Its memory is mapped, outside
// the Go heap.
var stemmaSmp struct {
	sample.Samples
	on        bool          // the memory is there; set once, in schedinit
	active    atomic.Uint32 // samples are being taken
	started   atomic.Uint32 // whether the sampler thread exists, see stemmaPrepare
	interval  atomic.Int64  // nanoseconds
	sampler   uint8         // an rt.Sampler constant
	walk      uint8         // an rt.Walk constant
	waiting   bool          // sample waiting goroutines too
	guard     bool          // ask at stack guards, as the paper does
	note      note          // the sampler sleeps here while it is not active
	asleep    atomic.Uint32 // how, a stemmaAsleep constant
	requests  uint64        // how many there were when it last went to complete them; the sampler's own
	epoch     int64         // nanotime when the record began
	drain     mutex         // held by whoever describes places
	own       stemmaThread  // of the sampler: for its buffer
	retrieved int64         // when parked goroutines were last looked at

	stwG    *g // the goroutine of the sampler stw
	stwLock mutex
	stwIdle atomic.Bool
	stwDt   int64
	began   uint64 // CPU time of the process and the sampler when sampling began, see stemmaCountCPU
}

// What g.stemmaAsk says: the goroutine was asked for a sample at a stack guard.
const (
	stemmaAskGuard = 1
	stemmaAskAgain = 2 // the request has become one for preemption, see stemmaRepeat
)

// stemmaRequestsSize is the size of the file of requests: the newest 262,142.
const stemmaRequestsSize = 10 << 20

// stemmaBufSize is the size of a buffer for one stack trace, of which only what
// is used is backed: a million frames.
const stemmaBufSize = 8 << 20

// stemmaSampleInit maps the record, in schedinit, after stemmaInit.
func stemmaSampleInit() {
	lockInit(&stemmaSmp.drain, lockRankLeafRank)
	lockInit(&stemmaSmp.stwLock, lockRankForcegc)
	lockInit(&stemmaThreads.lock, lockRankLeafRank)
	acct := stemmaHasEngine("acct")
	if !acct && !stemmaHasEngine("sample") {
		return
	}
	nodes := uintptr(1 << 22)
	if n, ok := stemmaParse(stemmaOption("nodes")); ok && n > 0 {
		nodes = min(max(n, 16), 1<<26)
	}
	placesSize := uintptr(1 << 28)
	if room := stemmaAddresses(); room < sample.SmpEnd+nodes*sample.SampleNodeSize+placesSize {
		nodes = max(room/2/sample.SampleNodeSize, 1<<10)
		placesSize = max(alignDown(room/2, 1<<16), 1<<16)
	}
	size := sample.SmpEnd + nodes*sample.SampleNodeSize
	memory.Extend = stemmaExtend
	stemmaMakeDir("samples")
	stemma.making = true
	samples := stemmaFileSpan("samples", size)
	places := stemmaFileSpan("places", placesSize)
	buckets := stemmaTables(sample.BucketsSize)
	known := stemmaTables(sample.KnownSize)
	stemmaSmp.Init(samples, buckets, places, known, uint32(nodes), placesSize)
	requests := min(placesSize, stemmaRequestsSize)
	stemmaSmp.InitRequests(stemmaFileSpan("requests", requests), requests)
	sec, nsec, _ := time_now()
	stemmaSmp.epoch = nanotime()
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
	stemmaSmp.guard = stemmaSampleOption("ask") == "guard"
	every := stemmaDuration(stemmaSampleOption("every"))
	if every < 10e3 {
		every = 1e6
	}
	stemmaSmp.interval.Store(every)
	if acct {
		stemmaAcctInit()
	}
	stemmaConfigure()
	stemmaCheckSettings()
	stemmaSmp.on, stemma.making = true, false
	stemmaSamplingAPI = &stemmaSamplingAPIs
}

// stemmaConfigure notes in the record how samples are taken.
func stemmaConfigure() {
	flags := uint32(0)
	if stemmaTraceCheck {
		flags |= rt.SmpFlagCheck
	}
	if stemmaSmp.guard && stemmaSmp.sampler != rt.SamplerACCT {
		flags |= rt.SmpFlagGuard
	}
	stemmaSmp.Configure(stemmaSmp.sampler, stemmaSmp.walk, uint64(stemmaSmp.interval.Load()), flags)
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
	first := stemmaSmp.active.Load() == 0
	stemmaPrepare()
	stemmaStartThreads(first)
	if first {
		stemmaSmp.began = stemmaProcessCPU() - stemmaSmp.Stat(rt.StatProcessCPU)
	}
	if stemmaSmp.active.Swap(1) == 0 && stemmaSmp.asleep.Swap(stemmaAwake) != stemmaAwake {
		notewakeup(&stemmaSmp.note)
	}
}

// States of stemmaSmp.started.
const (
	stemmaUnprepared = iota
	stemmaPreparing
	stemmaPrepared
)

// stemmaPrepare makes ready, once, what walks need, and starts the sampler's thread, which sleeps. It
// runs on a goroutine.
func stemmaPrepare() {
	for stemmaSmp.started.Load() != stemmaPrepared {
		if !stemmaSmp.started.CompareAndSwap(stemmaUnprepared, stemmaPreparing) {
			Gosched()
			continue
		}
		stemmaFPInit()
		stemmaTraceInit()
		stemmaConfigure()
		if stemmaSmp.sampler == rt.SamplerSTW {
			go stemmaStopWorldLoop()
		}
		systemstack(func() { newm(stemmaSampler, nil, -1) })
		stemmaSmp.started.Store(stemmaPrepared)
	}
}

// stemmaStopSampling ends it. Requests that are out are still met.
func stemmaStopSampling() {
	if stemmaSmp.active.Swap(0) != 0 {
		stemmaSmp.Set(rt.StatProcessCPU, stemmaProcessCPU()-stemmaSmp.began)
		stemmaStopThreads()
	}
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
			stemmaSamplerSleep()
			last = nanotime()
			continue
		}
		// The time that the last tick took is part of the interval. While no P runs
		// anything ticks come less often; what counts is the time that has really passed.
		interval, rarest := stemmaTickEvery()
		if idle > 1 {
			interval = max(interval, min(interval*idle, rarest))
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

// stemmaTickEvery returns how often the sampler wakes, and how often at least where nothing
// runs, in nanoseconds. Where threads have timers it is there for waiting goroutines
// alone, and looks at more of them in a tick of 10 ms: each one takes a CPU from who runs.
//
//go:nowritebarrierrec
func stemmaTickEvery() (interval, rarest int64) {
	interval = stemmaSmp.interval.Load()
	if stemmaTimed() && stemmaSmp.sampler != rt.SamplerSTW {
		return max(interval, 10e6), 10e6
	}
	return interval, 10e6
}

// How the sampler sleeps. Who wakes it stores stemmaAwake first.
const (
	stemmaAwake  = iota
	stemmaAsleep // until sampling starts, or the program asks for a sample
	stemmaDozing // until sampling starts, or for stemmaRetrieve
)

// stemmaSamplerSleep waits until sampling starts again. When the program asks for samples
// meanwhile it completes what is pending a tenth of a second later, as it does while it is active.
//
//go:nowritebarrierrec
func stemmaSamplerSleep() {
	stemmaRetrieveParked(nanotime())
	stemmaDrain()
	if !stemmaSamplerRest(stemmaAsleep, -1) {
		stemmaSmp.requests = stemmaSmp.Requests()
		stemmaSamplerRest(stemmaDozing, stemmaRetrieve)
	}
}

// stemmaSamplerRest sleeps as how says, for at most ns nanoseconds, unless sampling has started or, if
// it is to wake for them, there are new requests. It reports whether sampling has started.
//
//go:nowritebarrierrec
func stemmaSamplerRest(how uint32, ns int64) (started bool) {
	noteclear(&stemmaSmp.note)
	stemmaSmp.asleep.Store(how)
	wait := stemmaSmp.active.Load() == 0 && (how == stemmaDozing || stemmaSmp.Requests() == stemmaSmp.requests)
	if wait {
		wait = notetsleep(&stemmaSmp.note, ns)
	}
	if !wait && stemmaSmp.asleep.Swap(stemmaAwake) == stemmaAwake {
		notesleep(&stemmaSmp.note) // somebody is about to wake it
	}
	return stemmaSmp.active.Load() != 0
}

// stemmaSampleTick asks for the samples of one interval, which was dt nanoseconds
// long, and returns how many Ps run goroutines. It runs on the sampler thread.
//
//go:nowritebarrierrec
func stemmaSampleTick(now, dt int64) (running int) {
	stemmaSmp.Count(rt.StatTicks, 1)
	if stemmaSmp.sampler == rt.SamplerACCT {
		stemmaAcctTick()
		running = 1
	} else {
		running = stemmaAsk(now, dt) // first: what is asked late is somewhere else
	}
	if dt >= 10e6 || stemmaSmp.Stat(rt.StatTicks)%64 == 0 {
		stemmaSmp.Set(rt.StatSamplerCPU, stemmaThreadCPU())
		stemmaSmp.Set(rt.StatProcessCPU, stemmaProcessCPU()-stemmaSmp.began)
	}
	stemmaDrain()
	if now-stemmaSmp.retrieved > stemmaRetrieve {
		stemmaSmp.retrieved = now
		stemmaRetrieveParked(now)
	}
	return running
}

// stemmaAsk asks running threads for samples where they have no timers, takes those of waiting
// goroutines, and returns how many Ps run something.
//
//go:nowritebarrierrec
func stemmaAsk(now, dt int64) int {
	lock(&allpLock)
	// Not gcount: while GOMAXPROCS grows, some Ps are nil.
	running, goroutines := 0,
		int(atomic.Loaduintptr(&allglen))-int(sched.gFree.stack.size+sched.gFree.noStack.size+sched.ngsys.Load())
	for _, pp := range allp {
		if pp != nil {
			goroutines -= int(pp.gFree.size)
		}
		if stemmaRunning(pp) != nil {
			running++
		}
	}
	waiting := 0
	if stemmaSmp.waiting {
		waiting = max(0, goroutines-running)
	}
	interval := stemmaSmp.interval.Load()
	if stemmaTimed() {
		// One of a waiting goroutine costs several microseconds: its stack is in no cache.
		interval = max(interval, stemmaKernelTick)
	}
	ask, k := stemmaShare(running, waiting, max(1, int(dt/interval)))
	if !stemmaTimed() {
		lock(&stemmaThreads.lock)
		stemmaAskRunning(now, ask)
		unlock(&stemmaThreads.lock)
	}
	unlock(&allpLock)
	switch {
	case stemmaSmp.sampler == rt.SamplerSTW:
		stemmaAskStopWorld(dt)
	case k > 0:
		stemmaSampleWaiting(dt, k)
	}
	return running
}

// stemmaFewest is how many goroutines are looked at in one tick at least, if as many wait: in a program
// with few of them all.
const stemmaFewest = 8

// stemmaShare divides samples between running threads and waiting goroutines by their numbers, but at
// least one and stemmaFewest of each (section 3.1): there are as many as Ps in each interval, of which
// some have passed. Who is not chosen is made up for: a thread's clock runs on until
// its next sample, and a waiting goroutine's sample stands for several.
//
//go:nowritebarrierrec
func stemmaShare(running, waiting, intervals int) (ask, k int) {
	n := int(gomaxprocs)
	if running > 0 {
		ask = min(running, max(1, n*running/(running+waiting)))
	}
	if waiting > 0 {
		k = min(waiting, max(stemmaFewest, (n-ask)*intervals))
	}
	return ask, k
}

// stemmaProcessCPU returns the CPU time of the process without that of the sampler's
// thread, when it was read last.
//
//go:nowritebarrierrec
func stemmaProcessCPU() uint64 {
	t, _ := stemmaReadClock(stemmaClockProcess)
	return t - stemmaSmp.Stat(rt.StatSamplerCPU)
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
	stemmaSelf(gp)
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

// stemmaSelf takes the sample that this thread was asked for, in a prologue of gp. It runs on
// the g0 of the M that runs gp, with a P.
func stemmaSelf(gp *g) {
	th := stemmaThreadOf(getg().m)
	if th == nil || !th.state.CompareAndSwap(stemmaTicketGuard, stemmaTicketTaken) &&
		!th.state.CompareAndSwap(stemmaTicketSignal, stemmaTicketTaken) {
		return // the request was for another thread
	}
	weight := th.stemmaUsed(stemmaThreadCPU())
	if stemmaSmp.walk < rt.WalkIncremental || !stemmaTrace(gp, th, stemmaGuardOf(gp), weight) {
		stemmaRecord(gp, true, th, rt.WeightCPU, weight)
	}
	stemmaSmp.Count(rt.StatSamples, 1)
	stemmaSmp.Latency(uint64(nanotime() - th.asked))
	th.state.Store(stemmaTicketFree)
}

// stemmaGuardOf returns where gp is that has stopped in a prologue.
func stemmaGuardOf(gp *g) stemmaPlace {
	return stemmaPlace{pc: gp.sched.pc, sp: gp.sched.sp, bp: gp.sched.bp, sym: gp.sched.pc - 1, how: stemmaAtGuard}
}

// stemmaScheduled is called when an M is about to run gp, on g0 in execute and coroswitch_m.
// A request for a sample in a prologue was for the goroutine before it.
//
//go:nowritebarrierrec
func stemmaScheduled(gp *g, mp *m) {
	gp.stemmaAsk = 0
	if stemmaEvery != 0 && gp.syscallsp == 0 {
		gp.stackguard0 = stackPreempt
	}
	th := stemmaThreadOf(mp)
	if th != nil && th.tid != mp.procid {
		stemmaEndThread(mp) // an M for threads of C: it has another one now
		th = nil
	}
	if th == nil {
		stemmaAddThread(mp)
		return
	}
	if th.state.Load() == stemmaTicketGuard && th.state.CompareAndSwap(stemmaTicketGuard, stemmaTicketFree) {
		stemmaSmp.Count(rt.StatDropped, 1)
	}
}

// stemmaSampleWaiting walks as many as k random goroutines that do not run.
// Each of the tries stands for its share of all goroutines, whether it hits one
// that waits or not, so that the estimate needs no exact number of them.
//
//go:nowritebarrierrec
func stemmaSampleWaiting(dt int64, k int) {
	length := int(atomic.Loaduintptr(&allglen))
	k = min(k, length) << stemmaMoreTries
	for range k {
		// The list is collected when it has grown, since nobody looks for what this thread
		// holds, but a g is not.
		lock(&allglock)
		gp := allgs[cheaprandn(uint32(length))]
		unlock(&allglock)
		s := readgstatus(gp)
		if s != _Gwaiting && s != _Gsyscall && s != _Grunnable || isSystemGoroutine(gp, false) {
			stemmaSmp.Count(rt.StatMissed, 1)
			continue
		}
		if !stemmaHold(gp, s) {
			stemmaSmp.Count(rt.StatBusy, 1)
			continue
		}
		stemmaRecordWaiting(gp, s, uint64(dt)*uint64(length)/uint64(k))
		casfrom_Gscanstatus(gp, s|_Gscan, s)
	}
}

// stemmaRecordWaiting records that gp, which is held and had the status s, waits, unless it
// runs in a system call. What is held must not have an M: then it runs, and its registers
// are those of another time.
//
//go:nowritebarrierrec
func stemmaRecordWaiting(gp *g, s uint32, weight uint64) {
	if s == _Gsyscall && stemmaUsesCPU(gp) {
		return
	}
	if stemmaTraceCheck && s == _Gwaiting && gp.m != nil {
		stemmaSmp.Count(rt.StatMismatches, 1)
	}
	stemmaRecord(gp, gp.syncSafePoint, &stemmaSmp.own, rt.WeightWait, weight)
	stemmaSmp.Count(rt.StatWaiting, 1)
}

// stemmaUsesCPU tells whether a goroutine that is held in a system call, or in C, runs there
// rather than waits. Its M cannot end while the goroutine is held.
//
//go:nowritebarrierrec
func stemmaUsesCPU(gp *g) bool {
	if mp := gp.m; mp != nil {
		if th := stemmaThreadOf(mp); th != nil {
			first, _ := stemmaClock(th.tid)
			second, _ := stemmaClock(th.tid)
			return second > first
		}
	}
	return false
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
// weight to the tree. th is the thread that does it.
//
//go:nowritebarrierrec
func stemmaRecord(gp *g, atGuard bool, th *stemmaThread, kind int, weight uint64) {
	pcs, ok := stemmaFullWalk(gp, atGuard, th)
	base := uint32(0)
	if !ok {
		stemmaSmp.Count(rt.StatFailed, 1)
		base = stemmaSmp.Child(0, rt.PCTruncated)
	}
	stemmaSmp.Add(stemmaSmp.Stack(base, pcs), kind, weight, 1)
}

// stemmaFullWalk returns the addresses of all frames of gp, which does not run, innermost
// first. It reports false if it did not reach the outermost frame.
//
//go:nowritebarrierrec
func stemmaFullWalk(gp *g, atGuard bool, th *stemmaThread) (pcs []uintptr, ok bool) {
	pcs = th.stemmaBuffer()
	at := stemmaPlace{pc: gp.sched.pc, sp: gp.sched.sp, bp: gp.sched.bp, how: stemmaAfterCall}
	if gp.syscallsp != 0 {
		at.pc, at.sp, at.bp = gp.syscallpc, gp.syscallsp, gp.syscallbp
	} else if atGuard {
		at.how = stemmaAtGuard
	}
	at.sym = at.pc - 1
	if stemmaSmp.walk != rt.WalkUnwinder {
		if n, ok := stemmaWalkFP(gp, at, pcs); ok {
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
	for u.init(gp, unwindSilentErrors); u.valid() && n < len(pcs); u.next() {
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

// stemmaFPFuncs are the address ranges of functions that must be known by their
// addresses: a frame that was interrupted lies beyond asyncPreempt and sigpanic, and in the
// trampoline a goroutine's trace is being changed.
var stemmaFPFuncs struct {
	async, asyncEnd, sigpanic, sigpanicEnd, goexit uintptr
	tramp, trampEnd, trampStep, trampStepEnd       uintptr
}

// stemmaFPInit looks the ranges up.
func stemmaFPInit() {
	r := &stemmaFPFuncs
	r.async, r.asyncEnd = stemmaSpan(abi.FuncPCABI0(asyncPreempt))
	r.sigpanic, r.sigpanicEnd = stemmaSpan(abi.FuncPCABIInternal(sigpanic))
	r.goexit = abi.FuncPCABI0(goexit) + sys.PCQuantum
	r.tramp, _ = stemmaSpan(abi.FuncPCABI0(stemmaTrampoline))
	_, r.trampEnd = stemmaSpan(abi.FuncPCABI0(stemmaTrampolineSlow))
	r.trampStep, r.trampStepEnd = stemmaSpan(abi.FuncPCABI0(stemmaTrampolineStep))
}

// stemmaSpan returns the entry of a function, and the first address behind it.
func stemmaSpan(entry uintptr) (lo, hi uintptr) {
	f := findfunc(entry)
	for hi = entry + 1; findfunc(hi) == f; hi++ {
	}
	return f.entry(), hi
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
			stemmaFrames(&w, f, pc, false)
			stemmaFrames(&w, f, pc, true)
		}
		w.End()
	}
	unlock(&stemmaSmp.drain)
}

// stemmaFrames describes the frames at an address: those of wrappers, or the others.
//
//go:nowritebarrierrec
func stemmaFrames(w *sample.PlaceWriter, f funcInfo, pc uintptr, wrappers bool) {
	for u, uf := newInlineUnwinder(f, pc); uf.valid(); uf = u.next(uf) {
		if sf := u.srcFunc(uf); (sf.funcID == abi.FuncIDWrapper) == wrappers {
			file, line := u.fileLine(uf)
			w.Frame(sf.name(), file, uint32(line), uint32(sf.startLine), wrappers)
		}
	}
}

// stemmaSampleExit completes the record when the program ends in an orderly way.
func stemmaSampleExit() {
	if !stemmaSmp.on {
		return
	}
	stemmaStopSampling()
	systemstack(stemmaDrain)
}

// stemmaAskStopWorld wakes the goroutine of the sampler stw, as sysmon wakes the
// collector's.
//
//go:nowritebarrierrec
func stemmaAskStopWorld(dt int64) {
	if !stemmaSmp.stwIdle.Load() {
		stemmaSmp.stwDt += dt
		stemmaSmp.Count(rt.StatLate, 1)
		return
	}
	lock(&stemmaSmp.stwLock)
	stemmaSmp.stwIdle.Store(false)
	stemmaSmp.stwDt += dt
	var list gList
	list.push(stemmaSmp.stwG)
	injectglist(&list)
	unlock(&stemmaSmp.stwLock)
}

// stemmaStopWorldLoop is the goroutine of the sampler stw, the baseline: it stops
// the world and walks every goroutine, as runtime.GoroutineProfile does. Where the time on CPU
// went has been asked for before, since a goroutine stops where the runtime lets it, which is
// not where it was.
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
	}
}

// stemmaStopped samples a goroutine while the world is stopped. One that was
// preempted for it was on CPU, and one in a system call may be.
func stemmaStopped(gp *g, dt uint64) {
	s := readgstatus(gp)
	if s != _Gwaiting && s != _Gsyscall && s != _Grunnable || isSystemGoroutine(gp, false) {
		return
	}
	onCPU := s == _Grunnable && (gp.syncSafePoint || gp.asyncSafePoint)
	if stemmaSmp.waiting && !onCPU && stemmaHold(gp, s) {
		stemmaRecordWaiting(gp, s, dt)
		casfrom_Gscanstatus(gp, s|_Gscan, s)
	}
}
