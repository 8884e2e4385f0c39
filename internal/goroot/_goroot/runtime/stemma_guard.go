// Samples at stack guards, as the paper takes them: the sampler sets the guard of running goroutines
// (sample-at=prologue), which take their samples in their next function prologues.

package runtime

import "internal/runtime/stemma/layout"

// What g.stemma.ask says: the goroutine was asked for a sample at a stack guard.
const (
	stemmaAskGuard = 1
	stemmaAskAgain = 2 // the request has become one for preemption, see stemmaRepeat
)

// stemmaGuard is called by newstack, on g0, when gp has come to a prologue
// with a preemption request, at a synchronous safe point. It takes the sample
// that gp was asked for, and reports whether that was all that was asked.
func stemmaGuard(gp *g, preempt bool) bool {
	if stemmaEvery != 0 && (!preempt || gp.stemma.ask == 0) {
		return stemmaEveryGuard(gp, preempt)
	}
	if !preempt {
		return false
	}
	if gp.stemma.ask == 0 {
		return false
	}
	stemmaAnswer(gp)
	stemmaSelf(gp)
	return !gp.preempt && !gp.preemptStop && !gp.preemptShrink
}

// stemmaRepeat is called by newstack when gp cannot stop in a prologue, since its M
// holds a lock, say. The runtime repeats a request for preemption when it can be met,
// so the one for a sample becomes such: then nothing need look for it where locks are
// given up. It runs on g0.
func stemmaRepeat(gp *g) {
	if gp.stemma.ask != 0 && !gp.preempt && stemmaWithout != "repeat" {
		gp.stemma.ask = stemmaAskAgain
		gp.preempt = true
	}
}

// stemmaAnswer takes back the request for a sample that gp is about to take. One for
// preemption that came meanwhile stays: whoever makes one sets gp.preempt, the guard
// and then the P's preempt, for which a signal comes, or looks whether it is met and
// makes it again.
func stemmaAnswer(gp *g) {
	if gp.stemma.ask == stemmaAskAgain {
		stemmaSmp.Count(layout.StatRepeated, 1)
		if !gp.m.p.ptr().preempt {
			gp.preempt = false
		}
	}
	gp.stemma.ask = 0
	// The guard last: whoever asks for preemption sets preempt first, which the caller
	// looks at after this.
	gp.stackguard0 = gp.stack.lo + stackGuard
}

// stemmaSelf takes the sample that this thread was asked for, in a prologue of gp. It runs on
// the g0 of the M that runs gp, with a P.
func stemmaSelf(gp *g) {
	th := stemmaThreadOf(getg().m)
	if th == nil || !th.state.CompareAndSwap(stemmaTicketGuard, stemmaTicketTaken) &&
		!th.state.CompareAndSwap(stemmaTicketSignal, stemmaTicketTaken) {
		return // the request was for another thread
	}
	weight := th.stemmaUsed(stemmaThreadCPU())
	if stemmaAcct.on {
		weight = 0 // it approximates calls, and no time
	}
	if !stemmaIncremental() || !stemmaTrace(gp, th, stemmaGuardOf(gp), weight) {
		stemmaRecord(gp, th, layout.WeightCPU, weight)
	}
	stemmaSmp.Count(layout.StatSamples, 1)
	stemmaSmp.Latency(uint64(nanotime() - th.asked))
	th.state.Store(stemmaTicketFree)
}

// stemmaGuardOf returns where gp is that has stopped in a prologue.
func stemmaGuardOf(gp *g) stemmaPlace {
	return stemmaPlace{pc: gp.sched.pc, sp: gp.sched.sp, lr: gp.sched.lr, bp: gp.sched.bp, sym: gp.sched.pc - 1,
		how: stemmaAtGuard}
}

// stemmaScheduled is called when an M is about to run gp, on g0 in execute and coroswitch_m.
// A request for a sample in a prologue was for the goroutine before it.
//
//go:nowritebarrierrec
func stemmaScheduled(gp *g, mp *m) {
	gp.stemma.ask = 0
	if stemmaEvery != 0 && gp.syscallsp == 0 {
		gp.stackguard0 = stackPreempt
	}
	th := stemmaThreadOf(mp)
	if th != nil && th.tid != mp.procid {
		stemmaEndThread(mp) // an M for threads of C: it has another one now
		th = nil
	}
	if th == nil {
		stemmaAddThread(mp)
		return
	}
	if th.state.Load() == stemmaTicketGuard && th.state.CompareAndSwap(stemmaTicketGuard, stemmaTicketFree) {
		stemmaSmp.Count(layout.StatDropped, 1)
	}
}
