// The segment base of a thread, GS: compiled code counts relative to it, and so in the shard of the P that the thread
// has. Neither Go nor C libraries use GS on linux/amd64.

package runtime

import rt "internal/runtime/stemma"

// How the segment base is set.
const (
	stemmaSegmentShared = iota // not at all: it is 0, and all Ps share one shard, which takes away from their counts
	stemmaSegmentCall          // by a system call
	stemmaSegmentInst          // by an instruction, which the kernel allows since Linux 5.9
)

// stemmaSegment is how; it does not change when there is a second thread.
var stemmaSegment uintptr

// stemmaSegmentInit finds out how the segment base can be set. It runs in schedinit, where there is one thread.
func stemmaSegmentInit() {
	const (
		hwcap2   = 26     // AT_HWCAP2
		fsgsbase = 1 << 1 // HWCAP2_FSGSBASE
	)
	stemmaSegment = stemmaSegmentShared
	most := uintptr(stemmaSegmentInst)
	switch stemmaEnv("STEMMA_SEGMENT") {
	case "call":
		most = stemmaSegmentCall
	case "shared":
		return
	}
	for i := 0; i+1 < len(auxv) && most == stemmaSegmentInst; i += 2 {
		if auxv[i] == hwcap2 && auxv[i+1]&fsgsbase != 0 {
			stemmaSegment = stemmaSegmentInst
			return
		}
	}
	if stemmaSetBase(stemmaSegmentCall, 0) == 0 {
		stemmaSegment = stemmaSegmentCall
	}
}

// stemmaSetBase sets the segment base of this thread and returns the number of the error. It is assembly, and
// runs anywhere.
//
//go:noescape
func stemmaSetBase(how, base uintptr) (errno uintptr)

// stemmaWire makes this thread count in the shard of pp. It runs whenever a thread gets a P, without write barriers.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaWire(pp *p) {
	if pp.stemmaShard != 0 && stemmaSegment != stemmaSegmentShared {
		stemmaSetBase(stemmaSegment, pp.stemmaShard+(rt.Base-rt.CounterBase))
	}
}

// stemmaShardAt returns where the next shard must lie: 0 if it may lie anywhere, else where all Ps count if no segment
// base can be set.
func stemmaShardAt() uintptr {
	if stemmaSegment == stemmaSegmentShared {
		return rt.CounterBase
	}
	return 0
}
