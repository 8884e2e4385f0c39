// What is shared by the engines that encode contexts, in stemma_dacce.go, stemma_pcc.go and stemma_lucce.go: sites with
// addition values or steps in writable memory, and which call belongs to which site.

package ssagen

import (
	"cmd/compile/internal/objw"
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/types"
	"cmd/internal/obj"
	"sort"

	"internal/runtime/stemma/layout"
	"unsafe"
)

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
	s.stemmaAddSite(name, kind, stemmaEngine().leave)
}

// stemmaLeafSite emits a call site whose callee reads nothing. It is one like others to whoever walks the stack.
func (s *state) stemmaLeafSite(name string) {
	s.stemmaAddSite(name, layout.SiteCall, func(s *state, _ int) {
		s.store(types.Types[types.TUINTPTR], s.stemmaG(layout.GCtx), stemmaEngine().unknown(s))
	})
}

// stemmaAddSite emits a call site, before whose call leave leaves the callee's context in g.
func (s *state) stemmaAddSite(name string, kind int, leave func(s *state, cell int)) {
	defer func() { s.stemma.fresh = nil }()
	if kind == 0 {
		s.stemmaMark(noSite)
		return
	}
	m := s.stemma.meta
	if kind != layout.SiteNative || stemmaOptions.natives {
		s.stemma.called = true
	}
	site := stemmaSite{kind: kind, pos: s.peekPos(), callee: name}
	switch kind {
	case layout.SiteNative:
	case layout.SiteGo:
		leave(s, noCell) // the context itself
	default:
		site.cell = m.newCell()
		m.dynamic = append(m.dynamic, name == "" || kind != layout.SiteCall && kind != layout.SiteDefer)
		leave(s, site.cell-1)
	}
	s.stemmaMark(len(m.sites))
	m.sites = append(m.sites, site)
}

// StemmaHere is the function of package stemma in whose place the runtime is called. The
// number is the version of its results, see stemmaProgram in package runtime.
const StemmaHere = "github.com/stemma-go/stemma.here2"

// StemmaCallsHere reports whether this engine reads the word itself at once.
func StemmaCallsHere() bool { return stemmaEngine() != nil && stemmaEngine().here }

// StemmaReplaces reports whether the runtime is called instead of the function with this symbol name.
func StemmaReplaces(name string) bool {
	switch name {
	case StemmaHere:
		return StemmaCallsHere()
	case layout.AddFunc:
		return stemmaEngine() != nil && stemmaEngine().adds
	}
	return false
}

// stemmaIsDirect reports whether the function being built has a word that runtime.stemmaHere
// can read.
func (s *state) stemmaIsDirect() bool { return s.stemma.mode == stemmaFull && StemmaCallsHere() }

// stemmaHereSite emits what precedes a call of runtime.stemmaHere: it leaves the word
// itself. To those who describe the frame it is a native that is called.
func (s *state) stemmaHereSite(name string) {
	m := s.stemma.meta
	s.stemma.called = true
	s.stemmaLeaveWord(noCell)
	s.stemma.fresh = nil
	s.stemmaMark(len(m.sites))
	m.sites = append(m.sites, stemmaSite{kind: layout.SiteNative, pos: s.peekPos(), callee: name})
}

// noCell stands for an addition of nothing.
const noCell = -1

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
// order shows where each site is now.
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

// stemmaSealSites says which calls belong to which sites.
func (s *state) stemmaSealSites() { s.f.Stemma.Sites = s.stemmaCallSites(s.stemma.meta.cellsFirst()) }

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
	p.From.SetConst(layout.PCDataSite)
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
