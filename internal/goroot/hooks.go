package goroot

import "slices"

// layoutImport is how the runtime's files see package layout.
const layoutImport = `"internal/runtime/stemma/layout"`

// allHooks returns the changes in existing files of GOROOT: calls into the files of
// the tree.
func allHooks() []Hook {
	return slices.Concat(compilerHooks(), targetHooks(), nativeHooks(), runtimeHooks(), contextHooks(),
		deterministicHooks(), sampleHooks(), benchmarkHooks())
}

func compilerHooks() []Hook {
	const (
		ssaFile   = "cmd/compile/internal/ssagen/ssa.go"
		pgenFile  = "cmd/compile/internal/ssagen/pgen.go"
		plive     = "cmd/compile/internal/liveness/plive.go"
		layout    = "cmd/compile/internal/ssa/layout.go"
		gcObj     = "cmd/compile/internal/gc/obj.go"
		writerSrc = "cmd/compile/internal/noder/writer.go"
	)
	return []Hook{
		{File: ssaFile, Decl: "type state", Anchor: "f *ssa.Func", Where: Before,
			Lines: []string{"stemma stemmaFunc"},
			Why:   "The instrumentation of the function being built."},
		{File: ssaFile, Decl: "func buildssa", Anchor: "s.zeroResults()", Where: Before,
			Lines: []string{"s.stemmaEnter()"},
			Why:   "Function entry: arguments are in place, no statement has run."},
		{File: ssaFile, Decl: "func buildssa", Anchor: "s.paramsToHeap()", Where: After,
			Lines: []string{"s.stemmaAddAtEntry()"},
			Why:   "Arguments are where the function looks for them: modules add them to metrics."},
		{File: ssaFile, Decl: "func buildssa", Anchor: "ssa.Compile(s.f)", Where: Before,
			Lines: []string{"s.stemmaSeal()"},
			Why:   "All sites are known."},
		{File: ssaFile, Decl: "func buildssa", Anchor: "fe.AllocFrame(s.f)", Where: After,
			Lines: []string{"s.stemmaFinish()"},
			Why:   "The function is compiled."},
		{File: ssaFile, Decl: "func (s *state) stmt", Anchor: "s.newValue1I(ssa.OpInlMark, types.TypeVoid, n.Index, s.mem())", Where: After,
			Lines: []string{"s.stemmaInlMark(n.Index)"},
			Why:   "An inlined call begins."},
		{File: ssaFile, Decl: "func (s *state) call", Anchor: "types.CalcSize(fn.Type())", Where: Before,
			Lines: []string{"calleeLSym = s.stemmaCall(n, k, calleeLSym)"},
			Why:   "A call: the target is evaluated, the arguments are not."},
		{File: ssaFile, Decl: "func (s *state) openDeferExit", Anchor: "callArgs = append(callArgs, s.mem())", Where: Before,
			Lines: []string{"s.stemmaDeferCall(r.n)"},
			Why:   "An open-coded deferred call on exit."},
		{File: ssaFile, Decl: "func (s *state) rtcall", Anchor: "s.prevCall = nil", Where: Before,
			Lines: []string{"s.stemmaRuntimeCall(fn)"},
			Why:   "A call of the runtime that SSA generation makes."},
		{File: ssaFile, Decl: "func defframe", Anchor: "partLiveArgsSpilled := make(map[nameOff]bool)", Where: After,
			Lines: []string{"for _, v := range ssa.StemmaSpills(f) {", "n, off := ssa.AutoVar(v); partLiveArgsSpilled[nameOff{n, off}] = true", "}"},
			Why:   "What is spilled behind the entry check need not be spilled before it."},
		{File: pgenFile, Decl: "func cmpstackvarlt", Anchor: "if mls != nil {", Where: Before,
			Lines: []string{"if less, ok := stemmaSlotFirst(a, b); ok {", "return less", "}"},
			Why:   "The node's slot lies at varp-8."},
		{File: plive, Decl: "func (lv *Liveness) markUnsafePoints", Anchor: "lv.unsafeBlocks = bitvec.New(int32(lv.f.NumBlocks()))", Where: After,
			Lines: []string{"StemmaMarkUnencoded(lv.f, func(v ssa.ID) { lv.unsafePoints.Set(int32(v)) }, func(b ssa.ID) { lv.unsafeBlocks.Set(int32(b)) })"},
			Why:   "No preemption while a word is in registers alone."},
		{File: ssaFile, Decl: "func (s *State) Call", Anchor: "s.PrepareCall(v)", Where: Before,
			Lines: []string{"stemmaBeforeCall(s, v)"},
			Why:   "The runtime must know the site of a return address."},
		{File: ssaFile, Decl: "func (s *State) Call", Anchor: "return p", Where: Before,
			Lines: []string{"stemmaAfterCall(s, v)"},
			Why:   "The runtime must know the site of a return address."},
		{File: layout, Decl: "func layoutOrder", Anchor: "if b.Kind == BlockExit {", Where: Before,
			Lines: []string{"if stemmaIsSlow(b) {", "exit.add(b.ID)", "}"},
			Why:   "The slow path is laid out last."},
		{File: "cmd/compile/internal/ssa/func.go", Decl: "type Func", Anchor: "Config *Config", Where: Before,
			Lines: []string{"Stemma StemmaCounters"},
			Why:   "What became of the counters."},
		{File: "cmd/compile/internal/ssa/regalloc.go", Decl: "func (s *regAllocState) regalloc", Anchor: "if v.Op == OpKeepAlive {", Where: Before,
			Lines: []string{"if s.stemmaReleases(v) {", "b.Values = append(b.Values, v); continue", "}"},
			Why:   "A register was held free; what is in it is not kept."},
		{File: "cmd/compile/internal/ssa/writebarrier.go", Decl: "func writebarrier", Anchor: "if !f.fe.UseWriteBarrier() {", Where: Before,
			Lines: []string{"stemmaMerge(f)"},
			Why:   "Counters that go together are merged."},
		{File: "cmd/compile/internal/ssa/lower.go", Decl: "func lower", Anchor: "applyRewrite(f, f.Config.lowerBlock, f.Config.lowerValue, removeDeadValues)", Where: After,
			Lines: []string{"stemmaLower(f)"},
			Why:   "A comparison of our own sets flags."},
		{File: "cmd/compile/internal/ssagen/abi.go", Decl: "func (s *SymABIs) GenABIWrappers", Anchor: "cgoExports := make(map[string][]*[]string)", Where: Before,
			Lines: []string{"stemmaFindAnywhere()"},
			Why:   "Functions are inlined, and compiled one after another no longer."},
		{File: "cmd/compile/internal/inline/inl.go", Decl: "func mkinlcall", Anchor: "inlIndex := base.Ctxt.InlTree.Add(parent, n.Pos(), sym, ir.FuncName(fn))", Where: After,
			Lines: []string{"ir.StemmaInline(inlIndex, fn)"},
			Why:   "Where an inlined function begins is not in the inlining tree."},
		{File: gcObj, Decl: "func addGCLocals", Anchor: "for _, s := range base.Ctxt.Text {", Where: Before,
			Lines: []string{"ssagen.StemmaEmit()"},
			Why:   "Metadata is emitted when all functions are compiled."},
		{File: "cmd/internal/objabi/pkgspecial.go", Decl: "func LookupPkgSpecial", Anchor: "return pkgSpecialsOnce()[pkgPath]", Where: Before,
			Lines: []string{"pkgPath = stemmaSpecial(pkgPath)"},
			Why:   "The race detector must not look into rt and the packages below, which are part of the runtime."},
		{File: gcObj, Decl: "import", Lines: []string{`"cmd/compile/internal/ssagen"`}, Why: "For StemmaEmit."},
		{File: writerSrc, Decl: "func (w *writer) funcExt", Anchor: "if decl.Body != nil {", Where: Before,
			Lines: []string{"pragma |= stemmaPragma(w.p, decl)"},
			Why:   "Importers must know which functions have no Go body, or another one."},
	}
}

// nativeHooks returns those in the compiler for natives that nobody calls by name, and for what they call, and for
// functions that only pass calls on.
func nativeHooks() []Hook {
	return []Hook{
		{File: "cmd/compile/internal/noder/reader.go", Decl: "func (r *reader) funcBody", Anchor: "fn.Body = body", Where: After,
			Lines: []string{"stemmaHasRead(fn)"},
			Why:   "A function that only passes a call on is known by its body, before anything is inlined into it."},
		{File: "cmd/compile/internal/ssagen/abi.go", Decl: "func makeABIWrapper", Anchor: "var tail ir.Node", Where: Before,
			Lines: []string{"tailcall = !stemmaKeepsContext(f, wrapperABI) && tailcall"},
			Why:   "What assembly calls by name returns to a wrapper that puts the context back."},
		{File: "cmd/compile/internal/ssagen/ssa.go", Decl: "func (s *state) exit", Anchor: "if s.hasdefer {", Where: Before,
			Lines: []string{"s.stemmaReturns()"},
			Why:   "Modules add results of calls that return, and not of those that a recovered panic ends."},
		{File: "cmd/compile/internal/ssagen/ssa.go", Decl: "func (s *state) exit", Anchor: "resultFields := s.curfn.Type().Results()", Where: Before,
			Lines: []string{"s.stemmaExit()"},
			Why:   "The same: it returns."},
		{File: "cmd/compile/internal/ssagen/ssa.go", Decl: "func (s *state) call", Anchor: "if len(res) == 0 || k != callNormal {", Where: Before,
			Lines: []string{"s.stemmaCalled(n, k)"},
			Why:   "A native has called a function value; what it calls next finds the context that it was called in."},
		{File: "cmd/compile/internal/staticdata/data.go", Decl: "func FuncLinksym", Anchor: "s := n.Sym()", Where: Before,
			Lines: []string{"if value := stemmaValue(n); value != nil {", "return value", "}"},
			Why:   "Natives that are called through function values are counted by others."},
		{File: "cmd/compile/internal/gc/main.go", Decl: "func Main", Anchor: "if base.Ctxt.DwFixups != nil {", Where: Before,
			Lines: []string{"if ssagen.StemmaStandIns() {", "continue", "}"},
			Why:   "All values of natives are known: these others are compiled."},
	}
}

// runtimeHooks returns the hooks in the runtime that all programs have: the
// added files are the same for all, and so is the state that they keep.
func runtimeHooks() []Hook {
	const runtime2 = "runtime/runtime2.go"
	return []Hook{
		// Libraries and profilers read g, m and p at the offsets that plain Go has. So
		// what is added comes last (e2e/safety.TestInsides).
		{File: runtime2, Decl: "type g", Anchor: "valgrindStackID uintptr", Where: After,
			Lines: []string{"stemma stemmaG"},
			Why:   "The hidden arguments of every call, and what is known of a goroutine."},
		{File: runtime2, Decl: "type p", Anchor: "xRegs xRegPerP", Where: After,
			Lines: []string{"stemma stemmaP"},
			Why:   "Where the P counts."},
		{File: runtime2, Decl: "type m", Anchor: "self mWeakPointer", Where: After,
			Lines: []string{"stemma stemmaM"},
			Why:   "What is known of a thread."},
		{File: "runtime/mheap.go", Decl: "type mspan", Anchor: "largeType *_type", Where: After,
			Lines: []string{"stemmaOwners stemmaOwners"},
			Why:   "The contexts in which the objects of the span were allocated."},
		{File: "runtime/signal_unix.go", Decl: "func sighandler", Anchor: "if sig == _SIGPROF {", Where: Before,
			Lines: []string{"if (sig == _SIGBUS || sig == _SIGSEGV) && stemmaMend(sig, uintptr(c.sigaddr())) {", "return", "}"},
			Why:   "A disk is full, a file of the record was cut, or the process was forked."},
		{File: "runtime/os_linux.go", Decl: "func setsig", Anchor: "sigfillset(&sa.sa_mask)", Where: After,
			Lines: []string{"stemmaFaultsPass(i, &sa)"},
			Why:   "A page of the record may be lost while a signal is handled."},
		{File: "runtime/runtime.go", Decl: "func syscall_Exit", Anchor: "exit(int32(code))", Where: Before,
			Lines: []string{"stemmaExit()"},
			Why:   "The program ends: files are cut to what is in them."},
		{File: "runtime/panic.go", Decl: "func fatalpanic", Anchor: "exit(2)", Where: Before,
			Lines: []string{"stemmaExit()"},
			Why:   "The same, by a panic."},
	}
}

// contextHooks returns the hooks that put the right context into g.
func contextHooks() []Hook {
	return slices.Concat(schedulingHooks(), mainHooks(), panicHooks(), callbackHooks(), segmentHooks())
}

// schedulingHooks returns those where Ps and goroutines begin, stop, go on and end, and
// where memory is allocated.
func schedulingHooks() []Hook {
	const proc = "runtime/proc.go"
	return []Hook{
		{File: proc, Decl: "import", Lines: []string{layoutImport}, Why: "For the names of the roots.", Part: Contexts},
		{File: proc, Decl: "func schedinit", Anchor: "goenvs()", Where: After,
			Lines: []string{"stemmaInit()"},
			Why:   "The environment is known, there is no P yet.", Part: Contexts},
		{File: proc, Decl: "func procresize", Anchor: "pp.init(i)", Where: After,
			Lines: []string{"stemmaNewP(pp)"},
			Why:   "A new P needs a shard.", Part: Contexts},
		{File: proc, Decl: "func wirep", Anchor: "pp.status = _Prunning", Where: After,
			Lines: []string{"stemmaWire(pp)"},
			Why:   "A thread has a P, and counts in its shard.", Part: Contexts},
		{File: proc, Decl: "func gopark", Anchor: "mcall(park_m)", Where: Before,
			Lines: []string{"stemmaParked := stemmaPark()"},
			Why:   "The goroutine stops.", Part: Contexts},
		{File: proc, Decl: "func gopark", Anchor: "mcall(park_m)", Where: After,
			Lines: []string{"if stemmaParked != 0 {", "stemmaUnpark(stemmaParked)", "}"},
			Why:   "The goroutine goes on.", Part: Contexts},
		{File: "runtime/proflabel.go", Decl: "func runtime_setProfLabel", Anchor: "getg().labels = labels", Where: After,
			Lines: []string{"stemmaSetLabels(labels)"},
			Why:   "What runs with labels has contexts of its own.", Part: Contexts},
		{File: "runtime/malloc.go", Decl: "func preMallocgcDebug", Anchor: "if debug.sbrk != 0 {", Where: Before,
			Lines: []string{"stemmaAlloc(size)"},
			Why:   "Allocations are events.", Part: Contexts},
		{File: "runtime/malloc.go", Decl: "func postMallocgcDebug", Anchor: "if inittrace.active && inittrace.id == getg().goid {", Where: Before,
			Lines: []string{"stemmaAllocated(x, elemsize, typ)"},
			Why:   "Allocations are counted.", Part: Contexts},
		{File: proc, Decl: "func execute", Anchor: "gogo(&gp.sched)", Where: Before,
			Lines: []string{"stemmaResume(gp)"},
			Why:   "A goroutine goes on, perhaps with words of an old epoch.", Part: Contexts},
		{File: proc, Decl: "func casgstatus", Anchor: "if (oldval == _Grunning || oldval == _Gsyscall) && (newval != _Grunning && newval != _Gsyscall) {", Where: Before,
			Lines: []string{"stemmaStatus(gp, oldval, newval)"},
			Why:   "Time is counted by what the goroutine does.", Part: Contexts},
		{File: proc, Decl: "func casGToPreemptScan", Anchor: "acquireLockRankAndM(lockRankGscan)", Where: After,
			Lines: []string{"stemmaPreempted(gp)"},
			Why:   "The same, where the status is changed without casgstatus.", Part: Contexts},
		{File: "runtime/sema.go", Decl: "func semrelease1", Anchor: "readyWithTime(s, 5+skipframes)", Where: Before,
			Lines: []string{"stemmaReleased(s.g)"},
			Why:   "A wait for a lock counts in the context that held it.", Part: Contexts},
		{File: proc, Decl: "func reentersyscall", Anchor: "gp.m.oldp.set(pp)", Where: After,
			Lines: []string{"stemmaEnterSyscall(gp)"},
			Why:   "The same.", Part: Contexts},
		{File: "runtime/coro.go", Decl: "func coroswitch_m", Anchor: "gp.waitreason = waitReasonCoroutine", Where: After,
			Lines: []string{"stemmaSwitched(gp)"},
			Why:   "The same.", Part: Contexts},
		{File: "runtime/coro.go", Decl: "func coroswitch_m", Anchor: "gogo(&gnext.sched)", Where: Before,
			Lines: []string{"stemmaResume(gnext)"},
			Why:   "A coroutine is switched to without execute.", Part: Contexts},
		{File: proc, Decl: "func malg", Anchor: "newg := new(g)", Where: After,
			Lines: []string{"stemmaRoot(newg, layout.RootOther)"},
			Why:   "Every g has a context from the start, also g0.", Part: Contexts},
		{File: proc, Decl: "func allocm", Anchor: "mp := &new(mPadded).m", Where: Before,
			Lines: []string{"stemmaCell := stemmaAllocAs(gp, layout.RootGo)"},
			Why:   "A new thread's memory is nobody's.", Part: Contexts},
		{File: proc, Decl: "func allocm", Anchor: "releasem(gp.m)", Where: Before,
			Lines: []string{"stemmaAllocAgain(gp, stemmaCell)"},
			Why:   "The same.", Part: Contexts},
		{File: proc, Decl: "func oneNewExtraM", Anchor: "gp := malg(4096)", Where: After,
			Lines: []string{"stemmaRoot(gp, layout.RootCgo)"},
			Why:   "Threads that C created call from a root of their own.", Part: Contexts},
		{File: proc, Decl: "func newproc1", Anchor: "newg.gopc = callerpc", Where: After,
			Lines: []string{"stemmaNewG(newg, callergp, callerpc)"},
			Why:   "A goroutine hangs below its go statement.", Part: Contexts},
		{File: proc, Decl: "func exitsyscall", Anchor: "pp.syscalltick++", Where: Before,
			Lines: []string{"stemmaExitSyscall(gp)"},
			Why:   "A goroutine goes on without being scheduled.", Part: Contexts},
		{File: proc, Decl: "func gdestroy", Anchor: "gp.m = nil", Where: Before,
			Lines: []string{"stemmaEndG(gp)"},
			Why:   "The ccStack is not needed any more.", Part: Contexts},
		{File: proc, Decl: "func sysmon", Anchor: "if t := (gcTrigger{kind: gcTriggerTime, now: now}); t.test() && forcegc.idle.Load() {", Where: Before,
			Lines: []string{"stemmaTick(now)"},
			Why:   "A re-encoding may be due.", Part: Contexts},
	}
}

// mainHooks returns those around package initialisation, main.main and exit hooks.
func mainHooks() []Hook {
	const (
		proc = "runtime/proc.go"
		exit = "internal/runtime/exithook/hooks.go"
	)
	return []Hook{
		{File: proc, Decl: "func main", Anchor: "doInit(m.inittasks)", Where: Before,
			Lines: []string{"stemmaRoot(getg(), layout.RootInit)", "stemmaStartEncoder()", "stemmaCountStart()"},
			Why:   "Package initialisation begins.", Part: Contexts},
		{File: proc, Decl: "func doInit", Anchor: "for _, t := range ts {", Where: Before,
			Lines: []string{"stemmaCtx := stemmaSave(getg())"},
			Why:   "Several packages are initialised from one context.", Part: Contexts},
		{File: proc, Decl: "func doInit", Anchor: "doInit1(t)", Where: Before,
			Lines: []string{"stemmaPut(getg(), stemmaCtx)"},
			Why:   "Several packages are initialised from one context.", Part: Contexts},
		{File: proc, Decl: "func main", Anchor: "fn()", Where: Before,
			Lines: []string{"stemmaRoot(getg(), layout.RootMain)"},
			Why:   "main.main begins.", Part: Contexts},
		{File: proc, Decl: "func main", Anchor: "exitHooksRun := false", Where: Before,
			Lines: []string{"stemmaRoot(getg(), layout.RootMain)"},
			Why:   "main.main has returned; exit hooks are called in its place.", Part: Contexts},
		{File: proc, Decl: "func main", Anchor: "exit(0)", Where: Before,
			Lines: []string{"stemmaInuseExit()"},
			Why:   "The program ends: what is reachable is counted.", Part: Contexts},
		{File: proc, Decl: "func os_beforeExit", Anchor: "runExitHooks(exitCode)", Where: After,
			Lines: []string{"stemmaInuseExit()"},
			Why:   "The program ends: what is reachable is counted.", Part: Contexts},
		{File: exit, Decl: "func Run", Anchor: "for !locked.CompareAndSwap(0, 1) {", Where: Before,
			Lines: []string{"stemmaCtx := StemmaSave()"},
			Why:   "Several exit hooks are called from one context.", Part: Contexts},
		{File: exit, Decl: "func Run", Anchor: "h.F()", Where: Before,
			Lines: []string{"StemmaPut(stemmaCtx)"},
			Why:   "Several exit hooks are called from one context.", Part: Contexts},
		{File: proc, Decl: "func doInit1", Anchor: "firstFunc := add(unsafe.Pointer(t), 8)", Where: After,
			Lines: []string{"stemmaCtx := stemmaSave(getg())"},
			Why:   "Several functions are called from one context.", Part: Contexts},
		{File: proc, Decl: "func doInit1", Anchor: "f()", Where: Before,
			Lines: []string{"stemmaPut(getg(), stemmaCtx)"},
			Why:   "Several functions are called from one context.", Part: Contexts},
	}
}

// panicHooks returns those around deferred calls and panics.
func panicHooks() []Hook {
	const panics = "runtime/panic.go"
	return []Hook{
		{File: panics, Decl: "func deferreturn", Anchor: "p.deferreturn = true", Where: After,
			Lines: []string{"stemmaCtx := stemmaSave(getg())"},
			Why:   "Deferred functions run below deferreturn.", Part: Contexts},
		{File: panics, Decl: "func deferreturn", Anchor: "fn()", Where: Before,
			Lines: []string{"stemmaPut(getg(), stemmaCtx)"},
			Why:   "Deferred functions run below deferreturn.", Part: Contexts},
		{File: panics, Decl: "func Goexit", Anchor: "p.goexit = true", Where: After,
			Lines: []string{"stemmaCtx := stemmaSave(getg())"},
			Why:   "Deferred functions run below Goexit.", Part: Contexts},
		{File: panics, Decl: "func Goexit", Anchor: "fn()", Where: Before,
			Lines: []string{"stemmaPut(getg(), stemmaCtx)"},
			Why:   "Deferred functions run below Goexit.", Part: Contexts},
		{File: panics, Decl: "func gopanic", Anchor: "if e == nil {", Where: Before,
			Lines: []string{"stemmaCtx := stemmaPanicking(sys.GetCallerPC(), sys.GetCallerSP())"},
			Why:   "A panic statement has left its cell, a run-time error has not.", Part: Contexts},
		{File: panics, Decl: "func gopanic", Anchor: "fn()", Where: Before,
			Lines: []string{"stemmaPut(getg(), stemmaCtx)"},
			Why:   "Deferred functions run below the panic.", Part: Contexts},
		{File: panics, Decl: "func gopanic", Anchor: "preprintpanics(&p)", Where: Before,
			Lines: []string{"stemmaPut(getg(), stemmaCtx)"},
			Why:   "Error and String methods run below the panic.", Part: Contexts},
		{File: panics, Decl: "func recovery", Anchor: "gogo(&gp.sched)", Where: Before,
			Lines: []string{"stemmaRecover(gp, f, fp)"},
			Why:   "The jump to deferreturn skips the store of its cell.", Part: Contexts},
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
		{File: timers, Decl: "import", Lines: []string{layoutImport}, Why: "For the names of the roots.", Part: Contexts},
		{File: timers, Decl: "func (t *timer) unlockAndRun", Anchor: "f(arg, seq, delay)", Where: Before,
			Lines: []string{"stemmaOld := stemmaRoot(getg(), layout.RootTimer)"},
			Why:   "Timers run on g0, one after another.", Part: Contexts},
		{File: timers, Decl: "func (t *timer) unlockAndRun", Anchor: "f(arg, seq, delay)", Where: After,
			Lines: []string{"stemmaRestore(getg(), stemmaOld)"},
			Why:   "Timers run on g0, one after another.", Part: Contexts},
		{File: "runtime/mfinal.go", Decl: "import", Lines: []string{layoutImport}, Why: "For the names of the roots.", Part: Contexts},
		{File: "runtime/mfinal.go", Decl: "func runFinalizers", Anchor: "reflectcall(nil, unsafe.Pointer(f.fn), frame, uint32(framesz), uint32(framesz), uint32(framesz), &regs)", Where: Before,
			Lines: []string{"stemmaRoot(getg(), layout.RootFinalizer)"},
			Why:   "Finalizers run one after another.", Part: Contexts},
		{File: "runtime/mcleanup.go", Decl: "import", Lines: []string{layoutImport}, Why: "For the names of the roots.", Part: Contexts},
		{File: "runtime/mcleanup.go", Decl: "func runCleanups", Anchor: "c.call(c.fn, c.arg)", Where: Before,
			Lines: []string{"stemmaRoot(getg(), layout.RootCleanup)"},
			Why:   "Cleanups run one after another.", Part: Contexts},
		{File: gc, Decl: "import", Lines: []string{layoutImport}, Why: "For the names of the roots.", Part: Contexts},
		{File: gc, Decl: "func gcStart", Anchor: "gcBgMarkStartWorkers()", Where: Before,
			Lines: []string{"stemmaCell := stemmaAllocAs(getg(), layout.RootGC)"},
			Why:   "The first collection makes the workers, on the goroutine that started it.", Part: Contexts},
		{File: gc, Decl: "func gcStart", Anchor: "gcBgMarkStartWorkers()", Where: After,
			Lines: []string{"stemmaAllocAgain(getg(), stemmaCell)"},
			Why:   "The same.", Part: Contexts},
		{File: gc, Decl: "func clearpools", Anchor: "poolcleanup()", Where: Before,
			Lines: []string{"stemmaOld := stemmaRoot(getg(), layout.RootGC)"},
			Why:   "The collector calls into package sync on the goroutine that started it.", Part: Contexts},
		{File: gc, Decl: "func clearpools", Anchor: "poolcleanup()", Where: After,
			Lines: []string{"stemmaRestore(getg(), stemmaOld)"},
			Why:   "The collector calls into package sync on the goroutine that started it.", Part: Contexts},
		{File: cgo, Decl: "func cgocallbackg", Anchor: "sp := gp.m.g0.sched.sp", Where: Before,
			Lines: []string{"stemmaCtx := stemmaSave(gp)"},
			Why:   "C may call back many times from one call.", Part: Contexts},
		{File: cgo, Decl: "func cgocallbackg", Anchor: "gp.m.incgo = true", Where: Before,
			Lines: []string{"stemmaCtx = stemmaRenew(gp, stemmaCtx)"},
			Why:   "C may call back many times from one call, and a re-encoding come in between.", Part: Contexts},
		{File: cgo, Decl: "func cgocallbackg", Anchor: "gp.m.winsyscall = winsyscall", Where: Before,
			Lines: []string{"stemmaPut(gp, stemmaCtx)"},
			Why:   "C may call back many times from one call.", Part: Contexts},
	}
}

// segmentHooks returns those where C runs, which may have a segment base of its own.
func segmentHooks() []Hook {
	const (
		proc = "runtime/proc.go"
		cgo  = "runtime/cgocall.go"
	)
	return []Hook{
		{File: cgo, Decl: "func cgocall", Anchor: "errno := asmcgocall(fn, arg)", Where: Before,
			Lines: []string{"stemmaToC(mp)"},
			Why:   "C is called.", Part: Contexts},
		{File: cgo, Decl: "func cgocallbackg", Anchor: "savedsp := unsafe.Pointer(gp.syscallsp)", Where: Before,
			Lines: []string{"stemmaFromC(gp.m)"},
			Why:   "C calls, perhaps on a thread of its own.", Part: Contexts},
		{File: cgo, Decl: "func cgocallbackg", Anchor: "gp.m.winsyscall = winsyscall", Where: After,
			Lines: []string{"stemmaToC(gp.m)"},
			Why:   "A callback returns to C.", Part: Contexts},
		{File: proc, Decl: "func newm1", Anchor: "asmcgocall(_cgo_thread_start, unsafe.Pointer(&ts))", Where: Before,
			Lines: []string{"stemmaToC(getg().m)"},
			Why:   "C makes a thread, which begins with the base of this one.", Part: Contexts},
		{File: proc, Decl: "func newm1", Anchor: "asmcgocall(_cgo_thread_start, unsafe.Pointer(&ts))", Where: After,
			Lines: []string{"stemmaRewire(getg().m)"},
			Why:   "The same: it is back.", Part: Contexts},
		{File: proc, Decl: "func mexit", Anchor: "mdestroy(mp)", Where: Before,
			Lines: []string{"stemmaToC(mp)"},
			Why:   "A thread ends, in C.", Part: Contexts},
	}
}
