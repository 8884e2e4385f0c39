// Instrumentation for engine lucce: the callee computes its context from the
// caller's and the call site (Lucce, section 4).
//
// A function that calls instrumented functions begins with
//
//	MOVQ  ctx(R14), S         the cell of the site that it is called from
//	MOVQ  (S), S              the step to the callee that the site had first
//	MOVQ  id(R14), C          the caller's id
//	LEAQ  f.av(SB), M
//	CMPQ  StepCallee(S), M    is it this one?
//	JNE   slow
//	CMPQ  C, StepBound(S)     does it take this id?
//	JCC   slow
//	MOVQ  C, T
//	SHRQ  $StepShift, T
//	ANDQ  StepMask(S), T
//	ADDQ  T, C
//	IMULQ StepMul(S), C
//	ADDQ  StepAdd(S), C
//	MOVQ  C, slot+8(SP)
//	MOVQ  version(R14), V
//	MOVQ  V, slot(SP)
//
// and before call k it leaves its pair and the cell:
//
//	LEAQ  f.av+DataAV+8*k(SB), S
//	MOVQ  S, ctx(R14)
//	MOVQ  slot+8(SP), C
//	MOVQ  C, id(R14)
//	MOVQ  slot(SP), V
//	MOVQ  V, version(R14)
//
// where the id is in a register and the version in g if nothing was called before. For a callee that calls nothing, by
// its name, it leaves a cell that leads to the slow path.
//
// A step never changes, so it needs no lock to read one. The slow path is a call to
// runtime.stemmaLucceEnter, with the conventions of runtime.stemmaEnter; it leaves the
// version in g.
//
// When a segment begins, the pairs in the frames of a goroutine that is not running
// change. So they are loaded and guarded as words are with dacce: a goroutine is not
// preempted while half of a pair, or all of it, is in registers or in g alone.

package ssagen

import (
	"cmd/compile/internal/base"
	"cmd/compile/internal/objw"
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/types"
	"cmd/internal/obj"

	"internal/runtime/stemma/layout"
	"unsafe"
)

func init() {
	stemmaRegister(&stemmaStrategy{
		enter:   (*state).stemmaFindPair,
		site:    (*state).stemmaEncodedSite,
		leave:   (*state).stemmaLeavePair,
		unknown: func(s *state) *ssa.Value { return s.stemmaRuntimeCell("runtime.stemmaNoCell") },
		seal: func(s *state) {
			s.stemmaSealSites()
			s.f.Stemma.Moves, s.f.Stemma.Pairs = true, true
		},
		data: (*stemmaMeta).emitCells,
		slow: "runtime.stemmaLucceEnter",
	}, "lucce")
}

// stemmaFindPair emits the entry sequence.
func (s *state) stemmaFindPair() {
	word, u64 := types.Types[types.TUINTPTR], types.Types[types.TUINT64]
	s.stemmaNewSlot(types.Types[types.TCOMPLEX128]) // two words; the size of no new type can be calculated here
	cell := s.rawLoad(word, s.stemmaG(layout.GCtx))
	step := s.rawLoad(word, s.stemmaAddr(word, cell, 0))
	c := s.rawLoad(u64, s.stemmaG(layout.GID))
	field := func(offset uintptr) *ssa.Value { return s.rawLoad(u64, s.stemmaAddr(u64, step, int64(offset))) }
	data := s.newValue1A(ssa.OpAddr, word, s.stemma.meta.data, s.sb)
	slow, hit, done := s.f.NewBlock(ssa.BlockPlain), s.f.NewBlock(ssa.BlockPlain), s.f.NewBlock(ssa.BlockPlain)

	s.stemma.entry = s.stemmaUnless(ssa.OpNeq64, field(unsafe.Offsetof(layout.Step{}.Callee)), data, slow)
	if stemmaOptions.verify {
		// always take the path with the checker
		s.stemma.entry.SetControl(s.f.ConstBool(types.Types[types.TBOOL], true))
	}
	s.stemma.bound = s.stemmaUnless(ssa.OpLeq64U, field(unsafe.Offsetof(layout.Step{}.Bound)), c, slow)
	shared := s.newValue2(ssa.OpAnd64, u64,
		s.newValue2(ssa.OpRsh64Ux64, u64, c, s.constInt64(u64, layout.StepShift)),
		field(unsafe.Offsetof(layout.Step{}.Mask)))
	id := s.newValue2(ssa.OpMul64, u64, s.newValue2(ssa.OpAdd64, u64, c, shared),
		field(unsafe.Offsetof(layout.Step{}.Mul)))
	s.vars[stemmaNodeVar] = s.newValue2(ssa.OpAdd64, u64, id, field(unsafe.Offsetof(layout.Step{}.Add)))
	s.endBlock().AddEdgeTo(hit)
	s.startBlock(hit)
	s.endBlock().AddEdgeTo(done)

	// Another state of memory gives g a value of its own here, so that it is not spilled on the fast path.
	s.startBlock(slow)
	s.vars[memVar] = s.newValue1Apos(ssa.OpVarLive, types.TypeMem, s.stemma.slot, s.mem(), false)
	s.store(word, s.stemmaG(layout.GFunc), data)
	call := s.newValue1I(ssa.OpWB, types.NewTuple(word, types.TypeMem), layout.EnterAux, s.mem())
	s.vars[stemmaNodeVar] = s.newValue1(ssa.OpSelect0, u64, call)
	s.vars[memVar] = s.newValue1(ssa.OpSelect1, types.TypeMem, call)
	s.endBlock().AddEdgeTo(done)

	s.startBlock(done)
	s.stemma.node = s.variable(stemmaNodeVar, u64)
	s.stemmaSavePair()
	s.stemma.fresh = s.curBlock
}

// stemmaUnless ends the current block: it goes to slow if op holds for a and b,
// and else on to a new block.
func (s *state) stemmaUnless(op ssa.Op, a, b *ssa.Value, slow *ssa.Block) *ssa.Block {
	cond := s.newValue2(op, types.Types[types.TBOOL], a, b)
	from, next := s.endBlock(), s.f.NewBlock(ssa.BlockPlain)
	from.Kind = ssa.BlockIf
	from.Likely = ssa.BranchUnlikely
	from.SetControl(cond)
	from.AddEdgeTo(slow)
	from.AddEdgeTo(next)
	s.startBlock(next)
	return from
}

// stemmaSavePair stores the pair in the frame, the id at varp-8.
func (s *state) stemmaSavePair() {
	u64 := types.Types[types.TUINT64]
	s.store(u64, s.stemmaHalf(stemmaPairID), s.stemma.node)
	id := s.mem()
	s.store(u64, s.stemmaHalf(stemmaPairVersion), s.rawLoad(u64, s.stemmaG(layout.GVersion)))
	s.stemmaKeepSlot(id, s.mem())
}

// Where the words of the slot lie in it.
const (
	stemmaPairID      = int64(unsafe.Offsetof(layout.Pair{}.ID))
	stemmaPairVersion = int64(unsafe.Offsetof(layout.Pair{}.Version))
)

// stemmaHalf returns the address of one word of the slot.
func (s *state) stemmaHalf(offset int64) *ssa.Value {
	return s.newValue1I(ssa.OpOffPtr, types.Types[types.TUINT64].PtrTo(), offset, s.addr(s.stemma.slot))
}

// stemmaLeavePair emits the stores of the pair and of the cell. A go statement
// has none.
func (s *state) stemmaLeavePair(cell int) {
	word, u64 := types.Types[types.TUINTPTR], types.Types[types.TUINT64]
	if s.stemma.fresh == s.curBlock { // nothing was called: g still has the version
		s.store(u64, s.stemmaG(layout.GID), s.stemma.node)
	} else {
		s.store(u64, s.stemmaG(layout.GID), s.stemmaLoadSlot(s.stemmaHalf(stemmaPairID)))
		s.store(u64, s.stemmaG(layout.GVersion), s.stemmaLoadSlot(s.stemmaHalf(stemmaPairVersion)))
	}
	addr := s.stemmaRuntimeCell("runtime.stemmaGoCell")
	if cell != noCell {
		data := s.newValue1A(ssa.OpAddr, word, s.stemma.meta.data, s.sb)
		addr = s.newValue2(ssa.OpAdd64, word, data, s.constInt64(word, layout.FuncDataSize+layout.AVSize*int64(cell)))
	}
	s.store(word, s.stemmaG(layout.GCtx), addr)
}

// stemmaRuntimeCell returns the address of one of the runtime's cells: they lead every
// callee to the slow path. At stemmaNoCell the pair in g means nothing.
func (s *state) stemmaRuntimeCell(name string) *ssa.Value {
	return s.newValue1A(ssa.OpAddr, types.Types[types.TUINTPTR], base.Ctxt.Lookup(name), s.sb)
}

// emitCells emits the function's data: as long as a site was not passed, its cell leads
// to the data itself, which is a step of no callee.
func (m *stemmaMeta) emitCells() {
	x := m.data
	m.emitHead()
	for i := range m.dynamic {
		objw.SymPtr(x, layout.FuncDataSize+layout.AVSize*i, x, 0)
	}
	objw.Global(x, int32(layout.FuncDataSize+layout.AVSize*len(m.dynamic)), obj.NOPTR)
	x.Set(obj.AttrLocal, true)
}
