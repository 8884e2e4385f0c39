// STEMMA_DETERMINISTIC=1 makes runs repeat, as far as the runtime decides: what it draws
// at random, in which order goroutines run on one P, and when the garbage is collected.
// docs/deterministic.md has the list. A program without it pays a load and a branch where
// hooks ask for stemmaDeterministic, and none of these is on the path of a call.

package runtime

import (
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
	for i := range stemmaSeedBytes {
		stemmaSeedBytes[i] = byte(i + 1)
	}
	startupRand = stemmaSeedBytes[:]
	// A collection is one stop of the world, sweeping included: while goroutines run there are no
	// write barriers, and finalizers are queued at one moment. None is due to time.
	debug.gcstoptheworld = 2
	forcegcperiod = 1<<63 - 1
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

// The P is taken away from a goroutine that has had it for as long as this, in Go code or in
// a system call. The order of goroutines depends on time then, but a goroutine that waits
// for another one by looking at memory, or for a child in a system call, ends.
const (
	stemmaRunTime     = 10e9 // nanoseconds
	stemmaSyscallTime = 1e9
)

// stemmaWatched is what sysmon, which alone uses it, last saw of the P.
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
	if pp.schedtick != t.sched || pp.syscalltick != t.syscall || inSyscall != t.inSyscall {
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

// stemmaMakeSpares makes the threads, and waits until they are idle. It runs on the main goroutine's
// system stack, in runtime.main, before another goroutine can run.
func stemmaMakeSpares() {
	for range stemmaNumSpares {
		newm(stemmaSpare, nil, -1)
	}
	for idle := int32(0); idle < stemmaNumSpares; {
		usleep(20)
		lock(&sched.lock)
		idle = sched.nmidle
		unlock(&sched.lock)
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
