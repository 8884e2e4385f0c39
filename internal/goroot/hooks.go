package goroot

import "slices"

// layoutImport is how the runtime's files see package layout.
const layoutImport = `"internal/runtime/stemma/layout"`

// allHooks returns the changes in existing files of GOROOT: calls into the files of the tree.
func allHooks() []Hook {
	return slices.Concat(compilerHooks(), targetHooks(), nativeHooks(), runtimeHooks(), contextHooks(),
		deterministicHooks(), sampleHooks(), benchmarkHooks())
}

// runtimeHooks returns the hooks in the runtime that all programs have: the added files are the same for all, and so is
// the state that they keep.
func runtimeHooks() []Hook {
	const runtime2, proc = "runtime/runtime2.go", "runtime/proc.go"
	return []Hook{
		// Libraries and profilers read g, m and p at the offsets that plain Go has. So what is added comes last
		// (e2e/safety.TestInsides).
		{File: runtime2, Decl: "type g",
			Anchor: "valgrindStackID uintptr", Where: After,
			Lines: []string{"stemma stemmaG"},
			Why:   "The hidden arguments of every call, and what is known of a goroutine."},
		{File: runtime2, Decl: "type p",
			Anchor: "xRegs xRegPerP", Where: After,
			Lines: []string{"stemma stemmaP"},
			Why:   "Where the P counts."},
		{File: runtime2, Decl: "type m",
			Anchor: "self mWeakPointer", Where: After,
			Lines: []string{"stemma stemmaM"},
			Why:   "What is known of a thread."},
		{File: "runtime/mheap.go", Decl: "type mspan",
			Anchor: "largeType *_type", Where: After,
			Lines: []string{"stemmaOwners stemmaOwners"},
			Why:   "The contexts in which the objects of the span were allocated."},
		{File: "runtime/signal_unix.go", Decl: "func sighandler",
			Anchor: "if sig == _SIGPROF {", Where: Before,
			Lines: []string{
				"if (sig == _SIGBUS || sig == _SIGSEGV) && stemmaMend(sig, int64(c.sigcode()), uintptr(c.sigaddr())) {",
				"return",
				"}",
			},
			Why: "A disk is full, a file of the record was cut, or the process was forked."},
		{File: "runtime/os_linux.go", Decl: "func setsig",
			Anchor: "sigfillset(&sa.sa_mask)", Where: After,
			Lines: []string{"stemmaFaultsPass(&sa)"},
			Why:   "A page of the record may be lost while a signal is handled."},
		{File: "runtime/runtime.go", Decl: "func syscall_Exit",
			Anchor: "exit(int32(code))", Where: Before,
			Lines: []string{"stemmaExit()"},
			Why:   "The program ends: files are cut to what is in them."},
		{File: "runtime/panic.go", Decl: "func fatalpanic",
			Anchor: "exit(2)", Where: Before,
			Lines: []string{"stemmaExit()"},
			Why:   "The same, by a panic."},
		{File: proc, Decl: "func main",
			Anchor: "racefini()", Where: Before,
			Lines: []string{"stemmaEndInC(true)"},
			Why:   "The race detector ends the program, and does not come back."},
		{File: proc, Decl: "func os_beforeExit",
			Anchor: "racefini()", Where: Before,
			Lines: []string{"stemmaEndInC(false)"},
			Why:   "The same."},
		{File: proc, Decl: "func main",
			Anchor: "lsandoleakcheck()", Where: Before,
			Lines: []string{"stemmaEndInC(true)"},
			Why:   "So may who looks for leaks in C."},
		{File: proc, Decl: "func os_beforeExit",
			Anchor: "lsandoleakcheck()", Where: Before,
			Lines: []string{"stemmaEndInC(false)"},
			Why:   "The same."},
	}
}

// contextHooks returns the hooks that put the right context into g.
func contextHooks() []Hook {
	return slices.Concat(schedulingHooks(), allocationHooks(), mainHooks(), panicHooks(), callbackHooks(),
		segmentHooks())
}

// schedulingHooks returns those where Ps and goroutines begin, stop, go on and end.
func schedulingHooks() []Hook {
	const proc = "runtime/proc.go"
	return []Hook{
		{File: proc, Decl: "import", Part: Contexts,
			Lines: []string{layoutImport},
			Why:   "For the names of the roots."},
		{File: proc, Decl: "func schedinit", Part: Contexts,
			Anchor: "goenvs()", Where: After,
			Lines: []string{"stemmaInit()"},
			Why:   "The environment is known, there is no P yet."},
		{File: proc, Decl: "func procresize", Part: Contexts,
			Anchor: "pp.init(i)", Where: After,
			Lines: []string{"stemmaNewP(pp)"},
			Why:   "A new P needs a shard."},
		{File: proc, Decl: "func wirep", Part: Contexts,
			Anchor: "pp.status = _Prunning", Where: After,
			Lines: []string{"stemmaWire(pp)"},
			Why:   "A thread has a P, and counts in its shard."},
		{File: proc, Decl: "func gopark", Part: Contexts,
			Anchor: "mcall(park_m)", Where: Before,
			Lines: []string{"stemmaParked := stemmaPark()"},
			Why:   "The goroutine stops."},
		{File: proc, Decl: "func gopark", Part: Contexts,
			Anchor: "mcall(park_m)", Where: After,
			Lines: []string{"if stemmaParked != 0 {", "stemmaUnpark(stemmaParked)", "}"},
			Why:   "The goroutine goes on."},
		{File: proc, Decl: "func execute", Part: Contexts,
			Anchor: "gogo(&gp.sched)", Where: Before,
			Lines: []string{"stemmaResume(gp)"},
			Why:   "A goroutine goes on, perhaps with words of an old epoch."},
		{File: proc, Decl: "func casgstatus", Part: Contexts,
			Anchor: "if (oldval == _Grunning || oldval == _Gsyscall) && (newval != _Grunning && newval != _Gsyscall) {",
			Where:  Before,
			Lines:  []string{"stemmaStatus(gp, oldval, newval)"},
			Why:    "Time is counted by what the goroutine does."},
		{File: proc, Decl: "func casGToPreemptScan", Part: Contexts,
			Anchor: "acquireLockRankAndM(lockRankGscan)", Where: After,
			Lines: []string{"stemmaPreempted(gp)"},
			Why:   "The same, where the status is changed without casgstatus."},
		{File: "runtime/sema.go", Decl: "func semrelease1", Part: Contexts,
			Anchor: "readyWithTime(s, 5+skipframes)", Where: Before,
			Lines: []string{"stemmaReleased(s.g)"},
			Why:   "A wait for a lock counts in the context that held it."},
		{File: proc, Decl: "func reentersyscall", Part: Contexts,
			Anchor: "gp.m.oldp.set(pp)", Where: After,
			Lines: []string{"stemmaEnterSyscall(gp)"},
			Why:   "The same."},
		{File: "runtime/coro.go", Decl: "func coroswitch_m", Part: Contexts,
			Anchor: "gp.waitreason = waitReasonCoroutine", Where: After,
			Lines: []string{"stemmaSwitched(gp)"},
			Why:   "The same."},
		{File: "runtime/coro.go", Decl: "func coroswitch_m", Part: Contexts,
			Anchor: "gogo(&gnext.sched)", Where: Before,
			Lines: []string{"stemmaResume(gnext)"},
			Why:   "A coroutine is switched to without execute."},
		{File: proc, Decl: "func malg", Part: Contexts,
			Anchor: "newg := new(g)", Where: After,
			Lines: []string{"stemmaRoot(newg, layout.RootOther)"},
			Why:   "Every g has a context from the start, also g0."},
		{File: proc, Decl: "func allocm", Part: Contexts,
			Anchor: "mp := &new(mPadded).m", Where: Before,
			Lines: []string{"stemmaCell := stemmaAllocAs(gp, layout.RootGo)"},
			Why:   "A new thread's memory is nobody's."},
		{File: proc, Decl: "func allocm", Part: Contexts,
			Anchor: "releasem(gp.m)", Where: Before,
			Lines: []string{"stemmaAllocAgain(gp, stemmaCell)"},
			Why:   "The same."},
		{File: proc, Decl: "func oneNewExtraM", Part: Contexts,
			Anchor: "gp := malg(4096)", Where: After,
			Lines: []string{"stemmaRoot(gp, layout.RootCgo)"},
			Why:   "Threads that C created call from a root of their own."},
		{File: proc, Decl: "func newproc1", Part: Contexts,
			Anchor: "newg.gopc = callerpc", Where: After,
			Lines: []string{"stemmaNewG(newg, callergp, callerpc)"},
			Why:   "A goroutine hangs below its go statement."},
		{File: proc, Decl: "func exitsyscall", Part: Contexts,
			Anchor: "pp.syscalltick++", Where: Before,
			Lines: []string{"stemmaExitSyscall(gp)"},
			Why:   "A goroutine goes on without being scheduled."},
		{File: proc, Decl: "func gdestroy", Part: Contexts,
			Anchor: "gp.m = nil", Where: Before,
			Lines: []string{"stemmaEndG(gp)"},
			Why:   "The ccStack is not needed any more."},
		{File: proc, Decl: "func sysmon", Part: Contexts,
			Anchor: "if t := (gcTrigger{kind: gcTriggerTime, now: now}); t.test() && forcegc.idle.Load() {",
			Where:  Before,
			Lines:  []string{"stemmaTick(now)"},
			Why:    "A re-encoding may be due."},
	}
}

// allocationHooks returns those where memory is allocated, and where labels are set.
func allocationHooks() []Hook {
	return []Hook{
		{File: "runtime/proflabel.go", Decl: "func runtime_setProfLabel", Part: Contexts,
			Anchor: "getg().labels = labels", Where: After,
			Lines: []string{"stemmaSetLabels(labels)"},
			Why:   "What runs with labels has contexts of its own."},
		{File: "runtime/malloc.go", Decl: "func preMallocgcDebug", Part: Contexts,
			Anchor: "if debug.sbrk != 0 {", Where: Before,
			Lines: []string{"stemmaAlloc(size)"},
			Why:   "Allocations are events."},
		{File: "runtime/malloc.go", Decl: "func mallocgc", Part: Contexts,
			Anchor: "if raceenabled {", Where: Before,
			Lines: []string{"if stemmaAllocCounts {", "stemmaAllocated(x, elemsize, typ)", "}"},
			Why:   "Allocations are counted, of sizes without an allocator of their own."},
		{File: "runtime/malloc_generated.go", Decl: "func mallocgc*", Part: Contexts,
			Anchor: "if checkGCTrigger {", Where: Before,
			Lines: []string{"if stemmaAllocCounts {", "stemmaAllocated(x, elemsize, typ)", "}"},
			Why:   "Allocations are counted. Go's own hooks send those of Go 1.27 to slower allocators."},
		{File: "runtime/malloc_generated.go", Decl: "func mallocgcTiny*", Part: Contexts,
			Anchor: "const elemsize = 0", Where: After,
			Lines: []string{"if stemmaAllocCounts {", "stemmaAllocated(x, elemsize, typ)", "}"},
			Why:   "Allocations that fit a block of tiny ones are counted."},
		{File: "runtime/malloc.go", Decl: "func postMallocgcDebug", Part: Contexts,
			Anchor: "if inittrace.active && inittrace.id == getg().goid {", Where: Before,
			Lines: []string{"if stemmaAllocHooked {", "stemmaAllocated(x, elemsize, typ)", "}"},
			Why:   "Allocations are counted, with allocators that use objects again."},
	}
}

// mainHooks returns those around package initialisation, main.main and exit hooks.
func mainHooks() []Hook {
	const (
		proc = "runtime/proc.go"
		exit = "internal/runtime/exithook/hooks.go"
	)
	return []Hook{
		{File: proc, Decl: "func main", Part: Contexts,
			Anchor: "doInit(m.inittasks)", Where: Before,
			Lines: []string{"stemmaRoot(getg(), layout.RootInit)", "stemmaStartEncoder()", "stemmaCountStart()"},
			Why:   "Package initialisation begins."},
		{File: proc, Decl: "func doInit", Part: Contexts,
			Anchor: "for _, t := range ts {", Where: Before,
			Lines: []string{"stemmaCtx := stemmaSave(getg())"},
			Why:   "Several packages are initialised from one context."},
		{File: proc, Decl: "func doInit", Part: Contexts,
			Anchor: "doInit1(t)", Where: Before,
			Lines: []string{"stemmaPut(getg(), stemmaCtx)"},
			Why:   "Several packages are initialised from one context."},
		{File: proc, Decl: "func main", Part: Contexts,
			Anchor: "fn()", Where: Before,
			Lines: []string{"stemmaRoot(getg(), layout.RootMain)"},
			Why:   "main.main begins."},
		{File: proc, Decl: "func main", Part: Contexts,
			Anchor: "exitHooksRun := false", Where: Before,
			Lines: []string{"stemmaRoot(getg(), layout.RootMain)"},
			Why:   "main.main has returned; exit hooks are called in its place."},
		{File: proc, Decl: "func main", Part: Contexts,
			Anchor: "exit(0)", Where: Before,
			Lines: []string{"stemmaInuseExit()"},
			Why:   "The program ends: what is reachable is counted."},
		{File: proc, Decl: "func os_beforeExit", Part: Contexts,
			Anchor: "runExitHooks(exitCode)", Where: After,
			Lines: []string{"stemmaInuseExit()"},
			Why:   "The program ends: what is reachable is counted."},
		{File: exit, Decl: "func Run", Part: Contexts,
			Anchor: "for !locked.CompareAndSwap(0, 1) {", Where: Before,
			Lines: []string{"stemmaCtx := StemmaSave()"},
			Why:   "Several exit hooks are called from one context."},
		{File: exit, Decl: "func Run", Part: Contexts,
			Anchor: "h.F()", Where: Before,
			Lines: []string{"StemmaPut(stemmaCtx)"},
			Why:   "Several exit hooks are called from one context."},
		{File: proc, Decl: "func doInit1", Part: Contexts,
			Anchor: "firstFunc := add(unsafe.Pointer(t), 8)", Where: After,
			Lines: []string{"stemmaCtx := stemmaSave(getg())"},
			Why:   "Several functions are called from one context."},
		{File: proc, Decl: "func doInit1", Part: Contexts,
			Anchor: "f()", Where: Before,
			Lines: []string{"stemmaPut(getg(), stemmaCtx)"},
			Why:   "Several functions are called from one context."},
	}
}

// panicHooks returns those around deferred calls and panics.
func panicHooks() []Hook {
	const panics = "runtime/panic.go"
	return []Hook{
		{File: panics, Decl: "func deferreturn", Part: Contexts,
			Anchor: "p.deferreturn = true", Where: After,
			Lines: []string{"stemmaCtx := stemmaSave(getg())"},
			Why:   "Deferred functions run below deferreturn."},
		{File: panics, Decl: "func deferreturn", Part: Contexts,
			Anchor: "fn()", Where: Before,
			Lines: []string{"stemmaPut(getg(), stemmaCtx)"},
			Why:   "Deferred functions run below deferreturn."},
		{File: panics, Decl: "func Goexit", Part: Contexts,
			Anchor: "p.goexit = true", Where: After,
			Lines: []string{"stemmaCtx := stemmaSave(getg())"},
			Why:   "Deferred functions run below Goexit."},
		{File: panics, Decl: "func Goexit", Part: Contexts,
			Anchor: "fn()", Where: Before,
			Lines: []string{"stemmaPut(getg(), stemmaCtx)"},
			Why:   "Deferred functions run below Goexit."},
		{File: panics, Decl: "func gopanic", Part: Contexts,
			Anchor: "if e == nil {", Where: Before,
			Lines: []string{"stemmaCtx := stemmaPanicking(sys.GetCallerPC(), sys.GetCallerSP())"},
			Why:   "A panic statement has left its cell, a run-time error has not."},
		{File: panics, Decl: "func gopanic", Part: Contexts,
			Anchor: "fn()", Where: Before,
			Lines: []string{"stemmaPut(getg(), stemmaCtx)"},
			Why:   "Deferred functions run below the panic."},
		{File: panics, Decl: "func gopanic", Part: Contexts,
			Anchor: "preprintpanics(&p)", Where: Before,
			Lines: []string{"stemmaPut(getg(), stemmaCtx)"},
			Why:   "Error and String methods run below the panic."},
		{File: panics, Decl: "func recovery", Part: Contexts,
			Anchor: "gogo(&gp.sched)", Where: Before,
			Lines: []string{"stemmaRecover(gp, f, fp)"},
			Why:   "The jump to deferreturn skips the store of its cell."},
	}
}

// callbackHooks returns those where the runtime, or C, calls what it was given.
func callbackHooks() []Hook {
	const (
		timers = "runtime/time.go"
		gc     = "runtime/mgc.go"
		cgo    = "runtime/cgocall.go"
	)
	return []Hook{
		{File: timers, Decl: "import", Part: Contexts,
			Lines: []string{layoutImport},
			Why:   "For the names of the roots."},
		{File: timers, Decl: "func (t *timer) unlockAndRun", Part: Contexts,
			Anchor: "f(arg, seq, delay)", Where: Before,
			Lines: []string{"stemmaOld := stemmaRoot(getg(), layout.RootTimer)"},
			Why:   "Timers run on g0, one after another."},
		{File: timers, Decl: "func (t *timer) unlockAndRun", Part: Contexts,
			Anchor: "f(arg, seq, delay)", Where: After,
			Lines: []string{"stemmaRestore(getg(), stemmaOld)"},
			Why:   "Timers run on g0, one after another."},
		{File: "runtime/mfinal.go", Decl: "import", Part: Contexts,
			Lines: []string{layoutImport},
			Why:   "For the names of the roots."},
		{File: "runtime/mfinal.go", Decl: "func runFinalizers", Part: Contexts,
			Anchor: "reflectcall(nil, unsafe.Pointer(f.fn), frame, uint32(framesz), uint32(framesz), " +
				"uint32(framesz), &regs)",
			Where: Before,
			Lines: []string{"stemmaRoot(getg(), layout.RootFinalizer)"},
			Why:   "Finalizers run one after another."},
		{File: "runtime/mcleanup.go", Decl: "import", Part: Contexts,
			Lines: []string{layoutImport},
			Why:   "For the names of the roots."},
		{File: "runtime/mcleanup.go", Decl: "func runCleanups", Part: Contexts,
			Anchor: "c.call(c.fn, c.arg)", Where: Before,
			Lines: []string{"stemmaRoot(getg(), layout.RootCleanup)"},
			Why:   "Cleanups run one after another."},
		{File: gc, Decl: "import", Part: Contexts,
			Lines: []string{layoutImport},
			Why:   "For the names of the roots."},
		{File: gc, Decl: "func gcStart", Part: Contexts,
			Anchor: "gcBgMarkStartWorkers()", Where: Before,
			Lines: []string{"stemmaCell := stemmaAllocAs(getg(), layout.RootGC)"},
			Why:   "The first collection makes the workers, on the goroutine that started it."},
		{File: gc, Decl: "func gcStart", Part: Contexts,
			Anchor: "gcBgMarkStartWorkers()", Where: After,
			Lines: []string{"stemmaAllocAgain(getg(), stemmaCell)"},
			Why:   "The same."},
		{File: gc, Decl: "func clearpools", Part: Contexts,
			Anchor: "poolcleanup()", Where: Before,
			Lines: []string{"stemmaOld := stemmaRoot(getg(), layout.RootGC)"},
			Why:   "The collector calls into package sync on the goroutine that started it."},
		{File: gc, Decl: "func clearpools", Part: Contexts,
			Anchor: "poolcleanup()", Where: After,
			Lines: []string{"stemmaRestore(getg(), stemmaOld)"},
			Why:   "The collector calls into package sync on the goroutine that started it."},
		{File: cgo, Decl: "func cgocallbackg", Part: Contexts,
			Anchor: "sp := gp.m.g0.sched.sp", Where: Before,
			Lines: []string{"stemmaCtx := stemmaSave(gp)"},
			Why:   "C may call back many times from one call."},
		{File: cgo, Decl: "func cgocallbackg", Part: Contexts,
			Anchor: "gp.m.incgo = true", Where: Before,
			Lines: []string{"stemmaCtx = stemmaRenew(gp, stemmaCtx)"},
			Why:   "C may call back many times from one call, and a re-encoding come in between."},
		{File: cgo, Decl: "func cgocallbackg", Part: Contexts,
			Anchor: "gp.m.winsyscall = winsyscall", Where: Before,
			Lines: []string{"stemmaPut(gp, stemmaCtx)"},
			Why:   "C may call back many times from one call."},
	}
}

// segmentHooks returns those where C runs, which may have a segment base of its own.
func segmentHooks() []Hook {
	const (
		proc = "runtime/proc.go"
		cgo  = "runtime/cgocall.go"
	)
	return []Hook{
		{File: cgo, Decl: "func cgocall", Part: Contexts,
			Anchor: "errno := asmcgocall(fn, arg)", Where: Before,
			Lines: []string{"stemmaToC(mp)"},
			Why:   "C is called."},
		{File: cgo, Decl: "func cgocallbackg", Part: Contexts,
			Anchor: "savedsp := unsafe.Pointer(gp.syscallsp)", Where: Before,
			Lines: []string{"stemmaFromC(gp.m)"},
			Why:   "C calls, perhaps on a thread of its own."},
		{File: cgo, Decl: "func cgocallbackg", Part: Contexts,
			Anchor: "gp.m.winsyscall = winsyscall", Where: After,
			Lines: []string{"stemmaToC(gp.m)"},
			Why:   "A callback returns to C."},
		{File: proc, Decl: "func newm1", Part: Contexts,
			Anchor: "asmcgocall(_cgo_thread_start, unsafe.Pointer(&ts))", Where: Before,
			Lines: []string{"stemmaToC(getg().m)"},
			Why:   "C makes a thread, which begins with the base of this one."},
		{File: proc, Decl: "func newm1", Part: Contexts,
			Anchor: "asmcgocall(_cgo_thread_start, unsafe.Pointer(&ts))", Where: After,
			Lines: []string{"stemmaRewire(getg().m)"},
			Why:   "The same: it is back."},
		{File: proc, Decl: "func mexit", Part: Contexts,
			Anchor: "mdestroy(mp)", Where: Before,
			Lines: []string{"stemmaToC(mp)"},
			Why:   "A thread ends, in C."},
	}
}
