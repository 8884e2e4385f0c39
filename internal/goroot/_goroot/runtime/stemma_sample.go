// The sampling engine: the sampler thread, partial safepoints in which
// running goroutines walk their own stacks, and samples of waiting ones.
//
// Threads that run are sampled when their timers fire (stemma_timer.go), in a signal handler, at
// the instruction that they are at (stemma_signal.go). Nobody stops and nobody waits. The paper's way
// is that the sampler sets the stack guard of running goroutines, which
// then take their samples in their next function prologues (newstack); that is
// the option sample-at=prologue. The sampler is an M without a P, like sysmon. Of the goroutines
// that wait it picks a few at random at each tick and walks them itself, while their scan
// bits keep them from running.

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/memory"
	"internal/runtime/stemma/sample"
	"internal/runtime/syscall/linux"
)

// stemmaSmp is the state of the sampling engine. Its memory is mapped, outside
// the Go heap.
var stemmaSmp struct {
	sample.Samples
	on        bool          // the memory is there; set once, in schedinit
	active    atomic.Uint32 // samples are being taken; changed under the lock of the threads, with their timers
	started   atomic.Uint32 // whether the sampler thread exists, see stemmaPrepare
	interval  atomic.Int64  // nanoseconds
	sampler   uint8         // a layout.Sampler constant
	walk      uint8         // a layout.Walk constant
	waiting   bool          // sample waiting goroutines as well
	guard     bool          // ask at stack guards, as the paper does
	foreign   bool          // SIGPROF is handled by something else: threads are not sampled
	note      note          // the sampler sleeps here while it is not active
	asleep    atomic.Uint32 // how, a stemmaAsleep constant
	requests  uint64        // how many there were when it last went to complete them; the sampler's own
	epoch     int64         // nanotime when the record began
	drain     mutex         // held by whoever describes places
	own       stemmaThread  // of the sampler: for its buffer
	retrieved int64         // when parked goroutines were last looked at

	stwG     *g // the goroutine of the samplers stw and jvmti
	stwLock  mutex
	stwIdle  atomic.Bool
	stwDt    int64
	stwAsked int64  // nanotime of the tick
	began    uint64 // CPU time of the process and the sampler when sampling began, see stemmaCountCPU
}

// stemmaRequestsSize is the size of the file of requests: the newest 262,142.
const stemmaRequestsSize = 10 << 20

// stemmaSampleInit maps the record, in schedinit, after stemmaInit.
func stemmaSampleInit() {
	lockInit(&stemmaSmp.drain, lockRankLeafRank)
	lockInit(&stemmaSmp.stwLock, lockRankForcegc)
	lockInit(&stemmaThreads.lock, lockRankLeafRank)
	acct, contexts := stemmaAccumulates(), stemmaCPUOn()
	if !acct && !contexts && stemmaOption("sampler") == "" {
		return
	}
	nodes := stemmaSampleNodes()
	placesSize := uintptr(1 << 28)
	if room := stemmaAddresses(); room < sample.SmpEnd+nodes*sample.SampleNodeSize+placesSize {
		nodes = max(room/2/sample.SampleNodeSize, 1<<10)
		placesSize = max(alignDown(room/2, 1<<16), 1<<16)
	}
	size := sample.SmpEnd + nodes*sample.SampleNodeSize
	memory.Extend = stemmaExtend
	stemmaMakeDir(layout.FileSamples)
	stemma.making = true
	samples := stemmaFileSpan(layout.FileSamples, size)
	places := stemmaFileSpan(layout.FilePlaces, placesSize)
	buckets := stemmaTables(sample.BucketsSize)
	known := stemmaTables(sample.KnownSize)
	stemmaSmp.Init(samples, buckets, places, known, uint32(nodes), placesSize)
	requests := min(placesSize, stemmaRequestsSize)
	stemmaSmp.InitRequests(stemmaFileSpan(layout.FileRequests, requests), requests)
	sec, nsec, _ := time_now()
	stemmaSmp.epoch = nanotime()
	stemmaSmp.Describe(stemmaRun, uint32(stemmaGetpid()), uint64(sec)*1e9+uint64(nsec), buildVersion, stemmaArguments())
	stemmaSmp.sampler = stemmaIndex(layout.SamplerNames[:], stemmaSampleOption("sampler"), layout.SamplerISPS)
	walk := uint8(layout.WalkFP)
	if stemmaSmp.sampler == layout.SamplerISPS {
		walk = layout.WalkIncremental
	}
	stemmaSmp.walk = stemmaIndex(layout.WalkNames[:], stemmaSampleOption("walk"), walk)
	if stemmaSmp.sampler != layout.SamplerISPS && stemmaSmp.walk >= layout.WalkIncremental {
		stemmaSmp.walk = layout.WalkFP // the sampler was changed in the environment
	}
	stemmaSmp.waiting = stemmaSampleOption("waiting") != "off" && !contexts
	stemmaSmp.guard = stemmaSampleOption("sample-at") == "prologue" && stemmaSmp.sampler != layout.SamplerJVMTI
	if contexts {
		stemmaSmp.sampler, stemmaSmp.walk, stemmaSmp.guard = layout.SamplerSPS, layout.WalkContext, false
	}
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
	stemmaRotateSamplesInit(nodes)
	stemmaSmp.on, stemma.making = true, false
	stemmaSamplingAPI = &stemmaSamplingAPIs
}

// stemmaSampleNodes returns how many nodes a record of samples has at most, where addresses are not scarce.
func stemmaSampleNodes() uintptr {
	if n, ok := stemmaParse(stemmaOption("nodes")); ok && n > 0 {
		return min(max(n, 16), 1<<26)
	}
	return 1 << 22
}

// stemmaConfigure notes in the record how samples are taken.
func stemmaConfigure() {
	flags := uint32(0)
	if stemmaTraceCheck {
		flags |= layout.SmpFlagCheck
	}
	if stemmaSmp.guard && stemmaSmp.sampler != layout.SamplerACCT {
		flags |= layout.SmpFlagPrologue
	}
	if stemmaAcct.alone {
		flags |= layout.SmpFlagAccumulator
	}
	if stemmaAcct.alone && stemmaSmp.FuncOf == nil {
		flags |= layout.SmpFlagFull
	}
	stemmaSmp.Configure(stemmaSmp.sampler, stemmaSmp.walk, uint64(stemmaSmp.interval.Load()), flags)
}

// stemmaAccumulates reports whether the program was built with the accumulator, which has a trigger.
func stemmaAccumulates() bool { return stemmaOption("trigger") != "" }

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

// stemmaSampleMain starts sampling and the rotation of its record, in main, when the runtime can start threads.
func stemmaSampleMain() {
	stemmaRotateStart()
	if stemmaSmp.on && stemmaSampleOption("start") != "off" {
		stemmaStartSampling(stemmaSmp.interval.Load())
	}
}

// stemmaStartSampling begins to take samples. It runs on a goroutine.
func stemmaStartSampling(interval int64) {
	stemmaSmp.interval.Store(interval)
	if foreign := !stemmaHandles(); foreign != stemmaSmp.foreign {
		if stemmaSmp.foreign = foreign; foreign {
			stemmaLine.add("stemma: C code of this program handles SIGPROF: only waiting goroutines are sampled")
			stemmaSay()
		}
	}
	stemmaPrepare()
	if stemmaStartThreads() && stemmaSmp.asleep.Swap(stemmaAwake) != stemmaAwake {
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
		if stemmaStops() {
			go stemmaStopWorldLoop()
		}
		systemstack(func() { newm(stemmaSampler, nil, -1) })
		stemmaSmp.started.Store(stemmaPrepared)
	}
}

// stemmaStopSampling ends it. Requests that are out are still met.
func stemmaStopSampling() {
	stemmaStopThreads()
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
	const prSetTimerslack = 29
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
	if stemmaTimed() && stemmaSmp.sampler != layout.SamplerSTW {
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
	stemmaSmp.Count(layout.StatTicks, 1)
	if stemmaAcct.on && !stemmaSmp.guard {
		stemmaAcctTick()
		running = 1
	} else {
		running = stemmaAsk(now, dt) // first: what is asked late is somewhere else
	}
	if dt >= 10e6 || stemmaSmp.Stat(layout.StatTicks)%64 == 0 {
		stemmaSmp.Set(layout.StatSamplerCPU, stemmaThreadCPU())
		stemmaNoteProcessCPU()
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
	ask, k := sample.Share(int(gomaxprocs), running, waiting, max(1, int(dt/interval)))
	if !stemmaTimed() {
		lock(&stemmaThreads.lock)
		if stemmaSmp.sampler == layout.SamplerJVMTI {
			stemmaMarkRunning()
		} else {
			stemmaAskRunning(now, ask)
		}
		unlock(&stemmaThreads.lock)
	}
	unlock(&allpLock)
	switch {
	case stemmaStops():
		stemmaAskStopWorld(now, dt)
	case k > 0:
		stemmaSampleWaiting(dt, k)
	}
	return running
}

// stemmaProcessCPU returns the CPU time of the process without that of the sampler's
// thread, when it was read last.
//
//go:nowritebarrierrec
func stemmaProcessCPU() uint64 {
	t, _ := stemmaReadClock(stemmaClockProcess)
	return t - stemmaSmp.Stat(layout.StatSamplerCPU)
}

// stemmaSampleExit completes the record when the program ends in an orderly way.
func stemmaSampleExit() {
	if !stemmaSmp.on {
		return
	}
	stemmaStopSampling()
	systemstack(stemmaDrain)
}
