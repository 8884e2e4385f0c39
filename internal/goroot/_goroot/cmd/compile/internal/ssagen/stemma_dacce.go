// Instrumentation for engines dacce and pcce.
//
// A function that calls instrumented functions begins with
//
//	MOVQ  ctx(R14), W         the word that the caller left in g
//	SUBQ  f.av+DataKey(SB), W
//	CMPQ  W, f.av+DataLimit(SB)
//	JCC   slow                not encoded, or never entered before
//	MOVQ  W, slot(SP)
//
// and before call k it leaves a word for the callee:
//
//	MOVQ  slot(SP), W
//	ADDQ  f.av+DataAV+8*k(SB), W
//	MOVQ  W, ctx(R14)
//
// Functions that call none need no code at all, unless natives have events (-events=alloc, block), and
// who calls one by its name leaves a constant. Nothing happens after a call.
//
// The slow path is a call to runtime.stemmaDacceEnter, with the conventions of
// runtime.stemmaEnter. It looks for the caller's frame on its own, so that g's
// word may be anything when it is not below the limit.
//
// A re-encoding writes new words into the frames of a goroutine that is not
// running. So a word must not live in a register where the goroutine may be
// stopped: it is loaded from the slot for each call, with an atomic load, which
// SSA neither forwards nor merges, and liveness.StemmaMarkUnencoded forbids
// asynchronous preemption until it is in g, and on entry until it is in the slot. A call in the block
// behind the entry, before which nothing was called, takes it from the register; there preemption is forbidden
// until the word is in g, so that it waits for one block at most.

package ssagen

import (
	"cmd/compile/internal/objw"
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/types"
	"cmd/internal/obj"

	"internal/runtime/stemma/layout"
	"unsafe"
)

func init() {
	stemmaRegister(&stemmaStrategy{
		enter:   (*state).stemmaFindWord,
		site:    (*state).stemmaEncodedSite,
		leave:   (*state).stemmaLeaveWord,
		unknown: (*state).stemmaUnknownWord,
		seal: func(s *state) {
			s.stemmaSealSites()
			s.f.Stemma.Moves = true
		},
		data: (*stemmaMeta).emitData,
		slow: "runtime.stemmaDacceEnter",
		here: true,
	}, "dacce", "pcce")
}

// stemmaFindWord emits the load of this invocation's word and its check, and
// stores the word in the frame.
func (s *state) stemmaFindWord() {
	word := types.Types[types.TUINTPTR]
	w := s.rawLoad(word, s.stemmaG(layout.GCtx))
	w = s.newValue2(ssa.OpSub64, word, w, s.rawLoad(word, s.stemmaData(int64(unsafe.Offsetof(layout.FuncData{}.Key)))))
	limit := s.rawLoad(word, s.stemmaData(int64(unsafe.Offsetof(layout.FuncData{}.Limit))))
	s.vars[stemmaNodeVar] = w
	over := s.newValue2(ssa.OpLeq64U, types.Types[types.TBOOL], limit, w)
	s.stemma.entry = s.stemmaSlowIf(over, s.stemma.meta.data)
	s.stemma.fresh = s.curBlock
}

// stemmaLeaveWord emits the store of the callee's word: the frame's, and the
// addition value of a cell. It is loaded after the word, so that both are of one epoch.
func (s *state) stemmaLeaveWord(cell int) {
	word := types.Types[types.TUINT64]
	w := s.stemmaLoadWord()
	if cell != noCell {
		offset := layout.FuncDataSize + layout.AVSize*int64(cell)
		w = s.newValue2(ssa.OpAdd64, word, w, s.rawLoad(types.Types[types.TUINTPTR], s.stemmaData(offset)))
	}
	s.store(word, s.stemmaG(layout.GCtx), w)
}

// stemmaLoadWord returns the frame's word.
func (s *state) stemmaLoadWord() *ssa.Value {
	if s.stemma.fresh == s.curBlock {
		return s.stemma.node
	}
	return s.stemmaLoadSlot(s.addr(s.stemma.slot))
}

// stemmaLoadSlot loads a word of the slot as if others could write it.
func (s *state) stemmaLoadSlot(addr *ssa.Value) *ssa.Value {
	word := types.Types[types.TUINT64]
	load := s.newValue2(ssa.OpAtomicLoad64, types.NewTuple(word, types.TypeMem), addr, s.mem())
	w := s.newValue1(ssa.OpSelect0, word, load)
	s.vars[memVar] = s.newValue1(ssa.OpSelect1, types.TypeMem, load)
	return w
}

// stemmaUnknownWord returns a word without a known meaning.
func (s *state) stemmaUnknownWord() *ssa.Value {
	return s.stemmaWord(layout.NoWord)
}

// emitData emits the function's addition values: as long as it was not entered,
// everything leads to the slow path.
func (m *stemmaMeta) emitData() {
	x := m.data
	m.emitHead()
	for i, dynamic := range m.dynamic {
		av := uint64(layout.KeyUnknown << layout.WordKey)
		if dynamic {
			av |= layout.Dynamic
		}
		objw.Uintptr(x, layout.FuncDataSize+layout.AVSize*i, av)
	}
	objw.Global(x, int32(layout.FuncDataSize+layout.AVSize*len(m.dynamic)), obj.NOPTR)
	x.Set(obj.AttrLocal, true)
}
