// Instrumentation for engine pcc, the bound below which no engine can be: V = 3*V + site (Bond and McKinley, 2007).
// There is no slow path and there are no tables, and nothing decodes it.

package ssagen

import (
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/types"
	"cmd/internal/hash"
	"encoding/binary"
	"internal/runtime/stemma/layout"
)

func init() {
	stemmaRegister(&stemmaStrategy{
		enter:   (*state).stemmaFindHash,
		site:    (*state).stemmaHashedSite,
		leave:   (*state).stemmaLeaveHash,
		unknown: (*state).stemmaUnknownWord,
		seal:    (*state).stemmaSealSites,
		data:    (*stemmaMeta).emitData,
		slow:    "runtime.stemmaDacceEnter",
	}, "pcc")
}

// stemmaFindHash stores the word that the caller left in the frame.
func (s *state) stemmaFindHash() {
	s.stemma.node = s.rawLoad(types.Types[types.TUINTPTR], s.stemmaG(layout.GCtx))
	s.stemmaSaveNode()
}

// stemmaHashedSite emits a call site. Natives have none.
func (s *state) stemmaHashedSite(name string, kind int) {
	if kind == layout.SiteNative {
		kind = 0
	}
	s.stemmaEncodedSite(name, kind)
}

// stemmaLeaveHash emits the store of the callee's word.
func (s *state) stemmaLeaveHash(cell int) {
	word := types.Types[types.TUINT64]
	w := s.newValue2(ssa.OpMul64, word, s.stemmaLoadWord(), s.constInt64(word, 3))
	if cell != noCell {
		h := hash.Sum32([]byte(s.stemma.meta.sym.Name))
		w = s.newValue2(ssa.OpAdd64, word, w, s.stemmaWord(uint64(binary.LittleEndian.Uint32(h[:]))+uint64(cell)))
	}
	s.store(word, s.stemmaG(layout.GCtx), w)
}
