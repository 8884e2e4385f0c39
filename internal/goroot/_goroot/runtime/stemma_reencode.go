// Re-encoding (DACCE, section 4): when it is due, and how it is done.

package runtime

import rt "internal/runtime/stemma"

// stemmaPace decides when to re-encode.
type stemmaPace struct {
	next    int64  // not before this time
	last    int64  // end of the last re-encoding
	cost    int64  // nanoseconds that the last one took, as Size tells: the clock would count those of others
	pushes  uint64 // pushes then
	rate    uint64 // pushes a millisecond in the time before, see stemmaPushRate
	patient int64  // nanoseconds to wait before trying again to spare pushes
}

const (
	stemmaMissCost   = 40      // nanoseconds that an entry through the slow path takes
	stemmaStopCost   = 50e3    // nanoseconds that a stop of the world takes
	stemmaPlanCost   = 200     // nanoseconds that a plan takes for each function and edge
	stemmaMissMin    = 256     // entries below which nothing is due
	stemmaPushLimit  = 1 << 20 // pushes since the last re-encoding that make one due
	stemmaInterval   = 1e6     // nanoseconds between re-encodings, at least
	stemmaLateEdges  = 1e9     // nanoseconds after which a new edge is encoded however rare it is
	stemmaImpatient  = 100e6
	stemmaMaxPatient = 10e9
)

// stemmaStartEncoder starts the goroutine that re-encodes.
func stemmaStartEncoder() {
	if !stemma.encode.on {
		return
	}
	if stemmaWants(rt.EventAlloc) {
		debug.malloc = true // every allocation is shown to preMallocgcDebug
	}
	if stemma.encode.lucce {
		return
	}
	lockInit(&stemma.encode.lock, lockRankForcegc)
	stemma.encode.pace.patient = stemmaImpatient
	stemmaWarm()
	if !stemmaFixed {
		go stemmaDacceEncoder()
	}
}

// stemmaDacceEncoder re-encodes whenever it is woken. It is a goroutine like any other,
// and parked without a timer, so that a deadlock is still found.
func stemmaDacceEncoder() {
	stemma.encode.encoder = getg()
	for {
		lock(&stemma.encode.lock)
		stemma.encode.idle.Store(true)
		goparkunlock(&stemma.encode.lock, waitReasonForceGCIdle, traceBlockSystemGoroutine, 1)
		stemmaReencode()
	}
}

// stemmaTick wakes the encoder if a re-encoding is due. It runs in sysmon, without
// a P.
//
//go:nowritebarrierrec
func stemmaTick(now int64) {
	e := &stemma.encode
	if !e.on || !e.idle.Load() || !stemmaDue(now) {
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

// stemmaDue reports whether a re-encoding is due: the slow path has cost as much as one
// would; there are new edges; pushes are many, and either it is long ago that they were looked
// at, or they are twice as many as before: hot paths have changed. Calls along encoded edges
// cost the same, hot or not.
func stemmaDue(now int64) bool {
	c, p := &stemma.dacce, &stemma.encode.pace
	switch {
	case now < p.next:
		return false
	case stemma.encode.every != 0:
		return true
	case stemmaMissed():
		return true
	case c.Unplanned() > 0 && now-p.last > stemmaLateEdges:
		return true
	}
	pushes, passed := c.Stats().Pushes-p.pushes, now-p.last
	if pushes < stemmaPushLimit || passed <= stemmaImpatient {
		return false
	}
	return passed > p.patient || stemmaPushRate(pushes, passed) > 2*p.rate
}

// stemmaMissed reports whether the slow path has cost as much as a re-encoding.
func stemmaMissed() bool {
	missed := stemma.dacce.Missed()
	return missed >= stemmaMissMin && int64(missed)*stemmaMissCost >= stemma.encode.pace.cost
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
	p := &e.pace
	now, pushes := nanotime(), c.Stats().Pushes
	p.rate = stemmaPushRate(pushes-p.pushes, now-p.last)
	p.pushes = pushes
	p.cost, p.last = stemmaStopCost+stemmaPlanCost*int64(c.Size()), now
	p.next = p.last + stemmaInterval
	if e.every != 0 {
		p.next = began + e.every
	}
	if edges > 0 {
		p.patient = stemmaImpatient
	} else {
		p.patient = min(2*p.patient, stemmaMaxPatient)
	}
}

// stemmaPushRate returns how many pushes a millisecond, about, so many in so many nanoseconds are.
func stemmaPushRate(pushes uint64, passed int64) uint64 { return pushes / (uint64(passed)>>20 + 1) }

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
