// The threads that are sampled. Time on CPU is a thread's, so requests for samples are
// kept for threads, and what a sample stands for is read from the thread's clock: the CPU
// time that it used since its last sample.

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	rt "internal/runtime/stemma"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// A stemmaThread is an M that has run a goroutine: its ticket, a request for one
// sample of what it runs, and what it used.
type stemmaThread struct {
	state atomic.Uint32 // of the ticket
	late  bool          // it was not met by the next tick; the sampler's own
	mp    uintptr       // the M; 0 if the entry is free
	tid   uint64
	asked int64   // nanotime of the request
	how   uint8   // what was known then: a constant below
	cpu   uint64  // CPU time of the thread that samples stand for already; of who took the ticket
	buf   uintptr // for one stack trace of this thread, mapped when it is first needed
	next  uint32  // of the free entries

	// What the thread's clock said when the sampler looked at it last, and when.
	seen   uint64
	seenAt int64
}

// What the sampler knows of a thread when it wakes up.
const (
	stemmaOffCPU    = iota // it sleeps, or waits for a CPU
	stemmaRuns             // its clock moves
	stemmaDisplaced        // it ran up to the moment at which the sampler took its CPU
)

// States of a ticket. The sampler takes it from free to guard or signal, and from guard to
// signal; whoever meets it takes it to taken, and then to free.
const (
	stemmaTicketFree   = iota
	stemmaTicketGuard  // to be met in a function prologue
	stemmaTicketSignal // to be met by a signal handler
	stemmaTicketTaken
)

// stemmaThreads are all of them. The entries hold no pointers, and are never given back, so
// that a signal handler may look at its own without a lock.
var stemmaThreads struct {
	lock  mutex
	n     uint32 // entries 1 to n have been in use
	free  uint32 // the first free one, 0 if there is none
	round uint32 // where stemmaAskOthers goes on
	list  [1 << 14]stemmaThread
}

// stemmaThreadOf returns the entry of an M, or nil.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaThreadOf(mp *m) *stemmaThread {
	return (*stemmaThread)(unsafe.Pointer(mp.stemmaThread))
}

// stemmaAddThread gives this M an entry, before it runs its first goroutine. It runs on g0,
// with a P. Without room the M is not sampled, which is counted; Go allows 10,000 threads.
//
//go:nowritebarrierrec
func stemmaAddThread(mp *m) {
	ts := &stemmaThreads
	lock(&ts.lock)
	i := ts.free
	if i != 0 {
		ts.free = ts.list[i].next
	} else if int(ts.n) < len(ts.list)-1 {
		ts.n++
		i = ts.n
	}
	if i != 0 {
		th := &ts.list[i]
		th.tid, th.cpu, th.late = mp.procid, stemmaThreadCPU(), false
		th.state.Store(stemmaTicketFree)
		th.mp = uintptr(unsafe.Pointer(mp))
		mp.stemmaThread = uintptr(unsafe.Pointer(th))
	}
	unlock(&ts.lock)
	if i == 0 {
		stemmaSmp.Count(rt.StatLostStacks, 1)
	}
}

// stemmaEndThread takes the entry of this M back, which is about to end: in mexit, on g0,
// with all signals blocked.
//
//go:nowritebarrierrec
func stemmaEndThread(mp *m) {
	th := stemmaThreadOf(mp)
	if th == nil {
		return
	}
	ts := &stemmaThreads
	lock(&ts.lock)
	mp.stemmaThread = 0
	th.mp = 0
	th.next = ts.free
	ts.free = uint32((uintptr(unsafe.Pointer(th)) - uintptr(unsafe.Pointer(&ts.list))) / unsafe.Sizeof(*th))
	unlock(&ts.lock)
}

// stemmaStartClocks makes samples stand for what threads use from here on.
func stemmaStartClocks() {
	ts := &stemmaThreads
	lock(&ts.lock)
	for i := range ts.n {
		th := &ts.list[i+1]
		if th.mp != 0 {
			th.cpu, _ = stemmaClock(th.tid)
		}
	}
	unlock(&ts.lock)
}

// stemmaBuffer returns the thread's buffer for one stack trace, nil if there is no memory.
// It may run in a signal handler: mmap is a system call and nothing else there.
//
//go:nowritebarrierrec
func (th *stemmaThread) stemmaBuffer() []uintptr {
	if th.buf == 0 {
		p, errno := mmap(nil, stemmaBufSize, _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE|mapNoReserve, -1, 0)
		if errno != 0 {
			return nil
		}
		th.buf = uintptr(p)
	}
	return unsafe.Slice((*uintptr)(unsafe.Pointer(th.buf)), stemmaBufSize/goarch.PtrSize)
}

// stemmaUsed returns the CPU time that a sample of this thread stands for, when its clock
// shows now: what it used since its last sample. If that is much, because the thread was not
// seen to run for long, later samples take their part of it: one instruction is no witness of
// a second, and what is left at the end is little. Who calls it has taken the ticket.
//
//go:nowritebarrierrec
func (th *stemmaThread) stemmaUsed(now uint64) uint64 {
	used := now - th.cpu
	if int64(used) < 0 {
		return 0
	}
	if most := 4 * uint64(stemmaSmp.interval.Load()); used > most {
		used = max(most, used/2)
	}
	th.cpu += used
	return used
}

// stemmaAskRunning asks as many as ask of the threads that have a P, from a random one on. It
// runs on the sampler's thread; allpLock and the lock of the threads are held.
//
//go:nowritebarrierrec
func stemmaAskRunning(now int64, ask int) {
	start := int(cheaprandn(uint32(len(allp))))
	for i := 0; i < len(allp) && ask > 0; i++ {
		mp := stemmaRunning(allp[(start+i)%len(allp)])
		if mp == nil {
			continue
		}
		th := stemmaThreadOf(mp)
		if th == nil {
			continue // it has not run a goroutine yet
		}
		if state := th.state.Load(); state == stemmaTicketTaken {
			ask-- // it is at it
		} else if state != stemmaTicketFree {
			stemmaAskLate(th)
			ask--
		} else if how := stemmaLook(th, now); how != stemmaOffCPU {
			stemmaAskThread(th, mp, how)
			ask--
		}
	}
}

// stemmaRunning returns the M that has a P, nil if there is none. The answer may be out of
// date at once.
//
//go:nowritebarrierrec
func stemmaRunning(pp *p) *m {
	if pp == nil || pp.status != _Prunning { // while GOMAXPROCS grows, some Ps are nil
		return nil
	}
	return pp.m.ptr()
}

// stemmaAskThread leaves a request with a thread: a signal makes it take its sample at the
// instruction that it is at, or in the paper's way the goroutine takes it in
// its next function prologue.
//
//go:nowritebarrierrec
func stemmaAskThread(th *stemmaThread, mp *m, how uint8) {
	gp := mp.curg
	running := gp != nil && readgstatus(gp)&^_Gscan == _Grunning
	if stemmaSmp.guard && !running {
		return
	}
	th.asked, th.late, th.how = nanotime(), false, how
	ticket := uint32(stemmaTicketSignal)
	if stemmaSmp.guard {
		ticket = stemmaTicketGuard
	}
	if !th.state.CompareAndSwap(stemmaTicketFree, ticket) {
		return // in tests prologues take it, too
	}
	stemmaSmp.Count(rt.StatRequests, 1)
	if stemmaSmp.guard {
		gp.stemmaAsk = stemmaAskGuard
		atomic.Storeuintptr(&gp.stackguard0, stackPreempt)
		return
	}
	tgkill(getpid(), int(th.tid), sigPreempt)
}

// stemmaAskLate asks again where the last request has not been met: the thread does not get
// a CPU, or the goroutine came to no prologue.
//
//go:nowritebarrierrec
func stemmaAskLate(th *stemmaThread) {
	if !th.late {
		th.late = true
		stemmaSmp.Count(rt.StatLate, 1)
	}
	th.state.CompareAndSwap(stemmaTicketGuard, stemmaTicketSignal)
	if th.state.Load() == stemmaTicketSignal {
		tgkill(getpid(), int(th.tid), sigPreempt)
	}
}

// stemmaOthers is how many threads without a P are looked at in one tick.
const stemmaOthers = 4

// stemmaAskOthers looks at some threads that have no P, in turn: they may use CPU in system calls,
// in C, or on their way to sleep. One that does is sampled: where its goroutine stands still
// for the runtime, by the sampler, without a signal that system calls and C would notice.
// What the threads use that it was not the turn of stays on their clocks. It runs on the sampler's
// thread; the lock of the threads is held, so that none of them ends meanwhile.
//
//go:nowritebarrierrec
func stemmaAskOthers(now int64) {
	ts := &stemmaThreads
	for range min(ts.n, stemmaOthers) {
		ts.round = ts.round%ts.n + 1
		th := &ts.list[ts.round]
		mp := (*m)(unsafe.Pointer(th.mp))
		if mp == nil || mp.p != 0 || mp.blocked || th.state.Load() != stemmaTicketFree {
			continue // most of them wait for work
		}
		how := stemmaLook(th, now)
		if how == stemmaOffCPU {
			continue
		}
		gp := mp.curg
		switch {
		case gp == nil:
			stemmaAskThread(th, mp, how)
		case readgstatus(gp) == _Gsyscall && stemmaHold(gp, _Gsyscall):
			if gp.m == mp && th.state.CompareAndSwap(stemmaTicketFree, stemmaTicketTaken) {
				clock, _ := stemmaClock(th.tid)
				stemmaSmp.Count(rt.StatRequests, 1)
				stemmaSmp.Count(rt.StatSamples, 1)
				stemmaRecord(gp, false, th, rt.WeightCPU, th.stemmaUsed(clock))
				th.state.Store(stemmaTicketFree)
			}
			casfrom_Gscanstatus(gp, _Gscansyscall, _Gsyscall)
		}
	}
}

// stemmaLook tells whether a thread was on a CPU when the sampler woke up at the time now.
// Only then may it be asked: a thread that has a P may sleep, or wait for a CPU, where
// it came to do so and not where it spends its time. If its clock moves it runs now. If all
// CPUs are busy the sampler has taken one of them from a thread, whose clock
// stands still, too: that is one that ran all the time up to now. A thread that is ready to run but
// does not is left alone, wherever it came to wait. It runs on the sampler's thread, for threads
// that cannot end meanwhile.
//
//go:nowritebarrierrec
func stemmaLook(th *stemmaThread, now int64) uint8 {
	const slack = 50e3 // nanoseconds: how late the sampler is, and how long it has taken so far
	ran, since := th.seen, th.seenAt
	first, ok := stemmaClock(th.tid)
	th.seen, th.seenAt = first, now
	if !ok || first == ran {
		return stemmaOffCPU // the common case of a thread that sleeps
	}
	if second, _ := stemmaClock(th.tid); second > first {
		th.seen = second
		return stemmaRuns
	}
	if int64(first-ran) >= now-since-slack {
		return stemmaDisplaced
	}
	return stemmaOffCPU
}

// stemmaHeld tells whether a thread has been kept from a CPU since it was asked, when its clock
// shows cpu. Then its sample would be at the instruction at which it gave the CPU up, and not at the one at
// which it was asked. One that the sampler took the CPU from has waited for the sampler.
//
//go:nowritebarrierrec
func stemmaHeld(th *stemmaThread, now int64, cpu uint64) bool {
	return th.how == stemmaRuns && now-th.asked-int64(cpu-th.seen) > 10e3
}

// Clocks of the kernel that measure CPU time.
const (
	stemmaClockProcess = 2
	stemmaClockThread  = 3
)

// stemmaClock returns the CPU time of a thread of this process, false if there is none.
//
//go:nowritebarrierrec
func stemmaClock(tid uint64) (uint64, bool) {
	return stemmaReadClock(^uintptr(tid)<<3 | 6) // CPUCLOCK_SCHED of one thread
}

// stemmaThreadCPU returns the CPU time of this thread.
//
//go:nowritebarrierrec
func stemmaThreadCPU() uint64 {
	t, _ := stemmaReadClock(stemmaClockThread)
	return t
}

//go:nowritebarrierrec
func stemmaReadClock(clock uintptr) (uint64, bool) {
	const sysClockGettime = 228
	var ts timespec
	_, _, errno := linux.Syscall6(sysClockGettime, uintptr(uint32(clock)), uintptr(unsafe.Pointer(&ts)), 0, 0, 0, 0)
	return uint64(ts.tv_sec)*1e9 + uint64(ts.tv_nsec), errno == 0
}
