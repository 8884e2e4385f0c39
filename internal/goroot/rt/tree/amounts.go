package tree

import (
	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// What the runtime does for a call site is counted in nodes as well: allocations of one type, or waits for one reason,
// from one call site in one context are a node below the cell of the call, as if the runtime had a function for
// each type and reason; so is what goroutines ran that one go statement began. Counter 0 counts them, counter 1
// adds up their amounts: the bytes of the heap that allocations took, nanoseconds of the others. What the program adds
// to a metric of its own is counted in the same way, in counter 0 alone. Such a node has no cells.

// Counts says in the header what is counted beside calls: flags of package layout.
func (t *Tree) Counts(flags uint32) { t.rec.Header().Flags |= flags }

// Counted takes back [layout.HdrFlagLasting]: what lasts has been counted.
func (t *Tree) Counted() { t.rec.Header().Flags &^= layout.HdrFlagLasting }

// EnterAlloc returns the node of the allocations with the given function ID that were
// asked for through the cell at offset cell, as Enter does; name is the type's.
func (t *Tree) EnterAlloc(cell uint32, id uint64, name string) uint32 {
	return t.enter(cell, target{id: id, size: layout.AmountSize, kind: layout.RecAlloc, name: name})
}

// EnterWait returns the node of the waits with the given function ID that began in the call through the cell
// at offset cell, as Enter does; name is the reason.
func (t *Tree) EnterWait(cell uint32, id uint64, name string) uint32 {
	return t.enter(cell, target{id: id, size: layout.AmountSize, kind: layout.RecWait, name: name})
}

// NewMetric makes a metric of the program's own and returns its function ID, or 0 if there are too many, or no room to
// describe it.
func (t *Tree) NewMetric(name, unit string) uint64 {
	if t.metrics == layout.MaxMetrics {
		t.rec.Lost(layout.LostMetrics)
		return 0
	}
	id := layout.MetricID(t.metrics)
	if !t.rec.RecordMetric(id, name, unit) {
		return 0
	}
	t.metrics++
	return id
}

// EnterMetric returns the node of what the call through the cell at offset cell adds to the metric with the given
// function ID, as Enter does. Its counter 0 is the sum.
func (t *Tree) EnterMetric(cell uint32, id uint64) uint32 {
	return t.enter(cell, target{id: id, size: layout.AmountSize, kind: layout.RecMetric})
}

// EnterAside returns the node of what is counted near a cell under a function ID of the given kind: waits, those of
// others for a lock that is released there, or the running of goroutines that begin there. The cell does not lead
// to the node: it is that of a call of a function, say, which would find two things there from now on. The caller
// remembers the node. What is made twice is one for readers.
func (t *Tree) EnterAside(cell uint32, kind uint32, id uint64, name string) uint32 {
	if t.inSink(cell) {
		return t.sink()
	}
	owner := t.Owner(cell)
	parent := t.Home(owner)
	return t.child(parent, parent+cell-owner, target{id: id, size: layout.AmountSize, kind: kind, name: name})
}

// CellNear returns the offset of a cell for code of the function that begins at entry, which runs in node n: cell, if
// it is one of n's, else n's first one; of a function that calls nothing, cell, if it leads to n. It returns 0 if there
// is none, or if n is not a node of the function.
func (t *Tree) CellNear(n, cell uint32, entry uint64) uint32 {
	if !t.isNode(n) {
		return 0
	}
	m := t.meta(n)
	if m == nil || m.Entry != entry {
		return 0
	}
	first, end := CellOf(n, 0), CellOf(n, int(m.Cells))
	switch {
	case first <= cell && cell < end:
		return cell
	case first < end:
		return first
	case t.Lookup(cell, t.node(n).Func) == n:
		return cell
	}
	return 0
}

// isNode reports whether a node begins at an offset, which may be any number.
func (t *Tree) isNode(off uint32) bool {
	return off >= RootNode && off%8 == 0 && uint64(off) < t.used &&
		*(*uint8)(t.starts.At(uint64(off) / 64))&(1<<(off/8%8)) != 0 &&
		t.table(off).Tag != layout.TagTable && t.table(off).Tag != 0
}

// recordTarget writes the target's record, as Recorder.record does.
func (t *Tree) recordTarget(to target) bool {
	switch {
	case to.meta != nil:
		return t.rec.Record(to.meta)
	case to.kind == layout.RecMetric:
		return true // as it was when the program made the metric
	case to.kind == layout.RecLabels:
		return t.recordLabels(to.id)
	}
	return t.rec.RecordNamed(to.kind, to.id, to.name)
}
