package profile

import (
	"cmp"
	"encoding/binary"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// An Event is something that the program did, with the context that it did it in.
type Event struct {
	Kind  uint32        // one of the Event constants of package rt
	Value uint64        // what it means depends on the kind
	Time  time.Duration // since the program began
	ID    ContextID
}

// EventKinds are the names of the kinds, by number.
var EventKinds = []string{rt.EventAlloc: "alloc", rt.EventBlock: "block", rt.EventGo: "go", rt.EventPanic: "panic", rt.EventError: "error"}

// events finds the files with events, in the order of their numbers. Other files
// whose names begin alike are none of the program's. How much of each is in use is what its first
// event says at this moment.
func (r *contextsReader) events() error {
	names, err := fs.Glob(r.fsys, fileEvents+"*")
	if err != nil {
		return err
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	for _, name := range names {
		if _, err := strconv.ParseUint(strings.TrimPrefix(name, fileEvents), 10, 32); err != nil {
			continue
		}
		f, err := openFile(r.fsys, name)
		if err != nil {
			return err
		}
		used, lost, err := eventsUsed(f)
		f.close()
		if err != nil {
			return err
		}
		r.c.EventsLost += lost
		r.c.files = append(r.c.files, usedFile{name, used})
	}
	return nil
}

// eventsUsed returns how many bytes of the file are in use, and how many events
// found no room. A file that is being made has none.
func eventsUsed(f *liveFile) (used int64, lost uint64, err error) {
	if f.size < rt.EventSize {
		return 0, 0, nil
	}
	b, err := f.at(0, rt.EventSize)
	if err != nil {
		return 0, 0, err
	}
	n := binary.LittleEndian.Uint64(b[8:])
	if n < rt.EventSize {
		return 0, 0, nil // it is being made
	}
	if n > uint64(f.size) {
		return 0, 0, f.fail(8, "%d bytes are in use, but the file has %d", n, f.size)
	}
	return int64(n), binary.LittleEndian.Uint64(b[16:]), nil
}

// Events calls visit for each event that the program had recorded when c was
// read, P after P, in the order of time on each, until visit returns an error,
// which it returns. The event is valid until visit returns.
func (c *Contexts) Events(visit func(*Event) error) error {
	for _, u := range c.files {
		if !strings.HasPrefix(u.name, fileEvents) {
			continue
		}
		if err := c.eventsOf(u, visit); err != nil {
			return err
		}
	}
	return nil
}

// eventsOf visits the events of one file. The first one is its header. The file is
// opened anew: events can be many times what memory holds, and are not kept.
func (c *Contexts) eventsOf(u usedFile, visit func(*Event) error) error {
	f, err := openFile(c.fsys, u.name)
	if err != nil {
		return err
	}
	defer f.close()
	le := binary.LittleEndian
	for off := int64(rt.EventSize); off+rt.EventSize <= u.used; off += rt.EventSize {
		b, err := f.at(off, rt.EventSize)
		if err != nil {
			return err
		}
		e := Event{le.Uint32(b), le.Uint64(b[8:]), time.Duration(min(le.Uint64(b[16:]), 1<<62)), ContextID{Hi: le.Uint64(b[24:]), Lo: le.Uint64(b[32:])}}
		if e.ID != (ContextID{}) {
			e.ID.Run = c.Run
		}
		if e.Kind == 0 {
			continue // it was being written, or its page was lost
		}
		if err := visit(&e); err != nil {
			return err
		}
	}
	return nil
}
