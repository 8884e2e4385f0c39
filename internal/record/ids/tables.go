package ids

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/sealed"
	"github.com/stemma-go/stemma/profile"
)

// How records of context IDs are sealed.
//
// Their tables come beside those of the profile, which has the functions. What the readers
// of live directories have made of the files is sealed, and not the files: addresses
// of functions have become indexes, and records have been checked. Sealing reads no file
// but those of events, so that a program that goes on makes no difference.

// The tables of a record of context IDs. FORMAT.md describes them.
const (
	tableEngine    = "engine"
	tableAddress   = "address"
	tableCode      = "code"
	tableInterned  = "interned"
	tableEpoch     = "epoch"
	tableNumbering = "numbering"
	tableEdge      = "edge"
	tableSites     = "sites"
	tableInterval  = "interval"
	tableBegin     = "begin"
	tableGroup     = "group"
	tableRemainder = "remainder"
	tableCount     = "count"
	tableEvent     = "event"
)

// Tables returns the tables of a record and its profile.
func (c *Encoding) Tables(p *profile.Profile) (*sealed.File, error) {
	t, err := p.Tables(true)
	if err != nil {
		return nil, err
	}
	f := (*sealed.Handle)(t).File()
	engineSchema().Add(f, tableEngine,
		[]engineRow{{Stats: c.Stats, Text: c.Text, Run: c.Run, spilt: c.EventsSpilt, overwritten: c.EventsOverwritten,
			logged: c.HasEventLog(), graph: c.Log != nil, entries: c.entries()}})
	c.addCodeTables(f)
	internedSchema().Add(f, tableInterned, c.Interned[1:])
	c.Dict.addTables(f)
	c.Log.addTables(f)
	return f, c.addEvents(f)
}

// entries returns the entries of the log, 0 without one.
func (c *Encoding) entries() uint64 {
	if c.Log == nil {
		return 0
	}
	return uint64(c.Log.Entries)
}

// FromTables is the inverse of Tables.
func FromTables(f *sealed.File) (*profile.Profile, *Encoding, error) {
	p, err := profile.FromTables((*profile.Tables)(sealed.NewHandle(f)))
	if err != nil {
		return nil, nil, err
	}
	rows, err := engineSchema().Rows(f, tableEngine)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case len(rows) != 1 || len(p.Processes) != 1 || rows[0].Run == 0 || rows[0].Run != p.Processes[0].Run:
		return nil, nil,
			fmt.Errorf("table %s: %d rows for %d processes, want one of the same run", tableEngine, len(rows),
				len(p.Processes))
	case len(p.Nodes) != 1:
		return nil, nil, fmt.Errorf("a record of context IDs with %d nodes, want the root alone", len(p.Nodes))
	}
	e := rows[0]
	c := &Encoding{Stats: e.Stats, Text: e.Text, Run: e.Run, EventsSpilt: e.spilt, EventsOverwritten: e.overwritten,
		logged: e.logged}
	c.Stats.meanDepth()
	if e.graph {
		c.Log = &GraphLog{Entries: int(min(e.entries, math.MaxInt32)), rows: make(map[uint32]*logRow),
			indexes: []uint32{NoFunc}}
	}
	r := tablesReader{f: f, p: p, c: c}
	for _, read := range []func() error{r.code, r.interned, r.dictionary, r.graphLog, r.events} {
		if err := read(); err != nil {
			return nil, nil, err
		}
	}
	for _, t := range f.Tables {
		c.size += int64(t.Size())
	}
	return p, c, nil
}

// Descriptions returns the tables of a record of context IDs, without rows.
func Descriptions() []*sealed.Table {
	return append((*sealed.Handle)(profile.EmptyTables()).File().Tables, engineSchema().Describe(tableEngine),
		addressSchema().Describe(tableAddress), codeSchema().Describe(tableCode),
		internedSchema().Describe(tableInterned), epochSchema().Describe(tableEpoch),
		numberingSchema().Describe(tableNumbering), edgeSchema().Describe(tableEdge),
		sitesSchema().Describe(tableSites), intervalSchema().Describe(tableInterval),
		beginSchema().Describe(tableBegin), groupSchema().Describe(tableGroup),
		remainderSchema().Describe(tableRemainder), countSchema().Describe(tableCount),
		eventSchema().Describe(tableEvent))
}

// SealedRun returns the run number of a sealed file of context IDs, and reads no more
// than its beginning. ok is false for a sealed profile without context IDs.
func SealedRun(r io.Reader) (run uint64, ok bool, err error) {
	f, err := sealed.ReadFirst(r)
	if err != nil {
		return 0, false, err
	}
	content, run, err := sealed.ContentOf(f)
	if err != nil || content != sealed.IDs {
		return 0, false, err
	}
	if run == 0 {
		return 0, false, fmt.Errorf("run number 0, which no run has")
	}
	return run, true, nil
}

// An engineRow is what the header of a record says.
type engineRow struct {
	Stats
	Text, Run, spilt, overwritten, entries uint64
	logged, graph                          bool
}

// engineSchema returns the columns of what an engine says about itself.
func engineSchema() sealed.Schema[engineRow] {
	s := sealed.Schema[engineRow]{
		{Name: "run", Kind: sealed.Hex, Get: func(r *engineRow) uint64 { return r.Run },
			Set: func(r *engineRow, v uint64) { r.Run = v }},
		{Name: "text", Kind: sealed.Hex, Get: func(r *engineRow) uint64 { return r.Text },
			Set: func(r *engineRow, v uint64) { r.Text = v }},
		{Name: "start", Kind: sealed.Word, Words: []string{"nothing", "static", "run", "missing", "wrong"},
			Get: func(r *engineRow) uint64 { return uint64(r.Start) },
			Set: func(r *engineRow, v uint64) { r.Start = StartKind(v) }},
		{Name: "flags", Kind: sealed.Flags, Words: []string{"eventLog", "graphLog"},
			Get: func(r *engineRow) uint64 { return flag(r.logged, 1) | flag(r.graph, 2) },
			Set: func(r *engineRow, v uint64) { r.logged, r.graph = v&1 != 0, v&2 != 0 }},
		number("logEntries", func(r *engineRow) *uint64 { return &r.entries }),
		number("eventsSpilt", func(r *engineRow) *uint64 { return &r.spilt }),
		number("eventsOverwritten", func(r *engineRow) *uint64 { return &r.overwritten }),
	}
	for i, name := range statNames {
		s = append(s, number(name, func(r *engineRow) *uint64 { return r.Stats.numbers()[i] }))
	}
	for name, at := range map[string]func(*Stats) *time.Duration{
		"reencodeTime": func(s *Stats) *time.Duration { return &s.ReencodeTime },
		"maxPause":     func(s *Stats) *time.Duration { return &s.MaxPause },
		"elapsed":      func(s *Stats) *time.Duration { return &s.Elapsed },
	} {
		s = append(s, sealed.Field[engineRow]{Name: name, Max: math.MaxInt64,
			Get: func(r *engineRow) uint64 { return uint64(*at(&r.Stats)) },
			Set: func(r *engineRow, v uint64) { *at(&r.Stats) = time.Duration(v) }})
	}
	slices.SortStableFunc(s[7+len(statNames):],
		func(a, b sealed.Field[engineRow]) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

func flag(set bool, bit uint64) uint64 {
	if set {
		return bit
	}
	return 0
}

// number is a column of numbers of 64 bits.
func number[T any](name string, at func(*T) *uint64) sealed.Field[T] {
	return sealed.Field[T]{Name: name, Get: func(r *T) uint64 { return *at(r) },
		Set: func(r *T, v uint64) { *at(r) = v }}
}

// num is a column of numbers of 32 bits.
func num[T any](name string, at func(*T) *uint32) sealed.Field[T] {
	return sealed.Field[T]{Name: name, Max: math.MaxUint32, Get: func(r *T) uint64 { return uint64(*at(r)) },
		Set: func(r *T, v uint64) { *at(r) = uint32(v) }}
}

// hex is a column of addresses.
func hex[T any](name string, at func(*T) *uint64) sealed.Field[T] {
	f := number(name, at)
	f.Kind = sealed.Hex
	return f
}

// none is a column of numbers of 32 bits. The largest number stands for none.
func none[T any](name string, at func(*T) *uint32) sealed.Field[T] {
	return sealed.Field[T]{Name: name, Kind: sealed.Index,
		Get: func(r *T) uint64 { return uint64(*at(r) + 1) }, Set: func(r *T, v uint64) { *at(r) = uint32(v) - 1 }}
}

// An addressRow says which function is known by an address.
type addressRow struct {
	id uint64
	fn uint32
}

func addressSchema() sealed.Schema[addressRow] {
	return sealed.Schema[addressRow]{
		hex("at", func(r *addressRow) *uint64 { return &r.id }),
		num("func", func(r *addressRow) *uint32 { return &r.fn }),
	}
}

func codeSchema() sealed.Schema[Code] {
	return sealed.Schema[Code]{
		hex("entry", func(r *Code) *uint64 { return &r.Entry }),
		num("size", func(r *Code) *uint32 { return &r.Size }),
		num("func", func(r *Code) *uint32 { return &r.Func }),
		{Name: "calls", Kind: sealed.List, Max: math.MaxUint32, Numbers: func(r *Code) (list []uint64) {
			for _, c := range r.calls {
				list = append(list, uint64(c.ret), uint64(c.site))
			}
			return list
		}, SetNumbers: func(r *Code, list []uint64) {
			for ; len(list) > 1; list = list[2:] {
				r.calls = append(r.calls, codeCall{uint32(list[0]), uint32(list[1])})
			}
		}},
	}
}

// addCodeTables adds where the code of functions lies.
func (c *Encoding) addCodeTables(f *sealed.File) {
	var addresses []addressRow
	for _, id := range slices.Sorted(maps.Keys(c.byID)) {
		addresses = append(addresses, addressRow{id, c.byID[id]})
	}
	addressSchema().Add(f, tableAddress, addresses)
	codeSchema().Add(f, tableCode, c.Code)
}

// A tablesReader reads tables into a record. What is read must satisfy what the readers
// of live directories check.
type tablesReader struct {
	f *sealed.File
	p *profile.Profile
	c *Encoding
}

// function checks an index of a function.
func (r *tablesReader) function(fn uint32) error {
	if uint64(fn) >= uint64(len(r.p.Funcs)) {
		return fmt.Errorf("function %d is not one of %d", fn, len(r.p.Funcs))
	}
	return nil
}

// each calls visit for each row of a table; its errors are about the row.
func each[T any](f *sealed.File, name string, s sealed.Schema[T], visit func(*T) error) error {
	rows, err := s.Rows(f, name)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := visit(&rows[i]); err != nil {
			return fmt.Errorf("table %s: row %d: %w", name, i, err)
		}
	}
	return nil
}

func (r *tablesReader) code() error {
	r.c.byID = make(map[uint64]uint32)
	err := each(r.f, tableAddress, addressSchema(), func(a *addressRow) error {
		r.c.byID[a.id] = a.fn
		return r.function(a.fn)
	})
	if err != nil {
		return err
	}
	err = each(r.f, tableCode, codeSchema(), func(c *Code) error {
		if err := r.function(c.Func); err != nil {
			return err
		}
		if c.Entry+uint64(c.Size) < c.Entry {
			return fmt.Errorf("%d bytes of code at %#x", c.Size, c.Entry)
		}
		for i, call := range c.calls {
			if call.ret > c.Size || uint64(call.site) >= uint64(len(r.p.Funcs[c.Func].Sites)) ||
				i > 0 && call.ret < c.calls[i-1].ret {
				return fmt.Errorf("return address %d: offset %d of %d bytes, site %d of %d", i, call.ret, c.Size,
					call.site, len(r.p.Funcs[c.Func].Sites))
			}
		}
		r.c.Code = append(r.c.Code, *c)
		return nil
	})
	if err != nil {
		return err
	}
	return r.c.sortCode()
}

// internKinds are the words for the kinds of entries.
var internKinds = []string{layout.InternCall: "call", layout.InternGo: "go", layout.InternRoot: "root",
	layout.InternFault: "fault",
	layout.InternCut:   "cut", layout.InternAt: "at", layout.InternSite: "site"}

func internedSchema() sealed.Schema[Interned] {
	return sealed.Schema[Interned]{
		{Name: "kind", Kind: sealed.Word, Words: internKinds, Get: func(n *Interned) uint64 { return uint64(n.Kind) },
			Set: func(n *Interned, v uint64) { n.Kind = uint8(v) }},
		num("parent", func(n *Interned) *uint32 { return &n.Parent }),
		num("epoch", func(n *Interned) *uint32 { return &n.Epoch }),
		num("id", func(n *Interned) *uint32 { return &n.ID }),
		hex("place", func(n *Interned) *uint64 { return &n.Place }),
		none("target", func(n *Interned) *uint32 { return &n.Target }),
	}
}

func (r *tablesReader) interned() error {
	r.c.Interned = make([]Interned, 1, 1+r.f.Table(tableInterned).Rows)
	return each(r.f, tableInterned, internedSchema(), func(n *Interned) error {
		if n.Target != NoFunc {
			if err := r.function(n.Target); err != nil {
				return err
			}
		}
		if err := r.c.check(n); err != nil {
			return err
		}
		r.c.Interned = append(r.c.Interned, *n)
		return nil
	})
}

func epochSchema() sealed.Schema[EpochInfo] {
	return sealed.Schema[EpochInfo]{
		{Name: "time", Kind: sealed.Time, Get: func(e *EpochInfo) uint64 { return sealed.NanoUnix(e.Time) },
			Set: func(e *EpochInfo, v uint64) { e.Time = sealed.UnixNano(v) }},
		num("maxID", func(e *EpochInfo) *uint32 { return &e.MaxID }),
		{Name: "flags", Kind: sealed.Flags, Words: []string{"known"},
			Get: func(e *EpochInfo) uint64 { return flag(e.Known, 1) },
			Set: func(e *EpochInfo, v uint64) { e.Known = v == 1 }},
	}
}

// A numberingRow says what holds for a function from an epoch on.
type numberingRow struct {
	fn uint32
	funcVersion
}

func numberingSchema() sealed.Schema[numberingRow] {
	return sealed.Schema[numberingRow]{
		num("epoch", func(r *numberingRow) *uint32 { return &r.epoch }),
		num("func", func(r *numberingRow) *uint32 { return &r.fn }),
		num("key", func(r *numberingRow) *uint32 { return &r.key }),
		num("numCC", func(r *numberingRow) *uint32 { return &r.numCC }),
	}
}

// An edgeRow says what holds for a site from an epoch on.
type edgeRow struct {
	epoch, fn, cell, addition uint32
	target, key               uint32 // a function or NoFunc; 0 for no key
}

func edgeSchema() sealed.Schema[edgeRow] {
	return sealed.Schema[edgeRow]{
		num("epoch", func(r *edgeRow) *uint32 { return &r.epoch }),
		num("func", func(r *edgeRow) *uint32 { return &r.fn }),
		num("cell", func(r *edgeRow) *uint32 { return &r.cell }),
		none("addition", func(r *edgeRow) *uint32 { return &r.addition }),
		none("target", func(r *edgeRow) *uint32 { return &r.target }),
		num("key", func(r *edgeRow) *uint32 { return &r.key }),
	}
}

// rowOf returns the row of what holds for a site.
func (s *siteVersions) rowOf(v siteVersion) edgeRow {
	r := edgeRow{v.epoch, s.fn, s.cell, v.addition, v.target, 0}
	if v.target != NoFunc && v.target&keyTarget != 0 {
		r.target, r.key = NoFunc, v.target&^keyTarget
	}
	return r
}

// version is the inverse of rowOf.
func (r *edgeRow) version(funcs int) (siteVersion, error) {
	v := siteVersion{r.epoch, r.addition, r.target}
	switch {
	case r.target != NoFunc && (r.key != 0 || uint64(r.target) >= uint64(funcs)):
		return v, fmt.Errorf("target %d of %d functions, with key %d", r.target, funcs, r.key)
	case r.key >= layout.NumKeys:
		return v, fmt.Errorf("key %d, want less than %d", r.key, layout.NumKeys)
	case r.key != 0:
		v.target = r.key | keyTarget
	}
	return v, nil
}

// addTables adds the epochs but the first, which encodes nothing, and what they changed.
func (d *Dictionary) addTables(f *sealed.File) {
	epochSchema().Add(f, tableEpoch, d.Epochs[min(1, len(d.Epochs)):])
	var numbering []numberingRow
	for _, fn := range slices.Sorted(maps.Keys(d.funcs)) {
		for _, v := range d.funcs[fn] {
			numbering = append(numbering, numberingRow{fn, v})
		}
	}
	slices.SortStableFunc(numbering, func(a, b numberingRow) int { return cmp.Compare(a.epoch, b.epoch) })
	numberingSchema().Add(f, tableNumbering, numbering)
	var edges []edgeRow
	for _, s := range d.sites {
		for _, v := range s.versions {
			edges = append(edges, s.rowOf(v))
		}
	}
	slices.SortStableFunc(edges, func(a, b edgeRow) int { return cmp.Compare(a.epoch, b.epoch) })
	edgeSchema().Add(f, tableEdge, edges)
}

func (r *tablesReader) dictionary() error {
	if r.c.Log != nil {
		return nil
	}
	r.c.Dict = newDictionary()
	err := each(r.f, tableEpoch, epochSchema(), func(e *EpochInfo) error {
		r.c.Dict.Epochs = append(r.c.Dict.Epochs, *e)
		return nil
	})
	if err != nil {
		return err
	}
	last := uint32(0)
	inOrder := func(epoch uint32) error {
		if epoch < last || uint64(epoch) >= uint64(len(r.c.Dict.Epochs)) {
			return fmt.Errorf("epoch %d behind epoch %d of %d", epoch, last, len(r.c.Dict.Epochs)-1)
		}
		last = epoch
		return nil
	}
	err = each(r.f, tableNumbering, numberingSchema(), func(n *numberingRow) error {
		return cmp.Or(r.function(n.fn), inOrder(n.epoch), r.c.Dict.addFunc(n.fn, n.funcVersion))
	})
	if err != nil {
		return err
	}
	last = 0
	err = each(r.f, tableEdge, edgeSchema(), func(e *edgeRow) error {
		v, err := e.version(len(r.p.Funcs))
		if err := cmp.Or(err, r.function(e.fn), inOrder(e.epoch)); err != nil {
			return err
		}
		return r.c.Dict.addSite(&r.p.Funcs[e.fn], e.fn, e.cell, v)
	})
	r.c.Dict.sortCallers()
	return err
}

// The graph log is sealed as what it has led to: its entries only ever add ids.

func sitesSchema() sealed.Schema[logFunc] {
	return sealed.Schema[logFunc]{
		num("func", func(r *logFunc) *uint32 { return &r.fn }),
		num("first", func(r *logFunc) *uint32 { return &r.first }),
		num("cells", func(r *logFunc) *uint32 { return &r.cells }),
	}
}

type intervalRow struct {
	fn uint32
	logInterval
}

func intervalSchema() sealed.Schema[intervalRow] {
	return sealed.Schema[intervalRow]{
		num("func", func(r *intervalRow) *uint32 { return &r.fn }),
		number("add", func(r *intervalRow) *uint64 { return &r.add }),
		number("size", func(r *intervalRow) *uint64 { return &r.size }),
		num("site", func(r *intervalRow) *uint32 { return &r.site }),
	}
}

// A beginRow is a function, and the ids of paths that begin there and of its first group.
type beginRow struct {
	fn          uint32
	begin, base uint64 // begin is the id plus 1, 0 for none
}

func beginSchema() sealed.Schema[beginRow] {
	return sealed.Schema[beginRow]{
		num("func", func(r *beginRow) *uint32 { return &r.fn }),
		number("begin", func(r *beginRow) *uint64 { return &r.begin }),
		number("base", func(r *beginRow) *uint64 { return &r.base }),
	}
}

type groupRow struct {
	fn     uint32
	mod    uint64
	shared bool
}

func groupSchema() sealed.Schema[groupRow] {
	return sealed.Schema[groupRow]{
		num("func", func(r *groupRow) *uint32 { return &r.fn }),
		number("mod", func(r *groupRow) *uint64 { return &r.mod }),
		{Name: "flags", Kind: sealed.Flags, Words: []string{"shared"},
			Get: func(r *groupRow) uint64 { return flag(r.shared, 1) },
			Set: func(r *groupRow, v uint64) { r.shared = v == 1 }},
	}
}

type remainderRow struct {
	group uint32 // by its place in the table of groups
	n     uint64
	site  uint32
}

func remainderSchema() sealed.Schema[remainderRow] {
	return sealed.Schema[remainderRow]{
		num("group", func(r *remainderRow) *uint32 { return &r.group }),
		number("n", func(r *remainderRow) *uint64 { return &r.n }),
		num("site", func(r *remainderRow) *uint32 { return &r.site }),
	}
}

// addTables adds the ids of all functions.
func (l *GraphLog) addTables(f *sealed.File) {
	if l == nil {
		l = new(GraphLog)
	}
	var begins []beginRow
	var intervals []intervalRow
	var groups []groupRow
	var remainders []remainderRow
	for _, fn := range slices.Sorted(maps.Keys(l.rows)) {
		row := l.rows[fn]
		begins = append(begins, beginRow{fn, row.begin, row.base})
		for _, i := range row.intervals {
			intervals = append(intervals, intervalRow{fn, i})
		}
		for _, g := range row.groups {
			for _, n := range slices.Sorted(maps.Keys(g.sites)) {
				remainders = append(remainders, remainderRow{uint32(len(groups)), n, g.sites[n]})
			}
			groups = append(groups, groupRow{fn, g.mod, g.shared})
		}
	}
	sitesSchema().Add(f, tableSites, l.funcs)
	beginSchema().Add(f, tableBegin, begins)
	intervalSchema().Add(f, tableInterval, intervals)
	groupSchema().Add(f, tableGroup, groups)
	remainderSchema().Add(f, tableRemainder, remainders)
}

// row returns what is known of the ids of a function. One without a record is known as well, so
// that what it calls can be told.
func (l *GraphLog) row(fn uint32) *logRow {
	if l.rows[fn] == nil {
		l.rows[fn] = &logRow{}
	}
	return l.rows[fn]
}

func (r *tablesReader) graphLog() error {
	l := r.c.Log
	if l == nil {
		return nil
	}
	next := uint32(0)
	err := each(r.f, tableSites, sitesSchema(), func(s *logFunc) error {
		if err := r.function(s.fn); err != nil {
			return err
		}
		if s.first < next || s.first+s.cells < s.first || s.cells == 0 || s.cells != r.p.Funcs[s.fn].Cells {
			return fmt.Errorf("%d sites from %d on, want %d from %d on", s.cells, s.first, r.p.Funcs[s.fn].Cells, next)
		}
		next = s.first + s.cells
		l.funcs = append(l.funcs, *s)
		return nil
	})
	if err != nil {
		return err
	}
	err = each(r.f, tableBegin, beginSchema(), func(b *beginRow) error {
		l.row(b.fn).begin, l.row(b.fn).base = b.begin, b.base
		return nil
	})
	if err != nil {
		return err
	}
	err = each(r.f, tableInterval, intervalSchema(), func(i *intervalRow) error {
		return l.row(i.fn).change(layout.LogInterval, i.site, 0, i.add, i.size)
	})
	if err != nil {
		return err
	}
	return r.groups(l)
}

// groups reads the groups of remainders.
func (r *tablesReader) groups(l *GraphLog) error {
	var groups []map[uint64]uint32
	err := each(r.f, tableGroup, groupSchema(), func(g *groupRow) error {
		if g.mod < 2 {
			return fmt.Errorf("a group of %d remainders", g.mod)
		}
		sites := make(map[uint64]uint32)
		groups = append(groups, sites)
		l.row(g.fn).groups = append(l.row(g.fn).groups, logGroup{g.mod, g.shared, sites})
		return nil
	})
	if err != nil {
		return err
	}
	return each(r.f, tableRemainder, remainderSchema(), func(m *remainderRow) error {
		if uint64(m.group) >= uint64(len(groups)) {
			return fmt.Errorf("remainder %d of no group", m.n)
		}
		groups[m.group][m.n] = m.site
		return nil
	})
}

func countSchema() sealed.Schema[EventCount] {
	return sealed.Schema[EventCount]{
		num("kind", func(e *EventCount) *uint32 { return &e.Kind }),
		{Name: "bits", Max: 64, Get: func(e *EventCount) uint64 { return uint64(e.Bits) },
			Set: func(e *EventCount, v uint64) { e.Bits = int(v) }},
		hex("hi", func(e *EventCount) *uint64 { return &e.ID.Hi }),
		hex("lo", func(e *EventCount) *uint64 { return &e.ID.Lo }),
		number("events", func(e *EventCount) *uint64 { return &e.Count }),
		number("sum", func(e *EventCount) *uint64 { return &e.Sum }),
		number("max", func(e *EventCount) *uint64 { return &e.Max }),
	}
}

func eventSchema() sealed.Schema[Event] {
	return sealed.Schema[Event]{
		num("kind", func(e *Event) *uint32 { return &e.Kind }),
		number("value", func(e *Event) *uint64 { return &e.Value }),
		{Name: "time", Max: math.MaxInt64, Get: func(e *Event) uint64 { return uint64(e.Time) },
			Set: func(e *Event, v uint64) { e.Time = time.Duration(v) }},
		hex("hi", func(e *Event) *uint64 { return &e.ID.Hi }),
		hex("lo", func(e *Event) *uint64 { return &e.ID.Lo }),
	}
}

// addEvents adds the events that were recorded up to now.
func (c *Encoding) addEvents(f *sealed.File) error {
	var counts []EventCount
	if err := c.EventCounts(func(e *EventCount) error { counts = append(counts, *e); return nil }); err != nil {
		return err
	}
	var events []Event
	if err := c.EventLog(func(e *Event) error { events = append(events, *e); return nil }); err != nil {
		return err
	}
	countSchema().Add(f, tableCount, counts)
	eventSchema().Add(f, tableEvent, events)
	return nil
}

func (r *tablesReader) events() (err error) {
	if r.c.sealedCounts, err = countSchema().Rows(r.f, tableCount); err != nil {
		return err
	}
	for i := range r.c.sealedCounts {
		r.c.own(&r.c.sealedCounts[i].ID)
	}
	r.c.sealedLog, err = eventSchema().Rows(r.f, tableEvent)
	for i := range r.c.sealedLog {
		r.c.own(&r.c.sealedLog[i].ID)
	}
	return err
}
