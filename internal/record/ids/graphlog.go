package ids

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// A GraphLog is how the in-edges of each function are numbered by engine lucce: its
// log of graph changes, replayed. What an id means never changes, so the graph that all
// entries lead to decodes every context.
type GraphLog struct {
	Entries int
	rows    map[uint32]*logRow // by function
	funcs   []logFunc          // those that have sites, by their first sites
	indexes []uint32           // functions by the indexes of the log, from 1 on
}

// A logRow is what is known of the ids of one function.
type logRow struct {
	begin     uint64 // 1 + the id of paths that begin there
	intervals []logInterval
	base      uint64
	groups    []logGroup
}

// A logInterval is ids that belong to one site. Those of a function are in ascending order.
type logInterval struct {
	add, size uint64
	site      uint32
}

// A logGroup is ids whose remainders belong to sites, see layout.LogEntry.
type logGroup struct {
	mod    uint64
	shared bool
	sites  map[uint64]uint32
}

// A logFunc is a function with its first site.
type logFunc struct{ fn, first, cells uint32 }

// A LoggedCall is how an invocation was entered. If Begins is set, its version tells; else it was
// called from a site, by an invocation with the given id.
type LoggedCall struct {
	Begins bool
	Caller uint32 // index into Funcs
	Site   int32  // index into the caller's Sites, or None
	ID     uint64
}

// Entered returns how the invocation of a function with the given id was entered: the paper's prev.
func (l *GraphLog) Entered(p *profile.Profile, fn uint32, id uint64) (c LoggedCall, ok bool) {
	r := l.rows[fn]
	switch {
	case r == nil:
		return LoggedCall{Begins: true}, id == 0 // a fault: nothing is numbered there
	case r.begin != 0 && id == r.begin-1:
		return LoggedCall{Begins: true}, true
	}
	site, caller, ok := r.interval(id)
	if !ok {
		site, caller, ok = r.remainder(id)
	}
	if !ok {
		return c, false
	}
	c.ID = caller
	c.Caller, c.Site, ok = l.Site(p, site)
	return c, ok
}

// interval returns the site and the caller's id of an id that lies in an interval.
func (r *logRow) interval(id uint64) (site uint32, caller uint64, ok bool) {
	i, found := slices.BinarySearchFunc(r.intervals, id,
		func(i logInterval, id uint64) int { return cmp.Compare(i.add, id) })
	if !found {
		i--
	}
	if i < 0 || id-r.intervals[i].add >= r.intervals[i].size {
		return 0, 0, false
	}
	return r.intervals[i].site, id - r.intervals[i].add, true
}

// remainder returns the site and the caller's id of an id that lies in a group.
func (r *logRow) remainder(id uint64) (site uint32, caller uint64, ok bool) {
	if id < r.base {
		return 0, 0, false
	}
	x := id - r.base
	for i := range r.groups {
		g := &r.groups[i]
		q, n := x/g.mod, x%g.mod
		if n == g.mod-1 {
			x = q
			continue
		}
		if g.shared {
			q, n = q<<layout.StepShift|n, 0
		}
		site, ok = g.sites[n]
		return site, q, ok
	}
	return 0, 0, false
}

// Site returns the function and the index among its sites of a site of the log.
func (l *GraphLog) Site(p *profile.Profile, site uint32) (fn uint32, index int32, ok bool) {
	i, found := slices.BinarySearchFunc(l.funcs, site,
		func(f logFunc, site uint32) int { return cmp.Compare(f.first, site) })
	if !found {
		i--
	}
	if i < 0 || site-l.funcs[i].first >= l.funcs[i].cells {
		return 0, 0, false
	}
	f := &p.Funcs[l.funcs[i].fn]
	return l.funcs[i].fn, f.CellSites()[site-l.funcs[i].first], true
}

// graphLog reads the entries of the log that were not read before.
func (r *Reader) graphLog() error {
	if r.Encoding.Log == nil {
		r.Encoding.Log = &GraphLog{rows: make(map[uint32]*logRow), indexes: []uint32{NoFunc}}
	}
	l := r.Encoding.Log
	f, end, err := r.open(layout.FileLog, r.Encoding.header.Lucce.LogUsed)
	if err != nil {
		return err
	}
	defer f.Close()
	for ; r.next+layout.LogEntrySize <= end; r.next += layout.LogEntrySize {
		b, err := f.At(r.next, layout.LogEntrySize)
		if err != nil {
			return err
		}
		if err := r.logEntry(l, raw.Load[layout.LogEntry](b)); err != nil {
			return f.Fail(r.next, "%w", err)
		}
		l.Entries++
	}
	return nil
}

// logEntry reads one entry. One of zeros was on a page that was lost.
func (r *Reader) logEntry(l *GraphLog, e layout.LogEntry) error {
	index := e.Func
	if e.Kind == layout.LogFunc {
		return r.logFunc(l, index, e.Site, e.N, e.A)
	}
	if e.Kind == 0 && r.PagesLost() {
		return nil
	}
	if index == 0 || uint64(index) >= uint64(len(l.indexes)) {
		if r.PagesLost() {
			return nil
		}
		return fmt.Errorf("function %d of %d", index, len(l.indexes))
	}
	fn := l.indexes[index]
	if err := l.row(fn).change(e.Kind, e.Site, e.N, e.A, e.B); err != nil && !r.PagesLost() {
		return fmt.Errorf("function %d: %w", index, err)
	}
	return nil
}

// logFunc reads the entry of a function.
func (r *Reader) logFunc(l *GraphLog, index, first, cells uint32, id uint64) error {
	fn, err := r.function(id)
	if err != nil {
		return err
	}
	for r.PagesLost() && uint64(len(l.indexes)) < uint64(index) && index < 1<<20 {
		l.indexes = append(l.indexes, NoFunc)
	}
	next := uint32(0)
	if k := len(l.funcs); k > 0 {
		next = l.funcs[k-1].first + l.funcs[k-1].cells
	}
	switch {
	case uint64(index) != uint64(len(l.indexes)):
		return fmt.Errorf("function %d, want %d", index, len(l.indexes))
	case first < next || first != next && !r.PagesLost() || first+cells < first:
		return fmt.Errorf("function %d: sites from %d on, want %d", index, first, next)
	case fn != NoFunc && cells != r.Profile.Funcs[fn].Cells:
		return fmt.Errorf("function %d: %d cells, want %d", index, cells, r.Profile.Funcs[fn].Cells)
	}
	l.indexes = append(l.indexes, fn)
	if fn != NoFunc && cells != 0 {
		l.funcs = append(l.funcs, logFunc{fn, first, cells})
	}
	return nil
}

// change brings a row up to date.
func (row *logRow) change(kind, site, n uint32, a, size uint64) error {
	switch kind {
	case layout.LogInterval:
		k := len(row.intervals)
		switch {
		case k > 0 && row.intervals[k-1].add == a && row.intervals[k-1].site == site && row.intervals[k-1].size < size:
			row.intervals[k-1].size = size
		case size == 0 || a+size < a || k > 0 && a < row.intervals[k-1].add+row.intervals[k-1].size:
			return fmt.Errorf("ids from %d on belong to another site", a)
		default:
			row.intervals = append(row.intervals, logInterval{a, size, site})
		}
	case layout.LogBegin:
		row.begin = a + 1
	case layout.LogGroup:
		g := logGroup{mod: uint64(n), sites: make(map[uint64]uint32)}
		if n == layout.LogShared {
			g.mod, g.shared = 1<<layout.StepShift+1, true
		}
		if n < 2 {
			return fmt.Errorf("a group of %d remainders", n)
		}
		row.base = a
		row.groups = append(row.groups, g)
	case layout.LogRemainder:
		if len(row.groups) == 0 {
			return fmt.Errorf("remainder %d of no group", n)
		}
		row.groups[len(row.groups)-1].sites[uint64(n)] = site
	default:
		return fmt.Errorf("entry of unknown kind %d", kind)
	}
	return nil
}
