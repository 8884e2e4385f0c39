// Instrumentation for the tree (engine cct).
//
// # The sequence
//
// An instrumented function begins with
//
//	MOVQ  ctx(R14), C            the cell that the caller left in g
//	MOVL  Base(C), N             its child
//	CMPL  Base(N), $f.stemma     is the child's function this one?
//	JNE   slow                   first visit, or a site with several targets
//	MOVQ  N, slot(SP)            only if the function makes calls
//	INCQ  GS:CounterBase(N)      counter 0: one invocation
//
// and before call k it leaves a cell for the callee:
//
//	MOVQ  slot(SP), N
//	ADDQ  $NodeSize+4*k, N
//	MOVQ  N, ctx(R14)
//
// Natives and inlined calls are counted in the caller, with an increment of
// counter c: GS:CounterBase+8*c(N). The segment base of a thread belongs to the shard of the P that it has,
// so that an increment is one instruction: nothing can come between. Nothing happens after a call: who needs the
// context of a frame finds its node in the slot, at varp-8.
//
// The slow path is a call of runtime.stemmaEnter with $f in R12 and N in R13, which returns the node in R13. As
// gcWriteBarrier does, it preserves the general registers, but for R11 and R12, is not a safe point, and does not make
// a leaf function need a frame.

package ssagen

import (
	"cmd/compile/internal/base"
	"cmd/compile/internal/ir"
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/types"
	"slices"

	"internal/runtime/stemma/layout"
	"unsafe"
)

func init() {
	stemmaRegister(&stemmaStrategy{
		enter:   (*state).stemmaEnterTree,
		site:    (*state).stemmaTreeSite,
		mark:    (*state).stemmaInlined,
		saved:   (*state).stemmaSavedCell,
		unknown: func(s *state) *ssa.Value { return s.stemma.saved },
		seal:    (*state).stemmaSealTree,
		slow:    "runtime.stemmaEnter",
		passes:  true,
		natives: true,
		adds:    true,
	}, "cct")
}

// stemmaEnterTree emits the entry sequence.
func (s *state) stemmaEnterTree() {
	s.stemmaFindNode()
	s.stemma.fresh = s.curBlock
	s.stemmaCount(0)
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
		s.rawLoad(types.Types[types.TUINT32], s.stemmaInTree(types.Types[types.TUINT32], cell, 0)))
	s.vars[stemmaNodeVar] = child
	if !ssa.StemmaTarget.Halves || base.Ctxt.Flag_shared || base.Ctxt.IsFIPS() {
		meta := s.newValue1A(ssa.OpAddr, word, s.stemma.meta.sym, s.sb)
		have := s.rawLoad(word, s.stemmaInTree(word, child, int64(unsafe.Offsetof(layout.Node{}.Func))))
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

// stemmaInTree returns the address of a t that lies offset behind the place in the tree that the word at says. It is
// for the block of the entry, before anything is stored: g's words are read there.
func (s *state) stemmaInTree(t *types.Type, at *ssa.Value, offset int64) *ssa.Value {
	if ssa.StemmaTarget.Near {
		return s.stemmaAddr(t, at, layout.Base+offset)
	}
	word := types.Types[types.TUINTPTR]
	sum := s.newValue2(ssa.OpAdd64, word, at, s.rawLoad(word, s.stemmaG(layout.GTree)))
	return s.stemmaAddr(t, sum, offset)
}

// stemmaNode returns the node, loaded from the frame unless nothing was called since it was stored there. stemmaSeal
// replaces the load by the value at entry if the function turns out to call nothing.
func (s *state) stemmaNode() *ssa.Value {
	if s.stemma.fresh == s.curBlock {
		return s.stemma.node
	}
	half := s.rawLoad(types.Types[types.TUINT32], s.addr(s.stemma.slot)) // shorter code than for the word
	load := s.newValue1(ssa.OpZeroExt32to64, types.Types[types.TUINTPTR], half)
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

// stemmaLeaveCell emits the store of the offset of cell k for the callee. The first cells of a node make it short. It
// is no OpAdd64: of each sum that cannot overflow pass prove learns two inequalities, which takes the cube of the
// number of calls in a function.
func (s *state) stemmaLeaveCell(k int) {
	word := types.Types[types.TUINTPTR]
	cell := s.newValue1I(ssa.OpOffPtr, word, layout.NodeSize+layout.CellSize*int64(k), s.stemmaNode())
	s.store(word, s.stemmaG(layout.GCtx), cell)
}

// stemmaTreeSite emits a call site of the given kind: a count, a cell, or both.
func (s *state) stemmaTreeSite(name string, kind int) {
	s.stemma.called = true
	defer func() { s.stemma.fresh = nil }()
	s.stemmaUnmarked()
	site := stemmaSite{kind: kind, pos: s.peekPos(), callee: name}
	switch kind {
	case 0:
		s.stemmaMark(noSite)
		s.stemmaAllocSite(name)
		return
	case layout.SiteNative, layout.SitePanic, layout.SiteUnknown:
		s.stemma.meta.counters++
		site.counter = s.stemma.meta.counters
		s.stemmaCount(site.counter - 1)
	}
	if stemmaLeavesCell(name, kind) && !stemmaSwitched(s.curfn) {
		site.cell = s.stemma.meta.newCell()
		s.stemmaLeaveCell(site.cell - 1)
	}
	s.stemmaMark(len(s.stemma.meta.sites))
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
		stemmaSite{kind: layout.SiteCall, pos: s.peekPos(), callee: name, cell: cell})
}

// stemmaInlined counts an inlined call. Marks that nothing can separate share a counter; marks at the very
// beginning of the function share counter 0.
func (s *state) stemmaInlined(index int64) {
	if !s.stemmaMarkJoins() {
		s.stemma.meta.counters++
		s.stemma.markCounter = s.stemma.meta.counters - 1
		s.stemmaCount(s.stemma.markCounter)
	}
	s.stemma.markBlock, s.stemma.markScanned = s.curBlock, len(s.curBlock.Values)
	s.stemma.meta.inlined[int(index)] = s.stemma.markCounter + 1
	if stemmaOptions.check && !stemmaOptions.ops {
		s.stemmaCheckMark(int(index))
	}
}

// stemmaCheckMark counts an inlined call once more, for the checker, in a counter that it shares with nothing. As an
// operation would, it says what the counter stands for.
func (s *state) stemmaCheckMark(index int) {
	c := s.stemma.meta.counters
	s.stemma.meta.counters++
	s.stemmaCount(c)
	f := &s.f.Stemma
	if f.Alone == nil {
		f.Alone = map[int]bool{}
	}
	f.Alone[c] = true
	begins := ssa.StemmaOps{Inlined: index, Class: layout.OpMark}
	f.Weights = append(f.Weights, ssa.StemmaWeight{Counter: c, StemmaOps: begins, N: 1})
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
// to arrive here: same block, and nothing in between that may leave the function.
func (s *state) stemmaMarkJoins() bool {
	if s.stemma.markBlock != s.curBlock {
		return false
	}
	for _, v := range s.curBlock.Values[s.stemma.markScanned:] {
		if ssa.StemmaMayLeave(v) {
			return false
		}
	}
	return true
}

// stemmaSavedCell returns the cell that a native was called from.
func (s *state) stemmaSavedCell() *ssa.Value {
	word := types.Types[types.TUINTPTR]
	return s.rawLoad(word, s.stemmaAddr(word, s.stemma.place, 0))
}

// stemmaSealTree says how many counters there are. They are merged when the SSA is compiled.
func (s *state) stemmaSealTree() {
	s.f.Stemma.Number = s.stemma.meta.counters
	s.f.Stemma.Ops, s.f.Stemma.Each = stemmaOptions.ops, stemmaOptions.verify
	s.f.Stemma.Calls = s.stemmaCountedCalls()
	if s.stemma.called && s.hasdefer {
		s.stemma.meta.recover = s.stemmaRecoverSite()
	}
}

// stemmaRecoverSite adds the site of the deferreturn to which recovery jumps.
// The jump skips the store of the cell, so the runtime makes it.
func (s *state) stemmaRecoverSite() int {
	cell := s.stemma.meta.newCell()
	s.stemma.meta.sites = append(s.stemma.meta.sites, stemmaSite{
		kind: layout.SiteDeferReturn, pos: s.curfn.Endlineno, callee: "runtime.deferreturn", cell: cell,
	})
	return cell
}

// stemmaPlaceRecovery puts the deferreturn to which recovery jumps at the end of fn, as the one for deferred calls that
// are not open-coded: there stemmaRecoverSite has it. Without that it belongs to the line, and to the inlined call, of
// the last instruction before it, whichever the order of blocks makes that.
func stemmaPlaceRecovery(s *State, fn *ir.Func) {
	if stemmaEngine() != nil {
		s.SetPos(fn.Endlineno)
	}
}

// stemmaCountedCalls returns, by counter, the calls that are counted where they are made.
func (s *state) stemmaCountedCalls() map[int]ssa.StemmaCall {
	sites := s.stemma.meta.sites
	order := make([]int, len(sites))
	for i := range order {
		order[i] = i
	}
	at := s.stemmaCallSites(order)
	calls := map[int]ssa.StemmaCall{}
	for _, b := range s.f.Blocks {
		for _, v := range b.Values {
			i := at[v.ID] - 1
			if i < 0 || sites[i].counter == 0 {
				continue
			}
			if aux, ok := v.Aux.(*ssa.AuxCall); ok && aux.Fn != nil {
				calls[sites[i].counter-1] = ssa.StemmaCall{Value: v, Fn: aux.Fn}
			}
		}
	}
	return calls
}

// stemmaDropSites makes the sites of calls that the compiler has replaced by something else count nothing.
func (s *state) stemmaDropSites() {
	sites := s.stemma.meta.sites
	for i := range sites {
		if call, ok := s.f.Stemma.Calls[sites[i].counter-1]; ok && !call.IsMade() {
			sites[i].counter = 0
		}
	}
}
