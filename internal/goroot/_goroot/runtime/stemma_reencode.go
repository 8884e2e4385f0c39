// Re-encoding (DACCE, section 4): when it is due, and how it is done.

package runtime

import "internal/runtime/stemma/layout"

// stemmaStartEncoder starts the goroutine that re-encodes.
func stemmaStartEncoder() {
	if !stemma.encode.on {
		return
	}
	if stemmaWants(layout.EventAlloc) {
		debug.malloc = true // every allocation is shown to preMallocgcDebug
	}
	lockInit(&stemma.encode.lock, lockRankForcegc)
	if stemma.encode.lucce {
		stemmaFixed = true // nothing is encoded anew
	} else {
		stemmaWarm()
	}
	if !stemmaFixed || stemmaIDs.on {
		go stemmaEncoder()
	}
}

// stemmaEncoder re-encodes, or ends a segment, whenever it is woken. It is a goroutine like any other,
// and parked without a timer, so that a deadlock is still found.
func stemmaEncoder() {
	stemma.encode.encoder = getg()
	for {
		lock(&stemma.encode.lock)
		stemma.encode.idle.Store(true)
		goparkunlock(&stemma.encode.lock, waitReasonForceGCIdle, traceBlockSystemGoroutine, 1)
		if stemmaIDs.wanted.Load() != 0 {
			stemmaRotateIDs()
		} else if !stemmaFixed {
			stemmaReencode()
		}
	}
}

// stemmaTick wakes the encoder if a re-encoding is due, or if a segment is to end, or goes on to. It runs in sysmon,
// without a P.
//
//go:nowritebarrierrec
func stemmaTick(now int64) {
	e := &stemma.encode
	if stemmaIDs.wake.Load() != 0 {
		stemmaIDsWake()
		return
	}
	if !e.on || !e.idle.Load() || stemmaFixed || !e.pace.Due(now, stemma.dacce.Work()) {
		return
	}
	lock(&e.lock)
	if e.idle.Load() {
		e.idle.Store(false)
		var list gList
		list.push(e.encoder)
		injectglist(&list)
	}
	unlock(&e.lock)
}

// stemmaWake wakes the encoder on behalf of gp, if gp is where the scheduler may be
// called, and makes way for it. It runs on the system stack.
func stemmaWake(gp *g) {
	e, mp := &stemma.encode, gp.m
	if gp != mp.curg || mp.p == 0 || mp.locks != 0 || mp.mallocing != 0 || mp.preemptoff != "" ||
		sched.gcwaiting.Load() {
		return
	}
	lock(&e.lock)
	woken := e.idle.Load()
	e.idle.Store(false)
	unlock(&e.lock)
	if woken {
		ready(e.encoder, 0, true)
		gp.preempt = true
		gp.stackguard0 = stackPreempt
	}
}

// stemmaReencode plans the next epoch while the program runs, and stops it only
// to publish. What was planned is on record before any ID can have the epoch.
func stemmaReencode() {
	c, e := &stemma.dacce, &stemma.encode
	began := nanotime()
	lock(&stemma.lock)
	edges := c.Unplanned()
	c.Snapshot(uint64(began))
	unlock(&stemma.lock)
	acquirem()
	c.Plan(stemmaPlanPause)
	releasem(getg().m)
	sec, nsec, _ := time_now()
	lock(&stemma.lock)
	ok := c.Write(uint64(sec)*1e9 + uint64(nsec))
	unlock(&stemma.lock)
	took := nanotime() - began
	if ok {
		took += stemmaPublish()
	}
	c.Stats().EncodeTime += uint64(took)
	e.pace.Done(began, nanotime(), c.Size(), edges, c.Work())
}

// stemmaPlanPause makes way for others in the middle of a plan, if that is wanted of the encoder. A goroutine that
// is preempted goes behind all that can run. Where those are hundreds, the plan would be ready after a second in
// which the slow path is taken all the time. So the encoder holds its M as long as it plans, and gives it away here
// only: to whoever stops the world, and to be the next to run on the P.
func stemmaPlanPause() {
	if gp := getg(); gp.preempt {
		releasem(gp.m)
		mcall(stemmaYield)
		acquirem()
	}
}

// stemmaYield is goyield_m, but gp is the next to run. It runs on g0.
func stemmaYield(gp *g) {
	trace := traceAcquire()
	pp := gp.m.p.ptr()
	if trace.ok() {
		trace.GoPreempt()
	}
	casgstatus(gp, _Grunning, _Grunnable)
	if trace.ok() {
		traceRelease(trace)
	}
	dropg()
	runqput(pp, gp, true)
	schedule()
}

// stemmaPublish stops the world and begins the epoch that was planned. It returns
// the nanoseconds for which nothing else could run.
func stemmaPublish() int64 {
	c := &stemma.dacce
	stw := stopTheWorld(stwUnknown)
	stopped := nanotime()
	c.Publish()
	stemmaStamp = c.Stamp()
	stemma.encode.epoch++
	pause := nanotime() - stopped
	c.Stats().MaxPause = max(c.Stats().MaxPause, uint64(pause))
	startTheWorld(stw)
	return pause
}
