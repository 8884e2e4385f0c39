// Samples that the program asks for of other goroutines: those that have a label. Each is stopped at a
// safe point, as the collector stops them to scan their stacks, and walked by who asks.

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/pprof/label"
	"internal/runtime/stemma/layout"
	"unsafe"
)

// stemmaProgramSampleLabeled takes a sample of each goroutine but its own that has a label, and returns
// how many it took. It runs on a goroutine of the program, which may be preempted and whose stack may move.
func stemmaProgramSampleLabeled(id uint64, key, value string) (n int) {
	gp := getg()
	if gp != gp.m.curg {
		return 0
	}
	if stemmaSmp.started.Load() != stemmaPrepared {
		stemmaPrepare()
	}
	forEachGRace(func(other *g) {
		if other != gp && stemmaHasLabel(other, key, value) && stemmaRequestOther(other, id) {
			n++
		}
	})
	stemmaWakeSampler()
	return n
}

// stemmaHasLabel reports whether a goroutine, which may run and change its labels, has this one. A set of labels
// never changes, and the one that is looked at stays for as long as it is.
func stemmaHasLabel(gp *g, key, value string) bool {
	labels := (*label.Set)(atomic.Loadp(unsafe.Pointer(&gp.labels)))
	if labels == nil {
		return false
	}
	for _, l := range labels.List {
		if l.Key == key && l.Value == value {
			return true
		}
	}
	return false
}

// stemmaRequestOther takes a sample of another goroutine for the one that calls it, and reports whether there was
// something to sample. One that waits in name only is tried again.
func stemmaRequestOther(other *g, id uint64) bool {
	gp := getg()
	for range 1000 {
		var dead, taken bool
		systemstack(func() { dead, taken = stemmaRequestHeld(gp, other, id) })
		if dead || taken {
			return taken
		}
		Gosched()
		systemstack(func() { usleep(20) }) // the kernel may have another thread run in its place
	}
	stemmaSmp.Count(layout.StatBusy, 1)
	return false
}

// stemmaRequestHeld holds other at a safe point, and records a request of it. It runs on the g0 of the M that
// runs gp, with a P. Meanwhile gp waits in name: two goroutines that sample each other must not both wait until the
// other one stops.
func stemmaRequestHeld(gp, other *g, id uint64) (dead, taken bool) {
	casGToWaitingForSuspendG(gp, _Grunning, waitReasonGarbageCollectionScan)
	state := suspendG(other)
	if !state.dead {
		// With an M, what waits runs on. Its sched shows where it is if it waits on g0, as here, or to scan stacks.
		if readgstatus(other)&^_Gscan != _Gwaiting || other.m == nil ||
			other.waitreason == waitReasonGarbageCollectionScan {
			taken = stemmaRequestStopped(other, id)
		}
		pp := stemmaSyscallP(other, readgstatus(other)&^_Gscan)
		resumeG(state)
		stemmaStopSyscall(pp)
	}
	casgstatus(gp, _Gwaiting, _Grunning)
	return state.dead, taken
}

// stemmaRequestStopped records a request of gp, which is held. It runs on g0, with a P. It reports false on a
// thread that has no buffer: that is not sampled at all.
//
//go:nowritebarrierrec
func stemmaRequestStopped(gp *g, id uint64) bool {
	th := stemmaThreadOf(getg().m)
	if th == nil {
		return false
	}
	ticket := th.keep()
	pcs, whole := stemmaFullWalk(gp, th)
	base := uint32(0)
	if !whole {
		stemmaSmp.Count(layout.StatFailed, 1)
		base = stemmaSmp.Child(0, layout.PCTruncated)
	}
	node := stemmaSmp.Stack(base, pcs)
	th.state.Store(ticket)
	stemmaSmp.Request(id, uint64(nanotime()-stemmaSmp.epoch), gp.goid, node, true)
	return true
}
