// STEMMA_DETERMINISTIC=1 makes runs repeat, as far as the runtime decides: what it draws
// at random, in which order goroutines run on one P, and when the garbage is collected.
// docs/guide/deterministic.md has the list. A program without it pays a load and a branch where
// hooks ask for stemmaDeterministic, and none of these is on the path of a call.

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"internal/runtime/syscall/linux"
	"internal/stringslite"
	"unsafe"
)

// stemmaDeterministic is set before there is a second thread, and does not change. So is stemmaFixedClock, see
// stemma_clock.go, which is never set alone.
var stemmaDeterministic, stemmaFixedClock bool

// stemmaSeedBytes take the place of the 16 random bytes that the kernel gives each program. What
// the runtime begins with, the keys of hashes among it, comes from there. randinit wants none of its
// halves to be zero, and overwrites them.
var stemmaSeedBytes [16]byte

// stemmaDecide looks for the variable. It runs in randinit, in schedinit: on g0, with one
// thread, before there is a heap, so that it may not allocate, and before the environment
// is copied. Seeds that can be foretold are not for a program with more rights than who started it.
func stemmaDecide() {
	asked := stemmaSetting("STEMMA_DETERMINISTIC=")
	if secureMode || asked != "1" && asked != "clock" {
		return // stemmaCheckWords says which values mean nothing
	}
	stemmaDeterministic, stemmaFixedClock = true, asked == "clock"
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
	old, _, errno := linux.Syscall6(sysPersonality, stemmaQueryPersonality, 0, 0, 0, 0, 0)
	if errno != 0 || stemmaHideTunables() && old&stemmaNoRandomize != 0 {
		return
	}
	// Its real name, since the kernel calls the process by it. The array is zero behind the name.
	self := []byte("/proc/self/exe\x00")
	n, _, errno := linux.Syscall6(sysReadlinkat, atFDCWD, uintptr(unsafe.Pointer(&self[0])),
		uintptr(unsafe.Pointer(&stemmaExecutable)), uintptr(len(stemmaExecutable)-1), 0, 0)
	if errno != 0 || n == uintptr(len(stemmaExecutable)-1) {
		return
	}
	if _, _, errno = linux.Syscall6(sysPersonality, old|stemmaNoRandomize, 0, 0, 0, 0, 0); errno != 0 {
		return
	}
	if env := stemmaEnvironment(); env != 0 {
		linux.Syscall6(sysExecve, uintptr(unsafe.Pointer(&stemmaExecutable)), uintptr(unsafe.Pointer(argv)), env,
			0, 0, 0)
	}
	linux.Syscall6(sysPersonality, old, 0, 0, 0, 0, 0) // it is still here
}

// What malloc of glibc returns depends on the thread that asks, which has a heap and a cache of its own, and for large
// blocks on what else is mapped. These settings leave one heap. They come before those of the user, which
// win. Other libraries of C do not know the variable.
const (
	stemmaTunablesName = "GLIBC_TUNABLES="
	stemmaTunables     = stemmaTunablesName +
		"glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0:glibc.malloc.mmap_max=0"
)

// stemmaHideTunables reports whether C got the settings, or there is no C, and takes them out of the environment: they
// are not for the program to see, nor for those it starts. C has read them. The strings are writable memory,
// and nobody has copied them yet.
func stemmaHideTunables() bool {
	if !iscgo {
		return true
	}
	i := stemmaFind(stemmaTunables)
	if i < 0 {
		return false
	}
	p := argv_index(argv, i)
	if rest := unsafe.String(p, findnull(p))[len(stemmaTunables):]; rest != "" {
		// The user's begin behind a colon. Their name takes its place, and that of the end of ours.
		p = (*byte)(add(unsafe.Pointer(p), uintptr(len(stemmaTunables)+1-len(stemmaTunablesName))))
		copy(unsafe.Slice(p, len(stemmaTunablesName)), stemmaTunablesName)
		*stemmaArg(i) = uintptr(unsafe.Pointer(p))
		return true
	}
	for ; *stemmaArg(i) != 0; i++ {
		*stemmaArg(i) = *stemmaArg(i + 1)
	}
	return true
}

// stemmaEnvironment returns the environment to start again with, 0 if there is no memory for it. It is for execve,
// which copies it.
func stemmaEnvironment() uintptr {
	first := argc + 1
	if !iscgo {
		return uintptr(unsafe.Pointer(stemmaArg(first)))
	}
	n := int32(0)
	for *stemmaArg(first + n) != 0 {
		n++
	}
	users := stemmaSetting(stemmaTunablesName)
	list := uintptr(n+2) * goarch.PtrSize
	p, _, errno := linux.Syscall6(linuxMmap, 0, list+uintptr(len(stemmaTunables)+1+len(users)+1),
		_PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE, ^uintptr(0), 0)
	if errno != 0 {
		return 0
	}
	text := unsafe.Slice((*byte)(unsafe.Pointer(p+list)), len(stemmaTunables)+1+len(users))
	if copy(text, stemmaTunables); users != "" {
		text[len(stemmaTunables)] = ':'
		copy(text[len(stemmaTunables)+1:], users)
	}
	env := unsafe.Slice((*uintptr)(unsafe.Pointer(p)), n+1)
	copy(env, unsafe.Slice(stemmaArg(first), n))
	if i := stemmaFind(stemmaTunablesName); i >= 0 {
		env[i-first] = p + list
	} else {
		env[n] = p + list
	}
	return p
}

// stemmaArg returns where the address of a string is, of the arguments and the environment behind them.
func stemmaArg(i int32) *uintptr {
	return (*uintptr)(add(unsafe.Pointer(argv), uintptr(i)*goarch.PtrSize))
}

// stemmaFind returns where a string with this beginning is in the environment, or -1.
func stemmaFind(prefix string) int32 {
	for i := argc + 1; argv_index(argv, i) != nil; i++ {
		p := argv_index(argv, i)
		if stringslite.HasPrefix(unsafe.String(p, findnull(p)), prefix) {
			return i
		}
	}
	return -1
}

// stemmaSetting returns the value of a variable, "" if there is none. name ends in =.
func stemmaSetting(name string) string {
	i := stemmaFind(name)
	if i < 0 {
		return ""
	}
	p := argv_index(argv, i)
	return unsafe.String(p, findnull(p))[len(name):]
}

// Each goroutine has two series of random numbers, which it draws from in the order of its own
// program: one for the program (rand), one for the runtime (cheaprand), whose draws depend on
// time here and there. A new goroutine's come from the function that it begins with, so that they do not depend on
// when which goroutine runs, nor on what others do. Neither splits the stack, since rand must not; a signal handler has
// a g of its own.

//go:nosplit
func stemmaDraw() uint64 {
	seed := getg().stemma.seed()
	*seed += 0x9e3779b97f4a7c15
	return stemmaMix(*seed)
}

//go:nosplit
func stemmaDrawCheap() uint32 {
	cheap := getg().stemma.cheap()
	*cheap += 0x9e3779b97f4a7c15
	return uint32(stemmaMix(*cheap) >> 32)
}

// stemmaMix is the output function of SplitMix64.
//
//go:nosplit
func stemmaMix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// stemmaSown counts the goroutines that were started, by a hash of the function that they begin with.
var stemmaSown [1 << 12]atomic.Uint64

// stemmaSow gives a new goroutine its series: by the function that it begins with, and how many have begun with it. So
// one goroutine more moves neither its creator's series nor that of others, but for those of the same
// function. Closures have the name of the function that they are in, as their numbers change when one is added. It
// runs on the creator's system stack, with the creator stopped behind it; the counters are atomic, since a
// program may have set GOMAXPROCS.
func stemmaSow(newg *g) {
	name := funcname(findfunc(newg.startpc))
	for len(name) > 0 && '0' <= name[len(name)-1] && name[len(name)-1] <= '9' {
		name = name[:len(name)-1]
	}
	h := uint64(0xcbf29ce484222325) // FNV-1a
	for i := 0; i < len(name); i++ {
		h = (h ^ uint64(name[i])) * 0x100000001b3
	}
	h = stemmaMix(h)
	n := stemmaSown[h%uint64(len(stemmaSown))].Add(1)
	seed := stemmaMix(h + n*0x9e3779b97f4a7c15)
	*newg.stemma.seed(), *newg.stemma.cheap() = seed, ^seed
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

// stemmaBusy reports whether timers are to wait, whether they are due or not: the scheduler would look at the clock
// once more, when they may be. It runs there, on g0, with a P.
func stemmaBusy(ts *timers) bool {
	pp := getg().m.p.ptr()
	if pp == nil || runqempty(pp) && sched.runq.empty() {
		return false
	}
	next := ts.wakeTime()
	if next == 0 {
		return false
	}
	if ts == &pp.timers && int(ts.zombies.Load()) > int(ts.len.Load())/4 {
		stemmaForget(ts)
	}
	late := nanotime() - next
	if late < 0 {
		return true
	}
	if stemmaDueTimer.when != next {
		stemmaDueTimer.when, stemmaDueTimer.tick = next, pp.schedtick
	}
	return late < stemmaOverdue && pp.schedtick-stemmaDueTimer.tick < stemmaTurns
}

// stemmaForgetTimers takes timers that were stopped off the lists, so that each collection finds the same ones. It
// runs in gcStart, with the world stopped.
func stemmaForgetTimers() {
	for _, pp := range allp {
		stemmaForget(&pp.timers)
	}
}

func stemmaForget(ts *timers) {
	ts.lock()
	ts.adjust(0, true)
	ts.unlock()
}

// The list of timers has room for as many from the beginning. How long it is at a moment depends on time, since timers
// that were stopped are still there, and where it is moved to when it grows decides where other things lie.
const stemmaNumTimers = 1 << 15

// stemmaMakeReady makes what is made sooner or later, by time. It runs in runtime.main, as ordinary Go, before another
// goroutine can run.
func stemmaMakeReady() {
	stemmaAwait(&sched.nmsys, 1) // sysmon; what a thread begins with in C gives back memory, which the next one gets
	if iscgo {
		startTemplateThread() // main would do it soon
		stemmaAwait(&sched.nmsys, 2)
	}
	systemstack(stemmaMakeSpares)
	room := make([]timerWhen, 0, stemmaNumTimers)
	ts := &getg().m.p.ptr().timers
	ts.lock()
	ts.heap = append(room, ts.heap...)
	ts.unlock()
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

// stemmaPatient reports whether sysmon is to leave pp alone, that has gone on with one thing for less than
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
		stemmaAwait(&sched.nmidle, made)
	}
}

// stemmaAwait waits until a counter of the scheduler is so large. It may run on a system stack.
func stemmaAwait(counter *int32, want int32) {
	for have := int32(0); have < want; {
		usleep(20)
		systemstack(func() {
			lock(&sched.lock)
			have = *counter
			unlock(&sched.lock)
		})
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
