// Built-in events: what happened, how often and in which context, added up in memory of
// each P; and, if that is asked for, a log of the newest. An event is written by the
// goroutine that it happens to, which may not lose its P meanwhile.

package runtime

import (
	"internal/runtime/stemma/events"
	"internal/runtime/stemma/layout"
	"internal/runtime/sys"
	"unsafe"
)

// stemmaEvents is what to record.
var stemmaEvents struct {
	kinds uint32  // bits, by kind
	log   bool    // keep a log as well
	start int64   // nanotime when the program began
	size  uintptr // of each file
	// By the low bits of a return address: the address << 1, and whether it is
	// in an instrumented function that has a slot. Racing writers write whole words.
	known [1 << 14]uintptr
}

// stemmaEventsInit reads what is asked for: kinds with + between them.
func stemmaEventsInit() {
	e := &stemmaEvents
	e.start = nanotime()
	e.size = 64 << 20
	if n, ok := stemmaNumber("STEMMA_EVENTS_SIZE"); ok {
		e.size = min(alignUp(max(n, events.CountsMin), 1<<16), 1<<36)
	}
	e.size = min(e.size, max(alignDown(stemmaAddresses()/(4*stemmaSomePs()), 1<<16), alignUp(events.CountsMin, 1<<16)))
	e.log = stemmaOption("eventlog") == "on"
	list := stemmaOption("events")
	for begin, i := 0, 0; i <= len(list); i++ {
		if i < len(list) && list[i] != '+' {
			continue
		}
		for kind := range layout.EventKinds {
			if name := layout.EventKinds[kind].Name; name != "" && list[begin:i] == name {
				e.kinds |= 1 << kind
			}
		}
		begin = i + 1
	}
}

// stemmaEventMemory is what a P has for its events, outside the heap.
type stemmaEventMemory struct {
	counts [2]events.Counts   // of two segments that take turns
	log    [2]events.EventLog // the same
	side   int                // which one is the current segment's
	on     [2]bool            // there is memory, and a file, for the counts
	logs   [2]bool            // and for the log

	// With segments: where the memory of counts and log is, and the index of counts.
	index, countsAt, logAt [2]uintptr
	ready                  bool // all is made for the next segment that can be
}

// stemmaNewEvents maps the files for the events of a new P. The world is stopped.
func stemmaNewEvents(pp *p) {
	e := &stemmaEvents
	if e.kinds == 0 || pp.stemma.events != 0 {
		return
	}
	m := (*stemmaEventMemory)(stemmaMemory(unsafe.Sizeof(stemmaEventMemory{})))
	index := stemmaReserve(0, events.CountsArena(e.size))
	counts := stemmaMapOfP(layout.FileCounts, pp, 0, e.size, e.size, false)
	if m == nil || index == nil || counts == nil || stemmaFileAt(uintptr(counts)) == nil {
		return // without memory, or a file, the events of this P are not recorded
	}
	m.counts[0].Init(counts, index, e.size)
	if m.on[0] = m.counts[0].Reset(); !m.on[0] {
		return
	}
	logAt := unsafe.Pointer(nil)
	if e.log {
		logAt = stemmaMapOfP(layout.FileEvents, pp, 0, e.size, e.size, false)
		if logAt != nil && stemmaFileAt(uintptr(logAt)) != nil {
			m.log[0].Init(logAt, e.size)
			m.logs[0] = m.log[0].Reset()
		}
	}
	pp.stemma.events = uintptr(unsafe.Pointer(m))
	stemmaEventsAside(pp, m, uintptr(index), uintptr(counts), uintptr(logAt))
}

// stemmaWants reports whether events of a kind are recorded.
//
//go:nosplit
func stemmaWants(kind uint32) bool { return stemmaEvents.kinds>>kind&1 != 0 }

// stemmaWriteEvent records an event. The caller holds its M, so that no other writes
// to the memory of the P.
func stemmaWriteEvent(kind uint32, value, hi, lo uint64) {
	m := (*stemmaEventMemory)(unsafe.Pointer(getg().m.p.ptr().stemma.events))
	if m == nil || !m.on[m.side&1] {
		return
	}
	if m.logs[m.side&1] {
		m.log[m.side&1].Add(kind, value, uint64(nanotime()-stemmaEvents.start), hi, lo)
	}
	if kind == layout.EventGo {
		value = 0 // the number of a goroutine is nothing to add up
	}
	m.counts[m.side&1].Add(kind, value, hi, lo)
}

// stemmaNextGoid returns the number that newproc1 gives to its goroutine after stemmaNewG: until then the goroutine has
// none, or that of one that has ended. The caller holds its M, which has a P. If the P has no numbers left, it takes
// some, as newproc1 would.
func stemmaNextGoid() uint64 {
	pp := getg().m.p.ptr()
	if pp.goidcache == pp.goidcacheend {
		pp.goidcache = sched.goidgen.Add(_GoidCacheBatch) - _GoidCacheBatch + 1
		pp.goidcacheend = pp.goidcache + _GoidCacheBatch
	}
	return pp.goidcache
}

// stemmaEventHere records an event in the context of the innermost instrumented
// frame of the running goroutine. It may be called with locks held, but not on a
// system stack.
func stemmaEventHere(kind uint32, value uint64) {
	mp := acquirem()
	gp := getg()
	if gp == mp.curg && mp.p != 0 && mp.p.ptr().stemma.events != 0 {
		if slot, pc := stemmaInnermost(gp, getfp()); slot != 0 {
			hi, lo := stemmaCaptureAt(gp, slot, pc)
			stemmaWriteEvent(kind, value, hi, lo)
		}
	}
	releasem(mp)
}

// stemmaEventPanic records that gopanic has been called, from pc with stack pointer sp. It unwinds the stack: a fault
// may have stopped a function that has no frame, and one right behind a call has the return address of that.
func stemmaEventPanic(pc uintptr, sp unsafe.Pointer) {
	mp := acquirem()
	gp := getg()
	if gp == mp.curg && mp.p != 0 && mp.p.ptr().stemma.events != 0 {
		var hi, lo uint64
		systemstack(func() {
			switch {
			case stemma.encode.mute:
			case stemma.encode.lucce:
				hi, lo = stemmaLucceCaptured(gp, pc, uintptr(sp), 0)
			default:
				hi, lo = stemmaDacceCaptured(gp, pc, uintptr(sp))
			}
		})
		if lo != 0 || stemma.encode.mute {
			stemmaWriteEvent(layout.EventPanic, 0, hi, lo)
		}
	}
	releasem(mp)
}

// stemmaInnermost returns the slot of the innermost instrumented frame further out
// than the frame pointer bp, and the return address in it; 0 if there is none.
func stemmaInnermost(gp *g, bp uintptr) (slot, pc uintptr) {
	for n := 0; n < 256 && bp >= gp.stack.lo && bp+16 <= gp.stack.hi; n++ {
		pc = stemmaReturnOf(bp)
		bp = *(*uintptr)(unsafe.Pointer(bp))
		known := &stemmaEvents.known[pc/sys.PCQuantum%uintptr(len(stemmaEvents.known))]
		entry := *known
		if entry>>1 != pc {
			f := findfunc(pc)
			if !f.valid() {
				return 0, 0
			}
			entry = pc << 1
			if f.flag&layout.FuncFlagSlot != 0 {
				entry |= 1
			}
			*known = entry
		}
		if entry&1 != 0 {
			return stemmaSlotOf(bp), pc
		}
	}
	return 0, 0
}

// stemmaAlloc records an allocation of size bytes that is about to be made. It is called
// where Go has its hooks for debugging allocations, which all of them pass, also those
// that fit a block of tiny ones.
func stemmaAlloc(size uintptr) {
	if stemmaWants(layout.EventAlloc) {
		stemmaEventHere(layout.EventAlloc, uint64(size))
	}
}

// stemmaPark returns when the goroutine is parked, or 0 if nobody wants to know.
// The goroutine may not be moved to another M: it must not split the stack.
//
//go:nosplit
func stemmaPark() int64 {
	if !stemmaWants(layout.EventBlock) || getg().waitreason == waitReasonGCWorkerIdle {
		return 0
	}
	return nanotime()
}

// stemmaUnpark records for how long the goroutine was parked. A worker of the
// garbage collector may not be preempted here: it must not split the stack.
//
//go:nosplit
func stemmaUnpark(parked int64) {
	if parked != 0 {
		stemmaEventHere(layout.EventBlock, uint64(nanotime()-parked))
	}
}

// stemmaEvent records an event of the program itself.
func stemmaEvent(kind uint32, value uint64) {
	if stemmaWants(kind) {
		stemmaEventHere(kind, value)
	}
}
