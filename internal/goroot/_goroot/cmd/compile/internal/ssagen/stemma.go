// Instrumentation for calling contexts: what all engines share. What an engine does is a stemmaStrategy; stemma_cct.go,
// stemma_dacce.go, stemma_pcc.go and stemma_lucce.go have one each, and stemma_cce.go what the last three share.
//
// All loads are raw: those of load would be reported to the race detector, which has no
// business with this memory, and the calls that report are not counted as calls here.

package ssagen

import (
	"cmd/compile/internal/base"
	"cmd/compile/internal/ir"
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/types"
	"cmd/internal/obj"
	"cmd/internal/src"
	"internal/abi"
	"internal/runtime/stemma/layout"
	"sync"
)

// A stemmaStrategy is what an engine does in the compiler: a file of its own registers it.
type stemmaStrategy struct {
	// enter emits what an instrumented function does on entry.
	enter func(s *state)

	// site emits what precedes a call of the given kind, of a function that has a name if it is known.
	site func(s *state, name string, kind int)

	// leave emits what leaves the context of a callee for a cell in g. Nil where site does it.
	leave func(s *state, cell int)

	// mark counts an inlined call, an index in the inlining tree. Nil if they are not counted.
	mark func(s *state, index int64)

	// saved returns what a native that calls several times keeps of g on entry, and unknown what it puts back
	// before each call. Saved is nil if it keeps nothing.
	saved, unknown func(s *state) *ssa.Value

	// seal ends the instrumentation of a function, when all of its sites are known.
	seal func(s *state)

	// data emits what a function has in writable memory. Nil if it has nothing there; if it has, then functions
	// that call nothing need no description, and wrappers of assembly pass contexts through.
	data func(m *stemmaMeta)

	slow    string // the slow path of function entry
	passes  bool   // the slow path takes the function in R12 and the cell's content in R13; else the function in g
	here    bool   // the runtime reads the word itself, instead of the package's function
	natives bool   // natives are counted, those too that are called through function values
	adds    bool   // the runtime counts metrics of the program's own
}

// StemmaNoSafePoint has no safe point before an instruction that the operation emits from now on.
func (s *State) StemmaNoSafePoint() { s.pp.NextUnsafe = true }

var stemmaStrategies = map[string]*stemmaStrategy{}

// stemmaRegister adds the strategy of the engines of these names.
func stemmaRegister(strategy *stemmaStrategy, names ...string) {
	for _, name := range names {
		stemmaStrategies[name] = strategy
	}
}

// stemmaEngine returns the strategy of this compilation, nil for none.
var stemmaEngine = sync.OnceValue(func() *stemmaStrategy { return stemmaStrategies[stemmaOptions.engine] })

// stemmaNodeVar is the SSA variable that holds the node at function entry.
var stemmaNodeVar = ssaMarker("stemmaNode")

// A stemmaMode is what a function gets.
type stemmaMode uint8

const (
	stemmaOff      stemmaMode = iota // nothing: contexts pass through
	stemmaFull                       // a node, cells and counters
	stemmaRestore                    // a native that calls several times: g's context is put back before each call
	stemmaCallback                   // a wrapper through which assembly calls: g's context is put back behind the call
	stemmaKeep                       // a native that calls function values: it is put back behind each such call
)

// stemmaFunc is the instrumentation of one function while its SSA is built.
type stemmaFunc struct {
	mode stemmaMode
	meta *stemmaMeta

	slot   *ir.Name     // holds the node in the frame
	node   *ssa.Value   // the node at entry
	save   []*ssa.Value // the memory values that store to slot; unlinked if it is not needed
	loads  []*ssa.Value // loads of slot
	called bool         // something is called, so node does not survive in a register
	fresh  *ssa.Block   // where nothing was called yet, and node is in a register; nil if engines do not care

	// stemmaRestore: the place of the context, the memory when it is known, and what
	// was there on entry, which stemmaCallback and stemmaKeep have as well.
	place, found, saved *ssa.Value

	entry *ssa.Block   // encoded: ends in the check of the word
	bound *ssa.Block   // encoded in pairs: ends in the check of the id
	marks []stemmaMark // encoded: which calls belong to which sites

	returned *ir.Name // 1 in the frame when the function returns; nil if no addition asks for that

	// The last counted inline mark: while nothing that can leave the function
	// came in between, the next one is executed exactly as often.
	markBlock   *ssa.Block
	markScanned int // values of markBlock that were looked at
	markCounter int
}

// stemmaEnter emits what a function does on entry. It is called with the
// arguments in place and before the first statement: no value that the
// garbage collector must know of is live but the arguments, and the slow path
// is not a safe point.
func (s *state) stemmaEnter() {
	stemmaMarkAdapter(s.curfn)
	s.stemma.mode = stemmaModeOf(s.curfn)
	switch s.stemma.mode {
	case stemmaFull:
		s.stemma.meta = newStemmaMeta(s.curfn)
		stemmaEngine().enter(s)
	case stemmaRestore:
		s.stemmaFindPlace()
	case stemmaCallback:
		s.stemmaTakeContext()
	case stemmaKeep:
		if stemmaMustNotSplit(s.curfn) {
			s.stemmaFindPlace()
		} else {
			s.stemmaTakeContext()
		}
	}
}

// stemmaHoldContext keeps the context register, RDX, free of the values that are loaded before release
// is called. A function that is no closure has nothing in it on entry, and libraries that patch
// functions while they run know that: they copy its first instructions elsewhere, and jump
// behind them through RDX. No instruction is emitted for this.
func (s *state) stemmaHoldContext() (release func()) {
	if s.curfn.Needctxt() {
		return func() {} // it is the closure's
	}
	held := s.entryNewValue0(ssa.OpGetClosurePtr, types.Types[types.TUINTPTR])
	return func() { s.vars[memVar] = s.newValue2(ssa.OpKeepAlive, types.TypeMem, held, s.mem()) }
}

// stemmaSlowIf ends the block with a comparison. If it holds, the runtime is called
// to find the node of the function that sym is about. It stores the node in the frame
// and returns the block that it has ended.
func (s *state) stemmaSlowIf(control *ssa.Value, sym *obj.LSym) *ssa.Block {
	word := types.Types[types.TUINTPTR]
	b := s.endBlock()
	b.Kind = ssa.BlockIf
	b.Likely = ssa.BranchUnlikely
	b.SetControl(control)
	if stemmaOptions.verify {
		b.SetControl(s.f.ConstBool(types.Types[types.TBOOL], true)) // always take the path with the checker
	}
	slow, done := s.f.NewBlock(ssa.BlockPlain), s.f.NewBlock(ssa.BlockPlain)
	b.AddEdgeTo(slow)
	b.AddEdgeTo(done)

	s.startBlock(slow)
	pos, inlined := s.peekPos(), false
	if o := &stemmaOptions; s.curfn.Wrapper() && o.verify && o.inlined && !o.check {
		pos, inlined = stemmaInlinedPos(s.curfn) // for a sample of the call, see stemmaInWrapper
	}
	if inlined {
		s.pushLine(pos)
	}
	call := s.stemmaCallSlow(sym)
	if inlined {
		s.popLine()
	}
	s.vars[stemmaNodeVar] = s.newValue1(ssa.OpSelect0, word, call)
	s.vars[memVar] = s.newValue1(ssa.OpSelect1, types.TypeMem, call)
	s.endBlock().AddEdgeTo(done)

	s.startBlock(done)
	s.stemma.node = s.variable(stemmaNodeVar, word)
	s.stemmaSaveNode()
	return b
}

// stemmaCallSlow emits the call of the slow path, which finds in registers or in g which function it is.
func (s *state) stemmaCallSlow(sym *obj.LSym) *ssa.Value {
	word := types.Types[types.TUINTPTR]
	if stemmaEngine().passes {
		tuple := types.NewTuple(word, types.TypeMem)
		return s.newValue2A(ssa.OpStemmaEnter, tuple, sym, s.variable(stemmaNodeVar, word), s.mem())
	}
	s.store(word, s.stemmaG(layout.GFunc), s.newValue1A(ssa.OpAddr, word, sym, s.sb))
	return s.newValue1I(ssa.OpWB, types.NewTuple(word, types.TypeMem), layout.EnterAux, s.mem())
}

// stemmaSaveNode stores the node in the frame, as deferBits are stored: in a
// slot that is kept alive for readers outside of the function.
func (s *state) stemmaSaveNode() {
	word := types.Types[types.TUINTPTR]
	s.stemmaNewSlot(word)
	s.store(word, s.addr(s.stemma.slot), s.stemma.node)
	s.stemmaKeepSlot(s.mem())
}

// stemmaNewSlot adds a slot for a t to the frame.
func (s *state) stemmaNewSlot(t *types.Type) {
	slot := s.curfn.NewLocal(src.NoXPos, &types.Sym{Name: stemmaSlotName, Pkg: types.LocalPkg}, t)
	slot.SetUsed(true)
	slot.SetEsc(ir.EscNever)
	slot.SetAddrtaken(true)
	slot.SetNonMergeable(true)
	s.stemma.slot = slot
}

// stemmaKeepSlot keeps the slot alive behind the given stores to it.
func (s *state) stemmaKeepSlot(stores ...*ssa.Value) {
	s.vars[memVar] = s.newValue1Apos(ssa.OpVarLive, types.TypeMem, s.stemma.slot, s.mem(), false)
	s.stemma.save = append(append(s.stemma.save, stores...), s.mem())
}

const stemmaSlotName = ".stemma"

// stemmaSlotFirst orders the slot before all other locals, so that it lies at
// varp-8 in every frame. ok is false if neither a nor b is the slot.
func stemmaSlotFirst(a, b *ir.Name) (less, ok bool) {
	isA, isB := stemmaIsSlot(a), stemmaIsSlot(b)
	return isA && !isB, isA || isB
}

func stemmaIsSlot(n *ir.Name) bool {
	return n.Sym().Name == stemmaSlotName && n.Used()
}

// stemmaG returns the address of a field of g.
func (s *state) stemmaG(offset int64) *ssa.Value {
	word := types.Types[types.TUINTPTR]
	return s.stemmaAddr(word, s.newValue1(ssa.OpGetG, word.PtrTo(), s.mem()), offset)
}

// stemmaAddr returns the address of a t at word + offset, outside the heap.
// Only such a complete address is a pointer; the words that it is made of are
// not, so that the garbage collector never sees half of one.
func (s *state) stemmaAddr(t *types.Type, word *ssa.Value, offset int64) *ssa.Value {
	return s.newValue1I(ssa.OpOffPtr, t.PtrTo(), offset, word)
}

// stemmaCall emits what precedes a call: it must not come between an argument
// and its call, which expects both to see the same memory (golang.org/issue/49282).
// It returns what to call instead of callee, which is nil if it is not known.
func (s *state) stemmaCall(n *ir.CallExpr, k callKind, callee *obj.LSym) *obj.LSym {
	if callee != nil && callee.Name == layout.AddFunc && stemmaEngine() != nil && stemmaEngine().adds {
		callee = base.Ctxt.LookupABI("runtime.stemmaAdd", obj.ABIInternal)
	}
	if s.stemmaPasses() {
		return callee
	}
	if k == callDefer || k == callDeferStack {
		s.stemma.fresh = nil
		s.stemmaMark(noSite)
		if k == callDefer {
			s.stemmaAllocSite("runtime.deferproc")
		}
		return callee
	}
	name, kind := "", layout.SiteCall
	switch {
	case k == callGo:
		kind = layout.SiteGo
	default:
		name, kind = stemmaCallee(n)
	}
	if name == StemmaHere && s.stemmaIsDirect() {
		s.stemmaHereSite(name)
		return base.Ctxt.LookupABI("runtime.stemmaHere", obj.ABIInternal)
	}
	if s.stemma.mode == stemmaFull && stemmaCallsLeaf(n, kind) {
		s.stemmaLeafSite(name)
		return callee
	}
	s.stemmaSite(name, kind)
	return callee
}

// stemmaDeferCall emits what precedes an open-coded deferred call on exit.
func (s *state) stemmaDeferCall(n *ir.CallExpr) {
	if s.stemma.mode == stemmaKeep {
		s.stemmaPutKept()
		return
	}
	name, kind := stemmaCallee(n)
	if kind == layout.SiteCall {
		kind = layout.SiteDefer
	}
	call := s.f.NumValues() - 1 // the call was made just now; only its arguments are missing
	s.stemmaSite(name, kind)
	if n := len(s.stemma.marks); n > 0 {
		s.stemma.marks[n-1].values = call
	}
}

// stemmaRuntimeCall emits what precedes a call of the runtime.
func (s *state) stemmaRuntimeCall(fn *obj.LSym) {
	s.stemmaSite(stemmaRuntimeCallee(fn.Name))
}

// stemmaSite emits a call site of the given kind: a count, a cell, or both.
func (s *state) stemmaSite(name string, kind int) {
	switch {
	case s.stemmaPasses():
		return
	case s.stemma.mode == stemmaRestore:
		if stemmaOptions.alloc || kind != 0 && stemmaLeavesCell(name, kind) {
			s.stemmaPutBack()
		}
		return
	}
	stemmaEngine().site(s, name, kind)
}

// stemmaPasses reports whether the function leaves the context in g as it is before a call.
func (s *state) stemmaPasses() bool {
	switch s.stemma.mode {
	case stemmaOff, stemmaCallback, stemmaKeep:
		return true
	}
	return false
}

// stemmaFindPlace emits what a native that calls several times does on entry. It may run
// where there is no g: on a thread that C has just made, or before the first one is set
// up. There it must not touch what R14 points to, so it asks the runtime for the place.
func (s *state) stemmaFindPlace() {
	word := types.Types[types.TUINTPTR]
	find := s.newValue1I(ssa.OpWB, types.NewTuple(word, types.TypeMem), layout.PlaceAux, s.mem())
	s.stemma.place = s.newValue1(ssa.OpSelect0, word, find)
	s.stemma.found = s.newValue1(ssa.OpSelect1, types.TypeMem, find)
	s.vars[memVar] = s.stemma.found
	if saved := stemmaEngine().saved; saved != nil {
		s.stemma.saved = saved(s)
	}
}

// stemmaPutBack emits what precedes a call in a native that calls several times.
func (s *state) stemmaPutBack() {
	s.stemma.called = true
	word := stemmaEngine().unknown(s)
	s.store(types.Types[types.TUINTPTR], s.stemmaAddr(types.Types[types.TUINTPTR], s.stemma.place, 0), word)
}

// stemmaInlMark counts the inlined call with the given index in the inlining tree, unless it is one of a wrapper.
func (s *state) stemmaInlMark(index int64) {
	if s.stemma.mode == stemmaFull && stemmaOptions.inlined && stemmaEngine().mark != nil &&
		!ir.StemmaIsWrapper(int(index)) {
		stemmaEngine().mark(s, index)
	}
}

// stemmaSeal ends the instrumentation before the SSA is compiled. A function
// that calls nothing needs neither the slot nor, for it, a frame.
func (s *state) stemmaSeal() {
	s.stemmaAskCosts()
	switch s.stemma.mode {
	case stemmaOff, stemmaCallback:
		return
	case stemmaRestore, stemmaKeep:
		if !s.stemma.called && s.stemma.found != nil {
			stemmaReplace(s.stemma.found, s.stemma.found.Args[0].MemoryArg())
		}
		return
	}
	stemmaEngine().seal(s)
	if s.stemma.called {
		s.stemma.meta.slot = true
		s.curfn.LSym.Func().FuncFlag |= layout.FuncFlagSlot
		return
	}
	s.curfn.LSym.Func().FuncFlag |= layout.FuncFlagLeaf
	for _, b := range []*ssa.Block{s.stemma.entry, s.stemma.bound} {
		if b != nil {
			b.SetControl(s.f.ConstBool(types.Types[types.TBOOL], false)) // never take the slow path
		}
	}
	for _, v := range s.stemma.loads {
		stemmaReplace(v, s.stemma.node)
	}
	for _, v := range s.stemma.save {
		stemmaReplace(v, v.MemoryArg())
	}
}

// stemmaReplace turns v into a copy of by.
func stemmaReplace(v, by *ssa.Value) {
	v.Op, v.Aux, v.AuxInt = ssa.OpCopy, nil, 0
	v.SetArgs1(by)
}

// stemmaFinish hands the function's metadata over for emission.
func (s *state) stemmaFinish() {
	if s.stemma.mode != stemmaFull || stemmaEngine().data != nil && !s.stemma.called {
		return // without a context of its own a function has nothing to be described for
	}
	s.stemmaDropSites()
	if s.f.Stemma.Number != 0 {
		s.stemma.meta.renumber(&s.f.Stemma)
	}
	s.stemma.meta.publish()
}

var _ [layout.FuncFlagSlot & (abi.FuncFlagTopFrame | abi.FuncFlagSPWrite | abi.FuncFlagAsm)]struct{} = [0]struct{}{}
var _ [layout.FuncFlagAdapter & (abi.FuncFlagTopFrame | abi.FuncFlagSPWrite | abi.FuncFlagAsm)]struct{} = [0]struct{}{}

// StemmaEnterAux marks an SSA value WB that calls [StemmaSlowSym]; those of more do so as well.
const StemmaEnterAux = layout.EnterAux

// StemmaSlowSym is what a value WB with this auxiliary number calls: the slow path of
// function entry, or what finds the place of the context.
func StemmaSlowSym(aux int64) *obj.LSym {
	if aux == layout.PlaceAux {
		return base.Ctxt.LookupABI("runtime.stemmaPlace", obj.ABIInternal)
	}
	name := stemmaEngine().slow
	if stemmaOptions.verify {
		name += "Checked"
	}
	return base.Ctxt.LookupABI(name, obj.ABIInternal)
}
