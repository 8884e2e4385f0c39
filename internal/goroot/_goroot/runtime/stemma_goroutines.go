// Goroutines that exist: where each was made, and what it waits for. The program lists its own on demand.

package runtime

import _ "unsafe" // for go:linkname

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
