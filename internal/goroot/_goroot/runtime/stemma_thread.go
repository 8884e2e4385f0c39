// The threads that are sampled. Time on CPU is a thread's, so requests for samples are
// kept for threads, and what a sample stands for is read from the thread's clock: the CPU
// time that it used since its last sample.

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"internal/runtime/stemma/layout"
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
	cpu   uint64  // CPU time of the thread that samples stand for already; of who took the ticket
	buf   uintptr // for one stack trace of this thread, mapped when it is first needed
	next  uint32  // of the free entries

	anchor stemmaTimer // of its CPU time
	chain  stemmaTimer // for the next sample, while it runs
	due    int64       // nanotime for which chain is set, 0 if it is not; of the thread's signal handler
	set    int64       // nanotime when it was set
	setCPU uint64      // and the thread's clock
	pause  int64       // nanotime before which there is no sample
	sleepy uint8       // how often the thread was asleep when chain went off, lately
	skip   uint8       // ticks of anchor that are not to set chain

	// What the thread's clock said when the sampler looked at it last, and when.
	seen   uint64
	seenAt int64
}

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
	lock mutex
	n    uint32 // entries 1 to n have been in use
	free uint32 // the first free one, 0 if there is none
	list [1 << 14]stemmaThread
}

// stemmaThreadOf returns the entry of an M, or nil.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaThreadOf(mp *m) *stemmaThread {
	return (*stemmaThread)(unsafe.Pointer(mp.stemma.thread))
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
		mp.stemma.thread = uintptr(unsafe.Pointer(th))
		if stemmaSmp.active.Load() != 0 {
			th.begin()
		}
	}
	unlock(&ts.lock)
	if i == 0 {
		stemmaSmp.Count(layout.StatLostStacks, 1)
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
	th.anchor.end()
	th.chain.end()
	mp.stemma.thread = 0
	th.mp = 0
	th.next = ts.free
	ts.free = uint32((uintptr(unsafe.Pointer(th)) - uintptr(unsafe.Pointer(&ts.list))) / unsafe.Sizeof(*th))
	unlock(&ts.lock)
}

// stemmaStartThreads sets the timers of all threads, and reports whether no samples have been taken up to now. Then
// they stand for what threads use from here on. Who starts and who stops may come together: whichever is last, timers
// are as it says.
func stemmaStartThreads() (first bool) {
	ts := &stemmaThreads
	lock(&ts.lock)
	first = stemmaSmp.active.Load() == 0
	for i := range ts.n {
		th := &ts.list[i+1]
		if th.mp == 0 {
			continue
		}
		if first {
			th.cpu, _ = stemmaClock(th.tid)
		}
		th.begin()
	}
	if first {
		stemmaSmp.began = stemmaProcessCPU() - stemmaSmp.Stat(layout.StatProcessCPU)
	}
	stemmaSmp.active.Store(1)
	unlock(&ts.lock)
	return first
}

// stemmaStopThreads stops their timers. A handler that has just begun may set one once more,
// for a signal that finds nothing to do.
func stemmaStopThreads() {
	ts := &stemmaThreads
	lock(&ts.lock)
	if stemmaSmp.active.Load() != 0 {
		stemmaSmp.active.Store(0)
		stemmaSmp.Set(layout.StatProcessCPU, stemmaProcessCPU()-stemmaSmp.began)
		for i := range ts.n {
			ts.list[i+1].rest()
		}
	}
	unlock(&ts.lock)
}

// stemmaNoteProcessCPU notes what the process has used while it was sampled, unless sampling has stopped: then that is
// noted, and what comes after it is not to be in it. It runs on the sampler thread.
//
//go:nowritebarrierrec
func stemmaNoteProcessCPU() {
	lock(&stemmaThreads.lock)
	if stemmaSmp.active.Load() != 0 {
		stemmaSmp.Set(layout.StatProcessCPU, stemmaProcessCPU()-stemmaSmp.began)
	}
	unlock(&stemmaThreads.lock)
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
	if most := 4 * uint64(max(stemmaSmp.interval.Load(), stemmaKernelTick)); used > most {
		used = max(most, used/2)
	}
	th.cpu += used
	return used
}

// stemmaAskRunning asks as many as ask of the threads that have a P, from a random one on, in the
// paper's way. It runs on the sampler's thread; allpLock and the lock of the threads are held.
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
		} else if stemmaOnCPU(th, now) {
			stemmaAskThread(th, mp)
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

// stemmaAskThread leaves a request with a thread: its goroutine takes it in its
// next function prologue.
//
//go:nowritebarrierrec
func stemmaAskThread(th *stemmaThread, mp *m) {
	gp := mp.curg
	if gp == nil || readgstatus(gp)&^_Gscan != _Grunning {
		return
	}
	th.asked, th.late = nanotime(), false
	if !th.state.CompareAndSwap(stemmaTicketFree, stemmaTicketGuard) {
		return // in tests prologues take it as well
	}
	stemmaSmp.Count(layout.StatRequests, 1)
	gp.stemma.ask = stemmaAskGuard
	atomic.Storeuintptr(&gp.stackguard0, stackPreempt)
}

// stemmaAskLate asks again where the last request has not been met: the thread does not get
// a CPU, or the goroutine came to no prologue. Then a signal takes the sample.
//
//go:nowritebarrierrec
func stemmaAskLate(th *stemmaThread) {
	if !th.late {
		th.late = true
		stemmaSmp.Count(layout.StatLate, 1)
	}
	if stemmaAcct.on {
		return // its samples are of calls: the next one will do
	}
	th.state.CompareAndSwap(stemmaTicketGuard, stemmaTicketSignal)
	if th.state.Load() == stemmaTicketSignal {
		th.signal()
	}
}

// stemmaOnCPU reports whether a thread was on a CPU when the sampler woke up at the time now, since a
// thread that has a P may sleep, or wait for a CPU. If its clock moves it runs now. If all
// CPUs are busy the sampler has taken one of them from a thread, whose clock
// stands still as well: that is one that ran all the time up to now. It runs on the sampler's thread, for threads
// that cannot end meanwhile.
//
//go:nowritebarrierrec
func stemmaOnCPU(th *stemmaThread, now int64) bool {
	const slack = 50e3 // nanoseconds: how late the sampler is, and how long it has taken so far
	ran, since := th.seen, th.seenAt
	first, ok := stemmaClock(th.tid)
	th.seen, th.seenAt = first, now
	if !ok || first == ran {
		return false // the common case of a thread that sleeps
	}
	second, _ := stemmaClock(th.tid)
	th.seen = second
	return second > first || int64(first-ran) >= now-since-slack
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
	return stemmaReadClock(uintptr(stemmaThreadClock(tid)))
}

// stemmaThreadClock returns the kernel's name for the CPU clock of a thread: CPUCLOCK_SCHED
// of one thread, as the kernel's posix-timers.h has it.
//
//go:nowritebarrierrec
func stemmaThreadClock(tid uint64) int32 { return int32(^uint32(tid)<<3 | 6) }

// stemmaThreadCPU returns the CPU time of this thread.
//
//go:nowritebarrierrec
func stemmaThreadCPU() uint64 {
	t, _ := stemmaReadClock(stemmaClockThread)
	return t
}

//go:nowritebarrierrec
func stemmaReadClock(clock uintptr) (uint64, bool) {
	var ts timespec
	_, _, errno := linux.Syscall6(sysClockGettime, uintptr(uint32(clock)), uintptr(unsafe.Pointer(&ts)), 0, 0, 0, 0)
	return uint64(ts.tv_sec)*1e9 + uint64(ts.tv_nsec), errno == 0
}
