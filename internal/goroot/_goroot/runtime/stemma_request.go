// Samples that the program asks for, of the goroutine that asks, under identifiers of its own: the
// operation sample of section 5.3 of the paper.

package runtime

import (
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/sample"
	"internal/runtime/sys"
)

// stemmaProgramSample takes a sample of the calling goroutine. It must not split the stack, nor can
// it be preempted, being the runtime's: from where it looks at its caller's stack pointer to
// the switch to g0 the stack does not move. Where it is called on g0 there is no goroutine to sample.
//
//go:nosplit
func stemmaProgramSample(id uint64) {
	gp := getg()
	if gp != gp.m.curg {
		return
	}
	if stemmaSmp.started.Load() != stemmaPrepared {
		stemmaPrepare()
	}
	at := stemmaPlace{pc: sys.GetCallerPC(), sp: sys.GetCallerSP(), how: stemmaAfterCall}
	systemstack(func() { stemmaRequest(gp, at, id) })
}

// stemmaRequest records a request of gp, which is at the given place. It runs on the g0 of the M
// that runs gp, with a P. A signal for a sample that comes meanwhile finds the thread on g0, where it
// does not touch the trace.
//
//go:nowritebarrierrec
func stemmaRequest(gp *g, at stemmaPlace, id uint64) {
	s := &stemmaSmp.Samples
	at.sym = at.pc - 1
	now := uint64(nanotime() - stemmaSmp.epoch)
	if ref, expect, ok := stemmaRequestRef(gp, at); !ok {
		s.Request(id, now, gp.goid, stemmaRequestWalk(gp, at), true)
	} else if sample.Resolved(ref) {
		if expect != 0 && expect != ref+1 {
			stemmaMismatch(gp, ref, expect-1)
		}
		s.Request(id, now, gp.goid, ref, true)
	} else {
		n := s.Request(id, now, gp.goid, s.Child(s.Child(0, layout.PCPending), at.sym), false)
		stemmaTraceIn(gp).Request(n, ref, expect)
	}
	stemmaWakeSampler()
}

// stemmaWakeSampler has the sampler complete, and describe, what requests have left, if it sleeps until there are some.
//
//go:nowritebarrierrec
func stemmaWakeSampler() {
	if stemmaSmp.asleep.Load() == stemmaAsleep && stemmaSmp.asleep.CompareAndSwap(stemmaAsleep, stemmaAwake) {
		notewakeup(&stemmaSmp.note)
	}
}

// stemmaRequestRef is stemmaLocate where traces are incremental. The marks of the accumulator are those
// of its own samples.
//
//go:nowritebarrierrec
func stemmaRequestRef(gp *g, at stemmaPlace) (ref, expect uint32, ok bool) {
	switch {
	case !stemmaIncremental() || stemmaSmp.sampler == layout.SamplerACCT:
		return 0, 0, false
	case stemmaSmp.walk == layout.WalkIncremental && !stemmaTraceCheck:
		return stemmaLocate(gp, nil, at) // needs no buffer
	}
	th := stemmaThreadOf(getg().m)
	if th == nil {
		return 0, 0, false
	}
	ticket := th.keep()
	ref, expect, ok = stemmaLocate(gp, th, at)
	th.state.Store(ticket)
	return ref, expect, ok
}

// stemmaRequestWalk returns the node that a walk of the whole stack finds.
//
//go:nowritebarrierrec
func stemmaRequestWalk(gp *g, at stemmaPlace) uint32 {
	th := stemmaThreadOf(getg().m)
	if th == nil { // one that has no buffer
		stemmaSmp.Count(layout.StatFailed, 1)
		return stemmaSmp.Child(stemmaSmp.Child(0, layout.PCTruncated), at.sym)
	}
	ticket := th.keep()
	var u unwinder
	u.initAt(at.pc, at.sp, 0, gp, unwindSilentErrors)
	pcs := th.stemmaBuffer()
	n, whole := stemmaUnwind(&u, pcs)
	base := uint32(0)
	if !whole {
		stemmaSmp.Count(layout.StatFailed, 1)
		base = stemmaSmp.Child(0, layout.PCTruncated)
	}
	node := stemmaSmp.Stack(base, pcs[:n])
	th.state.Store(ticket)
	return node
}

// keep takes the thread's ticket, and with it its buffer, and returns the ticket's state, which
// the caller puts back. It runs on the thread itself, on g0, where none has taken the ticket: a
// handler that does so has ended, and the sampler leaves one that is taken alone.
//
//go:nowritebarrierrec
func (th *stemmaThread) keep() uint32 { return th.state.Swap(stemmaTicketTaken) }
