package goroot

import "slices"

// compilerHooks returns those in the compiler that all architectures share.
func compilerHooks() []Hook { return slices.Concat(buildHooks(), passHooks()) }

// buildHooks returns those where SSA is built for a function, and made code.
func buildHooks() []Hook {
	const (
		ssaFile  = "cmd/compile/internal/ssagen/ssa.go"
		pgenFile = "cmd/compile/internal/ssagen/pgen.go"
		plive    = "cmd/compile/internal/liveness/plive.go"
	)
	return []Hook{
		{File: ssaFile, Decl: "type state",
			Anchor: "f *ssa.Func", Where: Before,
			Lines: []string{"stemma stemmaFunc"},
			Why:   "The instrumentation of the function being built."},
		{File: ssaFile, Decl: "func buildssa",
			Anchor: "s.zeroResults()", Where: Before,
			Lines: []string{"s.stemmaEnter()"},
			Why:   "Function entry: arguments are in place, no statement has run."},
		{File: ssaFile, Decl: "func buildssa",
			Anchor: "s.paramsToHeap()", Where: After,
			Lines: []string{"s.stemmaAddAtEntry()"},
			Why:   "Arguments are where the function looks for them: modules add them to metrics."},
		{File: ssaFile, Decl: "func buildssa",
			Anchor: "ssa.Compile(s.f)", Where: Before,
			Lines: []string{"s.stemmaSeal()"},
			Why:   "All sites are known."},
		{File: ssaFile, Decl: "func buildssa",
			Anchor: "fe.AllocFrame(s.f)", Where: After,
			Lines: []string{"s.stemmaFinish()"},
			Why:   "The function is compiled."},
		{File: ssaFile, Decl: "func (s *state) stmt",
			Anchor: "s.newValue1I(ssa.OpInlMark, types.TypeVoid, n.Index, s.mem())", Where: After,
			Lines: []string{"s.stemmaInlMark(n.Index)"},
			Why:   "An inlined call begins."},
		{File: ssaFile, Decl: "func (s *state) call",
			Anchor: "types.CalcSize(fn.Type())", Where: Before,
			Lines: []string{"calleeLSym = s.stemmaCall(n, k, calleeLSym)"},
			Why:   "A call: the target is evaluated, the arguments are not."},
		{File: ssaFile, Decl: "func (s *state) openDeferExit",
			Anchor: "callArgs = append(callArgs, s.mem())", Where: Before,
			Lines: []string{"s.stemmaDeferCall(r.n)"},
			Why:   "An open-coded deferred call on exit."},
		{File: ssaFile, Decl: "func (s *state) rtcall",
			Anchor: "s.prevCall = nil", Where: Before,
			Lines: []string{"s.stemmaRuntimeCall(fn)"},
			Why:   "A call of the runtime that SSA generation makes."},
		{File: ssaFile, Decl: "func genssa",
			Anchor: "s.pp.NextLive = s.livenessMap.DeferReturn", Where: After,
			Lines: []string{"stemmaPlaceRecovery(&s, e.curfn)"},
			Why:   "The deferreturn to which recovery jumps has the line of whatever comes before it."},
		{File: ssaFile, Decl: "func defframe",
			Anchor: "partLiveArgsSpilled := make(map[nameOff]bool)", Where: After,
			Lines: []string{
				"for _, v := range ssa.StemmaSpills(f) {",
				"n, off := ssa.AutoVar(v); partLiveArgsSpilled[nameOff{n, off}] = true",
				"}",
			},
			Why: "What is spilled behind the entry check need not be spilled before it."},
		{File: pgenFile, Decl: "func cmpstackvarlt",
			Anchor: "if mls != nil {", Where: Before,
			Lines: []string{"if less, ok := stemmaSlotFirst(a, b); ok {", "return less", "}"},
			Why:   "The node's slot lies at varp-8."},
		{File: plive, Decl: "func (lv *Liveness) markUnsafePoints",
			Anchor: "lv.unsafeBlocks = bitvec.New(int32(lv.f.NumBlocks()))", Where: After,
			Lines: []string{
				"StemmaMarkUnencoded(lv.f, func(v ssa.ID) { lv.unsafePoints.Set(int32(v)) }, func(b ssa.ID) { " +
					"lv.unsafeBlocks.Set(int32(b)) })",
			},
			Why: "No preemption while a word is in registers alone."},
		{File: ssaFile, Decl: "func (s *State) Call",
			Anchor: "s.PrepareCall(v)", Where: Before,
			Lines: []string{"stemmaBeforeCall(s, v)"},
			Why:   "The runtime must know the site of a return address."},
		{File: ssaFile, Decl: "func (s *State) Call",
			Anchor: "return p", Where: Before,
			Lines: []string{"stemmaAfterCall(s, v)"},
			Why:   "The runtime must know the site of a return address."},
	}
}

// passHooks returns those in the passes over SSA, and before and after all functions are compiled.
func passHooks() []Hook {
	const gcObj = "cmd/compile/internal/gc/obj.go"
	return []Hook{
		{File: "cmd/compile/internal/ssa/layout.go", Decl: "func layoutOrder",
			Anchor: "if b.Kind == BlockExit {", Where: Before,
			Lines: []string{"if stemmaIsSlow(b) {", "exit.add(b.ID)", "}"},
			Why:   "The slow path is laid out last."},
		{File: "cmd/compile/internal/ssa/func.go", Decl: "type Func",
			Anchor: "Config *Config", Where: Before,
			Lines: []string{"Stemma StemmaCounters"},
			Why:   "What became of the counters."},
		{File: "cmd/compile/internal/ssa/regalloc.go", Decl: "func (s *regAllocState) regalloc",
			Anchor: "if v.Op == OpKeepAlive {", Where: Before,
			Lines: []string{"if s.stemmaReleases(v) {", "b.Values = append(b.Values, v); continue", "}"},
			Why:   "A register was held free; what is in it is not kept."},
		{File: "cmd/compile/internal/ssa/writebarrier.go", Decl: "func writebarrier",
			Anchor: "if !f.fe.UseWriteBarrier() {", Where: Before,
			Lines: []string{"stemmaMerge(f)"},
			Why:   "Counters that go together are merged."},
		{File: "cmd/compile/internal/ssa/lower.go", Decl: "func lower",
			Anchor: "applyRewrite(f, f.Config.lowerBlock, f.Config.lowerValue, removeDeadValues)", Where: After,
			Lines: []string{"stemmaLower(f)"},
			Why:   "A comparison of our own sets flags."},
		{File: "cmd/compile/internal/ssagen/abi.go", Decl: "func (s *SymABIs) GenABIWrappers",
			Anchor: "cgoExports := make(map[string][]*[]string)", Where: Before,
			Lines: []string{"stemmaFindAnywhere()"},
			Why:   "Functions are inlined, and compiled one after another no longer."},
		{File: "cmd/compile/internal/inline/inl.go", Decl: "func mkinlcall",
			Anchor: "inlIndex := base.Ctxt.InlTree.Add(parent, n.Pos(), sym, ir.FuncName(fn))", Where: After,
			Lines: []string{"ir.StemmaInline(inlIndex, fn)"},
			Why:   "Where an inlined function begins is not in the inlining tree."},
		{File: gcObj, Decl: "func addGCLocals",
			Anchor: "for _, s := range base.Ctxt.Text {", Where: Before,
			Lines: []string{"ssagen.StemmaEmit()"},
			Why:   "Metadata is emitted when all functions are compiled."},
		{File: "cmd/internal/objabi/pkgspecial.go", Decl: "func LookupPkgSpecial",
			Anchor: "return pkgSpecialsOnce()[pkgPath]", Where: Before,
			Lines: []string{"pkgPath = stemmaSpecial(pkgPath)"},
			Why:   "The race detector must not look into rt and the packages below, which are part of the runtime."},
		{File: gcObj, Decl: "import",
			Lines: []string{`"cmd/compile/internal/ssagen"`},
			Why:   "For StemmaEmit."},
		{File: "cmd/compile/internal/noder/writer.go", Decl: "func (w *writer) funcExt",
			Anchor: "if decl.Body != nil {", Where: Before,
			Lines: []string{"pragma |= stemmaPragma(w.p, decl)"},
			Why:   "Importers must know which functions have no Go body, or another one."},
	}
}

// nativeHooks returns those in the compiler for natives that nobody calls by name, and for what they call, and for
// functions that only pass calls on.
func nativeHooks() []Hook {
	return []Hook{
		{File: "cmd/compile/internal/noder/reader.go", Decl: "func (r *reader) funcBody",
			Anchor: "fn.Body = body", Where: After,
			Lines: []string{"stemmaHasRead(fn)"},
			Why:   "A function that only passes a call on is known by its body, before anything is inlined into it."},
		{File: "cmd/compile/internal/ssagen/intrinsics.go", Decl: "func findIntrinsic",
			Anchor: "return intrinsics.lookup(Arch.LinkArch.Arch, pkg, fn)", Where: Before,
			Lines: []string{"if stemmaIsCall(pkg, fn) {", "return nil", "}"},
			Why:   "What an architecture has an operation for that calls a native is counted as on others."},
		{File: "cmd/compile/internal/ssagen/abi.go", Decl: "func makeABIWrapper",
			Anchor: "var tail ir.Node", Where: Before,
			Lines: []string{"tailcall = !stemmaKeepsContext(f, wrapperABI) && tailcall"},
			Why:   "What assembly calls by name returns to a wrapper that puts the context back."},
		{File: "cmd/compile/internal/ssagen/ssa.go", Decl: "func (s *state) exit",
			Anchor: "if s.hasdefer {", Where: Before,
			Lines: []string{"s.stemmaReturns()"},
			Why:   "Modules add results of calls that return, and not of those that a recovered panic ends."},
		{File: "cmd/compile/internal/ssagen/ssa.go", Decl: "func (s *state) exit",
			Anchor: "resultFields := s.curfn.Type().Results()", Where: Before,
			Lines: []string{"s.stemmaExit()"},
			Why:   "The same: it returns."},
		{File: "cmd/compile/internal/ssagen/ssa.go", Decl: "func (s *state) call",
			Anchor: "if len(res) == 0 || k != callNormal {", Where: Before,
			Lines: []string{"s.stemmaCalled(n, k)"},
			Why:   "A native has called a function value; what it calls next finds the context that it was called in."},
		{File: "cmd/compile/internal/staticdata/data.go", Decl: "func FuncLinksym",
			Anchor: "s := n.Sym()", Where: Before,
			Lines: []string{"if value := stemmaValue(n); value != nil {", "return value", "}"},
			Why:   "Natives that are called through function values are counted by others."},
		{File: "cmd/compile/internal/gc/main.go", Decl: "func Main",
			Anchor: "if base.Ctxt.DwFixups != nil {", Where: Before,
			Lines: []string{"if ssagen.StemmaStandIns() {", "continue", "}"},
			Why:   "All values of natives are known: these others are compiled."},
	}
}
