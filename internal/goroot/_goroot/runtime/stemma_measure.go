// What one call of a function counts, with all that it calls and starts: see rt/tree/measure.go.

package runtime

import (
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/memory"
	"internal/runtime/stemma/tree"
	"unsafe"
)

// A stemmaMeasureProgram is what package stemma of the program finds in stemmaMeasureAPI1. Its type there is another
// one of the same layout, with the version in its name.
type stemmaMeasureProgram struct {
	// begin returns the node where a measurement begins in a lane, called from where it does; 0 if there is none.
	begin func(lane uint32) (node uint32)
	// run calls f below a node that begin has returned. Its argument is a context.Context there, which is passed as any
	// interface with methods is.
	run func(node uint32, f func(iface), ctx iface)
	// below lists the nodes from an offset on that lie below another one.
	below func(top uint32, from uint64, list []layout.Measured) (n int, next uint64)
	// node describes a node.
	node func(offset uint32) layout.Measured
	// count adds up what all Ps have counted for nodes: one number for each eight bytes of each node.
	count func(list []layout.Measured, sum []uint64)
	// started reports whether goroutines exist that were started below a node.
	started func(top uint32) bool
	// lost has how much was lost, by kind.
	lost func() [len(layout.Header{}.Lost)]uint64
}

// stemmaMeasureAPI1 is nil in a program that does not record a tree.
//
//go:linkname stemmaMeasureAPI1
var stemmaMeasureAPI1 *stemmaMeasureProgram

var stemmaMeasureAPIs = stemmaMeasureProgram{stemmaMeasureBegin, stemmaMeasureRun, stemmaMeasureBelow,
	stemmaMeasureNode, stemmaMeasureCount, stemmaMeasureStarted, stemmaMeasureLost}

// stemmaMeasureBegin makes the node where a measurement begins, and counts the measurement there. It runs on a
// goroutine with a P, and may grow the stack. On the system stack neither P nor goroutine change. A build that
// compares contexts with stacks, or logs calls, measures nothing: there, labels have no frames.
func stemmaMeasureBegin(lane uint32) (node uint32) {
	if stemmaCheckOn || stemmaCallsOn {
		return 0
	}
	gp := getg()
	systemstack(func() {
		lock(&stemma.lock)
		if node = stemma.tree.Begin(uint32(gp.stemma.Ctx), lane); node != 0 {
			*(*uint64)(unsafe.Pointer(layout.Base + uintptr(node) + getg().m.p.ptr().stemma.shard))++
		}
		unlock(&stemma.lock)
	})
	return node
}

// stemmaMeasureRun calls f below a node. It runs on a goroutine, and may be left by a panic: whoever recovers has a
// context of its own. Labels that f has set for longer than it ran are those of the frames further out from now on.
func stemmaMeasureRun(node uint32, f func(iface), ctx iface) {
	gp := getg()
	saved, labels := stemmaSave(gp), gp.labels
	gp.stemma.Ctx = uintptr(tree.CellOf(node, 0))
	f(ctx)
	stemmaPut(gp, saved)
	if gp.labels != labels {
		stemmaSetLabels(gp.labels)
	}
}

// stemmaMeasureBelow runs on a goroutine, without the lock.
func stemmaMeasureBelow(top uint32, from uint64, list []layout.Measured) (n int, next uint64) {
	return stemma.tree.Below(top, from, list)
}

func stemmaMeasureNode(offset uint32) layout.Measured { return stemma.tree.Measured(offset) }

// stemmaMeasureCount adds up counters as stemmaCounters does, of some nodes. sum must have room for all of them. What a
// goroutine has counted before something that this one has waited for is there: a counter is written by a plain store
// of the P that counts, and what goroutines wait for each other with orders these stores before the loads here. It runs
// on a goroutine, and may grow the stack.
func stemmaMeasureCount(list []layout.Measured, sum []uint64) {
	clear(sum)
	for _, shard := range stemmaAllShards() {
		i := 0
		for _, m := range list {
			at := shard + uintptr(m.Offset)
			for end := at + uintptr(m.Size); at < end; at += layout.CounterSize {
				sum[i] += memory.Load64((*uint64)(unsafe.Pointer(at)))
				i++
			}
		}
	}
}

// stemmaMeasureStarted looks at all goroutines but the running one. It takes the lock, so that it may look at the tree,
// on the system stack. Others go on meanwhile; but below a node where nothing runs nothing begins.
func stemmaMeasureStarted(top uint32) (found bool) {
	self := getg()
	systemstack(func() {
		lock(&stemma.lock)
		forEachGRace(func(gp *g) {
			s := readgstatus(gp) &^ _Gscan
			start := uint32(gp.stemma.Start)
			if found || start <= top || gp == self || s == _Gidle || s == _Gdead {
				return
			}
			found = stemma.tree.IsBelow(stemma.tree.Owner(start), top)
		})
		unlock(&stemma.lock)
	})
	return found
}

func stemmaMeasureLost() [len(layout.Header{}.Lost)]uint64 { return stemma.record.Header().Lost }
