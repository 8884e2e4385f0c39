// Package events counts and logs the events of programs with context IDs, for each P.
package events

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// Counts adds up the events of one P: how many there were of each kind, size and
// context, with the sum and the maximum of their values. Its methods are for the
// P's own M, which may not lose the P meanwhile; they take no lock, do not allocate,
// and may run on any stack with room for a few small frames.
//
// Its memory is a file of entries, one behind the other, and an index in anonymous
// memory. An entry is one bucket of a context's histogram: most contexts have one or
// two, where a histogram of its own would have sixty for each. When there is no room for
// another one, events are added up without their context.
type Counts struct {
	file  memory.Span
	used  uint32 // entries
	index uint64 // where in arena numbers of entries are, from 1 on, by hash: open addressing
	mask  uint32
	arena memory.Arena // for larger indexes
}

const (
	// countsReserve is how many entries there are for events without a context: one for
	// each kind and size.
	countsReserve = 8 * 65
	countsFirst   = 1 << 10 // slots of the first index

	// CountsMin is the least size of a file.
	CountsMin = layout.CountsHeaderSize + 2*countsReserve*layout.CountSize
)

// CountsArena returns the bytes that the indexes for a file of the given size may take.
// Only what is used of them is touched.
func CountsArena(size uintptr) uintptr { return 2 * 4 * countsSlots(size) }

// countsSlots returns the slots of an index in which all entries fit.
func countsSlots(size uintptr) uintptr {
	slots := uintptr(countsFirst)
	for slots < 2*(size/layout.CountSize) {
		slots *= 4
	}
	return slots
}

// Init makes c count in size bytes at mem, at least CountsMin, with an index in CountsArena(size) bytes, when Reset has
// been called.
func (c *Counts) Init(mem, index unsafe.Pointer, size uintptr) {
	*c = Counts{file: memory.NewSpan(mem, uint64(size)),
		arena: memory.Arena{Span: memory.NewSpan(index, uint64(CountsArena(size)))}}
}

// Reset makes c count from nothing. All its memory is zero. It reports whether enough of it can be used.
func (c *Counts) Reset() (ok bool) {
	c.file.Reset()
	c.arena.Reset()
	c.used, c.mask = 0, countsFirst-1
	if c.index, ok = c.arena.Take(4 * countsFirst); !ok || !c.file.Need(layout.CountsHeaderSize) {
		return false
	}
	copy(c.header().Magic[:], layout.CountsMagic)
	return true
}

func (c *Counts) header() *layout.CountsHeader { return (*layout.CountsHeader)(c.file.At(0)) }

func (c *Counts) entry(i uint32) *layout.Count {
	return (*layout.Count)(c.file.At(layout.CountsHeaderSize + uint64(i)*layout.CountSize))
}

func (c *Counts) slot(h uint32) *uint32 {
	return (*uint32)(c.arena.At(c.index + uint64(h&c.mask)*uint64(unsafe.Sizeof(h))))
}

// Add counts an event.
func (c *Counts) Add(kind uint32, value, hi, lo uint64) {
	size := uint32(memory.Len64(value))
	e := c.find(kind, size, hi, lo)
	if e == nil {
		c.header().Spilt++
		if e = c.find(kind, size, 0, 0); e == nil {
			return // more kinds than there are
		}
	}
	e.Count++
	e.Sum += value
	e.Max = max(e.Max, value)
}

// find returns the entry with the given key, and makes it if there is none; nil if
// there is no room. An entry whose page was lost is not found again, and made anew.
func (c *Counts) find(kind, size uint32, hi, lo uint64) *layout.Count {
	h := countHash(kind, size, hi, lo)
	for ; ; h++ {
		i := *c.slot(h)
		if i == 0 {
			break
		}
		if e := c.entry(i - 1); e.Hi == hi && e.Lo == lo && e.Kind == kind && e.Size == size {
			return e
		}
	}
	end := c.used + 1
	if hi|lo != 0 {
		end += countsReserve
	}
	if !c.file.Need(layout.CountsHeaderSize + uint64(end)*layout.CountSize) {
		return nil
	}
	if 2*(c.used+1) > c.mask+1 && c.grow() {
		for h = countHash(kind, size, hi, lo); *c.slot(h) != 0; h++ {
		}
	}
	e := c.entry(c.used)
	c.used++
	e.Size, e.Hi, e.Lo = size, hi, lo
	memory.StoreRel32(&e.Kind, kind)
	memory.StoreRel64(&c.header().Used, uint64(c.used))
	*c.slot(h) = c.used
	return e
}

// grow makes the index four times as large. It takes a few nanoseconds for each entry,
// in which the P does nothing else, and comes each time that there are four times as many.
// Without memory the index stays as it is; then it has room for all entries.
func (c *Counts) grow() bool {
	slots := 4 * (c.mask + 1)
	index, ok := c.arena.Take(4 * uintptr(slots))
	if !ok {
		return false
	}
	c.index, c.mask = index, slots-1
	for i := range c.used {
		e := c.entry(i)
		h := countHash(e.Kind, e.Size, e.Hi, e.Lo)
		for *c.slot(h) != 0 {
			h++
		}
		*c.slot(h) = i + 1
	}
	return true
}

// countHash spreads keys that differ in a few bits of a few fields.
func countHash(kind, size uint32, hi, lo uint64) uint32 {
	const m1, m2 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	h := (hi ^ uint64(kind)<<56 ^ uint64(size)<<48) * m1
	h = (h ^ h>>32 ^ lo) * m2
	return uint32(h >> 32)
}

// An EventLog is the log of the events of one P, a ring that keeps the newest.
type EventLog struct {
	file     memory.Span
	capacity uint64 // events that fit
	written  uint64
}

func (l *EventLog) header() *layout.EventsHeader { return (*layout.EventsHeader)(l.file.At(0)) }

// Init makes l write to size bytes at mem, when Reset has been called.
func (l *EventLog) Init(mem unsafe.Pointer, size uintptr) {
	*l = EventLog{file: memory.NewSpan(mem, uint64(size))}
}

// Reset makes l begin anew. Its memory is zero. It reports whether enough of it can be used.
func (l *EventLog) Reset() (ok bool) {
	l.file.Reset()
	l.capacity, l.written = (l.file.Size()-layout.EventsHeaderSize)/layout.EventSize, 0
	if !l.file.Need(layout.EventsHeaderSize) {
		return false
	}
	l.header().Capacity = l.capacity
	copy(l.header().Magic[:], layout.EventsMagic)
	return true
}

// Add writes an event over the oldest one, once the log is full. The number of the event
// goes last: a reader takes only an event that has the number that it looks for, and that no later one was being
// written over by then. So nothing of the event may be seen before the number has gone: each store is seen after those
// before it, whatever the processor.
func (l *EventLog) Add(kind uint32, value, time, hi, lo uint64) {
	place := l.written % l.capacity
	if !l.file.Need(layout.EventsHeaderSize + (place+1)*layout.EventSize) {
		if place == 0 {
			return // not even one
		}
		// The file cannot grow: the ring, which is full for the first time, stays like this.
		l.capacity, place = place, 0
		memory.StoreRel64(&l.header().Capacity, l.capacity)
	}
	e := (*layout.Event)(l.file.At(layout.EventsHeaderSize + place*layout.EventSize))
	begin := (*uint64)(unsafe.Pointer(e)) // kind and number
	memory.StoreRel64(begin, 0)
	memory.StoreRel64(&e.Value, value)
	memory.StoreRel64(&e.Time, time)
	memory.StoreRel64(&e.Hi, hi)
	memory.StoreRel64(&e.Lo, lo)
	memory.StoreRel64(begin, uint64(kind)|uint64(uint32(l.written))<<32)
	l.written++
	memory.StoreRel64(&l.header().Written, l.written)
}

// CountsBytes returns how many bytes are in use of a file of counts that is mapped at mem.
func CountsBytes(mem unsafe.Pointer) uint64 {
	return layout.CountsHeaderSize + (*layout.CountsHeader)(mem).Used*layout.CountSize
}

// EventsBytes returns how many bytes are in use of a log that is mapped at mem, or more.
func EventsBytes(mem unsafe.Pointer) uint64 {
	return layout.EventsHeaderSize + (*layout.EventsHeader)(mem).Written*layout.EventSize
}
