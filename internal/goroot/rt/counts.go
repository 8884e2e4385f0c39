package rt

import "unsafe"

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
	mem   unsafe.Pointer // the file
	used  uint32         // entries
	max   uint32         // entries that fit
	index unsafe.Pointer // numbers of entries, from 1 on, by hash: open addressing
	mask  uint32
	arena arena // for larger indexes
}

// The header of counts.N.
const (
	CountsMagic  = "stemcnt\x01"
	CountsUsed   = 8  // u64: entries
	CountsSpilt  = 16 // u64: events whose context had no room
	CountsHeader = 64
)

// An entry of counts: { u32 kind; u32 size; u64 hi; u64 lo; u64 count; u64 sum; u64 max }.
// size is the number of bits of the values, 0 for value 0: they are at least
// 1<<(size-1) and less than 1<<size. An entry without a kind was being made. That with
// hi and lo 0 counts what has no context, or had no room for it.
const (
	CountKind  = 0
	CountSize  = 4
	CountHi    = 8
	CountLo    = 16
	CountCount = 24
	CountSum   = 32
	CountMax   = 40
	CountEntry = 48
)

const (
	// countsReserve is how many entries there are for events without a context: one for
	// each kind and size.
	countsReserve = 8 * 65
	countsFirst   = 1 << 10 // slots of the first index

	// CountsMin is the least size of a file.
	CountsMin = CountsHeader + 2*countsReserve*CountEntry
)

// CountsArena returns the bytes that the indexes for a file of the given size may take,
// of which only what is used is touched.
func CountsArena(size uintptr) uintptr { return 2 * 4 * countsSlots(size) }

// countsSlots returns the slots of an index in which all entries fit.
func countsSlots(size uintptr) uintptr {
	slots := uintptr(countsFirst)
	for slots < 2*(size/CountEntry) {
		slots *= 4
	}
	return slots
}

// Init makes c count in size zero bytes at mem, at least CountsMin; index is zeroed memory
// of CountsArena(size) bytes.
func (c *Counts) Init(mem, index unsafe.Pointer, size uintptr) {
	*c = Counts{mem: mem, max: uint32((size - CountsHeader) / CountEntry), arena: arena{index, 0, CountsArena(size)}}
	c.index, c.mask = c.arena.alloc(4*countsFirst), countsFirst-1
	copy(unsafe.Slice((*byte)(mem), len(CountsMagic)), CountsMagic)
}

// A count is an entry.
type count struct {
	kind, size uint32
	hi, lo     uint64
	count      uint64
	sum, max   uint64
}

func (c *Counts) entry(i uint32) *count {
	return (*count)(unsafe.Add(c.mem, CountsHeader+uintptr(i)*CountEntry))
}

func (c *Counts) slot(h uint32) *uint32 {
	return (*uint32)(unsafe.Add(c.index, uintptr(h&c.mask)*4))
}

// Add counts an event.
func (c *Counts) Add(kind uint32, value, hi, lo uint64) {
	size := uint32(len64(value))
	e := c.find(kind, size, hi, lo)
	if e == nil {
		*(*uint64)(unsafe.Add(c.mem, CountsSpilt))++
		if e = c.find(kind, size, 0, 0); e == nil {
			return // more kinds than there are
		}
	}
	e.count++
	e.sum += value
	e.max = max(e.max, value)
}

// find returns the entry with the given key, and makes it if there is none; nil if
// there is no room. An entry whose page was lost is not found again, and made anew.
func (c *Counts) find(kind, size uint32, hi, lo uint64) *count {
	h := countHash(kind, size, hi, lo)
	for ; ; h++ {
		i := *c.slot(h)
		if i == 0 {
			break
		}
		if e := c.entry(i - 1); e.hi == hi && e.lo == lo && e.kind == kind && e.size == size {
			return e
		}
	}
	room := c.max
	if hi|lo != 0 {
		room -= countsReserve
	}
	if c.used >= room {
		return nil
	}
	if 2*(c.used+1) > c.mask+1 && c.grow() {
		for h = countHash(kind, size, hi, lo); *c.slot(h) != 0; h++ {
		}
	}
	e := c.entry(c.used)
	c.used++
	e.size, e.hi, e.lo = size, hi, lo
	storeRel32(&e.kind, kind)
	storeRel64((*uint64)(unsafe.Add(c.mem, CountsUsed)), uint64(c.used))
	*c.slot(h) = c.used
	return e
}

// grow makes the index four times as large. It takes a few nanoseconds for each entry,
// in which the P does nothing else, and comes each time that there are four times as many.
// Without memory the index stays as it is; it has room for all entries then.
func (c *Counts) grow() bool {
	slots := 4 * (c.mask + 1)
	index := c.arena.alloc(4 * uintptr(slots))
	if index == nil {
		return false
	}
	c.index, c.mask = index, slots-1
	for i := range c.used {
		e := c.entry(i)
		h := countHash(e.kind, e.size, e.hi, e.lo)
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
	mem      unsafe.Pointer // the file
	capacity uint64
	written  uint64
}

// The header of events.N.
const (
	EventsMagic    = "stemevt\x01"
	EventsCapacity = 8  // u64: events that fit
	EventsWritten  = 16 // u64: events that were written in all
	EventsHeader   = 64
)

// Init makes l write to size zero bytes at mem.
func (l *EventLog) Init(mem unsafe.Pointer, size uintptr) {
	*l = EventLog{mem: mem, capacity: uint64(size-EventsHeader) / EventSize}
	*(*uint64)(unsafe.Add(mem, EventsCapacity)) = l.capacity
	copy(unsafe.Slice((*byte)(mem), len(EventsMagic)), EventsMagic)
}

// Add writes an event over the oldest one, once the log is full. The number of the event
// goes last: a reader takes only an event that has the number that it looks for.
func (l *EventLog) Add(kind uint32, value, time, hi, lo uint64) {
	e := (*[EventSize / 8]uint64)(unsafe.Add(l.mem, uintptr(EventsHeader+l.written%l.capacity*EventSize)))
	storeRel64(&e[0], 0)
	e[1], e[2], e[3], e[4] = value, time, hi, lo
	storeRel64(&e[0], uint64(kind)|uint64(uint32(l.written))<<32)
	l.written++
	storeRel64((*uint64)(unsafe.Add(l.mem, EventsWritten)), l.written)
}
