// Instrumentation for the accumulator without an exact tree (engine acct).
//
// Every instrumented function begins with
//
//	DECQ  ctx(R14)            the calls of this goroutine that are left until the next sample;
//	JLT   slow                the first time, of a goroutine or a function, there is 0
//
// and with the trigger func it counts down in a word of its own, f.left, instead of ctx(R14). That is
// all: there is no context, no slot and no cell, and nothing is emitted at calls. The slow path is a call
// of runtime.stemmaAcctEnter, with the conventions of runtime.stemmaEnter, but without a result.
//
// A wrapper that has inlined the function that it stands for does so for that function: the call of the slow path has a
// position there. Others have nothing: what they call counts down.
//
// Threads may decrement the word of a function at the same time: then a call is not counted, which moves the next
// sample by one.

package ssagen

import (
	"cmd/compile/internal/base"
	"cmd/compile/internal/ir"
	"cmd/compile/internal/objw"
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/types"
	"cmd/internal/obj"
	"cmd/internal/src"

	"internal/runtime/stemma/layout"
)

func init() {
	strategy := &stemmaStrategy{
		enter: (*state).stemmaCountDown,
		data:  (*stemmaMeta).emitCountdown,
		slow:  "runtime.stemmaAcctEnter",
	}
	stemmaRegister(strategy, "acct-calls", stemmaAcctFunc)
}

// stemmaAcctFunc is the engine whose functions count down in words of their own.
const stemmaAcctFunc = "acct-func"

// stemmaCountDown emits what a function does on entry. Nothing is emitted for it anywhere else.
func (s *state) stemmaCountDown() {
	s.stemma.mode = stemmaOff
	if s.curfn.Wrapper() {
		pos, ok := stemmaInlinedPos(s.curfn)
		if !ok {
			return // tracebacks do not show it, and what it calls counts down
		}
		s.pushLine(pos)
		defer s.popLine()
	}
	release := s.stemmaHoldContext()
	at, offset := s.stemmaLeft()
	due := s.stemmaDue(at, offset)
	release()

	b := s.endBlock()
	b.Kind = ssa.BlockIf
	b.Likely = ssa.BranchUnlikely
	b.SetControl(due)
	slow, done := s.f.NewBlock(ssa.BlockPlain), s.f.NewBlock(ssa.BlockPlain)
	b.AddEdgeTo(slow)
	b.AddEdgeTo(done)
	s.startBlock(slow)
	s.stemmaCallSampler()
	s.endBlock().AddEdgeTo(done)
	s.startBlock(done)
}

// stemmaDue counts down at an offset from an address, and returns whether the count is below 0.
func (s *state) stemmaDue(at *ssa.Value, offset int64) *ssa.Value {
	isDue, word := types.Types[types.TBOOL], types.Types[types.TINT64]
	if ssa.StemmaTarget.Due {
		return s.curBlock.NewValue2I(s.peekPos(), ssa.OpStemmaDue, isDue, offset, at, s.mem())
	}
	addr := s.newValue1I(ssa.OpOffPtr, word.PtrTo(), offset, at)
	left := s.newValue2(ssa.OpSub64, word, s.rawLoad(word, addr), s.constInt64(word, 1))
	s.store(word, addr, left)
	return s.newValue2(ssa.OpLess64, isDue, left, s.constInt64(word, 0))
}

// stemmaLeft returns the address of what the function counts down in, and what to add to it.
func (s *state) stemmaLeft() (at *ssa.Value, offset int64) {
	word := types.Types[types.TUINTPTR]
	if stemmaOptions.engine != stemmaAcctFunc {
		return s.newValue1(ssa.OpGetG, word.PtrTo(), s.mem()), layout.GCtx
	}
	s.stemma.meta.publish()
	return s.newValue1A(ssa.OpAddr, word.PtrTo(), s.stemma.meta.data, s.sb), 0
}

// stemmaCallSampler emits the call of the slow path, which finds the function's word in g.
func (s *state) stemmaCallSampler() {
	word := types.Types[types.TUINTPTR]
	if stemmaOptions.engine == stemmaAcctFunc {
		s.store(word, s.stemmaG(layout.GFunc), s.newValue1A(ssa.OpAddr, word, s.stemma.meta.data, s.sb))
	}
	call := s.newValue1I(ssa.OpWB, types.NewTuple(word, types.TypeMem), layout.EnterAux, s.mem())
	s.vars[memVar] = s.newValue1(ssa.OpSelect1, types.TypeMem, call)
}

// emitCountdown emits the word that a function counts down in, and one for the runtime: zeros, so that its
// first call takes the slow path.
func (m *stemmaMeta) emitCountdown() {
	objw.Global(m.data, layout.CountdownSize, obj.NOPTR)
	m.data.Set(obj.AttrLocal, true)
}

// stemmaInlinedPos returns a position in the first function that is inlined into fn itself, and whether there is one.
// A wrapper has one call, so that each entry of the wrapper is one of that function.
func stemmaInlinedPos(fn *ir.Func) (pos src.XPos, ok bool) {
	index := -1
	ir.VisitList(fn.Body, func(n ir.Node) {
		switch mark, is := n.(*ir.InlineMarkStmt); {
		case ok:
		case is && index < 0 && base.Ctxt.InlTree.Parent(int(mark.Index)) < 0:
			index = int(mark.Index)
		case index >= 0 && n.Pos().IsKnown() && base.Ctxt.InnermostPos(n.Pos()).Base().InliningIndex() == index:
			pos, ok = n.Pos(), true
		}
	})
	return pos, ok
}
