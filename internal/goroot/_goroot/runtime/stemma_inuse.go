// Objects that are still reachable, counted in the context of their allocation. Beside each span of the heap there is
// a list with the node of each of its objects, which their allocation writes. Nothing is done when an object is freed:
// on demand, and at the end of the program, a collection is run, and then what the spans say is allocated is added up
// by node, while the world is stopped.

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/gc"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/tree"
	"unsafe"
)

// stemmaInuseOn reports whether reachable objects are counted. It is set before there is a P, and taken back, while
// there is one goroutine, if there is no memory.
var stemmaInuseOn bool

// stemmaInuse is where they are counted: of the shape of a shard. The world is stopped for whoever counts.
var stemmaInuse tree.Inuse

// A stemmaOwners is, in a span, where the list of nodes is. Nothing in it points into the heap, and it stays with the
// mspan when that is used for another span: a place in the list has no meaning until its object is allocated.
type stemmaOwners struct {
	list uintptr // of uint32; written before room
	room uintptr // how many it has room for
	one  uint32  // the list of a span of one object
}

// Lists are handed out in steps of stemmaOwnersStep entries. One for tiny objects is the
// longest, since each byte may begin one.
const (
	stemmaOwnersStep  = 16
	stemmaOwnersMost  = gc.PageSize
	stemmaOwnersChunk = 1 << 20
)

// stemmaOwnersLists are the lists that no span uses any more, by their length, each with the address of the next
// one in its first word, and the memory for new ones.
var stemmaOwnersLists struct {
	lock mutex
	free [stemmaOwnersMost/stemmaOwnersStep + 1]uintptr
	next uintptr
	left uintptr
}

// stemmaInuseStart maps the file inuse. It runs when runtime.main begins: then there is a P, and its shard is the
// first.
func stemmaInuseStart() {
	lockInit(&stemmaOwnersLists.lock, lockRankLeafRank)
	systemstack(func() {
		lock(&stemma.lock)
		lo := uintptr(stemmaMapShape(layout.FileInuse))
		if stemmaInuseOn = lo != 0 && stemmaAddShard(lo); stemmaInuseOn {
			stemmaInuse.Init(unsafe.Pointer(lo))
		}
		unlock(&stemma.lock)
	})
}

// stemmaOwn notes the node of the allocation of x, which took size bytes, 0 if it fitted a block of tiny ones. It runs
// where stemmaAllocated does, which keeps x alive, and may be preempted: an object has its place to itself. Only the
// first object of a block that is preempted right here may take the places of those behind it.
func stemmaOwn(x unsafe.Pointer, size uintptr, node uint32) {
	s := spanOf(uintptr(x))
	if s == nil {
		return
	}
	n, o := s.stemmaPlaces(), &s.stemmaOwners
	switch {
	case n == 1:
		o.one = node
		return
	case atomic.Loaduintptr(&o.room) < n && !stemmaOwnersFor(o, n):
		return
	case s.spanclass != tinySpanClass:
		o.of(n)[s.objIndex(uintptr(x))] = node
	default:
		at := uintptr(x) - s.base()
		if size != 0 {
			clear(o.of(n)[alignDown(at, maxTinySize):][:maxTinySize])
		}
		o.of(n)[at] = node
	}
	KeepAlive(x)
}

// of returns the list, which has n places.
func (o *stemmaOwners) of(n uintptr) []uint32 {
	if n == 1 {
		return unsafe.Slice(&o.one, 1)
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(o.list)), n)
}

// stemmaPlaces returns how many places the list of the span has: one for each object, or where tiny objects share
// blocks for each byte.
func (s *mspan) stemmaPlaces() uintptr {
	if s.spanclass == tinySpanClass {
		return s.npages * gc.PageSize
	}
	return uintptr(s.nelems)
}

// stemmaOwnersFor makes a list of n places, and reports false if there is no memory. It may run anywhere that
// allocates: it takes a lock below all others, and makes no call of the scheduler.
func stemmaOwnersFor(o *stemmaOwners, n uintptr) (ok bool) {
	n = alignUp(n, stemmaOwnersStep)
	if n > stemmaOwnersMost {
		return false // no span has as many
	}
	systemstack(func() {
		l := &stemmaOwnersLists
		lock(&l.lock)
		if ok = o.room >= n; !ok {
			if list := stemmaOwnersList(n); list != 0 {
				if old := o.room / stemmaOwnersStep; old != 0 {
					*(*uintptr)(unsafe.Pointer(o.list)), l.free[old] = l.free[old], o.list
				}
				o.list = list
				atomic.Storeuintptr(&o.room, n)
				ok = true
			}
		}
		unlock(&l.lock)
	})
	return ok
}

// stemmaOwnersList returns a list of n places, all 0, or 0. The lock of the lists is held.
func stemmaOwnersList(n uintptr) uintptr {
	l := &stemmaOwnersLists
	list := l.free[n/stemmaOwnersStep]
	if list != 0 {
		l.free[n/stemmaOwnersStep] = *(*uintptr)(unsafe.Pointer(list))
		clear(unsafe.Slice((*uint32)(unsafe.Pointer(list)), n))
		return list
	}
	if l.left < n*unsafe.Sizeof(stemmaOwners{}.one) {
		p := stemmaMemory(stemmaOwnersChunk)
		if p == nil {
			return 0
		}
		l.next, l.left = uintptr(p), stemmaOwnersChunk
	}
	list = l.next
	l.next += n * unsafe.Sizeof(stemmaOwners{}.one)
	l.left -= n * unsafe.Sizeof(stemmaOwners{}.one)
	return list
}

// stemmaInuseExit counts when the program ends in an orderly way: it runs on the goroutine that ends it, after the
// program's own code for that.
func stemmaInuseExit() { stemmaCountInuse() }

// stemmaCountInuse counts the objects that are reachable, and reports whether the program was built for that. What is
// allocated while it collects counts as reachable. It runs on a goroutine.
func stemmaCountInuse() bool {
	if !stemmaInuseOn {
		return false
	}
	GC()
	stw := stopTheWorld(stwWriteHeapDump)
	systemstack(stemmaWalkHeap)
	startTheWorld(stw)
	return true
}

// stemmaWalkHeap adds up what the spans say is allocated. After a collection that is what it has marked, and what was
// allocated since it began. It runs on the system stack, while the world is stopped.
func stemmaWalkHeap() {
	lock(&stemma.lock)
	cell := uint32(stemmaRootCell(layout.RootOther))
	unknown := stemma.tree.EnterAlloc(cell, layout.UnknownID, "objects from before package initialization")
	stemmaInuse.Begin(stemma.tree.Used())
	for _, s := range mheap_.allspans {
		if s.state.get() == mSpanInUse && !s.isUserArenaChunk {
			s.stemmaCount(unknown)
		}
	}
	sec, nsec, _ := time_now()
	stemmaInuse.End(uint64(sec)*1e9 + uint64(nsec))
	unlock(&stemma.lock)
}

// stemmaCount counts the objects of one span. Of tiny ones that share a block all are reachable if one is; the block's
// bytes are those of the first.
func (s *mspan) stemmaCount(unknown uint32) {
	places, each := s.stemmaPlaces(), uintptr(1)
	if s.spanclass == tinySpanClass {
		each = maxTinySize
	}
	known := places == 1 || s.stemmaOwners.room >= places
	for i := range uintptr(s.nelems) {
		if s.isFree(i) {
			continue
		}
		bytes := uint64(s.elemsize)
		for k := range each {
			if !known {
				break
			}
			if node := s.stemmaOwners.of(places)[i*each+k]; node != 0 {
				stemmaInuse.Add(node, 1, bytes)
				bytes = 0
			}
		}
		if bytes != 0 {
			stemmaInuse.Add(unknown, 1, bytes)
		}
	}
}
