package tree

import (
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// What one call of a function counts, with all that it calls and starts, lies below a node of its own. That is a node
// of labels in a lane: below it functions have homes of their own, so that nothing of it is counted further out. A
// lane has one measurement at a time. So what the counters below the node grow by is the measurement's.

// Begin returns the node where a measurement begins in a lane, in the call through a cell. It is 0 if there is no
// room, if too many measurements are inside each other, and where nothing is recorded.
func (t *Tree) Begin(cell, lane uint32) uint32 {
	if t.inSink(cell) {
		return 0
	}
	owner := t.Owner(cell)
	for n := owner; n != RootNode; n = t.outwards(n) {
		if f := t.node(n).Func; f == layout.BypassFunc || f == layout.OverflowFunc {
			return 0
		}
	}
	id := layout.BeginLane(t.LabelsAt(owner), lane)
	if id == 0 {
		return 0
	}
	n := t.enter(cell, target{id: id, size: layout.LabelsSize, kind: layout.RecLabels})
	if t.inSink(n) || t.node(n).Parent == overflowNode {
		return 0
	}
	return n
}

// Below lists the nodes from offset from on that lie below top, and top itself, in ascending order, as far as there is
// room in list. It returns how many there are, and where the next call goes on: from there on nothing was looked at. It
// needs no lock. The tree goes on growing; what is counted as used is complete, and stays.
func (t *Tree) Below(top uint32, from uint64, list []layout.Measured) (n int, next uint64) {
	used := memory.Load64(&t.rec.Header().Used)
	next = max(from, uint64(top))
	for next < used && n < len(list) {
		off := uint32(next)
		size := t.objectSize(off)
		if size == 0 {
			return n, used // a page was lost
		}
		if t.table(off).Tag != layout.TagTable && t.IsBelow(off, top) {
			list[n] = t.Measured(off)
			n++
		}
		next += uint64(size)
	}
	return n, next
}

// Measured returns what node n has, for those who measure.
func (t *Tree) Measured(n uint32) layout.Measured {
	node := t.node(n)
	return layout.Measured{Func: node.Func, Offset: n, Size: t.objectSize(n), Parent: node.Parent, Cell: node.Cell}
}

// IsBelow reports whether node n is top, or lies below it. It needs no lock.
func (t *Tree) IsBelow(n, top uint32) bool {
	for n > top {
		up := t.node(n).Parent
		if up < RootNode || up >= n {
			return false
		}
		n = up
	}
	return n == top
}

// objectSize returns the bytes of a complete object of the tree, 0 if it was lost.
func (t *Tree) objectSize(off uint32) uint32 {
	switch id := t.node(off).Func; {
	case uint32(id) == layout.TagTable:
		return t.table(off).Size
	case id == 0:
		return 0
	case id == layout.RootFunc:
		return rootSize
	case id == layout.OverflowFunc, id == layout.BypassFunc:
		return overflowSize
	case layout.IsLabels(id):
		return layout.LabelsSize
	case layout.IsFault(id):
		return layout.FaultSize
	case layout.IsMarked(id):
		return layout.AmountSize
	}
	return t.meta(off).NodeSize
}
