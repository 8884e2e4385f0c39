// Re-encoding (DACCE, section 4): when it is due, and how it is done.

package runtime

import rt "internal/runtime/stemma"

// stemmaPace decides when to re-encode. It belongs to sysmon; the encoder writes
// what it needs while sysmon waits for it to be idle.
type stemmaPace struct {
	next    int64  // not before this time
	last    int64  // end of the last re-encoding
	slow    uint64 // CceSlow then
	pushes  uint64 // CcePushes then
	cost    uint64 // calls a second that the encoding then left to pushes
	patient int64  // nanoseconds to wait before trying again to spare pushes
}

const (
	stemmaSlowLimit  = 300     // slow entries that make a re-encoding due
	stemmaPushLimit  = 1 << 20 // pushes that do
	stemmaMinPause   = 1e6     // nanoseconds between re-encodings, at least
	stemmaMaxPatient = 10e9
	// A re-encoding may take one part in so many of the time.
	stemmaShare = 50
)

// stemmaStartEncoder starts the goroutine that re-encodes.
func stemmaStartEncoder() {
	if !stemma.encode.on {
		return
	}
	lockInit(&stemma.encode.lock, lockRankForcegc)
	stemma.encode.pace.patient = 100e6
	go stemmaEncoder()
}

// stemmaEncoder re-encodes whenever sysmon wakes it. It is a goroutine like any
// other, so that planning takes no processor from those who need it.
func stemmaEncoder() {
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
	if !e.on || !e.idle.Load() || now < e.pace.next || !stemmaDue(now) {
		return
	}
	lock(&e.lock)
	e.idle.Store(false)
	var list gList
	list.push(e.encoder)
	injectglist(&list)
	unlock(&e.lock)
}

// stemmaDue reports whether one of the triggers of DACCE has struck: new edges,
// many entries through the slow path, or many pushes. It reads without the lock.
func stemmaDue(now int64) bool {
	c, p := &stemma.cce, &stemma.encode.pace
	if stemma.encode.every != 0 {
		return true
	}
	slow := *c.Stat(rt.CceSlow) - p.slow
	edges := c.Unplanned()
	switch {
	case slow >= stemmaSlowLimit && edges > 0:
		return true
	case edges > 0 && now-p.last > 1e9:
		return true
	}
	return *c.Stat(rt.CcePushes)-p.pushes >= stemmaPushLimit && now-p.last > p.patient
}

// stemmaReencode plans the next epoch while the program runs, and stops it only
// to publish. What was planned is on record before any ID can have the epoch.
func stemmaReencode() {
	c, e := &stemma.cce, &stemma.encode
	began := nanotime()
	lock(&stemma.lock)
	edges := c.Unplanned()
	c.Snapshot(uint64(began))
	unlock(&stemma.lock)
	c.Plan()
	sec, nsec, _ := time_now()
	lock(&stemma.lock)
	ok := c.Write(uint64(sec)*1e9 + uint64(nsec))
	unlock(&stemma.lock)
	if ok {
		stw := stopTheWorld(stwUnknown)
		stopped := nanotime()
		c.Publish()
		stemmaStamp = c.Stamp()
		e.epoch++
		*c.Stat(rt.CceMaxPause) = max(*c.Stat(rt.CceMaxPause), uint64(nanotime()-stopped))
		startTheWorld(stw)
	}
	now := nanotime()
	*c.Stat(rt.CceEncodeTime) += uint64(now - began)
	p := &e.pace
	p.next = now + max((now-began)*stemmaShare, stemmaMinPause)
	if e.every != 0 {
		p.next = began + e.every
	}
	if edges > 0 {
		p.patient = 100e6
	} else {
		p.patient = min(2*p.patient, stemmaMaxPatient)
	}
	p.last, p.slow, p.pushes = now, *c.Stat(rt.CceSlow), *c.Stat(rt.CcePushes)
}
