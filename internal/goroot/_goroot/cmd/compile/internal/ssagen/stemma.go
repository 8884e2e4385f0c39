// Instrumentation for calling contexts: what all engines share, and engine cct.
// What differs in calling context encoding is in stemma_cce.go.
//
// # The sequence
//
// An instrumented function begins with
//
//	MOVQ  ctx(R14), C            the cell that the caller left in g
//	MOVL  (C), N                 its child
//	CMPL  Base(N), $f.stemma     is the child's function this one?
//	JNE   slow                   first visit, or a site with several targets
//	MOVQ  N, slot(SP)            only if the function makes calls
//	INCQ  GS:CounterBase(N)      counter 0: one invocation
//
// and before call k it leaves a cell for the callee:
//
//	MOVQ  slot(SP), N
//	LEAQ  Base+NodeCells+4*k(N), C
//	MOVQ  C, ctx(R14)
//
// Natives and inlined calls are counted in the caller, with an increment of
// counter c: GS:CounterBase+8*c(N). The segment base of a thread belongs to the shard of the P that it has,
// so that an increment is one instruction: nothing can come between. Nothing happens after a call: who needs the
// context of a frame finds its node in the slot, at varp-8.
//
// The slow path is a call to runtime.stemmaEnter, with the conventions of
// gcWriteBarrier: it preserves the general registers, returns the node in R11,
// is not a safe point, and does not make a leaf function need a frame.
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
	rt "internal/runtime/stemma"
	"internal/runtime/stemma/layout"
	"slices"
	"unsafe"
)

// stemmaNodeVar is the SSA variable that holds the node at function entry.
var stemmaNodeVar = ssaMarker("stemmaNode")

// A stemmaMode tells what a function gets.
type stemmaMode uint8

const (
	stemmaOff     stemmaMode = iota // nothing: contexts pass through
	stemmaFull                      // a node, cells and counters
	stemmaRestore                   // a native that calls several times: g's context is put back before each call
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
	fresh  *ssa.Block   // cct: where nothing was called yet, and node is in a register

	// stemmaRestore: the place of the context, the memory when it is known, and what
	// was there on entry.
	place, found, saved *ssa.Value

	entry *ssa.Block   // cce: ends in the check of the word
	bound *ssa.Block   // lucce: ends in the check of the id
	marks []stemmaMark // cce: which calls belong to which sites

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
	s.stemma.mode = stemmaModeOf(s.curfn)
	switch s.stemma.mode {
	case stemmaFull:
		s.stemma.meta = newStemmaMeta(s.curfn)
		switch {
		case stemmaOptions.engine == stemmaLucce:
			s.stemmaFindPair()
			return
		case stemmaOptions.engine.encodes():
			s.stemmaFindWord()
			return
		}
		s.stemmaFindNode()
		s.stemmaCount(0)
	case stemmaRestore:
		s.stemmaFindPlace()
	}
	// Whatever comes next, an inline mark at the very beginning is executed
	// once in each invocation.
	s.stemma.markBlock, s.stemma.markScanned = s.curBlock, len(s.curBlock.Values)
}

// stemmaFindNode emits the load of this invocation's node and its check, and
// stores the node in the frame.
func (s *state) stemmaFindNode() {
	word := types.Types[types.TUINTPTR]
	release := s.stemmaHoldContext()
	cell := s.rawLoad(word, s.stemmaG(layout.GCtx))
	child := s.newValue1(ssa.OpZeroExt32to64, word,
		s.rawLoad(types.Types[types.TUINT32], s.stemmaAddr(types.Types[types.TUINT32], cell, 0)))
	s.vars[stemmaNodeVar] = child
	if base.Ctxt.Flag_shared || base.Ctxt.IsFIPS() {
		meta := s.newValue1A(ssa.OpAddr, word, s.stemma.meta.sym, s.sb)
		have := s.rawLoad(word, s.stemmaAddr(word, child, rt.Base+int64(unsafe.Offsetof(layout.Node{}.Func))))
		release()
		s.stemmaSlowIf(s.newValue2(ssa.OpNeq64, types.Types[types.TBOOL], have, meta), s.stemma.meta.sym)
		return
	}
	release()
	// Where all code and data lie below 2 GiB, half of an address tells functions apart (Tree.Halves), and the linker
	// can make it part of an instruction. In FIPS 140 packages it does not.
	s.stemmaSlowIf(s.curBlock.NewValue2A(s.peekPos(), ssa.OpStemmaDiffers, types.Types[types.TBOOL],
		s.stemma.meta.sym, child, s.mem()), s.stemma.meta.sym)
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
	s.store(word, s.stemmaG(layout.GFunc), s.newValue1A(ssa.OpAddr, word, sym, s.sb))
	call := s.newValue1I(ssa.OpWB, types.NewTuple(word, types.TypeMem), rt.EnterAux, s.mem())
	s.vars[stemmaNodeVar] = s.newValue1(ssa.OpSelect0, word, call)
	s.vars[memVar] = s.newValue1(ssa.OpSelect1, types.TypeMem, call)
	s.endBlock().AddEdgeTo(done)

	s.startBlock(done)
	s.stemma.node = s.variable(stemmaNodeVar, word)
	s.stemmaSaveNode()
	if !stemmaOptions.engine.encodes() {
		s.stemma.fresh = done
	}
	return b
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

// stemmaNode returns the node, loaded from the frame unless nothing was called since it was stored there. stemmaSeal
// replaces the load by the value at entry if the function turns out to call nothing.
func (s *state) stemmaNode() *ssa.Value {
	if s.stemma.fresh == s.curBlock {
		return s.stemma.node
	}
	load := s.rawLoad(types.Types[types.TUINTPTR], s.addr(s.stemma.slot))
	s.stemma.loads = append(s.stemma.loads, load)
	return load
}

// stemmaCount emits an increment of counter c.
func (s *state) stemmaCount(c int) {
	node := s.stemma.node
	if c != 0 {
		node = s.stemmaNode()
	}
	s.vars[memVar] = s.newValue2I(ssa.OpStemmaCount, types.TypeMem, int64(c), node, s.mem())
}

// stemmaLeaveCell emits the store of the address of cell k for the callee.
func (s *state) stemmaLeaveCell(k int) {
	word := types.Types[types.TUINTPTR]
	cell := s.newValue2(ssa.OpAdd64, word, s.stemmaNode(),
		s.constInt64(word, rt.Base+layout.NodeSize+layout.CellSize*int64(k)))
	s.store(word, s.stemmaG(layout.GCtx), cell)
}

// stemmaCall emits what precedes a call: it must not come between an argument
// and its call, which expects both to see the same memory (golang.org/issue/49282).
// It returns what to call in the place of callee, which is nil if it is not known.
func (s *state) stemmaCall(n *ir.CallExpr, k callKind, callee *obj.LSym) *obj.LSym {
	if s.stemma.mode == stemmaOff {
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
	name, kind := "", rt.SiteCall
	switch {
	case k == callGo:
		kind = rt.SiteGo
	default:
		name, kind = stemmaCallee(n)
	}
	if name == StemmaHere && s.stemmaIsDirect() {
		s.stemmaHereSite(name)
		return base.Ctxt.LookupABI("runtime.stemmaHere", obj.ABIInternal)
	}
	s.stemmaSite(name, kind)
	return callee
}

// stemmaDeferCall emits what precedes an open-coded deferred call on exit.
func (s *state) stemmaDeferCall(n *ir.CallExpr) {
	name, kind := stemmaCallee(n)
	if kind == rt.SiteCall {
		kind = rt.SiteDefer
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
	case s.stemma.mode == stemmaOff:
		return
	case s.stemma.mode == stemmaRestore:
		if stemmaOptions.alloc || kind != 0 && stemmaLeavesCell(name, kind) {
			s.stemmaPutBack()
		}
		return
	case stemmaOptions.engine.encodes():
		s.stemmaEncodedSite(name, kind)
		return
	}
	s.stemma.called = true
	defer func() { s.stemma.fresh = nil }()
	s.stemmaUnmarked()
	site := stemmaSite{kind: kind, pos: s.peekPos(), callee: name}
	switch kind {
	case 0:
		s.stemmaAllocSite(name)
		return
	case rt.SiteNative, rt.SitePanic, rt.SiteUnknown:
		s.stemma.meta.counters++
		site.counter = s.stemma.meta.counters
		s.stemmaCount(site.counter - 1)
	}
	if stemmaLeavesCell(name, kind) {
		site.cell = s.stemma.meta.newCell()
		s.stemmaLeaveCell(site.cell - 1)
	}
	s.stemma.meta.sites = append(s.stemma.meta.sites, site)
}

// stemmaAllocSite emits, where allocations are counted, what precedes a call of the runtime
// that is no context: it leaves a cell if the callee may allocate. Nothing is counted at the site.
func (s *state) stemmaAllocSite(name string) {
	switch name {
	case "runtime.deferproc", "runtime.deferprocat", "runtime.deferrangefunc":
	default:
		return
	}
	if !stemmaOptions.alloc || s.stemma.mode != stemmaFull {
		return
	}
	s.stemma.called = true
	cell := s.stemma.meta.newCell()
	s.stemmaLeaveCell(cell - 1)
	s.stemma.meta.sites = append(s.stemma.meta.sites,
		stemmaSite{kind: rt.SiteCall, pos: s.peekPos(), callee: name, cell: cell})
}

// stemmaFindPlace emits what a native that calls several times does on entry. It may run
// where there is no g: on a thread that C has just made, or before the first one is set
// up. There it must not touch what R14 points to, so it asks the runtime for the place.
func (s *state) stemmaFindPlace() {
	word := types.Types[types.TUINTPTR]
	find := s.newValue1I(ssa.OpWB, types.NewTuple(word, types.TypeMem), rt.PlaceAux, s.mem())
	s.stemma.place = s.newValue1(ssa.OpSelect0, word, find)
	s.stemma.found = s.newValue1(ssa.OpSelect1, types.TypeMem, find)
	s.vars[memVar] = s.stemma.found
	if !stemmaOptions.engine.encodes() {
		s.stemma.saved = s.rawLoad(word, s.stemmaAddr(word, s.stemma.place, 0))
	}
}

// stemmaPutBack emits what precedes a call in a native that calls several times.
func (s *state) stemmaPutBack() {
	s.stemma.called = true
	word := s.stemma.saved
	switch {
	case stemmaOptions.engine == stemmaLucce:
		word = s.stemmaRuntimeCell("runtime.stemmaNoCell")
	case stemmaOptions.engine.encodes():
		word = s.stemmaWord(rt.KeyUnknown << rt.WordKey)
	}
	s.store(types.Types[types.TUINTPTR], s.stemmaAddr(types.Types[types.TUINTPTR], s.stemma.place, 0), word)
}

// stemmaInlMark counts the inlined call with the given index in the inlining
// tree. Marks that nothing can separate share a counter; marks at the very
// beginning of the function share counter 0.
func (s *state) stemmaInlMark(index int64) {
	if s.stemma.mode != stemmaFull || !stemmaOptions.inlined || stemmaOptions.engine.encodes() {
		return
	}
	if !s.stemmaMarkJoins() {
		s.stemma.meta.counters++
		s.stemma.markCounter = s.stemma.meta.counters - 1
		s.stemmaCount(s.stemma.markCounter)
	}
	s.stemma.markBlock, s.stemma.markScanned = s.curBlock, len(s.curBlock.Values)
	s.stemma.meta.inlined[int(index)] = s.stemma.markCounter + 1
}

// stemmaUnmarked counts the inlined calls around a call site that have no mark, outermost
// first. Where package staticinit evaluates part of a variable's initializer it drops the
// mark of the call that was inlined there.
func (s *state) stemmaUnmarked() {
	var unmarked []int
	for i := base.Ctxt.InnermostPos(s.peekPos()).Base().InliningIndex(); i >= 0; i = base.Ctxt.InlTree.Parent(i) {
		if s.stemma.meta.inlined[i] == 0 {
			unmarked = append(unmarked, i)
		}
	}
	for _, i := range slices.Backward(unmarked) {
		s.stemmaInlMark(int64(i))
	}
}

// stemmaMarkJoins reports whether execution that passed the last mark is sure
// to arrive here: same block, and no value that can panic or call.
func (s *state) stemmaMarkJoins() bool {
	if s.stemma.markBlock != s.curBlock {
		return false
	}
	for _, v := range s.curBlock.Values[s.stemma.markScanned:] {
		if v.Op.IsCall() || v.Op == ssa.OpNilCheck {
			return false
		}
	}
	return true
}

// stemmaSeal ends the instrumentation before the SSA is compiled. A function
// that calls nothing needs neither the slot nor, for it, a frame.
func (s *state) stemmaSeal() {
	switch s.stemma.mode {
	case stemmaOff:
		return
	case stemmaRestore:
		if !s.stemma.called {
			stemmaReplace(s.stemma.found, s.stemma.found.Args[0].MemoryArg())
		}
		return
	}
	if stemmaOptions.engine.encodes() {
		s.f.Stemma.Sites = s.stemmaCallSites(s.stemma.meta.cellsFirst())
		s.f.Stemma.Moves = stemmaOptions.engine == stemmaDACCE
	} else {
		s.f.Stemma.Number = s.stemma.meta.counters
		s.f.Stemma.Ops, s.f.Stemma.Each = stemmaOptions.ops, stemmaOptions.verify
	}
	if s.stemma.called {
		if s.hasdefer && !stemmaOptions.engine.encodes() {
			s.stemma.meta.recover = s.stemmaRecoverSite()
		}
		s.stemma.meta.slot = true
		s.curfn.LSym.Func().FuncFlag |= rt.FuncFlagSlot
		return
	}
	s.curfn.LSym.Func().FuncFlag |= rt.FuncFlagLeaf
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

// stemmaRecoverSite adds the site of the deferreturn to which recovery jumps.
// The jump skips the store of the cell, so the runtime makes it.
func (s *state) stemmaRecoverSite() int {
	cell := s.stemma.meta.newCell()
	s.stemma.meta.sites = append(s.stemma.meta.sites, stemmaSite{
		kind: rt.SiteDeferReturn, pos: s.curfn.Endlineno, callee: "runtime.deferreturn", cell: cell,
	})
	return cell
}

// stemmaReplace turns v into a copy of by.
func stemmaReplace(v, by *ssa.Value) {
	v.Op, v.Aux, v.AuxInt = ssa.OpCopy, nil, 0
	v.SetArgs1(by)
}

// stemmaFinish hands the function's metadata over for emission.
func (s *state) stemmaFinish() {
	if s.stemma.mode != stemmaFull || stemmaOptions.engine.encodes() && !s.stemma.called {
		return
	}
	if !stemmaOptions.engine.encodes() {
		s.stemma.meta.renumber(&s.f.Stemma)
	}
	s.stemma.meta.publish()
}

var _ [rt.FuncFlagSlot & (abi.FuncFlagTopFrame | abi.FuncFlagSPWrite | abi.FuncFlagAsm)]struct{} = [0]struct{}{}

// StemmaEnterAux marks an SSA value WB that calls [StemmaSlowSym]; those of more do so too.
const StemmaEnterAux = rt.EnterAux

// StemmaSlowSym is what a value WB with this auxiliary number calls: the slow path of
// function entry, or what finds the place of the context.
func StemmaSlowSym(aux int64) *obj.LSym {
	name := "runtime.stemmaEnter"
	switch {
	case aux == rt.PlaceAux:
		return base.Ctxt.LookupABI("runtime.stemmaPlace", obj.ABIInternal)
	case stemmaOptions.engine == stemmaLucce:
		name = "runtime.stemmaLucceEnter"
	case stemmaOptions.engine.encodes():
		name = "runtime.stemmaDacceEnter"
	}
	if stemmaOptions.verify {
		name += "Checked"
	}
	return base.Ctxt.LookupABI(name, obj.ABIInternal)
}
