// Rotation of context IDs: a segment is a record as any other, with a run number of its own,
// see package ids. The next one is made ready in a directory beside the live one, while the program runs. Then the two
// directories change their names in one system call, and the world is stopped to begin it. So whenever the program is
// killed, each ID that it has given away is in a record.
//
// The encoder does it. Files are made, filled, cut and removed by a thread without a P, as that of package tree's
// rotation: all others go before it. It takes no lock of the runtime or of stemma that others need, and may not have
// write barriers. Sysmon wakes the encoder for it.

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/stemma/events"
	"internal/runtime/stemma/ids"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/memory"
	"internal/runtime/stemma/segment"
	"unsafe"
)

// What the thread is asked for.
const (
	stemmaIDsNothing = iota
	stemmaIDsPrepare
	stemmaIDsFill
	stemmaIDsLeave
	stemmaIDsFinish
)

// How far the next segment is.
const (
	stemmaIDsNone     = iota
	stemmaIDsMade     // it has a directory
	stemmaIDsRenaming // which may have any name
	stemmaIDsRenamed  // which has the name of the live one
	stemmaIDsSwitched // it has begun
	stemmaIDsFinished // and what was before is complete
)

// stemmaIDs is the state of rotation. What it points to is mapped memory, outside the Go heap.
var stemmaIDs struct {
	on      bool
	rotator segment.Rotator
	head    layout.Rotation // what the rotator counts
	next    ids.Next        // &dacce or &lucce
	dacce   ids.DacceNext
	lucce   ids.LucceNext
	files   stemmaIDsDirs

	started bool
	ask     atomic.Uint32 // what the thread is to do, which sleeps while that is nothing
	errno   uintptr       // what became of that
	wake    atomic.Uint32 // 1: the encoder is to be woken
	waits   bool          // the encoder waits for the thread; under stemma.encode.lock

	wanted atomic.Uint32 // 1: a segment is to end
	again  int64         // nanotime before which none is
	wait   int64         // until that, since the last attempt
	due    int64         // nanotime at which one is
	began  uint64        // bytes that were in use when the segment began
	rested int64         // nanotime at which the encoder made way for others

	state     atomic.Uint32
	exchanges bool    // directories can exchange their names
	carried   uintptr // bytes of interned entries that the last segment had of the one before

	first  uintptr // the epoch of stemma.encode in which the segment began
	before uintptr // and the segment before
	moving bool    // goroutines may not know where they began; changes under stemma.lock

	lo, size [2][stemmaIDsFiles]uintptr // the addresses of the files; two segments take turns
	now      int                        // which of them the current segment has
	funcs    memory.Span                // of the next segment
	copied   uint64                     // bytes that it has of function records
	run      uint64                     // its number
	ended    segment.End                // when the one before ended

	aside [len(stemma.dir) + 24]byte // the directory of the next segment, or of the one before; with a NUL
	ino   uint64                     // of the directory of the next segment

	mostP int              // more than the number of any P with events
	ps    [1 << 10]uintptr // what Ps have for their events
	numPs atomic.Uint32
}

// stemmaRotateIDsInit makes ready what rotation needs, if it is asked for. It runs in schedinit. The sizes of files are
// divided by 1<<shift.
func stemmaRotateIDsInit(shift uint) {
	s := &stemmaIDs
	rotation, ok := stemmaRotation()
	switch {
	case !ok:
		return
	case stemmaOption("verify") == "on":
		stemmaNotRotated("what -verify compares has no segments")
		return
	}
	s.size[0] = [...]uintptr{stemmaIDsFuncs: (1 << 28) >> shift, stemmaIDsNodes: layout.InternedBytes >> shift,
		stemmaIDsEncoding: ids.EpochsSize >> shift, stemmaIDsMain: layout.ContextsSize}
	if stemma.encode.lucce {
		stemmaIDsNames[stemmaIDsEncoding], s.size[0][stemmaIDsEncoding] = layout.FileLog, ids.LogSize>>shift
	}
	s.size[1] = s.size[0]
	all := uintptr(0)
	for _, size := range s.size[1] {
		all += size
	}
	if !stemmaSpares(all) {
		stemmaNotRotated("there are no addresses for two segments: allow more (ulimit -v)")
		return
	}
	for i, name := range stemmaIDsNames {
		for k := range stemmaFiles.n.Load() {
			if f := &stemmaFiles.list[k]; gostringnocopy(&f.name[0]) == name {
				s.lo[0][i] = f.lo
			}
		}
		s.lo[1][i] = stemmaFilePlace(name, s.size[1][i])
		if s.lo[0][i] == 0 || s.lo[1][i] == 0 {
			stemmaNotRotated("out of memory")
			return
		}
	}
	if s.rotator.Ends = stemmaMemory(segment.EndsSize); s.rotator.Ends == nil {
		stemmaNotRotated("out of memory")
		return
	}
	if stemma.encode.lucce {
		stemma.lucce.InitNext(&s.lucce, shift)
		s.next = &s.lucce
	} else {
		stemma.dacce.InitNext(&s.dacce, shift)
		s.dacce.EntryAt, s.dacce.ReturnOf = stemmaIDsEntry, stemmaIDsReturn
		s.next = &s.dacce
	}
	s.rotator.Rotation, s.rotator.Dirs, s.rotator.Head = rotation, &s.files, &s.head
	s.rotator.Begin(stemmaWall())
	s.due = nanotime() + rotation.Every
	h := stemma.record.Header()
	h.Segment, h.Began = 1, s.rotator.Began
	s.on = true
}

// stemmaIDsEntry is ids.DacceNext.EntryAt.
func stemmaIDsEntry(pc uint64) uint64 {
	if f := findfunc(uintptr(pc)); f.valid() {
		return uint64(f.entry())
	}
	return 0
}

// stemmaIDsReturn is ids.DacceNext.ReturnOf.
func stemmaIDsReturn(entry uint64, cell uint32) uint64 {
	f := findfunc(uintptr(entry))
	if !f.valid() || f.npcdata <= layout.PCDataSite {
		return 0
	}
	table := pcdatastart(f, layout.PCDataSite)
	if table == 0 {
		return 0
	}
	p := f.datap.pctab[table:]
	pc, value := f.entry(), int32(-1)
	for ok := true; ; {
		p, ok = step(p, &pc, &value, pc == f.entry())
		if !ok {
			return 0
		}
		if value == int32(cell) {
			return uint64(pc)
		}
	}
}

// stemmaIDsStart starts the thread, once. It runs in runtime.main, when threads can be started.
func stemmaIDsStart() {
	if s := &stemmaIDs; s.on && !s.started {
		s.started = true
		systemstack(func() { newm(stemmaIDsThread, nil, -1) })
	}
}

// stemmaIDsThread is the thread. It counts as one of the system, or deadlocks would no longer be found.
//
//go:nowritebarrierrec
func stemmaIDsThread() {
	const look, least, poll = 250e6, 1e6, 1000 // nanoseconds, microseconds
	s := &stemmaIDs
	lock(&sched.lock)
	sched.nmsys++
	checkdead()
	unlock(&sched.lock)
	stemmaGiveWay()
	for {
		rest := max(s.due, s.again) - nanotime()
		if s.wanted.Load() != 0 || !s.on { // the encoder asks, or nobody does
			rest = look
		}
		futexsleep(stemmaIDsAsked(), stemmaIDsNothing, max(min(rest, look), least))
		switch ask := s.ask.Load(); {
		case ask == stemmaIDsFinish: // nobody waits for it
			s.files.do(ask)
			s.state.Store(stemmaIDsNone)
			s.ask.Store(stemmaIDsNothing)
			continue
		case ask != stemmaIDsNothing:
			s.errno = s.files.do(ask)
			s.ask.Store(stemmaIDsNothing)
		case !stemmaIDsWanted(nanotime()):
			continue
		}
		for s.wake.Store(1); s.wake.Load() != 0 && s.ask.Load() == stemmaIDsNothing; usleep(poll) {
			// Where nothing runs sysmon sleeps. This thread wakes that, and not the encoder: a thread that it started
			// for it would give way to others for ever, as this one does, and so would all that come from there.
			if sched.sysmonwait.Load() && !sched.gcwaiting.Load() {
				entersyscallWakeSysmon()
			}
		}
		s.wake.Store(0)
	}
}

// stemmaIDsWake wakes the encoder, if it is parked. It runs without a P.
//
//go:nowritebarrierrec
func stemmaIDsWake() {
	s, e := &stemmaIDs, &stemma.encode
	lock(&e.lock)
	answered := s.waits && s.ask.Load() == stemmaIDsNothing
	if s.wake.Load() != 0 && (answered || e.idle.Load() && s.wanted.Load() != 0) {
		s.wake.Store(0)
		s.waits = false
		e.idle.Store(false)
		var list gList
		list.push(e.encoder)
		injectglist(&list)
	}
	unlock(&e.lock)
}

// stemmaIDsAsked is where the thread sleeps.
func stemmaIDsAsked() *uint32 { return (*uint32)(unsafe.Pointer(&stemmaIDs.ask)) }

// stemmaIDsAsk makes the thread do something, and waits for it. It returns the number of an error. The thread may be
// about to wake the encoder to end a segment, although that has seen it already.
func stemmaIDsAsk(what uint32) (errno uintptr) {
	s, e := &stemmaIDs, &stemma.encode
	lock(&e.lock)
	s.waits = true
	s.ask.Store(what)
	futexwakeup(stemmaIDsAsked(), 1)
	goparkunlock(&e.lock, waitReasonForceGCIdle, traceBlockSystemGoroutine, 1)
	s.rested = nanotime()
	return s.errno
}

// stemmaIDsWanted reports whether a segment is to end, and remembers it. It runs on the thread.
//
//go:nowritebarrierrec
func stemmaIDsWanted(now int64) bool {
	const least = 1e9 // nanoseconds
	s := &stemmaIDs
	if !s.on || stemmaRotate.hurry.Load() || s.state.Load() != stemmaIDsNone || s.wanted.Load() != 0 ||
		now < s.again || stemmaForked() {
		return false
	}
	size, counts := stemmaIDsSize()
	full := stemmaIDsNearlyFull() || counts > uint64(stemmaEvents.size)/4*3
	if now < s.due && (s.rotator.Bytes == 0 || size <= s.began+s.rotator.Bytes) && (!full || now < s.ended.Now+least) {
		return false
	}
	s.wanted.Store(1)
	return true
}

// stemmaIDsSize returns how many bytes of a segment are in use, but for its log of events, and how many of them are
// the events of that P which has most.
//
//go:nowritebarrierrec
func stemmaIDsSize() (size, most uint64) {
	size = stemma.record.UsedFuncs() + stemma.contexts.UsedInterned() + stemmaIDsEncodingUsed()
	for i := range stemmaIDs.numPs.Load() {
		if m := stemmaEventsOf(i); m.on[m.side&1] {
			counts := events.CountsBytes(unsafe.Pointer(m.countsAt[m.side&1]))
			size, most = size+counts, max(most, counts)
		}
	}
	return size, most
}

// stemmaIDsNearlyFull reports whether a limit is near that a new segment is further away from.
//
//go:nowritebarrierrec
func stemmaIDsNearlyFull() bool {
	if stemma.encode.lucce {
		return stemma.contexts.NearlyFull()
	}
	return stemma.dacce.NearlyFull()
}

// stemmaIDsEncodingUsed returns how many bytes say how ids are encoded: of dictionaries, or of the log.
//
//go:nowritebarrierrec
func stemmaIDsEncodingUsed() uint64 {
	if stemma.encode.lucce {
		return stemma.lucce.UsedLog()
	}
	return stemma.dacce.UsedEpochs()
}

// stemmaRotateIDs ends a segment. It runs on the encoder.
func stemmaRotateIDs() {
	s := &stemmaIDs
	errno := stemmaIDsAsk(stemmaIDsPrepare)
	if errno == 0 {
		errno = stemmaIDsBegin()
	}
	if errno == 0 {
		errno = stemmaMoveEarly()
	}
	if errno == 0 {
		errno = stemmaIDsAsk(stemmaIDsFill)
	}
	if errno == 0 {
		errno = stemmaIDsSwitch()
	}
	now := nanotime()
	if errno == 0 {
		s.due, s.wait = now+s.rotator.Every, 0
		stemmaMoveLate()
		s.next.End(stemmaIDsRest)
		s.wanted.Store(0)
		s.ask.Store(stemmaIDsFinish)
		futexwakeup(stemmaIDsAsked(), 1)
	} else {
		const soon, least, most = 10e6, 1e9, 600e9 // nanoseconds
		if s.again = now + soon; errno != segment.Left {
			s.wait = min(max(2*s.wait, least), most)
			s.again = now + s.wait
		}
		stemmaIDsAsk(stemmaIDsLeave)
		s.next.End(stemmaIDsRest)
		if errno != segment.Left {
			s.head.Failed++
			if !stemmaRotate.said {
				stemmaRotate.said = true
				follows := "; it goes on, and it is tried again to end it"
				if !s.on {
					follows = "; the record goes on without segments"
				}
				stemmaSegmentFailed(errno, follows)
			}
		}
		s.state.Store(stemmaIDsNone)
		s.wanted.Store(0)
	}
}

// stemmaIDsRest makes way for all others, after 100 µs of work or if that is wanted.
func stemmaIDsRest() {
	const work = 100e3 // nanoseconds
	s := &stemmaIDs
	if getg().preempt || nanotime()-s.rested > work {
		Gosched()
		s.rested = nanotime()
	}
}

// stemmaIDsBegin makes ready what the thread fills: it changes pointers. It returns the number of an error.
func stemmaIDsBegin() (errno uintptr) {
	s := &stemmaIDs
	lo, size := &s.lo[1-s.now], &s.size[1-s.now]
	span := func(i int) memory.Span {
		return memory.NewSpan(unsafe.Add(unsafe.Pointer(nil), lo[i]), uint64(size[i]))
	}
	s.run = stemmaNewRun()
	s.funcs, s.copied = span(stemmaIDsFuncs), 0
	systemstack(func() {
		lock(&stemma.lock)
		s.next.Count()
		h := stemma.record.Header()
		h.Dropped, h.Failed = s.head.Dropped, s.head.Failed
		unlock(&stemma.lock)
	})
	if !s.next.Begin(unsafe.Add(unsafe.Pointer(nil), lo[stemmaIDsMain]), span(stemmaIDsNodes), span(stemmaIDsEncoding),
		s.run) {
		return linuxENOSPC
	}
	return 0
}

// stemmaEachStart calls visit for each goroutine that began at a go statement, with the epoch of that, 0 if there are
// none. Goroutines may begin and end meanwhile, so that what is seen of one may be of another one.
func stemmaEachStart(visit func(gp *g, epoch uint32)) {
	list, n := atomicAllG()
	for i := range n {
		gp := atomicAllGIndex(list, i)
		if s := readgstatus(gp) &^ _Gscan; s == _Gdead || s == _Gidle {
			continue // what it says is of the segment in which it ended
		}
		if from := atomic.Loaduintptr(&gp.stemma.From); from != 0 {
			epoch := uint32(0)
			if !stemma.encode.lucce {
				epoch = uint32(uint64(from) >> layout.IDEpoch)
			}
			visit(gp, epoch)
		}
		stemmaIDsRest()
	}
}

// stemmaMoveEarly makes the next segment know where goroutines began, epoch by epoch, so that few are loaded more than
// once. What it does not find here is found when it is needed. It returns the number of an error.
func stemmaMoveEarly() (errno uintptr) {
	s := &stemmaIDs
	const none, some = ^uint32(0), 1000
	for epoch, more := uint32(0), true; more && !stemmaRotate.hurry.Load(); {
		for loaded := false; !loaded; stemmaIDsRest() {
			systemstack(func() {
				lock(&stemma.lock)
				loaded = s.next.Load(epoch, some)
				unlock(&stemma.lock)
			})
		}
		following := none
		stemmaEachStart(func(gp *g, at uint32) {
			if at == epoch {
				stemmaStartParts(gp, true)
			} else if at > epoch {
				following = min(following, at)
			}
		})
		epoch, more = following, following != none
	}
	if s.next.Failed() {
		return linuxENOSPC
	}
	return 0
}

// stemmaStartParts makes the segment that comes next, or has begun, know where gp began, a few steps at a time. With
// early it ends where the segment has no room: then that does not begin.
func stemmaStartParts(gp *g, early bool) {
	const some = 100 // steps
	hi, lo := uint64(gp.stemma.Start), uint64(gp.stemma.From)
	for done := false; !done; stemmaIDsRest() {
		systemstack(func() {
			lock(&stemma.lock)
			done = stemmaIDs.next.StartPart(hi, lo, some) || early && stemmaIDs.next.Failed()
			unlock(&stemma.lock)
		})
	}
}

// stemmaIDsSwitch stops the world and begins the next segment. It returns the number of an error.
func stemmaIDsSwitch() (errno uintptr) {
	s := &stemmaIDs
	stw := stopTheWorld(stwUnknown)
	stopped := nanotime()
	if stemmaRotate.hurry.Load() {
		errno = segment.Left
	}
	for i := range s.numPs.Load() {
		if !stemmaEventsOf(i).ready { // a P that came meanwhile
			errno = segment.Left
		}
	}
	if errno == 0 {
		systemstack(func() {
			lock(&stemma.lock)
			ok := false
			if s.copied, ok = stemma.record.CopyFuncs(&s.funcs, s.copied, 1<<32); ok && s.next.Complete() {
				stemmaIDsNext()
				if !stemma.encode.lucce {
					c := stemma.dacce.Stats()
					c.MaxPause = max(c.MaxPause, uint64(nanotime()-stopped))
				}
			} else {
				errno = linuxENOSPC
			}
			unlock(&stemma.lock)
		})
	}
	startTheWorld(stw)
	return errno
}

// stemmaIDsNext begins the next segment. The world is stopped, and the lock is held.
func stemmaIDsNext() {
	s := &stemmaIDs
	s.ended = segment.End{Wall: stemmaWall(), Now: nanotime()}
	s.next.Switch(s.ended.Wall, s.rotator.Number)
	s.now = 1 - s.now
	stemma.record.Move(unsafe.Add(unsafe.Pointer(nil), s.lo[s.now][stemmaIDsMain]), s.funcs)
	stemmaRun = s.run
	if !stemma.encode.lucce {
		stemmaStamp = stemma.dacce.Stamp()
	}
	stemma.ino = s.ino
	for i := range s.numPs.Load() {
		stemmaEventsOf(i).turn()
	}
	for i := range stemmaFiles.n.Load() {
		if f := &stemmaFiles.list[i]; f.have.Load() > 0 {
			f.aside = f.dir != s.ino
		}
	}
	stemma.encode.epoch += 2 // so that a goroutine that knows where it began has an epoch of its own
	s.before, s.first, s.moving = s.first, stemma.encode.epoch, true
	s.began, _ = stemmaIDsSize()
	s.state.Store(stemmaIDsSwitched)
}

// stemmaMoveStart makes gp, whose words are of another epoch, know where it began in the current segment. It runs under
// the lock.
func stemmaMoveStart(gp *g) {
	s := &stemmaIDs
	if gp.stemma.From != 0 && gp.stemma.Epoch+1 < s.first {
		hi, lo := stemmaStartIn(gp.stemma.Start, gp.stemma.From, gp.stemma.Epoch)
		gp.stemma.Start, gp.stemma.From = hi, lo
	}
}

// stemmaStartIn returns what is in the current segment the ID of a go statement that was valid in an epoch of an
// earlier segment: of the one before, if that is not forgotten. It runs under the lock.
func stemmaStartIn(hi, lo, epoch uintptr) (newHi, newLo uintptr) {
	s := &stemmaIDs
	if !s.moving || epoch+1 < s.before {
		h, l := s.next.Lost(uint64(hi), uint64(lo))
		return uintptr(h), uintptr(l)
	}
	h, l := s.next.Start(uint64(hi), uint64(lo))
	return uintptr(h), uintptr(l)
}

// stemmaMoveLate makes all goroutines that have not run since know where they began in the current segment.
func stemmaMoveLate() {
	s := &stemmaIDs
	stemmaEachStart(func(gp *g, _ uint32) {
		if gp.stemma.Epoch+1 >= s.first {
			return
		}
		stemmaStartParts(gp, false)
		systemstack(func() {
			lock(&stemma.lock)
			if s := readgstatus(gp) &^ _Gscan; s != _Gdead && s != _Gidle && gp.stemma.Epoch+1 < stemmaIDs.first {
				stemmaMoveStart(gp)
				gp.stemma.Epoch = stemmaIDs.first - 1
			}
			unlock(&stemma.lock)
		})
	})
	systemstack(func() {
		lock(&stemma.lock)
		s.moving = false
		if stemma.encode.lucce {
			stemma.contexts.Begun()
		} else {
			stemma.dacce.Begun()
		}
		s.carried = uintptr(stemma.contexts.UsedInterned())
		unlock(&stemma.lock)
	})
}

// stemmaWaitMove waits until nobody changes what a goroutine says that has ended, before another one takes its g.
func stemmaWaitMove() {
	if stemmaIDs.moving {
		lock(&stemma.lock)
		unlock(&stemma.lock)
	}
}

// stemmaIDsLast leaves a segment that is about to begin, since the program ends, and completes one that has ended. It
// runs on the system stack. The thread leaves what it does when it gets a CPU. The encoder may not get one, nor stop
// the world, as long as this one has a P.
func stemmaIDsLast() {
	const most, sleep = 1e9, 100 // nanoseconds, microseconds
	s := &stemmaIDs
	stemmaRotate.hurry.Store(true)
	for begin := nanotime(); s.ask.Load() != stemmaIDsNothing && nanotime()-begin < most; {
		usleep(sleep)
	}
	s.files.leave()
	if s.state.CompareAndSwap(stemmaIDsSwitched, stemmaIDsFinished) {
		stemmaRotate.ending = true
		s.files.complete()
		stemmaRotate.ending = false
	}
}
