// Goroutines that exist: where each was made, what it waits for, and since when. The program lists its own on demand;
// with -metrics=calls,wait,existing there is a file with an entry for each g, which is kept up to date, so that who
// reads the record sees those that exist now, or existed when the program ended, however it did.

package runtime

import (
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/memory"
	"unsafe"
)

// stemmaExistingOn reports whether there is the file. It is set before there is a P and does not change.
var stemmaExistingOn bool

// stemmaExisting is the file: a header, and entries, which are handed out under stemma.lock and never given back: a g
// is not either.
var stemmaExisting struct {
	span    memory.Span
	entries uint64 // as many are handed out; readers have the number from the file, which may lose its pages
	offset  int64  // from nanotime to nanoseconds since 1970
}

// stemmaNoEntry stands for the entry of a g that got none. It is not asked for again, so each g is counted once.
const stemmaNoEntry = 1

// stemmaMostEntries is how many goroutines there is room for at once. It takes 40 MiB of addresses.
const stemmaMostEntries = 1 << 20

// stemmaExistingInit makes the file, if that is asked for.
func stemmaExistingInit() {
	if !stemmaWaitOn || stemmaOption("existing") != "on" {
		return
	}
	size := uintptr(layout.GoroutinesHeaderSize + stemmaMostEntries*layout.GoroutineSize)
	if stemmaAddresses() < size {
		size = layout.GoroutinesHeaderSize + stemmaMostEntries>>6*layout.GoroutineSize
	}
	e := &stemmaExisting
	e.span = memory.NewSpan(stemmaFileSpan(layout.FileGoroutines, size), uint64(size))
	if !e.span.Need(layout.GoroutinesHeaderSize) {
		return
	}
	sec, nsec, _ := time_now()
	e.offset = sec*1e9 + int64(nsec) - nanotime()
	h := stemmaExistingHeader()
	for i := range h.Reasons {
		copy(h.Reasons[i][:len(h.Reasons[i])-1], stemmaReasonName(waitReason(i)))
	}
	stemma.tree.Counts(layout.HdrFlagExisting)
	stemmaExistingOn = true
}

func stemmaExistingHeader() *layout.GoroutinesHeader {
	return (*layout.GoroutinesHeader)(stemmaExisting.span.At(0))
}

// stemmaReasonName returns the name of a reason, "" if there is none with that number.
func stemmaReasonName(why waitReason) string {
	if why > stemmaWhyStart {
		return ""
	}
	return stemmaWhyName(why)
}

// stemmaNewEntry gives newg an entry. It runs in newproc1, on the system stack, with a P. Without room the goroutine
// has none, and is counted.
func stemmaNewEntry(newg *g) {
	lock(&stemma.lock)
	h, e := stemmaExistingHeader(), &stemmaExisting
	end := layout.GoroutinesHeaderSize + e.entries*layout.GoroutineSize
	if e.span.Need(end + layout.GoroutineSize) {
		newg.stemma.entry = uintptr(e.span.At(end))
		e.entries++
		memory.StoreRel64(&h.Entries, e.entries)
	} else {
		newg.stemma.entry = stemmaNoEntry
		h.Lost++
	}
	unlock(&stemma.lock)
}

// stemmaNoteEntry writes what gp does from now on to its entry. It runs where the status of gp changes, on any stack
// and by any thread, but one at a time, and must not split the stack. A reader takes an entry whose two numbers are
// equal.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaNoteEntry(gp *g) {
	e, c := (*layout.Goroutine)(unsafe.Pointer(gp.stemma.entry)), &gp.stemma.clock
	memory.StoreRel64(&e.Again, 0)
	publicationBarrier() // what follows is not to be seen before
	if c.does == stemmaDead {
		memory.StoreRel64(&e.ID, 0)
		return
	}
	memory.StoreRel64(&e.ID, gp.goid)
	e.Since = uint64(c.since + stemmaExisting.offset)
	e.Start = uint32(gp.stemma.Start)
	e.At, e.Reason = stemmaWhereAndWhy(gp)
	memory.StoreRel64(&e.Again, gp.goid)
}

// stemmaWhereAndWhy returns the cell below which gp does not run, and the number of the reason. That is the cell of its
// go statement if it runs, or was stopped between two calls: what it has left last may be any call. It must not split
// the stack.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaWhereAndWhy(gp *g) (cell uint32, why uint16) {
	c := &gp.stemma.clock
	switch c.does {
	case stemmaRuns:
		return uint32(gp.stemma.Start), layout.GoroutineRuns
	case stemmaReady:
		return uint32(gp.stemma.Start), uint16(stemmaWhyReady)
	}
	return stemmaWaitsAt(gp, c.why), uint16(c.why)
}

// stemmaWaitsAt returns the cell below which gp waits for a reason: that which it has left, if it has left one to wait,
// else that of its go statement. Code leaves cells to wait where waits are counted. It must not split the stack.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaWaitsAt(gp *g, why waitReason) uint32 {
	switch why {
	case waitReasonChanReceiveNilChan, waitReasonChanSendNilChan, waitReasonSelectNoCases:
		why = waitReasonChanReceive // they are such calls as well
	}
	if stemmaWaitOn && stemmaLeavesCell(why) {
		return uint32(gp.stemma.Ctx)
	}
	return uint32(gp.stemma.Start)
}

// stemmaExistingUsed returns how many bytes of the file have a meaning. The lock is held.
func stemmaExistingUsed() uintptr {
	return uintptr(layout.GoroutinesHeaderSize + stemmaExisting.entries*layout.GoroutineSize)
}

// stemmaExistingEnd notes when the program ended: what is waited for is waited for no longer than that. It runs on the
// system stack.
func stemmaExistingEnd() {
	if stemmaExistingOn {
		memory.StoreRel64(&stemmaExistingHeader().End, uint64(nanotime()+stemmaExisting.offset))
	}
}

// A stemmaGoroutine is what a program is told of one of its goroutines.
type stemmaGoroutine struct {
	at     uint32 // the offset of the cell below which it waits, or of its go statement
	leaked bool   // the collector has found that nothing can wake it
	why    string // it does not run: a reason to wait, or its status
}

// A stemmaGoroutinesProgram is what package stemmatest of the program finds in stemmaGoroutinesAPI1. Its type there is
// another one of the same layout, with the version in its name.
type stemmaGoroutinesProgram struct {
	// own makes the goroutines that the running one starts from now on those of an owner, with all that they start.
	own func(owner uint64)
	// of lists the goroutines of an owner that exist, as far as there is room, and returns how many there are.
	of func(owner uint64, list []stemmaGoroutine) int
}

// stemmaGoroutinesAPI1 is nil in a program that does not record a tree.
//
//go:linkname stemmaGoroutinesAPI1
var stemmaGoroutinesAPI1 *stemmaGoroutinesProgram

var stemmaGoroutinesAPIs = stemmaGoroutinesProgram{stemmaOwnGoroutines, stemmaGoroutinesOf}

func stemmaOwnGoroutines(owner uint64) { getg().stemma.owner = owner }

// stemmaGoroutinesOf lists all goroutines of an owner but the running one. Others go on meanwhile: what is said of one
// that is about to wait, or to end, may be of two moments. The runtime's own belong to nobody, whoever they were made
// for. It runs on a goroutine and may be preempted.
func stemmaGoroutinesOf(owner uint64, list []stemmaGoroutine) (n int) {
	self := getg()
	forEachGRace(func(gp *g) {
		s := readgstatus(gp) &^ _Gscan
		if gp == self || gp.stemma.owner != owner || s == _Gidle || s == _Gdead || isSystemGoroutine(gp, false) {
			return
		}
		if n < len(list) {
			list[n] = stemmaDescribeGoroutine(gp, s)
		}
		n++
	})
	return n
}

// stemmaDescribeGoroutine says what gp does, whose status is s.
func stemmaDescribeGoroutine(gp *g, s uint32) stemmaGoroutine {
	d := stemmaGoroutine{at: uint32(gp.stemma.Start)}
	switch s {
	case _Gwaiting, _Gleaked:
		why := gp.waitreason
		d.why, d.leaked, d.at = why.String(), s == _Gleaked, stemmaWaitsAt(gp, why)
	case _Gsyscall:
		d.why = stemmaWhyName(stemmaWhySyscall)
	case _Grunnable:
		d.why = stemmaWhyName(stemmaWhyReady)
	default:
		d.why = "running"
	}
	return d
}
