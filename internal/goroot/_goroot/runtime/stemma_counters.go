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
	shared := false  // Ps without a shard of their own count in the first one
	mp := acquirem() // so that nobody changes allp meanwhile; Ps stay
	ps := allp
	releasem(mp)
	for _, pp := range ps {
		shard := pp.stemma.shard
		first := layout.Base+shard == stemmaShards.list[0]
		if shard == 0 || first && shared {
			continue
		}
		shared = shared || first
		for i := range sum {
			at := layout.Base + shard + low + uintptr(i)*layout.CounterSize
			sum[i] += memory.Load64((*uint64)(unsafe.Pointer(at)))
		}
	}
	return end
}

// stemmaDirectory returns the live directory, "" if nothing is recorded.
//
//go:linkname stemmaDirectory testing.stemmaDirectory
func stemmaDirectory() string {
	dir, _ := stemmaRecording()
	return dir
}
