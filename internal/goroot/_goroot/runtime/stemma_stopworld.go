// The sampler stw: it stops the world and walks all goroutines, to compare with.

package runtime

import "internal/runtime/stemma/layout"

// stemmaAskStopWorld wakes the goroutine of the sampler stw, as sysmon wakes the
// collector's.
//
//go:nowritebarrierrec
func stemmaAskStopWorld(dt int64) {
	if !stemmaSmp.stwIdle.Load() {
		stemmaSmp.stwDt += dt
		stemmaSmp.Count(layout.StatLate, 1)
		return
	}
	lock(&stemmaSmp.stwLock)
	stemmaSmp.stwIdle.Store(false)
	stemmaSmp.stwDt += dt
	var list gList
	list.push(stemmaSmp.stwG)
	injectglist(&list)
	unlock(&stemmaSmp.stwLock)
}

// stemmaStopWorldLoop is the goroutine of the sampler stw, the baseline: it stops
// the world and walks every goroutine, as runtime.GoroutineProfile does. Where the time on CPU
// went has been asked for before, since a goroutine stops where the runtime lets it, which is
// not where it was.
func stemmaStopWorldLoop() {
	stemmaSmp.stwG = getg()
	for {
		lock(&stemmaSmp.stwLock)
		stemmaSmp.stwIdle.Store(true)
		goparkunlock(&stemmaSmp.stwLock, waitReasonForceGCIdle, traceBlockSystemGoroutine, 1)
		dt := uint64(stemmaSmp.stwDt)
		stemmaSmp.stwDt = 0
		stw := stopTheWorld(stwGoroutineProfile)
		systemstack(func() {
			forEachGRace(func(gp *g) { stemmaStopped(gp, dt) })
		})
		startTheWorld(stw)
	}
}

// stemmaStopped samples a goroutine while the world is stopped. One that was
// preempted for it was on CPU, and one in a system call may be.
func stemmaStopped(gp *g, dt uint64) {
	s := readgstatus(gp)
	if s != _Gwaiting && s != _Gsyscall && s != _Grunnable || isSystemGoroutine(gp, false) {
		return
	}
	onCPU := s == _Grunnable && (gp.syncSafePoint || gp.asyncSafePoint)
	if stemmaSmp.waiting && !onCPU && stemmaHold(gp, s) {
		stemmaRecordWaiting(gp, s, dt)
		casfrom_Gscanstatus(gp, s|_Gscan, s)
	}
}
