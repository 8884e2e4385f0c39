// Allocations, counted in the context that asks for them.

package runtime

import (
	"internal/runtime/stemma/layout"
	"unsafe"
)

// stemmaAllocOn reports whether allocations are to be counted. It is set before there is a P and
// does not change.
var stemmaAllocOn bool

// stemmaAllocCounts reports whether they are, where they are made. It is set once, in runtime.main, before packages
// of the program are initialised: while the first Ps are made, there may be no P, or no shard to count in.
var stemmaAllocCounts bool

// stemmaAllocHooked reports whether they are counted in Go's own hook for debugging instead, which all of them pass,
// also those of allocators that use freed objects again (GOEXPERIMENT=runtimefreegc). MemStats lacks those objects.
var stemmaAllocHooked bool

// stemmaAllocInit makes the tree count allocations, if that is asked for.
func stemmaAllocInit() {
	if stemmaOption("alloc") == "on" {
		stemma.tree.Counts(layout.HdrFlagAlloc)
		stemmaAllocOn = true
	}
	if stemmaAllocOn && stemmaOption("inuse") == "on" {
		stemma.tree.Counts(layout.HdrFlagInuse)
		stemmaInuseOn = true
	}
}

// stemmaCountStart begins what counting needs goroutines, or threads, for. It runs when runtime.main begins.
func stemmaCountStart() {
	stemmaAllocStart()
	stemmaRotateStart()
}

// stemmaAllocStart begins to count. It runs when runtime.main begins, after GODEBUG has been read, which sets
// debug.malloc.
func stemmaAllocStart() {
	if stemmaInuseOn {
		stemmaInuseStart()
	}
	switch {
	case stemmaAllocOn && runtimeFreegcEnabled:
		stemmaAllocHooked, debug.malloc = true, true
	case stemmaAllocOn:
		stemmaAllocCounts = true
	}
}

// stemmaAllocated counts the allocation of x, which took size bytes of the heap: 0 if it fitted a block of tiny ones
// that was there. It runs on a goroutine or a system stack, with a P, when the allocation is done and the M is
// released, and may grow the stack. Functions of the runtime are preempted at calls only: there is none between the
// load of the shard and the last increment.
func stemmaAllocated(x unsafe.Pointer, size uintptr, typ *_type) {
	gp := getg()
	cell := stemmaAllocCell(gp)
	id := layout.AllocID(uint64(uintptr(unsafe.Pointer(typ))))
	node := uintptr(*(*uint32)(unsafe.Pointer(layout.Base + cell)))
	if stemmaAllocOf(node) != id {
		if node = stemmaAllocFirst(node, id); stemmaAllocOf(node) != id {
			node = stemmaAllocNode(cell, id, typ)
		}
	}
	counters := (*[layout.AmountCounters]uint64)(unsafe.Pointer(layout.Base + node + gp.m.p.ptr().stemma.shard))
	counters[0]++
	counters[1] += uint64(size)
	if stemmaInuseOn {
		stemmaOwn(x, size, uint32(node))
	}
}

// stemmaAllocOf returns what the node at an offset counts, or what stands there if it is no node.
func stemmaAllocOf(node uintptr) uint64 { return *(*uint64)(unsafe.Pointer(layout.Base + node)) }

// stemmaAllocFirst returns the node at which the first look for id arrives, if there is a table at the offset: nearly
// always the right one. It returns the offset of another node, or 0, where the header is, if it is not found so.
// Any page may become zeros meanwhile, so what is a table is asked, and its mask is read once.
func stemmaAllocFirst(table uintptr, id uint64) uintptr {
	t := (*layout.Table)(unsafe.Pointer(layout.Base + table))
	if t.Tag != layout.TagTable {
		return 0
	}
	place := unsafe.Sizeof(*t) + layout.CellSize*uintptr(layout.Hash(id)&t.Mask)
	return uintptr(*(*uint32)(unsafe.Pointer(layout.Base + table + place)))
}

// stemmaAllocCell returns the offset of the cell that stands for what asks for memory: that
// of the running goroutine, also where the runtime does something for it on the system stack,
// unless a timer runs there, which has a root of its own.
func stemmaAllocCell(gp *g) uintptr {
	mp := gp.m
	if gp == mp.g0 && mp.curg != nil && gp.stemma.Ctx == stemmaRootCell(layout.RootOther) {
		return mp.curg.stemma.Ctx
	}
	return gp.stemma.Ctx
}

// stemmaAllocAs makes gp ask for memory from a root of its own, for what the runtime makes whenever it needs it: whose
// goroutine does is chance. It returns the cell for stemmaAllocAgain. Between the two gp may wait, and its stack
// move. Both may run on any stack.
//
//go:nosplit
func stemmaAllocAs(gp *g, root uintptr) (cell uintptr) {
	cell = gp.stemma.Ctx
	if stemma.on {
		gp.stemma.Ctx = stemmaRootCell(root)
	}
	return cell
}

// stemmaAllocAgain makes gp ask for memory where it did before.
//
//go:nosplit
func stemmaAllocAgain(gp *g, cell uintptr) {
	if stemma.on {
		gp.stemma.Ctx = cell
	}
}

// stemmaAllocNode finds or makes the node for allocations to which neither the cell leads nor the first look into its
// table: mostly the first of a type. Tables can be read without the lock.
func stemmaAllocNode(cell uintptr, id uint64, typ *_type) uintptr {
	at := uint32(cell)
	if n := stemma.tree.Lookup(at, id); n != 0 {
		return uintptr(n)
	}
	name := ""
	if typ != nil {
		name = toRType(typ).string()
	}
	var node uint32
	systemstack(func() {
		lock(&stemma.lock)
		node = stemma.tree.EnterAlloc(at, id, name)
		unlock(&stemma.lock)
	})
	return uintptr(node)
}
