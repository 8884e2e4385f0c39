// The recorder of a -record=calls build: it logs every function entry, for
// stemma replay to drive encoders with what the program really did.
//
// It is where the checker is: on function entry, in the slow path, which the
// compiler makes such a build always take. All of it runs on the system stack or
// is about to go there, with stemma.lock held while it writes. So nothing here may
// allocate, have write barriers or call instrumented code; the log is mapped
// memory, and a goroutine's number an integer in its g.

package runtime

import (
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/tree"
)

// stemmaCallsOn says that this is a recording build. It is set before there is any
// instrumented code to run.
var stemmaCallsOn bool

var stemmaCalls tree.Calls

// stemmaCallsInit maps the log. The countdown stays below 1, so that every entry
// takes the slow path.
func stemmaCallsInit() {
	size := uintptr(256 << 20)
	if n, ok := stemmaNumber("STEMMA_CALLS_SIZE"); ok {
		size = max(alignUp(n, 1<<12), 1<<12)
	}
	stemmaCalls.Init(&stemma.tree, stemmaFileSpan(layout.FileCalls, size), uint64(size))
	stemmaCallsOn = true
}

// stemmaCallsNumber returns the number of gp in the log. Those that no go statement
// has made, as g0 and the threads of C, get one when they are first met. The
// field belongs to engines that encode. It runs under the lock.
func stemmaCallsNumber(gp *g) uint32 {
	if *gp.stemma.Logged() == 0 {
		*gp.stemma.Logged() = uintptr(stemmaCalls.Goroutine())
	}
	return uint32(*gp.stemma.Logged())
}

// stemmaCallsEntry logs that gp has entered node. It runs on the system stack,
// under the lock. Once the log has ended entries need not come here any more; Ms
// that count down meanwhile may undo that, and then it is done again.
func stemmaCallsEntry(gp *g, node uint32) {
	if !stemmaCalls.Enter(stemmaCallsNumber(gp), node) {
		stemmaCountdown = stemmaNever
	}
}

// stemmaCallsGo logs the go statement that makes newg; creator has left its cell. Without a cell, newg is a goroutine
// that the runtime makes for itself, and begins at the root.
func stemmaCallsGo(newg, creator *g, cell bool) {
	systemstack(func() {
		lock(&stemma.lock)
		*newg.stemma.Logged() = uintptr(stemmaCalls.Goroutine())
		if cell {
			owner := stemma.tree.Owner(uint32(newg.stemma.Start))
			stemmaCalls.Go(stemmaCallsNumber(creator), owner, uint32(*newg.stemma.Logged()))
		}
		unlock(&stemma.lock)
	})
}

// stemmaCallsExit logs that gp has ended; its g is going to be another goroutine's.
// It runs on g0.
func stemmaCallsExit(gp *g) {
	lock(&stemma.lock)
	if *gp.stemma.Logged() != 0 {
		stemmaCalls.Exit(uint32(*gp.stemma.Logged()))
		*gp.stemma.Logged() = 0
	}
	unlock(&stemma.lock)
}
