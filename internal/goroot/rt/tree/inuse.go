package tree

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// An Inuse has the objects that were reachable when they were counted last, by the node of their allocation: in memory
// of the shape of a shard, so that a node's numbers lie at its own offset. Unlike a shard it is not added to as the
// program runs. One thread at a time counts, from Begin to End; readers see by the header whether one has.
type Inuse struct{ mem unsafe.Pointer }

// Init makes l count in mem, which is zero.
func (l *Inuse) Init(mem unsafe.Pointer) { l.mem = mem }

func (l *Inuse) header() *layout.InuseHeader { return (*layout.InuseHeader)(l.mem) }

// Begin forgets what was counted for nodes below offset used. Only what is not zero is written to: pages of nodes
// that are none of allocations stay holes of the file.
func (l *Inuse) Begin(used uint64) {
	h := l.header()
	memory.StoreFirst64(&h.Changes, h.Changes|1)
	for off := uint64(layout.HeaderSize); off < used; off += layout.CounterSize {
		if p := (*uint64)(unsafe.Add(l.mem, uintptr(off))); *p != 0 {
			*p = 0
		}
	}
}

// Add counts objects of a node, and their bytes.
func (l *Inuse) Add(node uint32, objects, bytes uint64) {
	n := (*layout.InuseCounts)(unsafe.Add(l.mem, uintptr(node)))
	n.Objects += objects
	n.Bytes += bytes
}

// End says that all that was reachable at a moment, in nanoseconds since 1970, has been added.
func (l *Inuse) End(now uint64) {
	h := l.header()
	h.Counted = now
	memory.StoreRel64(&h.Changes, h.Changes+1)
}
