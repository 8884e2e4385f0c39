package rt

import "github.com/stemma-go/stemma/internal/goroot/layout"

// What the runtime does for a call site is counted in nodes, too: allocations of one type, or waits for one
// reason, from one call site in one context are a node below the cell of the call, as if the runtime had a
// function for each type and reason. Counter 0 counts them, counter 1 adds up their amounts: the bytes of the
// heap that allocations took, the nanoseconds that waits did. Such a node has no cells.

// amountShift is where the mark of such a node's function ID lies, waitShift that of those of waits. No function,
// and no fault, has an ID with the first bit.
const (
	amountShift = 61
	waitShift   = 60
	amountSize  = layout.NodeSize

	// AmountCounters is how many counters a node of allocations or waits has.
	AmountCounters = 2
)

// Such a node has room for its counters.
const _ = uint(amountSize - layout.CounterSize*AmountCounters)

// AllocID returns the function ID of allocations of the type at address typ, 0 for
// memory without a type. No type lies at address 8: the lower half of an ID is never
// 0, as that of a table is before it has its tag.
func AllocID(typ uint64) uint64 { return 1<<amountShift | max(typ, 8) }

// WaitID returns the function ID of waits for a reason, which is a small number.
func WaitID(reason uint64) uint64 { return 1<<amountShift | 1<<waitShift | (reason+1)<<HashShift }

// CountAllocs says in the header that allocations are counted.
func (t *Tree) CountAllocs() { t.rec.header().Flags |= HdrFlagAlloc }

// CountWaits says in the header that waits are counted.
func (t *Tree) CountWaits() { t.rec.header().Flags |= HdrFlagWait }

// EnterAlloc returns the node of the allocations with the given function ID that were
// asked for through the cell at offset cell, as Enter does; name is the type's.
func (t *Tree) EnterAlloc(cell uint32, id uint64, name string) uint32 {
	return t.enter(cell, target{id: id, size: amountSize, kind: RecAlloc, name: name})
}

// EnterWait returns the node of the waits with the given function ID that began in the call through the cell
// at offset cell, as Enter does; name is the reason.
func (t *Tree) EnterWait(cell uint32, id uint64, name string) uint32 {
	return t.enter(cell, target{id: id, size: amountSize, kind: RecWait, name: name})
}

// EnterWaitAside is EnterWait, but the cell does not lead to the node: it is that of a call of a function, say, which
// would find two things there from now on. The caller remembers the node. What is made twice is one for readers.
func (t *Tree) EnterWaitAside(cell uint32, id uint64, name string) uint32 {
	if t.inSink(cell) {
		return t.sink()
	}
	owner := t.ownerOf(cell)
	parent := t.Home(owner)
	return t.child(parent, parent+cell-owner, target{id: id, size: amountSize, kind: RecWait, name: name})
}

// CellNear returns the offset of a cell for code of the function that begins at entry, which runs in node n:
// cell, if it is one of n's, or leads to n, which then has not called yet; else n's first one. It returns 0 if n
// has none, or is not a node of the function.
func (t *Tree) CellNear(n, cell uint32, entry uint64) uint32 {
	if !t.isNode(n) || t.ifEntry(n, entry) == 0 {
		return 0
	}
	first, end := CellOf(n, 0), n+t.meta(n).NodeSize
	switch {
	case first <= cell && cell < end || t.Lookup(cell, t.node(n).Func) == n:
		return cell
	case first < end:
		return first
	}
	return 0
}

// isNode tells whether a node begins at an offset, which may be any number.
func (t *Tree) isNode(off uint32) bool {
	return off >= RootNode && off%8 == 0 && uint64(off) < t.used &&
		*(*uint8)(t.starts.at(uint64(off) / 64))&(1<<(off/8%8)) != 0 &&
		t.table(off).Tag != TagTable && t.table(off).Tag != 0
}

// maxTypeName bounds the name of a type: those of generic types may be of any length.
const maxTypeName = 1 << 10

// recordTarget writes the target's record, as record does.
func (r *Recorder) recordTarget(to target) bool {
	if to.meta != nil {
		return r.record(to.meta)
	}
	return !r.learn(to.id) || r.recordNamed(to)
}

// recordNamed writes the record of the allocations of a type, or of the waits for a reason.
func (r *Recorder) recordNamed(to target) bool {
	name := to.name[:min(len(to.name), maxTypeName)]
	w := r.beginRecord(layout.FuncRecord{Kind: to.kind, ID: to.id, NodeSize: amountSize, Strings: 1, BlobLen: 1})
	w.u32(uint32(len(name)))
	w.str(name)
	w.bytes(0)
	return w.end()
}
