package runtime

import (
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/memory"
	"unsafe"
)

// stemmaCounters adds up the counters of the tree over all Ps, from offset low on, one for each 8 bytes of the tree. It
// fills sum as far as it goes, and returns the offset at which the tree ends: that of a new node at the earliest. With
// no tree that is 0. Other goroutines may count meanwhile; each counter is read once.
//
// It is package testing's, for the calls of a benchmark. It may be preempted and may grow the stack. Shards are mapped
// as long as the program runs; none is shorter than the tree.
//
//go:linkname stemmaCounters testing.stemmaCounters
func stemmaCounters(low uintptr, sum []uint64) (end uintptr) {
	if !stemma.on {
		return 0
	}
	end = uintptr(memory.Load64(&stemma.record.Header().Used))
	if low >= end {
		return end
	}
	sum = sum[:min(len(sum), int((end-low)/layout.CounterSize))]
	clear(sum)
	for _, shard := range stemmaAllShards() {
		for i := range sum {
			at := shard + low + uintptr(i)*layout.CounterSize
			sum[i] += memory.Load64((*uint64)(unsafe.Pointer(at)))
		}
	}
	return end
}

// stemmaAllShards returns the addresses of all shards, also of Ps that GOMAXPROCS has taken away. It may be called by a
// goroutine without the lock, and by a thread without a P: shards are counted when they can be used, and stay.
func stemmaAllShards() []uintptr { return stemmaShards.counting[:stemmaShards.counters.Load()] }

// stemmaDirectory returns the live directory, "" if nothing is recorded.
//
//go:linkname stemmaDirectory testing.stemmaDirectory
func stemmaDirectory() string {
	dir, _ := stemmaRecording()
	return dir
}
