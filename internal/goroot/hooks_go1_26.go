package goroot

// rtImport is how the runtime's files see package rt.
const rtImport = `rt "internal/runtime/stemma"`

// hooksGo126 returns the changes in existing files of go1.26's GOROOT: calls
// into the files of _go1.26.
func hooksGo126() []Hook {
	return append(compilerHooksGo126(), runtimeHooksGo126()...)
}

func compilerHooksGo126() []Hook {
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
			"The instrumentation of the function being built."},
		{ssaFile, "func buildssa", "s.zeroResults()", Before,
			[]string{"s.stemmaEnter()"},
			"Function entry: arguments are in place, no statement has run."},
		{ssaFile, "func buildssa", "ssa.Compile(s.f)", Before,
			[]string{"s.stemmaSeal()"},
			"All sites are known."},
		{ssaFile, "func buildssa", "fe.AllocFrame(s.f)", After,
			[]string{"s.stemmaFinish()"},
			"The function is compiled."},
		{ssaFile, "func (s *state) stmt", "s.newValue1I(ssa.OpInlMark, types.TypeVoid, n.Index, s.mem())", After,
			[]string{"s.stemmaInlMark(n.Index)"},
			"An inlined call begins."},
		{ssaFile, "func (s *state) call", "types.CalcSize(fn.Type())", Before,
			[]string{"s.stemmaCall(n, k)"},
			"A call: the target is evaluated, the arguments are not."},
		{ssaFile, "func (s *state) openDeferExit", "callArgs = append(callArgs, s.mem())", Before,
			[]string{"s.stemmaDeferCall(r.n)"},
			"An open-coded deferred call on exit."},
		{ssaFile, "func (s *state) rtcall", "s.prevCall = nil", Before,
			[]string{"s.stemmaRuntimeCall(fn)"},
			"A call of the runtime that SSA generation makes."},
		{pgenFile, "func cmpstackvarlt", "if mls != nil {", Before,
			[]string{"if less, ok := stemmaSlotFirst(a, b); ok {", "return less", "}"},
			"The node's slot lies at varp-8."},
		{plive, "func (lv *Liveness) markUnsafePoints", "lv.unsafeBlocks = bitvec.New(int32(lv.f.NumBlocks()))", After,
			[]string{"StemmaMarkUnsafe(lv.f, func(v ssa.ID) { lv.unsafePoints.Set(int32(v)) })"},
			"No preemption between the load of a shard and the increment."},
		{layout, "func layoutOrder", "if b.Kind == BlockExit {", Before,
			[]string{"if stemmaIsSlow(b) {", "exit.add(b.ID)", "}"},
			"The slow path is laid out last."},
		{amd64, "func ssaGenValue", "p.To.Sym = ir.Syms.GCWriteBarrier[v.AuxInt-1]", Before,
			[]string{"if v.AuxInt == ssagen.StemmaEnterAux {", "p.To.Sym = ssagen.StemmaEnterSym(); break", "}"},
			"The slow path of function entry is called like a write barrier."},
		{obj6, "func preprocess", "if q.As == obj.ACALL || q.As == obj.ADUFFCOPY || q.As == obj.ADUFFZERO {", Before,
			[]string{"if q.As == obj.ACALL && isStemmaEnter(q.To.Sym) {", "continue", "}"},
			"The slow path does not make a leaf function need a frame."},
		{obj6, "func isZeroArgRuntimeCall", "switch s.Name {", Before,
			[]string{"if isStemmaEnter(s) {", "return true", "}"},
			"The slow path does not make a leaf function need a stack check."},
		{gcObj, "func addGCLocals", "for _, s := range base.Ctxt.Text {", Before,
			[]string{"ssagen.StemmaEmit()"},
			"Metadata is emitted when all functions are compiled."},
		{"cmd/internal/objabi/pkgspecial.go", "func LookupPkgSpecial", "return pkgSpecialsOnce()[pkgPath]", Before,
			[]string{`if pkgPath == "internal/runtime/stemma" {`, `pkgPath = "internal/runtime/atomic"`, "}"},
			"The race detector must not look into package rt, which is part of the runtime."},
		{gcObj, "import", "", Before,
			[]string{`"cmd/compile/internal/ssagen"`}, "For StemmaEmit."},
		{writerSrc, "func (w *writer) funcExt", "if decl.Body != nil {", Before,
			[]string{"pragma |= stemmaBodyless(decl)"},
			"Importers must know which functions have no Go body."},
	}
}

func runtimeHooksGo126() []Hook {
	const (
		runtime2 = "runtime/runtime2.go"
		proc     = "runtime/proc.go"
		panics   = "runtime/panic.go"
		timers   = "runtime/time.go"
		gc       = "runtime/mgc.go"
		cgo      = "runtime/cgocall.go"
	)
	return []Hook{
		{runtime2, "type g", "m *m", After,
			[]string{"stemmaCtx, stemmaShard, stemmaFunc, stemmaNode, stemmaStart uintptr"},
			"The hidden arguments of every call; nothing before them moves."},
		{runtime2, "type p", "id int32", Before,
			[]string{"stemmaShard uintptr"},
			"The address of this P's counters, less rt.Base."},
		{proc, "import", "", Before, []string{rtImport}, "For the names of the roots."},
		{proc, "func schedinit", "goenvs()", After,
			[]string{"stemmaInit()"},
			"The environment is known, there is no P yet."},
		{proc, "func procresize", "pp.init(i)", After,
			[]string{"stemmaNewP(pp)"},
			"A new P needs a shard."},
		{proc, "func wirep", "pp.status = _Prunning", After,
			[]string{"stemmaWire(gp.m, pp)"},
			"An M has a new P."},
		{proc, "func execute", "gogo(&gp.sched)", Before,
			[]string{"gp.stemmaShard = mp.p.ptr().stemmaShard"},
			"A goroutine has a new P."},
		{"runtime/coro.go", "func coroswitch_m", "gogo(&gnext.sched)", Before,
			[]string{"gnext.stemmaShard = mp.p.ptr().stemmaShard"},
			"A coroutine has a new P; it is switched to without execute."},
		{proc, "func malg", "newg := new(g)", After,
			[]string{"stemmaRoot(newg, rt.RootOther)"},
			"Every g has a context from the start, g0 too."},
		{proc, "func newproc1", "newg.gopc = callerpc", After,
			[]string{"stemmaNewG(newg, callergp, callerpc)"},
			"A goroutine hangs below its go statement."},
		{proc, "func main", "doInit(m.inittasks)", Before,
			[]string{"stemmaRoot(getg(), rt.RootInit)"},
			"Package initialisation begins."},
		{proc, "func doInit", "for _, t := range ts {", Before,
			[]string{"stemmaCtx := getg().stemmaCtx"},
			"Several packages are initialised from one context."},
		{proc, "func doInit", "doInit1(t)", Before,
			[]string{"getg().stemmaCtx = stemmaCtx"},
			"Several packages are initialised from one context."},
		{proc, "func main", "fn()", Before,
			[]string{"stemmaRoot(getg(), rt.RootMain)"},
			"main.main begins."},
		{proc, "func doInit1", "firstFunc := add(unsafe.Pointer(t), 8)", After,
			[]string{"stemmaCtx := getg().stemmaCtx"},
			"Several functions are called from one context."},
		{proc, "func doInit1", "f()", Before,
			[]string{"getg().stemmaCtx = stemmaCtx"},
			"Several functions are called from one context."},
		{panics, "func deferreturn", "p.deferreturn = true", After,
			[]string{"stemmaCtx := getg().stemmaCtx"},
			"Deferred functions run below deferreturn."},
		{panics, "func deferreturn", "fn()", Before,
			[]string{"getg().stemmaCtx = stemmaCtx"},
			"Deferred functions run below deferreturn."},
		{panics, "func Goexit", "p.goexit = true", After,
			[]string{"stemmaCtx := getg().stemmaCtx"},
			"Deferred functions run below Goexit."},
		{panics, "func Goexit", "fn()", Before,
			[]string{"getg().stemmaCtx = stemmaCtx"},
			"Deferred functions run below Goexit."},
		{panics, "func gopanic", "if e == nil {", Before,
			[]string{"stemmaCtx := stemmaPanicking(sys.GetCallerPC(), sys.GetCallerSP())"},
			"A panic statement has left its cell, a run-time error has not."},
		{panics, "func gopanic", "fn()", Before,
			[]string{"getg().stemmaCtx = stemmaCtx"},
			"Deferred functions run below the panic."},
		{panics, "func gopanic", "preprintpanics(&p)", Before,
			[]string{"getg().stemmaCtx = stemmaCtx"},
			"Error and String methods run below the panic."},
		{panics, "func recovery", "gogo(&gp.sched)", Before,
			[]string{"stemmaRecover(gp, f, fp)"},
			"The jump to deferreturn skips the store of its cell."},
		{timers, "import", "", Before, []string{rtImport}, "For the names of the roots."},
		{timers, "func (t *timer) unlockAndRun", "f(arg, seq, delay)", Before,
			[]string{"stemmaOld := stemmaRoot(getg(), rt.RootTimer)"},
			"Timers run on g0, one after another."},
		{timers, "func (t *timer) unlockAndRun", "f(arg, seq, delay)", After,
			[]string{"stemmaRestore(getg(), stemmaOld)"},
			"Timers run on g0, one after another."},
		{"runtime/mfinal.go", "import", "", Before, []string{rtImport}, "For the names of the roots."},
		{"runtime/mfinal.go", "func runFinalizers", "reflectcall(nil, unsafe.Pointer(f.fn), frame, uint32(framesz), uint32(framesz), uint32(framesz), &regs)", Before,
			[]string{"stemmaRoot(getg(), rt.RootFinalizer)"},
			"Finalizers run one after another."},
		{"runtime/mcleanup.go", "import", "", Before, []string{rtImport}, "For the names of the roots."},
		{"runtime/mcleanup.go", "func runCleanups", "c.call(c.fn, c.arg)", Before,
			[]string{"stemmaRoot(getg(), rt.RootCleanup)"},
			"Cleanups run one after another."},
		{gc, "import", "", Before, []string{rtImport}, "For the names of the roots."},
		{gc, "func clearpools", "poolcleanup()", Before,
			[]string{"stemmaOld := stemmaRoot(getg(), rt.RootGC)"},
			"The collector calls into package sync on the goroutine that started it."},
		{gc, "func clearpools", "poolcleanup()", After,
			[]string{"stemmaRestore(getg(), stemmaOld)"},
			"The collector calls into package sync on the goroutine that started it."},
		{cgo, "func cgocallbackg", "sp := gp.m.g0.sched.sp", Before,
			[]string{"stemmaCtx := gp.stemmaCtx"},
			"C may call back many times from one call."},
		{cgo, "func cgocallbackg", "gp.m.winsyscall = winsyscall", Before,
			[]string{"gp.stemmaCtx = stemmaCtx"},
			"C may call back many times from one call."},
		{"runtime/signal_unix.go", "func sighandler", "if sig == _SIGPROF {", Before,
			[]string{"if sig == _SIGBUS && stemmaBus(uintptr(c.sigaddr())) {", "return", "}"},
			"The disk is full."},
	}
}
