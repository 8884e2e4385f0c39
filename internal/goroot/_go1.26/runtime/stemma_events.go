// Built-in events: what happened, when, and in which context, in one mapped log
// for each P. An event is written by the goroutine that it happens to, which may
// not lose its P meanwhile.

package runtime

import (
	rt "internal/runtime/stemma"
	"unsafe"
)

// stemmaEvents is what to record.
var stemmaEvents struct {
	kinds uint32 // bits, by kind
	start int64  // nanotime when the program began
	size  uintptr
	// By the low bits of a return address: the address << 1, and whether it is
	// in an instrumented function that has a slot. Racing writers write whole words.
	known [1 << 14]uintptr
}

// stemmaEventsInit reads what is asked for: kinds with + between them.
func stemmaEventsInit() {
	e := &stemmaEvents
	e.start = nanotime()
	e.size = 64 << 20
	if n, ok := stemmaParse(gogetenv("STEMMA_EVENTS_SIZE")); ok {
		e.size = alignUp(max(n, 1<<16), 1<<16)
	}
	names := [...]string{rt.EventAlloc: "alloc", rt.EventBlock: "block", rt.EventGo: "go", rt.EventPanic: "panic", rt.EventError: "error"}
	list := stemmaOption("events")
	for begin, i := 0, 0; i <= len(list); i++ {
		if i < len(list) && list[i] != '+' {
			continue
		}
		for kind, name := range names {
			if name != "" && list[begin:i] == name {
				e.kinds |= 1 << kind
			}
		}
		begin = i + 1
	}
}

// stemmaNewEvents maps the log of a new P. The world is stopped.
func stemmaNewEvents(pp *p) {
	if stemmaEvents.kinds == 0 || pp.stemmaEvents != 0 {
		return
	}
	var name [24]byte
	n := copy(name[:], "events.")
	n += copy(name[n:], itoa(make([]byte, 20), uint64(pp.id)))
	log := stemmaMap(unsafe.String(&name[0], n), 0, stemmaEvents.size)
	*(*uint64)(unsafe.Add(log, 8)) = rt.EventSize
	pp.stemmaEvents = uintptr(log)
}

// stemmaWants reports whether events of a kind are recorded.
//
//go:nosplit
func stemmaWants(kind uint32) bool { return stemmaEvents.kinds>>kind&1 != 0 }

// stemmaWriteEvent writes an event. The caller holds its M.
func stemmaWriteEvent(kind uint32, value, hi, lo uint64) {
	log := getg().m.p.ptr().stemmaEvents
	used := (*uint64)(unsafe.Pointer(log + 8))
	if uintptr(*used)+rt.EventSize > stemmaEvents.size {
		*(*uint64)(unsafe.Pointer(log + 16))++ // lost
		return
	}
	e := (*[rt.EventSize / 8]uint64)(unsafe.Pointer(log + uintptr(*used)))
	*e = [...]uint64{uint64(kind), value, uint64(nanotime() - stemmaEvents.start), hi, lo}
	*used += rt.EventSize
}

// stemmaEventHere records an event in the context of the innermost instrumented
// frame of the running goroutine. It may be called with locks held, but not on a
// system stack.
func stemmaEventHere(kind uint32, value uint64) {
	mp := acquirem()
	gp := getg()
	if gp == mp.curg && mp.p != 0 && mp.p.ptr().stemmaEvents != 0 {
		if slot, pc := stemmaInnermost(gp, getfp()); slot != 0 {
			hi, lo := stemmaCaptureAt(gp, slot, pc)
			stemmaWriteEvent(kind, value, hi, lo)
		}
	}
	releasem(mp)
}

// stemmaInnermost returns the slot of the innermost instrumented frame further out
// than the frame pointer bp, and the return address in it; 0 if there is none.
func stemmaInnermost(gp *g, bp uintptr) (slot, pc uintptr) {
	for n := 0; n < 256 && bp >= gp.stack.lo && bp+16 <= gp.stack.hi; n++ {
		pc = *(*uintptr)(unsafe.Pointer(bp + 8))
		bp = *(*uintptr)(unsafe.Pointer(bp))
		known := &stemmaEvents.known[pc%uintptr(len(stemmaEvents.known))]
		entry := *known
		if entry>>1 != pc {
			f := findfunc(pc)
			if !f.valid() {
				return 0, 0
			}
			entry = pc << 1
			if f.flag&rt.FuncFlagSlot != 0 {
				entry |= 1
			}
			*known = entry
		}
		if entry&1 != 0 {
			return bp - 8, pc
		}
	}
	return 0, 0
}

// stemmaAlloc records an allocation. It reports true if there are such events:
// then the heap profiler, which must see every allocation for this, does nothing.
func stemmaAlloc(size uintptr) bool {
	if !stemmaWants(rt.EventAlloc) {
		return false
	}
	stemmaEventHere(rt.EventAlloc, uint64(size))
	return true
}

// stemmaPark returns when the goroutine is parked, or 0 if nobody wants to know.
// The goroutine may not be moved to another M: it must not split the stack.
//
//go:nosplit
func stemmaPark() int64 {
	if !stemmaWants(rt.EventBlock) || getg().waitreason == waitReasonGCWorkerIdle {
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
		stemmaEventHere(rt.EventBlock, uint64(nanotime()-parked))
	}
}

// stemmaEvent records an event of the program itself.
func stemmaEvent(kind uint32, value uint64) {
	if stemmaWants(kind) {
		stemmaEventHere(kind, value)
	}
}
