// Time that goroutines do not run, counted in the context that waits. Every goroutine has a clock that adds up
// its time by what it does: it runs, waits for something, is ready to run, or is in a system call. The clock is
// told of each change where the runtime changes the goroutine's status, so that all of its life is in
// one of them. When the goroutine runs again, the time that it did not is counted below the cell that it left
// when it stopped. The time that it ran is counted when it ends, below its go statement.

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/stemma/layout"
	"unsafe"
)

// stemmaWaitOn reports whether waits are counted. It is set before there is a P and does not change.
var stemmaWaitOn bool

// What a goroutine does, in g.stemmaDoes.
const (
	stemmaDead    = iota // nothing is measured
	stemmaRuns           // on CPU, or it would be if its thread were
	stemmaWaits          // for g.stemmaWhy
	stemmaReady          // to run: it waits for a P
	stemmaSyscall        // in a system call, or in C
)

// Reasons that the runtime has no waitReason for come behind its own.
const (
	stemmaWhyReady = waitReason(len(waitReasonStrings) + iota)
	stemmaWhySyscall
	stemmaWhyStart // whatever it waits for, it has not called anything yet
)

// A stemmaClockOf is a goroutine's clock, in nanoseconds. Whoever changes the status of the goroutine owns it: there is
// only one at a time, since the next change needs that the last one has been seen. It lies in one line of the
// processor's cache, since who makes a goroutine ready is often on another processor than the goroutine.
type stemmaClockOf struct {
	since  int64      // nanotime of the last change; 0 before the first
	waited int64      // time of a wait or a system call that is not counted yet
	ready  int64      // likewise, of waiting for a P
	ran    int64      // likewise, of running
	told   int64      // time that is counted, or left out on purpose
	does   uint8      // since then
	why    waitReason // of waited
	known  bool       // the goroutine is counted
	busy   uint32     // not 0 while who changes the status has not done with the rest, see stemmaWaitEnd
}

// stemmaWaitsEnd says that the program ends: clocks stand, and nothing more is counted but by stemmaWaitEnd.
var stemmaWaitsEnd atomic.Uint32

// What stemmaWaitsEnd says.
const (
	stemmaCounting   = 1 + iota // stemmaWaitEnd counts
	stemmaHasCounted            // it has
)

// begin notes that what follows changes the clock, unless clocks stand: then ok is false. What follows is not to be
// seen before.
//
//go:nosplit
//go:nowritebarrierrec
func (c *stemmaClockOf) begin() (ok bool) {
	atomic.StoreRel(&c.busy, 1)
	publicationBarrier()
	if stemmaWaitsEnd.Load() == 0 {
		return true
	}
	c.end()
	return false
}

// end notes that the clock is changed.
//
//go:nosplit
//go:nowritebarrierrec
func (c *stemmaClockOf) end() { atomic.StoreRel(&c.busy, 0) }

// stemmaWaitInit makes the tree count waits, if that is asked for.
func stemmaWaitInit() {
	if stemmaOption("wait") == "on" {
		stemma.tree.Counts(layout.HdrFlagWait | layout.HdrFlagLasting)
		stemmaAside = (*[1 << 14]stemmaWaitEntry)(stemmaTables(unsafe.Sizeof(*stemmaAside)))
		stemmaLives.check = stemmaWord("STEMMA_WAIT_CHECK")
		stemmaWaitOn = true
	}
}

// stemmaStatus is called by casgstatus when the status of gp has changed, on any stack and by any thread, and
// before anyone else can change it: it must not split the stack. When a goroutine goes on without
// being scheduled, after it has helped the collector, say, its wait is counted here.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaStatus(gp *g, from, to uint32) {
	if !stemmaWaitOn {
		return
	}
	switch to {
	case _Gwaiting:
		stemmaStop(gp, stemmaWaits, gp.waitreason)
	case _Grunnable:
		stemmaTurn(gp, stemmaReady)
	case _Gsyscall:
		stemmaEnterSyscall(gp)
	case _Grunning:
		if from == _Gwaiting {
			systemstack(func() { stemmaRunAgain(gp) })
		}
	case _Gdead:
		if !gp.stemma.clock.begin() {
			return
		}
		if from == _Grunning {
			stemmaTurnTo(gp, stemmaDead)
			systemstack(func() {
				stemmaCountRun(gp)
				stemmaCheckLife(gp)
			})
		}
		gp.stemma.clock = stemmaClockOf{busy: 1}
		gp.stemma.clock.end()
	case _Gdeadextra: // a thread of C leaves Go: what it does elsewhere is nobody's wait
		gp.stemma.clock = stemmaClockOf{}
	}
}

// stemmaPreempted is called when gp is about to be stopped where it is, for the collector. It runs on g0.
func stemmaPreempted(gp *g) {
	if stemmaWaitOn {
		stemmaStop(gp, stemmaWaits, waitReasonPreempted)
	}
}

// stemmaSwitched is called when gp is about to switch to another coroutine. It runs on g0.
func stemmaSwitched(gp *g) {
	if stemmaWaitOn {
		stemmaStop(gp, stemmaWaits, waitReasonCoroutine)
	}
}

// stemmaEnterSyscall is called when gp is about to enter a system call, or C. It must not split the stack.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaEnterSyscall(gp *g) {
	if stemmaWaitOn {
		stemmaStop(gp, stemmaSyscall, stemmaWhySyscall)
	}
}

// stemmaStop notes why gp does not run from here on.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaStop(gp *g, does uint8, why waitReason) {
	if c := &gp.stemma.clock; c.begin() {
		c.why = why
		stemmaTurnTo(gp, does)
		c.end()
	}
}

// stemmaTurn notes that from here on gp does something else.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaTurn(gp *g, does uint8) {
	if c := &gp.stemma.clock; c.begin() {
		stemmaTurnTo(gp, does)
		c.end()
	}
}

// stemmaTurnTo is stemmaTurn between begin and end.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaTurnTo(gp *g, does uint8) {
	c, now := &gp.stemma.clock, nanotime()
	if c.does == stemmaDead {
		gp.stemma.born = now
	}
	c.pass(now)
	other := c.does != does
	c.does = does
	if other && gp.stemma.entry > stemmaNoEntry {
		stemmaNoteEntry(gp)
	}
}

// pass adds the time until now to what the goroutine does.
//
//go:nosplit
//go:nowritebarrierrec
func (c *stemmaClockOf) pass(now int64) {
	passed := now - c.since
	switch c.does {
	case stemmaRuns:
		c.ran += passed
	case stemmaWaits, stemmaSyscall:
		c.waited += passed
	case stemmaReady:
		c.ready += passed
	}
	c.since = now
}

// stemmaRunAgain counts how long gp did not run, and notes that it runs. It runs on the system stack, on the
// thread that runs gp. Without a P, and before it has a shard, the time stays on the clock.
func stemmaRunAgain(gp *g) {
	if c := &gp.stemma.clock; c.begin() {
		stemmaTurnTo(gp, stemmaRuns)
		stemmaCountWait(gp, true)
		c.end()
	}
}

// stemmaCountWait counts what is on the clock of gp, which nobody changes: in the context that it stopped in. If still
// is true gp does not run, so that its stack may be walked. It runs on the system stack, where nothing preempts it
// between a load and a store of a counter.
func stemmaCountWait(gp *g, still bool) {
	c := &gp.stemma.clock
	pp := getg().m.p.ptr()
	if c.waited|c.ready == 0 || pp == nil || pp.stemma.shard == 0 {
		return
	}
	cell := gp.stemma.Ctx
	if cell == stemmaRootCell(layout.RootGo) {
		c.tell() // the runtime's own: they wait all the time; and the first one, until it begins the program
		return
	}
	if cell == gp.stemma.Start && cell != stemmaRootCell(layout.RootMain) {
		// It has not called anything. Its creator's waits are counted below that cell as well, for other reasons.
		stemmaWaitedIn(cell, stemmaWhyStart, false, uint64(c.waited+c.ready), pp.stemma.shard)
		c.tell()
		return
	}
	own := c.waited != 0 && stemmaLeavesCell(c.why)
	if still && !own {
		cell = stemmaInterruptedCell(gp, cell)
	}
	if c.waited != 0 {
		stemmaWaitedIn(cell, c.why, own, uint64(c.waited), pp.stemma.shard)
	}
	if c.ready != 0 {
		stemmaWaitedIn(cell, stemmaWhyReady, own, uint64(c.ready), pp.stemma.shard)
	}
	c.tell()
}

// tell notes that the time that the goroutine did not run is counted.
func (c *stemmaClockOf) tell() {
	c.told += c.waited + c.ready
	c.waited, c.ready = 0, 0
}

// stemmaLeavesCell reports whether who waits for a reason has left the cell of the call that waits: all that the
// program asks for. The collector may stop a goroutine in other functions of the runtime as well.
func stemmaLeavesCell(why waitReason) bool {
	switch why {
	case waitReasonChanReceive, waitReasonChanSend, waitReasonSelect, waitReasonSleep, waitReasonIOWait,
		waitReasonSyncMutexLock, waitReasonSyncRWMutexLock, waitReasonSyncRWMutexRLock, waitReasonSyncCondWait,
		waitReasonSyncWaitGroupWait, waitReasonCoroutine, stemmaWhySyscall:
		return true
	}
	return false
}

// stemmaWaitedIn counts one wait below a cell, which is the call's own that waits, or that of any call.
func stemmaWaitedIn(cell uintptr, why waitReason, own bool, ns uint64, shard uintptr) {
	at, id := uint32(cell), layout.WaitID(uint64(why))
	if !own {
		stemmaCountAmount(stemmaAsideNode(at, layout.RecWait, id, stemmaWhyName(why)), ns, shard)
		return
	}
	node := stemma.tree.Lookup(at, id)
	if node == 0 {
		lock(&stemma.lock)
		node = stemma.tree.EnterWait(at, id, stemmaWhyName(why))
		unlock(&stemma.lock)
	}
	stemmaCountAmount(node, ns, shard)
}

// stemmaCountAmount counts one thing of an amount at a node.
func stemmaCountAmount(node uint32, amount uint64, shard uintptr) {
	counters := (*[layout.AmountCounters]uint64)(unsafe.Pointer(layout.Base + uintptr(node) + shard))
	counters[0]++
	counters[1] += amount
}

// stemmaReleased is called when the running goroutine has released a semaphore for which waiter waits, before that is
// made ready: of a lock, the waiter's time counts in the context that held it as well. It runs with a P, and may grow
// the stack.
func stemmaReleased(waiter *g) {
	if !stemmaWaitOn {
		return
	}
	why := waiter.waitreason
	switch why {
	case waitReasonSyncMutexLock, waitReasonSyncRWMutexLock, waitReasonSyncRWMutexRLock:
	default:
		return
	}
	clock := &waiter.stemma.clock
	ns := nanotime() - clock.since
	if clock.does != stemmaWaits || ns < 0 {
		return // it is about to wait
	}
	cell := getg().stemma.Ctx
	systemstack(func() {
		pp := getg().m.p.ptr()
		if pp == nil || pp.stemma.shard == 0 {
			return
		}
		node := stemmaAsideNode(uint32(cell), layout.RecHeld, layout.HeldID(uint64(why)), stemmaWhyName(why))
		stemmaCountAmount(node, uint64(ns), pp.stemma.shard)
	})
}

// stemmaCountRun counts how long gp ran, which is the running goroutine, or does not go on meanwhile: below the go
// statement that it began with. It runs on the system stack. Goroutines of the runtime's own are not counted, and those
// of C neither, which end without a P.
func stemmaCountRun(gp *g) {
	c := &gp.stemma.clock
	pp := getg().m.p.ptr()
	if pp == nil || pp.stemma.shard == 0 || gp.stemma.Start == stemmaRootCell(layout.RootGo) ||
		gp.stemma.Start == stemmaRootCell(layout.RootCgo) {
		return
	}
	node := stemmaAsideNode(uint32(gp.stemma.Start), layout.RecRun, layout.RunID, "goroutine")
	counters := (*[layout.AmountCounters]uint64)(unsafe.Pointer(layout.Base + uintptr(node) + pp.stemma.shard))
	if !c.known {
		counters[0]++
	}
	counters[1] += uint64(c.ran)
	c.told += c.ran
	c.known, c.ran = true, 0
}

// stemmaLives compares the life of each goroutine, from the first change of its status to the last, with its times that
// were counted, if STEMMA_WAIT_CHECK is print or throw.
var stemmaLives struct {
	check         string
	ended, differ atomic.Uint64
}

// stemmaCheckLife compares the life of gp, whose clock stands still, and whose time has been counted. Who was not
// counted, for want of a P or as one of the runtime's own, is left out. It runs on the system stack.
func stemmaCheckLife(gp *g) {
	c := &gp.stemma.clock
	if stemmaLives.check == "" || !c.known {
		return
	}
	stemmaLives.ended.Add(1)
	life := c.since - gp.stemma.born
	if off := life - c.told; off > life/1000 || off < -life/1000 {
		stemmaLives.differ.Add(1)
		print("stemma: goroutine ", gp.goid, " lived ", life, " ns, and ", c.told, " ns were counted\n")
		if stemmaLives.check == "throw" {
			throw("stemma: the times of a goroutine do not add up to its life")
		}
	}
}

// stemmaAside finds the nodes that no cell leads to. When it is full, cells lead to those of waits.
var stemmaAside *[1 << 14]stemmaWaitEntry

type stemmaWaitEntry struct {
	cell, node uint32
	id         uint64
}

// stemmaAsideNode returns the node of a function ID near a cell, which does not lead to it: a call of a
// function has its cell to itself, or each call from then on would have to choose. It runs on the system stack.
// Most nodes are there, and are found without the lock: goroutines end all the time.
func stemmaAsideNode(cell, kind uint32, id uint64, name string) uint32 {
	for i := range uint32(stemmaAsideProbes) {
		e := stemmaAsideEntry(cell, id, i)
		node := atomic.Load(&e.node)
		if node == 0 {
			break
		}
		if e.cell == cell && e.id == id {
			return node
		}
	}
	lock(&stemma.lock)
	node := stemmaMakeAside(cell, kind, id, name)
	unlock(&stemma.lock)
	return node
}

// stemmaAsideProbes is how many entries are looked at.
const stemmaAsideProbes = 64

// stemmaAsideEntry returns entry i of those that a node may have.
func stemmaAsideEntry(cell uint32, id uint64, i uint32) *stemmaWaitEntry {
	return &stemmaAside[(cell>>3^layout.Hash(id)+i)%uint32(len(stemmaAside))]
}

// stemmaMakeAside makes that node, unless it was made meanwhile. The lock is held. An entry's node is written last: who
// sees it sees the rest, which never changes.
func stemmaMakeAside(cell, kind uint32, id uint64, name string) uint32 {
	for i := range uint32(stemmaAsideProbes) {
		e := stemmaAsideEntry(cell, id, i)
		if e.node == 0 {
			e.cell, e.id = cell, id
			atomic.Store(&e.node, stemma.tree.EnterAside(cell, kind, id, name))
		}
		if e.cell == cell && e.id == id {
			return e.node
		}
	}
	if kind == layout.RecWait {
		return stemma.tree.EnterWait(cell, id, name)
	}
	return stemma.tree.EnterAside(cell, kind, id, name)
}

// stemmaWhyName returns the name of a reason.
func stemmaWhyName(why waitReason) string {
	switch why {
	case stemmaWhyReady:
		return "runnable"
	case stemmaWhySyscall:
		return "system call"
	case stemmaWhyStart:
		return layout.WhyStart
	}
	return why.String()
}

// stemmaInterruptedCell returns a cell of the function in which gp was stopped, between two instructions, where a
// function begins, or in a function of the runtime that leaves no cell: that of its last call, if it has made one,
// else its first one. The cell that gp left last may be that of a call that has returned. A function that has no frame
// yet has not noted its node: it is what the call leads to that gp made last. In the few instructions after that what
// lies there is another one's, or nothing. A function that is about to return has no frame either: then it is a cell of
// its caller, if recursion has left none that leads there. It runs on the system stack, while gp does not run.
func stemmaInterruptedCell(gp *g, cell uintptr) uintptr {
	var u unwinder
	u.initAt(gp.sched.pc, gp.sched.sp, gp.sched.lr, gp, unwindSilentErrors)
	for ; u.valid(); u.next() {
		if fn := u.frame.fn; fn.flag&(layout.FuncFlagSlot|layout.FuncFlagLeaf) != 0 {
			node := uint32(0)
			if funcspdelta(fn, u.frame.pc) != 0 {
				node = stemmaFrameNode(gp, &u.frame)
			} else {
				node = stemma.tree.ByEntry(uint32(cell), uint64(fn.entry()))
			}
			if node == 0 {
				continue // it has no node yet, or returns
			}
			if near := stemma.tree.CellNear(node, uint32(cell), uint64(fn.entry())); near != 0 {
				cell = uintptr(near)
			}
			break
		}
	}
	return cell
}

// stemmaWaitEnd counts the time of all goroutines that there are while the program ends. It runs on the system stack.
// Goroutines go on, but their clocks stand: who has not seen that yet changes one clock at most, which is waited for,
// for a tenth of a second in all. The sleep is for the processor, which may read the flag before others see that the
// clock is busy.
func stemmaWaitEnd() {
	if !stemmaWaitOn || getg().m.p == 0 {
		return
	}
	if !stemmaWaitsEnd.CompareAndSwap(0, stemmaCounting) {
		// Another thread ends the program as well, and is counting.
		for tries := 2000; stemmaWaitsEnd.Load() == stemmaCounting && tries > 0; tries-- {
			usleep(100)
		}
		return
	}
	usleep(1000)
	now := nanotime()
	length := int(atomic.Loaduintptr(&allglen))
	tries := 5000
	for i := range length {
		lock(&allglock)
		gp := allgs[i]
		unlock(&allglock)
		for atomic.LoadAcq(&gp.stemma.clock.busy) != 0 && tries > 0 {
			tries--
			usleep(20)
		}
		if atomic.LoadAcq(&gp.stemma.clock.busy) != 0 {
			stemma.record.Lost(layout.LostWaits)
		} else if gp.stemma.clock.does != stemmaDead {
			stemmaCountLast(gp, now)
		}
	}
	stemma.tree.Counted()
	stemmaWaitsEnd.Store(stemmaHasCounted)
	if stemmaLives.check != "" {
		print("stemma: of ", stemmaLives.ended.Load(), " goroutines ", stemmaLives.differ.Load(),
			" lived longer or shorter than what was counted\n")
	}
}

// stemmaCountLast counts the time of gp, whose clock stands. If gp does not run it is held by its scan bit, as by the
// collector, since then its stack can be walked. One that the collector holds itself goes without.
func stemmaCountLast(gp *g, now int64) {
	c := &gp.stemma.clock
	s := readgstatus(gp)
	still := (s == _Gwaiting && c.does == stemmaWaits || s == _Grunnable && c.does == stemmaReady ||
		s == _Gsyscall && c.does == stemmaSyscall) && castogscanstatus(gp, s, s|_Gscan)
	c.pass(max(now, c.since))
	stemmaCountWait(gp, still)
	stemmaCountRun(gp)
	stemmaCheckLife(gp)
	if still {
		casfrom_Gscanstatus(gp, s|_Gscan, s)
	}
}
