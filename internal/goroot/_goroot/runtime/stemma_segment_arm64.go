// Where compiled code counts: g says it. An increment takes the address of the shard from g, adds the node's offset,
// loads, adds and stores; none of these instructions is a safe point, so that a goroutine keeps its P meanwhile. So
// each g that may run instrumented code has the shard of the P that runs it: the goroutine that a thread runs, and the
// thread's g0, on which timers run.

package runtime

import "internal/runtime/stemma/layout"

// Threads need nothing of their own: each P has its shard.
const (
	stemmaSegmentShared = iota
	stemmaSegment
)

func stemmaSegmentInit() {}

// stemmaWire makes this thread count in the shard of pp. It runs whenever a thread gets a P, without write barriers.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaWire(pp *p) {
	mp := getg().m
	stemmaWireTo(mp.g0, pp)
	if mp.curg != nil {
		stemmaWireTo(mp.curg, pp)
	}
}

// stemmaWireTo makes gp count in the shard of pp, and find the tree.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaWireTo(gp *g, pp *p) {
	gp.stemma.Tree = layout.Base
	if pp.stemma.shard != 0 {
		gp.stemma.Shard = layout.Base + pp.stemma.shard
	}
}

// stemmaWireG makes gp, which this thread is about to run, count in the shard of the thread's P.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaWireG(gp *g) {
	own := &getg().m.g0.stemma
	gp.stemma.Tree, gp.stemma.Shard = own.Tree, own.Shard
}

// C has no word that is ours.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaToC(*m) {}

// stemmaSign does nothing: no base leads to a shard.
func stemmaSign(uintptr) {}

// stemmaProbed reports that a signal is none of a look at a segment base.
//
//go:nowritebarrierrec
func stemmaProbed(uint32, *sigctxt) bool { return false }

//go:nosplit
//go:nowritebarrierrec
func stemmaFromC(*m) {}

//go:nosplit
//go:nowritebarrierrec
func stemmaRewire(*m) {}

func stemmaShardAt() uintptr { return 0 }

// stemmaSeeds are a goroutine's series of random numbers.
type stemmaSeeds struct{ seeds [2]uint64 }

// seed is the series of the program.
//
//go:nosplit
func (w *stemmaG) seed() *uint64 { return &w.seeds[0] }

// cheap is the series of the runtime.
//
//go:nosplit
func (w *stemmaG) cheap() *uint64 { return &w.seeds[1] }
