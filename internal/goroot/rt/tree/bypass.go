package tree

import (
	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// EnterBypass makes a node for what is not to be recorded, and returns the offset of its cell. Below it everything is
// counted as elsewhere, so that compiled code needs to know nothing of it; readers leave it out.
func (t *Tree) EnterBypass() (cell uint32) {
	if !t.room(overflowSize, true) || !t.rec.RecordRoot(layout.BypassFunc, "stemma.bypass", []string{"bypass"}) {
		return overflowCell
	}
	return t.newNode(layout.BypassFunc, RootNode, layout.NoCell, overflowSize) + layout.NodeSize
}
