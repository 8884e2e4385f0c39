package tree

import (
	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// NodeOfFrame returns the node of a frame of the function that begins at entry, 0 if it is not known. slot is what lies
// where the frame keeps its node, cell what g has. In a function's first instructions another frame's node is still in
// its slot, perhaps one of the same function, and g has the cell through which it was entered; it keeps that up to its
// first call, so entered tells that the function may not have called yet. A function without a slot never calls. It
// changes nothing, may run in a signal handler while the tree grows, and takes any number for a slot; cell is one of
// the tree, or lies outside of it.
func (t *Tree) NodeOfFrame(slot, cell uint32, entry uint64, entered bool) uint32 {
	if !t.isNode(slot) || t.ifEntry(slot, entry) == 0 {
		slot = 0
	}
	if !entered || cell < layout.HeaderSize || cell%layout.CellSize != 0 || uint64(cell) >= t.used {
		return slot
	}
	n := t.ByEntry(cell, entry)
	if n == 0 || slot != 0 && t.node(n).Parent == slot {
		return slot // or the frame has called its own function, which has returned
	}
	return n
}
