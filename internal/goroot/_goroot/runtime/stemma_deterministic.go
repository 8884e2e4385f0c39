// STEMMA_DETERMINISTIC=1 makes runs repeat, as far as the runtime decides: what it draws
// at random, in which order goroutines run on one P, and when the garbage is collected.
// docs/deterministic.md has the list. A program without it pays a load and a branch where
// hooks ask for stemmaDeterministic, and none of these is on the path of a call.

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"internal/runtime/syscall/linux"
	"internal/stringslite"
	"unsafe"
)

// stemmaDeterministic is set before there is a second thread, and does not change.
var stemmaDeterministic bool

// stemmaSeedBytes take the place of the 16 random bytes that the kernel gives each program. What
// the runtime begins with, the keys of hashes among it, comes from there. randinit wants none of its
// halves to be zero, and overwrites them.
var stemmaSeedBytes [16]byte

// stemmaDecide looks for the variable. It runs in randinit, in schedinit: on g0, with one
// thread, before there is a heap, so that it may not allocate, and before the environment
// is copied. Seeds that can be foretold are not for a program with more rights than who started it.
func stemmaDecide() {
	if secureMode || !stemmaAsked("STEMMA_DETERMINISTIC=") {
		return
	}
	stemmaDeterministic = true
	stemmaFixAddresses()
	for i := range stemmaSeedBytes {
		stemmaSeedBytes[i] = byte(i + 1)
	}
	startupRand = stemmaSeedBytes[:]
	// A collection is one stop of the world, sweeping included: while goroutines run there are no
	// write barriers, and finalizers are queued at one moment. None is due to time.
	debug.gcstoptheworld = 2
	forcegcperiod = 1<<63 - 1
}

// What a hash of an address depends on, of one in C or in a mapping, is where the kernel places things: at random,
// unless the process has this personality, which a new program inherits.
const (
	stemmaNoRandomize      = 0x0040000  // ADDR_NO_RANDOMIZE
	stemmaQueryPersonality = 0xffffffff // changes nothing
	stemmaSysReadlink      = 89
	stemmaSysExecve        = 59
	stemmaSysPersonality   = 135
)

var stemmaExecutable [4096]byte

// stemmaFixAddresses starts the program again, from its beginning, in the same process, with addresses that are
// the same in each run. Nothing of Go has run yet; C has nothing but its constructors. Where the kernel
// does not let it (in containers, mostly), the program goes on as it is. It runs on g0, with one thread, and
// calls nothing but the kernel.
func stemmaFixAddresses() {
	if islibrary || isarchive {
		return // the program is somebody else's
	}
	old, _, errno := linux.Syscall6(stemmaSysPersonality, stemmaQueryPersonality, 0, 0, 0, 0, 0)
	if errno != 0 || old&stemmaNoRandomize != 0 {
		return
	}
	// Its real name, since the kernel calls the process by it. The array is zero behind the name.
	self := []byte("/proc/self/exe\x00")
	n, _, errno := linux.Syscall6(stemmaSysReadlink, uintptr(unsafe.Pointer(&self[0])),
		uintptr(unsafe.Pointer(&stemmaExecutable)), uintptr(len(stemmaExecutable)-1), 0, 0, 0)
	if errno != 0 || n == uintptr(len(stemmaExecutable)-1) {
		return
	}
	if _, _, errno = linux.Syscall6(stemmaSysPersonality, old|stemmaNoRandomize, 0, 0, 0, 0, 0); errno != 0 {
		return
	}
	linux.Syscall6(stemmaSysExecve, uintptr(unsafe.Pointer(&stemmaExecutable)), uintptr(unsafe.Pointer(argv)),
		uintptr(add(unsafe.Pointer(argv), uintptr(argc+1)*goarch.PtrSize)), 0, 0, 0)
	linux.Syscall6(stemmaSysPersonality, old, 0, 0, 0, 0, 0) // it is still here
}

// stemmaAsked tells whether the environment has a variable with a value that is neither empty nor
// 0. name ends in =.
func stemmaAsked(name string) bool {
	for i := argc + 1; argv_index(argv, i) != nil; i++ {
		p := argv_index(argv, i)
		if s := unsafe.String(p, findnull(p)); stringslite.HasPrefix(s, name) {
			return len(s) > len(name) && s[len(name):] != "0"
		}
	}
	return false
}

// Each goroutine has two series of random numbers, which it draws from in the order of its own
// program: one for the program (rand), one for the runtime (cheaprand), whose draws depend on
// time here and there. A new goroutine's come from its creator's, so that they do not depend on
// when which goroutine runs. Neither splits the stack, since rand must not; a signal handler has a
// g of its own.

//go:nosplit
func stemmaDraw() uint64 {
	gp := getg()
	gp.stemmaSeed += 0x9e3779b97f4a7c15
	return stemmaMix(gp.stemmaSeed)
}

//go:nosplit
func stemmaDrawCheap() uint32 {
	gp := getg()
	gp.stemmaCheap += 0x9e3779b97f4a7c15
	return uint32(stemmaMix(gp.stemmaCheap) >> 32)
}

// stemmaMix is the output function of SplitMix64.
//
//go:nosplit
func stemmaMix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// stemmaSow gives a new goroutine its series. It runs on the creator's system stack, with the
// creator stopped behind it.
func stemmaSow(newg, creator *g) {
	creator.stemmaSeed += 0x9e3779b97f4a7c15
	newg.stemmaSeed = stemmaMix(creator.stemmaSeed)
	newg.stemmaCheap = ^newg.stemmaSeed
}

// stemmaMutexTime is the clock of sync.Mutex, which compares two times of one waiter, before it sleeps and when it is
// woken: it has always waited for too long, and is given the mutex next time. It runs as ordinary Go.
func stemmaMutexTime() int64 { return stemmaMutexClock.Add(1e9) }

var stemmaMutexClock atomic.Int64

// Timers and what the network brings are looked at when no goroutine can run, so that it does not depend on time
// what they come in between. Where goroutines never stop, they come later than they should, by as much as this, or
// timers, when goroutines have taken so many turns: more than any that do not just look whether it is time.
const (
	stemmaOverdue = 10e9 // nanoseconds
	stemmaTurns   = 1 << 20
)

// stemmaDueTimer is the timer that waits. Who has the P uses it; where there are several, it may be another one's.
var stemmaDueTimer struct {
	when int64
	tick uint32 // of the P, when the timer was first seen to be due
}

// stemmaBusy tells whether timers that are due are to wait. It runs in the scheduler, on g0, with a P.
//
//go:nowritebarrierrec
func stemmaBusy(ts *timers) bool {
	pp := getg().m.p.ptr()
	if pp == nil || runqempty(pp) && sched.runq.empty() {
		return false
	}
	next := ts.wakeTime()
	late := nanotime() - next
	if next == 0 || late < 0 {
		return false
	}
	if stemmaDueTimer.when != next {
		stemmaDueTimer.when, stemmaDueTimer.tick = next, pp.schedtick
	}
	return late < stemmaOverdue && pp.schedtick-stemmaDueTimer.tick < stemmaTurns
}

// stemmaPolledAt tells sysmon, which runs without a P, when the network was looked at: later than it was.
//
//go:nowritebarrierrec
func stemmaPolledAt(last int64) int64 {
	if last == 0 {
		return 0 // somebody does it now
	}
	return last + stemmaOverdue
}

// The P is taken away from a goroutine that has had it for as long as this, in Go code or in
// a system call. The order of goroutines depends on time then, but a goroutine that waits
// for another one by looking at memory, or for a child in a system call, ends.
const (
	stemmaRunTime     = 10e9 // nanoseconds
	stemmaSyscallTime = 1e9
)

// stemmaWatched is what sysmon, which alone uses it, last saw of the P, and when it saw that first; 0 before it
// has looked.
var stemmaWatched struct {
	sched, syscall uint32
	inSyscall      bool
	when           int64
}

// stemmaPatient tells whether sysmon is to leave pp alone, that has gone on with one thing for less than
// that. It runs without a P, with allpLock, and reads what may change meanwhile: at
// worst it is patient, or impatient, for one more round.
//
//go:nowritebarrierrec
func stemmaPatient(pp *p, now int64) bool {
	t := &stemmaWatched
	inSyscall := false
	if mp := pp.m.ptr(); mp != nil {
		gp := mp.curg
		inSyscall = gp != nil && readgstatus(gp)&^_Gscan == _Gsyscall
	}
	if t.when == 0 || pp.schedtick != t.sched || pp.syscalltick != t.syscall || inSyscall != t.inSyscall {
		t.sched, t.syscall, t.inSyscall, t.when = pp.schedtick, pp.syscalltick, inSyscall, now
		return true
	}
	if inSyscall {
		return now-t.when < stemmaSyscallTime
	}
	return now-t.when < stemmaRunTime
}

// Threads are made beforehand. Whether one is idle when another one gives up its P, or must be made, depends
// on time, and a thread's state is in the heap: its size decides when the next collection is due. A
// program has that many threads in system calls at once only if it waits for long in each.
const stemmaNumSpares = 8

// stemmaMakeSpares makes the threads one after the other, and waits until each is idle: those that are needed first are
// always the same, and have in C the same memory. It runs on the main goroutine's system stack, in runtime.main,
// before another goroutine can run.
func stemmaMakeSpares() {
	for made := int32(1); made <= stemmaNumSpares; made++ {
		newm(stemmaSpare, nil, -1)
		for idle := int32(0); idle < made; {
			usleep(20)
			lock(&sched.lock)
			idle = sched.nmidle
			unlock(&sched.lock)
		}
	}
}

// stemmaSpare is what a spare thread begins with: it has no P, and is idle until it is given one. It gives that
// to mstart1, which wants it in nextp.
//
//go:nowritebarrierrec
func stemmaSpare() {
	stopm()
	getg().m.nextp.set(releasep())
}
