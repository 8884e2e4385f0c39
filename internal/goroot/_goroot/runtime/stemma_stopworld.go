// The samplers that stop the world, to compare with. jvmti is the paper's baseline: at each tick all goroutines that
// run, and those that wait, are walked at a global safepoint. stw does so for those that wait alone.

package runtime

import (
	"internal/runtime/stemma/layout"
	"unsafe"
)

// stemmaStops reports whether the sampler stops the world.
//
//go:nowritebarrierrec
func stemmaStops() bool {
	return stemmaSmp.sampler == layout.SamplerSTW || stemmaSmp.sampler == layout.SamplerJVMTI
}

// stemmaMarkRunning marks the goroutines that run at a tick of the sampler jvmti, unless the world has not been stopped
// since the last one. It runs on the sampler's thread; allpLock and the lock of the threads are held.
//
//go:nowritebarrierrec
func stemmaMarkRunning() {
	if !stemmaSmp.stwIdle.Load() {
		return
	}
	for _, pp := range allp {
		mp := stemmaRunning(pp)
		if mp == nil {
			continue
		}
		gp, th := mp.curg, stemmaThreadOf(mp)
		if gp == nil || th == nil || readgstatus(gp)&^_Gscan != _Grunning || isSystemGoroutine(gp, false) {
			continue
		}
		if gp.stemma.ran == 0 {
			stemmaSmp.Count(layout.StatRequests, 1)
		}
		gp.stemma.ran = uint32((uintptr(unsafe.Pointer(th)) - uintptr(unsafe.Pointer(&stemmaThreads.list))) /
			unsafe.Sizeof(*th))
	}
}

// stemmaAskStopWorld wakes the goroutine that stops the world, as sysmon wakes the collector's. It needs a P, which a
// thread of a Java virtual machine does not: for jvmti one that runs something makes way at once, if all do.
//
//go:nowritebarrierrec
func stemmaAskStopWorld(now, dt int64) {
	if !stemmaSmp.stwIdle.Load() {
		stemmaSmp.stwDt += dt
		stemmaSmp.Count(layout.StatLate, 1)
		return
	}
	lock(&stemmaSmp.stwLock)
	stemmaSmp.stwIdle.Store(false)
	stemmaSmp.stwDt += dt
	stemmaSmp.stwAsked = now
	busy := sched.npidle.Load() == 0
	var list gList
	list.push(stemmaSmp.stwG)
	injectglist(&list)
	unlock(&stemmaSmp.stwLock)
	if busy && stemmaSmp.sampler == layout.SamplerJVMTI {
		stemmaMakeWay()
	}
}

// stemmaMakeWay preempts a P, which then looks at the global queue first, as it does every 61st time: schedtick is
// moved to such a number. Its P counts on; sysmon takes it for a goroutine that has begun just now.
//
//go:nowritebarrierrec
func stemmaMakeWay() {
	lock(&allpLock)
	for i, start := 0, int(cheaprandn(uint32(len(allp)))); i < len(allp); i++ {
		if pp := allp[(start+i)%len(allp)]; stemmaRunning(pp) != nil {
			pp.schedtick += (61 - pp.schedtick%61) % 61
			preemptone(pp)
			break
		}
	}
	unlock(&allpLock)
}

// stemmaStopWorldLoop is the goroutine of the samplers that stop the world: it walks every goroutine then, as
// runtime.GoroutineProfile does. With stw, where the time on CPU
// went has been asked for before, since a goroutine stops where the runtime lets it, which is
// not where it was. With jvmti it is taken here.
func stemmaStopWorldLoop() {
	stemmaSmp.stwG = getg()
	for {
		lock(&stemmaSmp.stwLock)
		stemmaSmp.stwIdle.Store(true)
		goparkunlock(&stemmaSmp.stwLock, waitReasonForceGCIdle, traceBlockSystemGoroutine, 1)
		dt := uint64(stemmaSmp.stwDt)
		stemmaSmp.stwDt = 0
		begin := nanotime()
		stw := stopTheWorld(stwGoroutineProfile)
		systemstack(func() {
			forEachGRace(func(gp *g) { stemmaStopped(gp, dt) })
		})
		startTheWorld(stw)
		stemmaSmp.Count(layout.StatStops, 1)
		stemmaSmp.Count(layout.StatStopped, uint64(nanotime()-begin))
	}
}

// stemmaStopped samples a goroutine while the world is stopped. One that was
// preempted for it was on CPU, and one in a system call may be.
func stemmaStopped(gp *g, dt uint64) {
	s := readgstatus(gp)
	onCPU := s == _Grunnable && (gp.syncSafePoint || gp.asyncSafePoint)
	if ran := gp.stemma.ran; ran != 0 {
		gp.stemma.ran = 0
		if !onCPU || !stemmaHold(gp, s) {
			stemmaSmp.Count(layout.StatDropped, 1) // it has gone to wait, or has ended, meanwhile
		} else {
			stemmaRecordStopped(gp, &stemmaThreads.list[ran])
			casfrom_Gscanstatus(gp, s|_Gscan, s)
			return
		}
	}
	if s != _Gwaiting && s != _Gsyscall && s != _Grunnable || isSystemGoroutine(gp, false) {
		return
	}
	if stemmaSmp.waiting && !onCPU && stemmaHold(gp, s) {
		stemmaRecordWaiting(gp, s, dt)
		casfrom_Gscanstatus(gp, s|_Gscan, s)
	}
}

// stemmaRecordStopped records that gp, which is held, ran on a thread at the last tick. A sample stands for what the
// thread used since its last one; the thread may have ended since the tick, and then has no clock.
func stemmaRecordStopped(gp *g, th *stemmaThread) {
	weight := uint64(0)
	if cpu, ok := stemmaClock(th.tid); ok {
		weight = th.stemmaUsed(cpu)
	}
	stemmaRecord(gp, &stemmaSmp.own, layout.WeightCPU, weight)
	stemmaSmp.Count(layout.StatSamples, 1)
	stemmaSmp.Latency(uint64(nanotime() - stemmaSmp.stwAsked))
}
