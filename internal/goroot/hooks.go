package goroot

import "slices"

// rtImport is how the runtime's files see package rt.
const rtImport = `rt "internal/runtime/stemma"`

// allHooks returns the changes in existing files of GOROOT: calls into the files of
// the tree.
func allHooks() []Hook {
	return slices.Concat(compilerHooks(), runtimeHooks(), contextHooks(), sampleHooks())
}

func compilerHooks() []Hook {
	const (
		ssaFile   = "cmd/compile/internal/ssagen/ssa.go"
		pgenFile  = "cmd/compile/internal/ssagen/pgen.go"
		plive     = "cmd/compile/internal/liveness/plive.go"
		layout    = "cmd/compile/internal/ssa/layout.go"
		amd64     = "cmd/compile/internal/amd64/ssa.go"
		obj6      = "cmd/internal/obj/x86/obj6.go"
		gcObj     = "cmd/compile/internal/gc/obj.go"
		writerSrc = "cmd/compile/internal/noder/writer.go"
	)
	return []Hook{
		{ssaFile, "type state", "f *ssa.Func", Before,
			[]string{"stemma stemmaFunc"},
			"The instrumentation of the function being built.", Always},
		{ssaFile, "func buildssa", "s.zeroResults()", Before,
			[]string{"s.stemmaEnter()"},
			"Function entry: arguments are in place, no statement has run.", Always},
		{ssaFile, "func buildssa", "ssa.Compile(s.f)", Before,
			[]string{"s.stemmaSeal()"},
			"All sites are known.", Always},
		{ssaFile, "func buildssa", "fe.AllocFrame(s.f)", After,
			[]string{"s.stemmaFinish()"},
			"The function is compiled.", Always},
		{ssaFile, "func (s *state) stmt", "s.newValue1I(ssa.OpInlMark, types.TypeVoid, n.Index, s.mem())", After,
			[]string{"s.stemmaInlMark(n.Index)"},
			"An inlined call begins.", Always},
		{ssaFile, "func (s *state) call", "types.CalcSize(fn.Type())", Before,
			[]string{"calleeLSym = s.stemmaCall(n, k, calleeLSym)"},
			"A call: the target is evaluated, the arguments are not.", Always},
		{ssaFile, "func (s *state) openDeferExit", "callArgs = append(callArgs, s.mem())", Before,
			[]string{"s.stemmaDeferCall(r.n)"},
			"An open-coded deferred call on exit.", Always},
		{ssaFile, "func (s *state) rtcall", "s.prevCall = nil", Before,
			[]string{"s.stemmaRuntimeCall(fn)"},
			"A call of the runtime that SSA generation makes.", Always},
		{pgenFile, "func cmpstackvarlt", "if mls != nil {", Before,
			[]string{"if less, ok := stemmaSlotFirst(a, b); ok {", "return less", "}"},
			"The node's slot lies at varp-8.", Always},
		{plive, "func (lv *Liveness) markUnsafePoints", "lv.unsafeBlocks = bitvec.New(int32(lv.f.NumBlocks()))", After,
			[]string{"StemmaMarkUnsafe(lv.f, func(v ssa.ID) { lv.unsafePoints.Set(int32(v)) }, func(b ssa.ID) { lv.unsafeBlocks.Set(int32(b)) })"},
			"No preemption between the load of a shard and the increment.", Always},
		{plive, "func (lv *Liveness) markUnsafePoints", "lv.unsafeBlocks = bitvec.New(int32(lv.f.NumBlocks()))", After,
			[]string{"StemmaMarkUnencoded(lv.f, func(v ssa.ID) { lv.unsafePoints.Set(int32(v)) }, func(b ssa.ID) { lv.unsafeBlocks.Set(int32(b)) })"},
			"No preemption while a word is in registers alone.", Always},
		{ssaFile, "func (s *State) Call", "s.PrepareCall(v)", Before,
			[]string{"stemmaBeforeCall(s, v)"},
			"The runtime must know the site of a return address.", Always},
		{ssaFile, "func (s *State) Call", "return p", Before,
			[]string{"stemmaAfterCall(s, v)"},
			"The runtime must know the site of a return address.", Always},
		{layout, "func layoutOrder", "if b.Kind == BlockExit {", Before,
			[]string{"if stemmaIsSlow(b) {", "exit.add(b.ID)", "}"},
			"The slow path is laid out last.", Always},
		{"cmd/compile/internal/ssa/func.go", "type Func", "Config *Config", Before,
			[]string{"Stemma StemmaCounters"},
			"What became of the counters.", Always},
		{"cmd/compile/internal/ssa/lower.go", "func lower", "applyRewrite(f, f.Config.lowerBlock, f.Config.lowerValue, removeDeadValues)", Before,
			[]string{"stemmaMerge(f)"},
			"Counters that go together are merged.", Always},
		{"cmd/compile/internal/ssagen/abi.go", "func (s *SymABIs) GenABIWrappers", "cgoExports := make(map[string][]*[]string)", Before,
			[]string{"stemmaFindAnywhere()"},
			"Functions are inlined, and compiled one after another no longer.", Always},
		{amd64, "func ssaGenValue", "p.To.Sym = ir.Syms.GCWriteBarrier[v.AuxInt-1]", Before,
			[]string{"if v.AuxInt >= ssagen.StemmaEnterAux {", "p.To.Sym = ssagen.StemmaSlowSym(v.AuxInt); break", "}"},
			"The slow path of function entry is called like a write barrier.", Always},
		{obj6, "func preprocess", "if q.As == obj.ACALL || q.As == obj.ADUFFCOPY || q.As == obj.ADUFFZERO {", Before,
			[]string{"if q.As == obj.ACALL && isStemmaEnter(q.To.Sym) {", "continue", "}"},
			"The slow path does not make a leaf function need a frame.", Always},
		{obj6, "func isZeroArgRuntimeCall", "switch s.Name {", Before,
			[]string{"if isStemmaEnter(s) {", "return true", "}"},
			"The slow path does not make a leaf function need a stack check.", Always},
		{"cmd/compile/internal/inline/inl.go", "func mkinlcall", "inlIndex := base.Ctxt.InlTree.Add(parent, n.Pos(), sym, ir.FuncName(fn))", After,
			[]string{"ir.StemmaInline(inlIndex, fn)"},
			"Where an inlined function begins is not in the inlining tree.", Always},
		{gcObj, "func addGCLocals", "for _, s := range base.Ctxt.Text {", Before,
			[]string{"ssagen.StemmaEmit()"},
			"Metadata is emitted when all functions are compiled.", Always},
		{"cmd/internal/objabi/pkgspecial.go", "func LookupPkgSpecial", "return pkgSpecialsOnce()[pkgPath]", Before,
			[]string{`if pkgPath == "internal/runtime/stemma" || pkgPath == "internal/runtime/stemma/layout" {`, `pkgPath = "internal/runtime/atomic"`, "}"},
			"The race detector must not look into packages rt and layout, which are part of the runtime.", Always},
		{gcObj, "import", "", Before,
			[]string{`"cmd/compile/internal/ssagen"`}, "For StemmaEmit.", Always},
		{writerSrc, "func (w *writer) funcExt", "if decl.Body != nil {", Before,
			[]string{"pragma |= stemmaPragma(decl)"},
			"Importers must know which functions have no Go body, or another one.", Always},
	}
}

// runtimeHooks returns the hooks in the runtime that all programs have: the
// added files are the same for all, and so is the state that they keep.
func runtimeHooks() []Hook {
	const runtime2 = "runtime/runtime2.go"
	return []Hook{
		// Libraries and profilers read g, m and p at the offsets that plain Go has. So
		// what is added comes last (e2e/safety.TestInsides).
		{runtime2, "type g", "valgrindStackID uintptr", After,
			[]string{"stemmaCtx, stemmaShard, stemmaFunc, stemmaNode, stemmaStart uintptr", "stemmaStack, stemmaCap, stemmaPushes, stemmaEpoch, stemmaFrom uintptr", "stemmaTrace uintptr; stemmaAsk uint8"},
			"The hidden arguments of every call; the state of incremental tracing, outside the heap; the goroutine was asked for a sample.", Always},
		{runtime2, "type p", "xRegs xRegPerP", After,
			[]string{"stemmaShard, stemmaEvents uintptr"},
			"The address of this P's counters, less rt.Base; its log of events.", Always},
		{runtime2, "type m", "self mWeakPointer", After,
			[]string{"stemmaThread uintptr", "stemmaInside bool"},
			"The thread's entry among those that are sampled; the state of the single-step harness.", Always},
		{"runtime/signal_unix.go", "func sighandler", "if sig == _SIGPROF {", Before,
			[]string{"if sig == _SIGBUS && stemmaBus(uintptr(c.sigaddr())) {", "return", "}"},
			"The disk is full.", Always},
	}
}

// contextHooks returns the hooks that put the right context into g.
func contextHooks() []Hook {
	const (
		proc   = "runtime/proc.go"
		panics = "runtime/panic.go"
		timers = "runtime/time.go"
		gc     = "runtime/mgc.go"
		cgo    = "runtime/cgocall.go"
		exit   = "internal/runtime/exithook/hooks.go"
	)
	return []Hook{
		{proc, "import", "", Before, []string{rtImport}, "For the names of the roots.", Contexts},
		{proc, "func schedinit", "goenvs()", After,
			[]string{"stemmaInit()"},
			"The environment is known, there is no P yet.", Contexts},
		{proc, "func procresize", "pp.init(i)", After,
			[]string{"stemmaNewP(pp)"},
			"A new P needs a shard.", Contexts},
		{proc, "func wirep", "pp.status = _Prunning", After,
			[]string{"stemmaWire(gp.m, pp)"},
			"An M has a new P.", Contexts},
		{proc, "func gopark", "mcall(park_m)", Before,
			[]string{"stemmaParked := stemmaPark()"},
			"The goroutine stops.", Contexts},
		{proc, "func gopark", "mcall(park_m)", After,
			[]string{"if stemmaParked != 0 {", "stemmaUnpark(stemmaParked)", "}"},
			"The goroutine goes on.", Contexts},
		{"runtime/malloc.go", "func preMallocgcDebug", "if debug.sbrk != 0 {", Before,
			[]string{"stemmaAlloc(size)"},
			"Allocations are events.", Contexts},
		{proc, "func execute", "gogo(&gp.sched)", Before,
			[]string{"gp.stemmaShard = mp.p.ptr().stemmaShard", "stemmaResume(gp)"},
			"A goroutine has a new P, and perhaps words of an old epoch.", Contexts},
		{"runtime/coro.go", "func coroswitch_m", "gogo(&gnext.sched)", Before,
			[]string{"gnext.stemmaShard = mp.p.ptr().stemmaShard", "stemmaResume(gnext)"},
			"A coroutine has a new P; it is switched to without execute.", Contexts},
		{proc, "func malg", "newg := new(g)", After,
			[]string{"stemmaRoot(newg, rt.RootOther)"},
			"Every g has a context from the start, g0 too.", Contexts},
		{proc, "func oneNewExtraM", "gp := malg(4096)", After,
			[]string{"stemmaRoot(gp, rt.RootCgo)"},
			"Threads that C created call from a root of their own.", Contexts},
		{proc, "func newproc1", "newg.gopc = callerpc", After,
			[]string{"stemmaNewG(newg, callergp, callerpc)"},
			"A goroutine hangs below its go statement.", Contexts},
		{proc, "func exitsyscall", "pp.syscalltick++", Before,
			[]string{"stemmaExitSyscall(gp)"},
			"A goroutine goes on without being scheduled.", Contexts},
		{proc, "func gdestroy", "gp.m = nil", Before,
			[]string{"stemmaEndG(gp)"},
			"The ccStack is not needed any more.", Contexts},
		{proc, "func sysmon", "if t := (gcTrigger{kind: gcTriggerTime, now: now}); t.test() && forcegc.idle.Load() {", Before,
			[]string{"stemmaTick(now)"},
			"A re-encoding may be due.", Contexts},
		{proc, "func main", "doInit(m.inittasks)", Before,
			[]string{"stemmaRoot(getg(), rt.RootInit)", "stemmaStartEncoder()"},
			"Package initialisation begins.", Contexts},
		{proc, "func doInit", "for _, t := range ts {", Before,
			[]string{"stemmaCtx := stemmaSave(getg())"},
			"Several packages are initialised from one context.", Contexts},
		{proc, "func doInit", "doInit1(t)", Before,
			[]string{"stemmaPut(getg(), stemmaCtx)"},
			"Several packages are initialised from one context.", Contexts},
		{proc, "func main", "fn()", Before,
			[]string{"stemmaRoot(getg(), rt.RootMain)"},
			"main.main begins.", Contexts},
		{proc, "func main", "exitHooksRun := false", Before,
			[]string{"stemmaRoot(getg(), rt.RootMain)"},
			"main.main has returned; exit hooks are called in its place.", Contexts},
		{exit, "func Run", "for !locked.CompareAndSwap(0, 1) {", Before,
			[]string{"stemmaCtx := StemmaSave()"},
			"Several exit hooks are called from one context.", Contexts},
		{exit, "func Run", "h.F()", Before,
			[]string{"StemmaPut(stemmaCtx)"},
			"Several exit hooks are called from one context.", Contexts},
		{proc, "func doInit1", "firstFunc := add(unsafe.Pointer(t), 8)", After,
			[]string{"stemmaCtx := stemmaSave(getg())"},
			"Several functions are called from one context.", Contexts},
		{proc, "func doInit1", "f()", Before,
			[]string{"stemmaPut(getg(), stemmaCtx)"},
			"Several functions are called from one context.", Contexts},
		{panics, "func deferreturn", "p.deferreturn = true", After,
			[]string{"stemmaCtx := stemmaSave(getg())"},
			"Deferred functions run below deferreturn.", Contexts},
		{panics, "func deferreturn", "fn()", Before,
			[]string{"stemmaPut(getg(), stemmaCtx)"},
			"Deferred functions run below deferreturn.", Contexts},
		{panics, "func Goexit", "p.goexit = true", After,
			[]string{"stemmaCtx := stemmaSave(getg())"},
			"Deferred functions run below Goexit.", Contexts},
		{panics, "func Goexit", "fn()", Before,
			[]string{"stemmaPut(getg(), stemmaCtx)"},
			"Deferred functions run below Goexit.", Contexts},
		{panics, "func gopanic", "if e == nil {", Before,
			[]string{"stemmaCtx := stemmaPanicking(sys.GetCallerPC(), sys.GetCallerSP())"},
			"A panic statement has left its cell, a run-time error has not.", Contexts},
		{panics, "func gopanic", "fn()", Before,
			[]string{"stemmaPut(getg(), stemmaCtx)"},
			"Deferred functions run below the panic.", Contexts},
		{panics, "func gopanic", "preprintpanics(&p)", Before,
			[]string{"stemmaPut(getg(), stemmaCtx)"},
			"Error and String methods run below the panic.", Contexts},
		{panics, "func recovery", "gogo(&gp.sched)", Before,
			[]string{"stemmaRecover(gp, f, fp)"},
			"The jump to deferreturn skips the store of its cell.", Contexts},
		{timers, "import", "", Before, []string{rtImport}, "For the names of the roots.", Contexts},
		{timers, "func (t *timer) unlockAndRun", "f(arg, seq, delay)", Before,
			[]string{"stemmaOld := stemmaRoot(getg(), rt.RootTimer)"},
			"Timers run on g0, one after another.", Contexts},
		{timers, "func (t *timer) unlockAndRun", "f(arg, seq, delay)", After,
			[]string{"stemmaRestore(getg(), stemmaOld)"},
			"Timers run on g0, one after another.", Contexts},
		{"runtime/mfinal.go", "import", "", Before, []string{rtImport}, "For the names of the roots.", Contexts},
		{"runtime/mfinal.go", "func runFinalizers", "reflectcall(nil, unsafe.Pointer(f.fn), frame, uint32(framesz), uint32(framesz), uint32(framesz), &regs)", Before,
			[]string{"stemmaRoot(getg(), rt.RootFinalizer)"},
			"Finalizers run one after another.", Contexts},
		{"runtime/mcleanup.go", "import", "", Before, []string{rtImport}, "For the names of the roots.", Contexts},
		{"runtime/mcleanup.go", "func runCleanups", "c.call(c.fn, c.arg)", Before,
			[]string{"stemmaRoot(getg(), rt.RootCleanup)"},
			"Cleanups run one after another.", Contexts},
		{gc, "import", "", Before, []string{rtImport}, "For the names of the roots.", Contexts},
		{gc, "func clearpools", "poolcleanup()", Before,
			[]string{"stemmaOld := stemmaRoot(getg(), rt.RootGC)"},
			"The collector calls into package sync on the goroutine that started it.", Contexts},
		{gc, "func clearpools", "poolcleanup()", After,
			[]string{"stemmaRestore(getg(), stemmaOld)"},
			"The collector calls into package sync on the goroutine that started it.", Contexts},
		{cgo, "func cgocallbackg", "sp := gp.m.g0.sched.sp", Before,
			[]string{"stemmaCtx := stemmaSave(gp)"},
			"C may call back many times from one call.", Contexts},
		{cgo, "func cgocallbackg", "gp.m.winsyscall = winsyscall", Before,
			[]string{"stemmaPut(gp, stemmaCtx)"},
			"C may call back many times from one call.", Contexts},
	}
}
