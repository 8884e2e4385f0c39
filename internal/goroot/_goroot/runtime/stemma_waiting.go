// Samples of goroutines that wait: the sampler holds a few by their scan bits, and walks them itself.

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/stemma/layout"
)

// stemmaSampleWaiting walks as many as k random goroutines that do not run.
// Each of the tries stands for its share of all goroutines, whether it hits one
// that waits or not, so that the estimate needs no exact number of them.
//
//go:nowritebarrierrec
func stemmaSampleWaiting(dt int64, k int) {
	length := int(atomic.Loaduintptr(&allglen))
	k = min(k, length) << stemmaMoreTries
	for range k {
		// The list is collected when it has grown, since nobody looks for what this thread
		// holds, but a g is not.
		lock(&allglock)
		gp := allgs[cheaprandn(uint32(length))]
		unlock(&allglock)
		s := readgstatus(gp)
		if s != _Gwaiting && s != _Gsyscall && s != _Grunnable || isSystemGoroutine(gp, false) {
			stemmaSmp.Count(layout.StatMissed, 1)
			continue
		}
		if !stemmaHold(gp, s) {
			stemmaSmp.Count(layout.StatBusy, 1)
			continue
		}
		stemmaRecordWaiting(gp, s, uint64(dt)*uint64(length)/uint64(k))
		stemmaLetGo(gp, s)
	}
}

// stemmaRecordWaiting records that gp, which is held and had the status s, waits, unless it
// runs in a system call. What is held must not have an M: then it runs, and its registers
// are those of another time.
//
//go:nowritebarrierrec
func stemmaRecordWaiting(gp *g, s uint32, weight uint64) {
	if s == _Gsyscall && stemmaUsesCPU(gp) {
		return
	}
	if stemmaTraceCheck && s == _Gwaiting && gp.m != nil {
		stemmaSmp.Count(layout.StatMismatches, 1)
	}
	stemmaRecord(gp, &stemmaSmp.own, layout.WeightWait, weight)
	stemmaSmp.Count(layout.StatWaiting, 1)
}

// stemmaUsesCPU reports whether a goroutine that is held in a system call, or in C, runs there
// rather than waits. Its M cannot end while the goroutine is held.
//
//go:nowritebarrierrec
func stemmaUsesCPU(gp *g) bool {
	if mp := gp.m; mp != nil {
		if th := stemmaThreadOf(mp); th != nil {
			first, _ := stemmaClock(th.tid)
			second, _ := stemmaClock(th.tid)
			return second > first
		}
	}
	return false
}

// stemmaHold keeps a goroutine with the status s from running until its scan bit is
// cleared. It reports false for one that is on its way, and for one that waits in name
// only: it has an M, and runs on, while the garbage collector may scan it. The one
// that ends a mark phase does so on its own stack, which its sched does not know.
//
//go:nowritebarrierrec
func stemmaHold(gp *g, s uint32) bool {
	if !castogscanstatus(gp, s, s|_Gscan) {
		return false
	}
	if s == _Gwaiting && gp.m != nil && stemmaWithout != "hold" {
		casfrom_Gscanstatus(gp, s|_Gscan, s)
		return false
	}
	return true
}

// stemmaLetGo lets go of a goroutine that stemmaHold keeps. Who stops the world meanwhile asks once whether the
// goroutine of a P is in a system call, to take the P away. The answer was no, since it was held: without what is done
// here the world would wait until the call returns, for a minute at most.
//
//go:nowritebarrierrec
func stemmaLetGo(gp *g, s uint32) {
	pp := stemmaSyscallP(gp, s)
	casfrom_Gscanstatus(gp, s|_Gscan, s)
	stemmaStopSyscall(pp)
}

// stemmaSyscallP returns the P that a goroutine has taken into a system call, nil if it has none or is in no call. It
// is held and has the status s.
//
//go:nowritebarrierrec
func stemmaSyscallP(gp *g, s uint32) *p {
	if s != _Gsyscall || gp.m == nil {
		return nil
	}
	return gp.m.p.ptr()
}

// stemmaStopSyscall takes a P away from a system call if the world is being stopped, as who stops it would have. pp may
// be nil. The goroutine was held until just now.
//
//go:nowritebarrierrec
func stemmaStopSyscall(pp *p) {
	if pp == nil || !sched.gcwaiting.Load() || stemmaWithout == "letgo" {
		return
	}
	lock(&sched.lock)
	if sched.gcwaiting.Load() && sched.stopwait > 0 && !freezing.Load() {
		if thread, ok := setBlockOnExitSyscall(pp); ok {
			thread.gcstopP()
			thread.resume()
			if sched.stopwait == 0 {
				notewakeup(&sched.stopnote)
			}
		}
	}
	unlock(&sched.lock)
}
