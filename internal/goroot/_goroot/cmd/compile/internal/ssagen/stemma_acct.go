// Instrumentation for the accumulator without an exact tree (engine acct).
//
// Every instrumented function begins with
//
//	MOVQ  ctx(R14), C         the calls of this goroutine that are left until the next sample
//	DECQ  C                   the first time, of a goroutine or a function, there is 0
//	MOVQ  C, ctx(R14)
//	TESTQ C, C
//	JLT   slow                this call is sampled
//
// and with the trigger func it counts down in a word of its own, f.left, in place of ctx(R14). That is
// all: there is no context, no slot and no cell, and nothing is emitted at calls. The slow path is a call
// of runtime.stemmaAcctEnter, with the conventions of runtime.stemmaEnter, but without a result.
//
// A goroutine may be preempted, and the word of a function be decremented by another thread, between the
// load and the store: then a call is counted twice, or not at all, which moves the next sample by one.

package ssagen

import (
	"cmd/compile/internal/objw"
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/types"
	"cmd/internal/obj"

	rt "internal/runtime/stemma"
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
		return // tracebacks do not show it
	}
	i64 := types.Types[types.TINT64]
	release := s.stemmaHoldContext()
	left := s.stemmaLeft()
	n := s.newValue2(ssa.OpSub64, i64, s.rawLoad(i64, left), s.constInt64(i64, 1))
	s.store(i64, left, n)
	release()

	b := s.endBlock()
	b.Kind = ssa.BlockIf
	b.Likely = ssa.BranchUnlikely
	b.SetControl(b.NewValue2(s.peekPos(), ssa.OpLess64, types.Types[types.TBOOL], n, s.constInt64(i64, 0)))
	slow, done := s.f.NewBlock(ssa.BlockPlain), s.f.NewBlock(ssa.BlockPlain)
	b.AddEdgeTo(slow)
	b.AddEdgeTo(done)
	s.startBlock(slow)
	s.stemmaCallSampler()
	s.endBlock().AddEdgeTo(done)
	s.startBlock(done)
}

// stemmaLeft returns the address of what the function counts down in.
func (s *state) stemmaLeft() *ssa.Value {
	if stemmaOptions.engine != stemmaAcctFunc {
		return s.stemmaG(layout.GCtx)
	}
	s.stemma.meta.publish()
	return s.newValue1A(ssa.OpAddr, types.Types[types.TINT64].PtrTo(), s.stemma.meta.data, s.sb)
}

// stemmaCallSampler emits the call of the slow path, which finds the function's word in g.
func (s *state) stemmaCallSampler() {
	word := types.Types[types.TUINTPTR]
	if stemmaOptions.engine == stemmaAcctFunc {
		s.store(word, s.stemmaG(layout.GFunc), s.newValue1A(ssa.OpAddr, word, s.stemma.meta.data, s.sb))
	}
	call := s.newValue1I(ssa.OpWB, types.NewTuple(word, types.TypeMem), rt.EnterAux, s.mem())
	s.vars[memVar] = s.newValue1(ssa.OpSelect1, types.TypeMem, call)
}

// emitCountdown emits the word that a function counts down in, and one for the runtime: zeros, so that its
// first call takes the slow path.
func (m *stemmaMeta) emitCountdown() {
	objw.Global(m.data, layout.CountdownSize, obj.NOPTR)
	m.data.Set(obj.AttrLocal, true)
}
