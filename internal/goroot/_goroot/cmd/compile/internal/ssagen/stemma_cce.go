// Instrumentation for calling context encoding (engines dacce, pcce and pcc).
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
// Functions that call none need no code at all. Nothing happens after a call.
//
// The slow path is a call to runtime.stemmaDacceEnter, with the conventions of
// runtime.stemmaEnter. It looks for the caller's frame by itself, so that g's
// word may be anything when it is not below the limit.
//
// A re-encoding writes new words into the frames of a goroutine that is not
// running. So a word must not live in a register where the goroutine may be
// stopped: it is loaded from the slot for each call, with an atomic load, which
// SSA neither forwards nor merges, and liveness.StemmaMarkUnencoded forbids
// asynchronous preemption until it is in g, and on entry until it is in the slot.
//
// Engine pcc has V = 3*V + site in place of all this: no slow path, no tables.

package ssagen

import (
	"cmd/compile/internal/objw"
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/types"
	"cmd/internal/hash"
	"cmd/internal/obj"
	"encoding/binary"
	"sort"

	rt "internal/runtime/stemma"
	"internal/runtime/stemma/layout"
	"unsafe"
)

// stemmaFindWord emits the load of this invocation's word and its check, and
// stores the word in the frame.
func (s *state) stemmaFindWord() {
	word := types.Types[types.TUINTPTR]
	w := s.rawLoad(word, s.stemmaG(layout.GCtx))
	if stemmaOptions.engine == stemmaPCC {
		s.stemma.node = w
		s.stemmaSaveNode()
		return
	}
	w = s.newValue2(ssa.OpSub64, word, w, s.rawLoad(word, s.stemmaData(int64(unsafe.Offsetof(layout.FuncData{}.Key)))))
	limit := s.rawLoad(word, s.stemmaData(int64(unsafe.Offsetof(layout.FuncData{}.Limit))))
	s.vars[stemmaNodeVar] = w
	over := s.newValue2(ssa.OpLeq64U, types.Types[types.TBOOL], limit, w)
	s.stemma.entry = s.stemmaSlowIf(over, s.stemma.meta.data)
}

// stemmaData returns the address of a field of the function's data.
func (s *state) stemmaData(offset int64) *ssa.Value {
	word := types.Types[types.TUINTPTR]
	data := s.newValue1A(ssa.OpAddr, word.PtrTo(), s.stemma.meta.data, s.sb)
	return s.newValue1I(ssa.OpOffPtr, word.PtrTo(), offset, data)
}

// stemmaWord returns a constant word.
func (s *state) stemmaWord(w uint64) *ssa.Value {
	return s.constInt64(types.Types[types.TUINT64], int64(w))
}

// stemmaEncodedSite emits a call site of the given kind, by default of a static
// call if name is known.
func (s *state) stemmaEncodedSite(name string, kind int) {
	if kind == 0 || stemmaOptions.engine == stemmaPCC && kind == rt.SiteNative {
		s.stemmaMark(noSite)
		return
	}
	m := s.stemma.meta
	if kind != rt.SiteNative || stemmaOptions.natives {
		s.stemma.called = true
	}
	site := stemmaSite{kind: kind, pos: s.peekPos(), callee: name}
	switch kind {
	case rt.SiteNative:
	case rt.SiteGo:
		s.stemmaLeave(noCell) // the word itself
	default:
		site.cell = m.newCell()
		m.dynamic = append(m.dynamic, name == "" || kind != rt.SiteCall && kind != rt.SiteDefer)
		s.stemmaLeave(site.cell - 1)
	}
	s.stemmaMark(len(m.sites))
	m.sites = append(m.sites, site)
}

// StemmaHere is the function of package stemma in whose place the runtime is called. The
// number is the version of its results, see stemmaProgram in package runtime.
const StemmaHere = "github.com/stemma-go/stemma.here2"

// StemmaCallsHere reports whether this engine reads the word itself at once.
func StemmaCallsHere() bool { return stemmaOptions.engine == stemmaDACCE }

// stemmaIsDirect reports whether the function being built has a word that runtime.stemmaHere
// can read.
func (s *state) stemmaIsDirect() bool { return s.stemma.mode == stemmaFull && StemmaCallsHere() }

// stemmaHereSite emits what precedes a call of runtime.stemmaHere: it leaves the word
// itself. To those who describe the frame it is a native that is called.
func (s *state) stemmaHereSite(name string) {
	m := s.stemma.meta
	s.stemma.called = true
	s.stemmaLeaveWord(noCell)
	s.stemmaMark(len(m.sites))
	m.sites = append(m.sites, stemmaSite{kind: rt.SiteNative, pos: s.peekPos(), callee: name})
}

// stemmaLeave emits what leaves the context of a callee in g.
func (s *state) stemmaLeave(cell int) {
	if stemmaOptions.engine == stemmaLucce {
		s.stemmaLeavePair(cell)
		return
	}
	s.stemmaLeaveWord(cell)
}

// stemmaAddition returns the addition value of a cell.
func (s *state) stemmaAddition(cell int) *ssa.Value {
	if stemmaOptions.engine == stemmaPCC {
		h := hash.Sum32([]byte(s.stemma.meta.sym.Name))
		return s.stemmaWord(uint64(binary.LittleEndian.Uint32(h[:])) + uint64(cell))
	}
	return s.rawLoad(types.Types[types.TUINTPTR], s.stemmaData(layout.FuncDataSize+layout.AVSize*int64(cell)))
}

// noCell stands for an addition of nothing.
const noCell = -1

// stemmaLeaveWord emits the store of the callee's word: the frame's, and the
// addition value of a cell. It is loaded after the word, so that both are of one epoch.
func (s *state) stemmaLeaveWord(cell int) {
	word := types.Types[types.TUINT64]
	load := s.newValue2(ssa.OpAtomicLoad64, types.NewTuple(word, types.TypeMem), s.addr(s.stemma.slot), s.mem())
	w := s.newValue1(ssa.OpSelect0, word, load)
	s.vars[memVar] = s.newValue1(ssa.OpSelect1, types.TypeMem, load)
	if stemmaOptions.engine == stemmaPCC {
		w = s.newValue2(ssa.OpMul64, word, w, s.constInt64(word, 3))
	}
	if cell != noCell {
		w = s.newValue2(ssa.OpAdd64, word, w, s.stemmaAddition(cell))
	}
	s.store(word, s.stemmaG(layout.GCtx), w)
}

// A stemmaMark stands between the values that precede a call and the call: site
// is the index of the call's site.
type stemmaMark struct {
	values int // as many values does the function have
	site   int
}

const noSite = -1

func (s *state) stemmaMark(site int) {
	s.stemma.marks = append(s.stemma.marks, stemmaMark{s.f.NumValues(), site})
}

// stemmaCallSites tells the index + 1 of the site of each call value. Each mark
// belongs to the next call that is made and has none of its own: arguments may
// be checked with calls between a mark and its call.
// order tells where each site is now.
func (s *state) stemmaCallSites(order []int) map[ssa.ID]int {
	var calls []*ssa.Value
	for _, b := range s.f.Blocks {
		for _, v := range b.Values {
			if v.Op.IsCall() && v.Op != ssa.OpWB {
				calls = append(calls, v)
			}
		}
	}
	sort.Slice(calls, func(i, j int) bool { return calls[i].ID < calls[j].ID })
	sites := map[ssa.ID]int{}
	var open []int
	marks := s.stemma.marks
	for _, v := range calls {
		for len(marks) > 0 && marks[0].values <= int(v.ID) {
			open = append(open, marks[0].site)
			marks = marks[1:]
		}
		if len(open) == 0 {
			continue // a call that the compiler makes for itself
		}
		if site := open[len(open)-1]; site != noSite {
			sites[v.ID] = order[site] + 1
		}
		open = open[:len(open)-1]
	}
	return sites
}

// cellsFirst orders the sites so that those with a cell come first, and so that
// a site has the number of its cell. It returns the new index of each site.
func (m *stemmaMeta) cellsFirst() []int {
	order := make([]int, len(m.sites))
	sites := make([]stemmaSite, 0, len(m.sites))
	for _, cells := range []bool{true, false} {
		for i, s := range m.sites {
			if (s.cell != 0) == cells {
				order[i] = len(sites)
				sites = append(sites, s)
			}
		}
	}
	m.sites = sites
	return order
}

// stemmaBeforeCall notes the site of the call v, which is about to be emitted,
// and stemmaAfterCall that it ends with the call.
func stemmaBeforeCall(s *State, v *ssa.Value) {
	stemmaNoteSite(s, v, v.Block.Func.Stemma.Sites[v.ID]-1)
}
func stemmaAfterCall(s *State, v *ssa.Value) { stemmaNoteSite(s, v, -1) }

func stemmaNoteSite(s *State, v *ssa.Value, site int) {
	if v.Block.Func.Stemma.Sites[v.ID] == 0 {
		return
	}
	p := s.Prog(obj.APCDATA)
	p.From.SetConst(rt.PCDataSite)
	p.To.SetConst(int64(site))
}

// emitHead emits what the data of a function begins with. All but its ID is 0.
func (m *stemmaMeta) emitHead() {
	var data layout.FuncData
	objw.Uintptr(m.data, int(unsafe.Offsetof(data.Key)), 0)
	objw.Uintptr(m.data, int(unsafe.Offsetof(data.Limit)), 0)
	objw.SymPtr(m.data, int(unsafe.Offsetof(data.Func)), m.sym, 0)
	objw.Uintptr(m.data, int(unsafe.Offsetof(data.Index)), 0)
}

// emitData emits the function's addition values: as long as it was not entered,
// everything leads to the slow path.
func (m *stemmaMeta) emitData() {
	x := m.data
	m.emitHead()
	for i, dynamic := range m.dynamic {
		av := uint64(rt.KeyUnknown << rt.WordKey)
		if dynamic {
			av |= rt.Dynamic
		}
		objw.Uintptr(x, layout.FuncDataSize+layout.AVSize*i, av)
	}
	objw.Global(x, int32(layout.FuncDataSize+layout.AVSize*len(m.dynamic)), obj.NOPTR)
	x.Set(obj.AttrLocal, true)
}
