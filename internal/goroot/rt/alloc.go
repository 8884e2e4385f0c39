package rt

import "github.com/stemma-go/stemma/internal/goroot/layout"

// Allocations are nodes, too: those of one type from one call site in one context are a
// node below the cell of the call, as if the allocator were a function for each
// type. Counter 0 counts them, counter 1 adds up the bytes of the heap that they took. Such a node
// has no cells.

// allocShift is where the mark of an allocation's function ID lies. No function, and no
// fault, has an ID with this bit.
const (
	allocShift = 61
	allocSize  = layout.NodeSize

	// AllocCounters is how many counters a node of allocations has.
	AllocCounters = 2
)

// A node of allocations has room for its counters.
const _ = uint(allocSize - layout.CounterSize*AllocCounters)

// AllocID returns the function ID of allocations of the type at address typ, 0 for
// memory without a type. No type lies at address 8: the lower half of an ID is never
// 0, as that of a table is before it has its tag.
func AllocID(typ uint64) uint64 { return 1<<allocShift | max(typ, 8) }

// CountAllocs says in the header that allocations are counted.
func (t *Tree) CountAllocs() { t.rec.header().Flags |= HdrFlagAlloc }

// EnterAlloc returns the node of the allocations with the given function ID that were
// asked for through the cell at offset cell, as Enter does; name is the type's.
func (t *Tree) EnterAlloc(cell uint32, id uint64, name string) uint32 {
	return t.enter(cell, target{id: id, size: allocSize, name: name})
}

// maxTypeName bounds the name of a type: those of generic types may be of any length.
const maxTypeName = 1 << 10

// recordTarget writes the target's record, as record does.
func (r *Recorder) recordTarget(to target) bool {
	if to.meta != nil {
		return r.record(to.meta)
	}
	return !r.learn(to.id) || r.recordAlloc(to)
}

// recordAlloc writes the record of the allocations of a type.
func (r *Recorder) recordAlloc(to target) bool {
	name := to.name[:min(len(to.name), maxTypeName)]
	w := r.beginRecord(layout.FuncRecord{Kind: RecAlloc, ID: to.id, NodeSize: allocSize, Strings: 1, BlobLen: 1})
	w.u32(uint32(len(name)))
	w.str(name)
	w.bytes(0)
	return w.end()
}
