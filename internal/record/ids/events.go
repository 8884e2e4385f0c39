package ids

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/raw"
)

// An EventCount adds up events of one kind, in one context, whose values are of one
// size: it is a bucket of a histogram. Several may have the same kind, ID and size, as
// each P counts for itself.
type EventCount struct {
	Kind uint32   // one of the Event constants of package layout
	Bits int      // of the values: they are less than 1<<Bits, and at least half of that
	ID   ctxid.ID // zero for events without a context, see [Encoding.EventsSpilt]

	Count, Sum, Max uint64
}

// An Event is something that the program did, with the context that it did it in.
type Event struct {
	Kind  uint32        // one of the Event constants of package layout
	Value uint64        // what it means depends on the kind
	Time  time.Duration // since the program began
	ID    ctxid.ID
}

// An eventFile is a file of events, of one P.
type eventFile struct {
	usedFile
	written uint64 // entries of counts, or events that were ever written to a log
}

// events finds the files with events, in the order of their numbers. Other files
// whose names begin alike are none of the program's. How much of each is in use is what its
// header says at this moment.
func (r *Reader) events() (err error) {
	c := r.Encoding
	if c.counts, err = r.eventFiles(layout.FileCounts, r.countsUsed); err != nil {
		return err
	}
	for _, f := range c.counts {
		c.files = append(c.files, f.usedFile)
	}
	c.logs, err = r.eventFiles(layout.FileEvents, r.logUsed)
	return err
}

// eventFiles finds the files whose names begin with prefix.
func (r *Reader) eventFiles(prefix string, used func(*livedir.File) (int64, uint64, error)) ([]eventFile, error) {
	names, err := fs.Glob(r.FS, prefix+"*")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	var list []eventFile
	for _, name := range names {
		if _, err := strconv.ParseUint(strings.TrimPrefix(name, prefix), 10, 32); err != nil {
			continue
		}
		f, err := livedir.OpenFile(r.FS, name)
		if err != nil {
			return nil, err
		}
		n, written, err := used(f)
		f.Close()
		if err != nil {
			return nil, err
		}
		list = append(list, eventFile{usedFile{name, n}, written})
	}
	return list, nil
}

// eventHeader returns the bytes of a file's header, nil if the file is being made.
func eventHeader(f *livedir.File, magic string, size int64) ([]byte, error) {
	if has, err := f.Has(size); err != nil || has < size {
		return nil, err
	}
	b, err := f.Head(int(size))
	if err != nil || string(b[:len(magic)]) == strings.Repeat("\x00", len(magic)) {
		return nil, err
	}
	if have := string(b[:len(magic)]); have != magic {
		return nil, f.Fail(0, "not a file of events (have %q, want %q)", have, magic)
	}
	return b, nil
}

// countsUsed returns the bytes of a file of counts that are in use, and its entries.
func (r *Reader) countsUsed(f *livedir.File) (int64, uint64, error) {
	b, err := eventHeader(f, layout.CountsMagic, layout.CountsHeaderSize)
	if b == nil || err != nil {
		return 0, 0, err
	}
	h := raw.Load[layout.CountsHeader](b)
	n, err := f.Records(layout.CountsHeaderSize, h.Used, layout.CountSize)
	if err != nil {
		return 0, 0, err
	}
	if n < h.Used {
		return 0, 0, f.Fail(int64(unsafe.Offsetof(h.Used)), "%d entries are in use, but the file has %d", h.Used, n)
	}
	r.Encoding.EventsSpilt += h.Spilt
	return layout.CountsHeaderSize + int64(n)*layout.CountSize, n, nil
}

// logUsed returns the bytes of a log that are in use, and how many events were ever
// written to it.
func (r *Reader) logUsed(f *livedir.File) (int64, uint64, error) {
	b, err := eventHeader(f, layout.EventsMagic, layout.EventsHeaderSize)
	if b == nil || err != nil {
		return 0, 0, err
	}
	h := raw.Load[layout.EventsHeader](b)
	n := min(h.Capacity, h.Written)
	has, err := f.Records(layout.EventsHeaderSize, n, layout.EventSize)
	if err != nil {
		return 0, 0, err
	}
	if has < n {
		return 0, 0, f.Fail(int64(unsafe.Offsetof(h.Written)), "%d events of %d are in use, but the file has %d", n,
			h.Capacity, has)
	}
	r.Encoding.EventsOverwritten += h.Written - n
	return layout.EventsHeaderSize + int64(n)*layout.EventSize, h.Written, nil
}

// HasEventLog reports whether the program kept a log of its newest events.
func (c *Encoding) HasEventLog() bool { return c.logged || len(c.logs) > 0 }

// EventCounts calls visit for the events of the program, added up, P after P, until visit
// returns an error, which it returns. What is visited is what had been recorded when c was
// read, with the counts of now. It is valid until visit returns.
func (c *Encoding) EventCounts(visit func(*EventCount) error) error {
	for i := range c.sealedCounts {
		if err := visit(&c.sealedCounts[i]); err != nil {
			return err
		}
	}
	for _, u := range c.counts {
		err := c.eachEntry(u.name, layout.CountsHeaderSize, u.used, layout.CountSize, func(_ uint64, b []byte) error {
			n := raw.Load[layout.Count](b)
			e := EventCount{Kind: n.Kind, Bits: int(n.Size), ID: c.eventID(n.Hi, n.Lo), Count: n.Count, Sum: n.Sum,
				Max: n.Max}
			if e.Kind == 0 || e.Bits > 64 {
				return nil // it was being made, or its page was lost
			}
			return visit(&e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// EventLog calls visit for each event that is in the logs, P after P, in the order of time
// on each, until visit returns an error, which it returns. The event is valid until visit
// returns. Events that were written over others since c was read are left out, and
// those that they were written over.
func (c *Encoding) EventLog(visit func(*Event) error) error {
	for i := range c.sealedLog {
		if err := visit(&c.sealedLog[i]); err != nil {
			return err
		}
	}
	for _, u := range c.logs {
		if err := c.eventsOf(u, visit); err != nil {
			return err
		}
	}
	return nil
}

// eventsOf visits the events in one log. The oldest one may be anywhere in the file.
//
// A program that runs may write over an event while it is copied. So some are copied, and then how many there are is
// read again: the event with the number n is written over by that with the number n + capacity, not before. If that is
// the next one it may have begun: then n has lost its number.
func (c *Encoding) eventsOf(u eventFile, visit func(*Event) error) error {
	if u.used < layout.EventsHeaderSize+layout.EventSize {
		return nil
	}
	header, err := livedir.OpenFile(c.fsys, u.name)
	if err != nil {
		return err
	}
	defer header.Close()
	type numbered struct {
		Event
		number uint64
	}
	copied := make([]numbered, 0, 1<<10)
	flush := func() error {
		b, err := eventHeader(header, layout.EventsMagic, layout.EventsHeaderSize)
		if b == nil || err != nil {
			return err
		}
		h := raw.Load[layout.EventsHeader](b)
		for i := range copied {
			e := &copied[i]
			if h.Written > e.number+h.Capacity {
				continue
			}
			if h.Capacity > 0 && h.Written == e.number+h.Capacity {
				header.Forget()
				place := layout.EventsHeaderSize + e.number%h.Capacity*layout.EventSize
				b, err := header.At(int64(place), layout.EventSize)
				if err != nil || raw.Load[layout.Event](b).Number != uint32(e.number) {
					continue
				}
			}
			if err := visit(&e.Event); err != nil {
				return err
			}
		}
		copied = copied[:0]
		return nil
	}
	capacity := uint64(u.used-layout.EventsHeaderSize) / layout.EventSize
	oldest := u.written - capacity
	pivot := int64(layout.EventsHeaderSize + oldest%capacity*layout.EventSize)
	one := func(place uint64, b []byte) error {
		n := oldest + (place+capacity-oldest%capacity)%capacity
		v := raw.Load[layout.Event](b)
		if v.Kind == 0 || v.Number != uint32(n) {
			return nil
		}
		e := Event{v.Kind, v.Value, time.Duration(min(v.Time, 1<<62)), c.eventID(v.Hi, v.Lo)}
		copied = append(copied, numbered{e, n})
		if len(copied) == cap(copied) {
			return flush()
		}
		return nil
	}
	if err := c.eachEntry(u.name, pivot, u.used, layout.EventSize, one); err != nil {
		return err
	}
	if err := c.eachEntry(u.name, layout.EventsHeaderSize, pivot, layout.EventSize, one); err != nil {
		return err
	}
	return flush()
}

// eventID returns the ID in the two words of an entry.
func (c *Encoding) eventID(hi, lo uint64) ctxid.ID {
	id := ctxid.ID{Hi: hi, Lo: lo}
	c.own(&id)
	return id
}

// own makes the two words of an ID one of the run, but for that of none.
func (c *Encoding) own(id *ctxid.ID) {
	if id.Hi|id.Lo != 0 {
		id.Run = c.Run
	}
}

// eachEntry calls visit for each entry of a file of events that lies between two offsets,
// with its place in the file. The file is opened anew: events can be many times what
// memory holds, and are not kept.
func (c *Encoding) eachEntry(name string, off, end, size int64, visit func(place uint64, b []byte) error) error {
	f, err := livedir.OpenFile(c.fsys, name)
	if err != nil {
		return err
	}
	defer f.Close()
	f.Limit(end)
	for ; off+size <= end; off += size {
		b, err := f.At(off, int(size))
		if err != nil {
			return err
		}
		if err := visit(uint64(off-layout.EventsHeaderSize)/uint64(size), b); err != nil {
			return err
		}
	}
	return nil
}

// EventKind returns the name of a kind of event; one of a later version has its number.
func EventKind(kind uint32) string {
	if uint64(kind) < uint64(len(layout.EventKinds)) && layout.EventKinds[kind].Name != "" {
		return layout.EventKinds[kind].Name
	}
	return fmt.Sprint("kind ", kind)
}

// EventUnit returns the unit of the values of a kind, "" if it has none.
func EventUnit(kind uint32) string {
	if uint64(kind) < uint64(len(layout.EventKinds)) {
		return layout.EventKinds[kind].Unit
	}
	return ""
}
