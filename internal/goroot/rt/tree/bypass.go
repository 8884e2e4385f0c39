package tree

import (
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// EnterBypass makes a node for what is not to be recorded, and returns the offset of its cell. Below it everything is
// counted as elsewhere, so that compiled code needs to know nothing of it; readers leave it out.
func (t *Tree) EnterBypass() (cell uint32) {
	if !t.room(overflowSize, true) {
		return overflowCell
	}
	t.rec.RecordRoot(rt.BypassFunc, "stemma.bypass", []string{"bypass"})
	return t.newNode(rt.BypassFunc, RootNode, rt.NoCell, overflowSize) + layout.NodeSize
}
