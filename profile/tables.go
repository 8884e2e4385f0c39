package profile

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/stemma-go/stemma/internal/sealed"
)

// The tables of a profile. FORMAT.md describes them.
const (
	tableProcess = "process"
	tableLost    = "lost"
	tableNote    = "note"
	tableSampler = "sampler"
	tableSegment = "segment"
	tableStat    = "stat"
	tableLatency = "latency"
	tableFunc    = "func"
	tableInlined = "inlined"
	tableSite    = "site"
	tableWeight  = "weight"
	tablePlaced  = "placed"
	tableFrame   = "frame"
	tableValue   = "value"
	tableNode    = "node"
)

// IsSealed reports whether a file that begins with head, at least 8 bytes of it,
// is a sealed profile.
func IsSealed(head []byte) bool { return sealed.Is(head) }

// Write writes p as a sealed file. It returns an error if p is not valid.
// Equal profiles give equal bytes. After an error, Read does not accept what w has
// got so far.
func (p *Profile) Write(w io.Writer) error {
	f, err := p.file(sealed.Tree)
	if err != nil {
		return err
	}
	return f.Write(w)
}

// WriteText writes p in the text form. It returns an error if p is not valid.
func (p *Profile) WriteText(w io.Writer) error {
	f, err := p.file(sealed.Tree)
	if err != nil {
		return err
	}
	return f.WriteText(w)
}

// Read reads a sealed file. An error names the offset in the file, or the table and row.
// It checks all that [Profile.CheckValid] does, and checksums. So the profile that it
// returns is the one that was written.
func Read(r io.Reader) (*Profile, error) {
	f, err := sealed.Read(r)
	if err != nil {
		return nil, err
	}
	return fromTables(f)
}

// ParseText reads the text form. An error names the line.
// WriteText writes back what ParseText accepts, except for comments, spacing and the order
// of words. The form is for tests and for looking at a profile: it is several times as large
// as a sealed file and slow to read.
func ParseText(r io.Reader) (*Profile, error) {
	f, err := sealed.ParseText(r, descriptions())
	if err != nil {
		return nil, err
	}
	return fromTables(f)
}

// Tables are the tables of a profile. They are for stemma's own packages, which put others beside them in one file;
// no other module can look into them. Use [Read], [Profile.Write] and their like instead.
type Tables sealed.Handle

// Tables returns the tables of p. It returns an error if p is not valid. ids says that they are those of a record of
// context IDs, which also has tables of its own.
func (p *Profile) Tables(ids bool) (*Tables, error) {
	content := sealed.Tree
	if ids {
		content = sealed.IDs
	}
	f, err := p.file(content)
	if err != nil {
		return nil, err
	}
	return (*Tables)(sealed.NewHandle(f)), nil
}

// FromTables returns the profile of the tables of a record of any kind.
func FromTables(t *Tables) (*Profile, error) { return anyFromTables((*sealed.Handle)(t).File()) }

// EmptyTables returns the tables of a profile, without rows.
func EmptyTables() *Tables {
	return (*Tables)(sealed.NewHandle(&sealed.File{Tables: descriptions()}))
}

// descriptions returns the tables of a profile, without rows.
func descriptions() []*sealed.Table {
	x := (&sealed.File{Strings: []string{""}}).Interner()
	values := valueSchema(x).Describe(tableValue)
	values.AfterRow = addValueColumn
	return []*sealed.Table{
		sealed.DescribeFirst(), processSchema(x).Describe(tableProcess), lossSchema(x).Describe(tableLost),
		noteSchema(x).Describe(tableNote), samplerSchema(x).Describe(tableSampler),
		segmentSchema().Describe(tableSegment), lossSchema(x).Describe(tableStat),
		bucketSchema().Describe(tableLatency), funcSchema().Describe(tableFunc), inlinedSchema().Describe(tableInlined),
		siteSchema().Describe(tableSite), weightSchema().Describe(tableWeight), placedSchema().Describe(tablePlaced),
		frameSchema().Describe(tableFrame),
		values, nodeSchema().Describe(tableNode), requestSchema().Describe(tableRequest),
	}
}

// addValueColumn adds the column of the nodes that the last row of values stands for. The text form names it in
// front of them.
func addValueColumn(f *sealed.File) error {
	nodes := f.Table(tableNode)
	if nodes.Rows > 0 {
		return fmt.Errorf("a value behind the first node")
	}
	types, err := valueSchema(f.Interner()).Rows(f, tableValue)
	if err != nil {
		return err
	}
	kind := sealed.Number
	last := types[len(types)-1]
	switch {
	case last.Weighted:
		return nil
	case last.PerCounter:
		kind = sealed.List
	}
	if slices.ContainsFunc(nodes.Columns, func(c *sealed.Column) bool { return c.Name == last.Name }) ||
		last.Name == "" {
		return fmt.Errorf("value %q: nodes have a column of that name", last.Name)
	}
	nodes.AddColumn(last.Name, kind, nil)
	return nil
}

// file returns the tables of a profile. It is an error if p is not valid.
func (p *Profile) file(content sealed.Content) (*sealed.File, error) {
	if err := p.CheckValid(); err != nil {
		return nil, err
	}
	f := &sealed.File{Strings: append([]string{}, p.Strings...)}
	run := uint64(0)
	if len(p.Processes) == 1 {
		run = p.Processes[0].Run
	}
	sealed.AddFirst(f, content, run)
	p.addProcesses(f)
	p.addFuncs(f)
	types := make([]Metric, len(p.Columns))
	for i, c := range p.Columns {
		types[i] = c.Metric
	}
	valueSchema(f.Interner()).Add(f, tableValue, types)
	p.addNodes(f)
	if len(p.Requests) > 0 {
		requestSchema().Add(f, tableRequest, p.Requests)
	}
	return f, nil
}

// fromTables returns the profile of tables.
func fromTables(f *sealed.File) (*Profile, error) {
	content, _, err := sealed.ContentOf(f)
	if err != nil {
		return nil, err
	}
	if content != sealed.Tree {
		return nil, fmt.Errorf("a record of context IDs has no tree; see stemma decode and stemma events")
	}
	return anyFromTables(f)
}

// anyFromTables is fromTables for records of any kind.
func anyFromTables(f *sealed.File) (*Profile, error) {
	p := &Profile{Strings: f.Strings}
	var err error
	if p.Processes, err = readProcesses(f); err != nil {
		return nil, err
	}
	if err = p.readFuncs(f); err != nil {
		return nil, err
	}
	if err = p.readNodes(f); err != nil {
		return nil, err
	}
	if p.Requests, err = requestSchema().Rows(f, tableRequest); err != nil {
		return nil, err
	}
	return p, p.CheckValid()
}

// A processRow is a process with what belongs to it.
type processRow struct {
	Process
	lost, notes, samplers int
	args                  []uint64
}

func processSchema(x *sealed.Interner) sealed.Schema[processRow] {
	return sealed.Schema[processRow]{
		{Name: "args", Kind: sealed.Strings, Numbers: func(r *processRow) []uint64 { return r.args },
			SetNumbers: func(r *processRow, list []uint64) { r.args = list }},
		{Name: "run", Kind: sealed.Hex, Get: func(r *processRow) uint64 { return r.Run },
			Set: func(r *processRow, v uint64) { r.Run = v }},
		{Name: "pid", Max: math.MaxUint32, Get: func(r *processRow) uint64 { return uint64(uint32(r.PID)) },
			Set: func(r *processRow, v uint64) { r.PID = int(v) }},
		{Name: "start", Kind: sealed.Time, Get: func(r *processRow) uint64 { return sealed.NanoUnix(r.Start) },
			Set: func(r *processRow, v uint64) { r.Start = sealed.UnixNano(v) }},
		text("go", x, func(r *processRow) *string { return &r.GoVersion }),
		renamed("engine", x, formerEngines, func(r *processRow) *string { return &r.Engine }),
		{Name: "flags", Kind: sealed.Flags, Words: []string{"full", "checked"},
			Get: func(r *processRow) uint64 { return bits(r.Full, r.Checked) },
			Set: func(r *processRow, v uint64) { r.Full, r.Checked = v&1 != 0, v&2 != 0 }},
		child(tableLost, func(r *processRow) *int { return &r.lost }),
		child(tableNote, func(r *processRow) *int { return &r.notes }),
		child(tableSampler, func(r *processRow) *int { return &r.samplers }),
	}
}

// text is a column of strings.
func text[T any](name string, x *sealed.Interner, at func(*T) *string) sealed.Field[T] {
	return sealed.Field[T]{Name: name, Kind: sealed.String,
		Get: func(r *T) uint64 { return x.Index(*at(r)) }, Set: func(r *T, v uint64) { *at(r) = x.At(v) }}
}

// renamed is a column of strings, some of which have replaced former ones.
func renamed[T any](name string, x *sealed.Interner, former map[string]string, at func(*T) *string) sealed.Field[T] {
	f := text(name, x, at)
	f.Set = func(r *T, v uint64) { *at(r) = current(former, x.At(v)) }
	return f
}

// child is a column that counts the rows of another table.
func child[T any](name string, at func(*T) *int) sealed.Field[T] {
	return sealed.Field[T]{Name: name, Kind: sealed.Child, Max: math.MaxInt32,
		Get: func(r *T) uint64 { return uint64(*at(r)) }, Set: func(r *T, v uint64) { *at(r) = int(v) }}
}

// num is a column of numbers of 32 bits, of some kind.
func num[T any](name string, kind sealed.Kind, at func(*T) *uint32) sealed.Field[T] {
	return sealed.Field[T]{Name: name, Kind: kind, Max: math.MaxUint32,
		Get: func(r *T) uint64 { return uint64(*at(r)) }, Set: func(r *T, v uint64) { *at(r) = uint32(v) }}
}

// optional is a column of indexes, which may be None.
func optional[T any](name string, at func(*T) *int32) sealed.Field[T] {
	return sealed.Field[T]{Name: name, Kind: sealed.Index,
		Get: func(r *T) uint64 { return uint64(*at(r) + 1) }, Set: func(r *T, v uint64) { *at(r) = int32(v) - 1 }}
}

// bits returns a number with a bit for each flag.
func bits(flags ...bool) (v uint64) {
	for i, f := range flags {
		if f {
			v |= 1 << i
		}
	}
	return v
}

func lossSchema(x *sealed.Interner) sealed.Schema[Loss] {
	return sealed.Schema[Loss]{
		text("kind", x, func(l *Loss) *string { return &l.Kind }),
		{Name: "count", Get: func(l *Loss) uint64 { return l.Count }, Set: func(l *Loss, v uint64) { l.Count = v }},
	}
}

func noteSchema(x *sealed.Interner) sealed.Schema[string] {
	return sealed.Schema[string]{text("text", x, func(s *string) *string { return s })}
}

// A samplerRow is how a process was sampled, with what belongs to it.
type samplerRow struct {
	Sampling
	stats, latencies int
}

func samplerSchema(x *sealed.Interner) sealed.Schema[samplerRow] {
	return sealed.Schema[samplerRow]{
		text("name", x, func(r *samplerRow) *string { return &r.Sampler }),
		text("walk", x, func(r *samplerRow) *string { return &r.Walk }),
		renamed("ask", x, formerPlaces, func(r *samplerRow) *string { return &r.At }),
		{Name: "interval", Max: math.MaxInt64, Get: func(r *samplerRow) uint64 { return uint64(r.Interval) },
			Set: func(r *samplerRow, v uint64) { r.Interval = time.Duration(v) }},
		child(tableStat, func(r *samplerRow) *int { return &r.stats }),
		child(tableLatency, func(r *samplerRow) *int { return &r.latencies }),
	}
}

// A segmentRow says which part of a run a process has.
type segmentRow struct {
	Segment
	process uint32
}

func segmentSchema() sealed.Schema[segmentRow] {
	number := func(name string, at func(*segmentRow) *uint64) sealed.Field[segmentRow] {
		return sealed.Field[segmentRow]{Name: name, Get: func(r *segmentRow) uint64 { return *at(r) },
			Set: func(r *segmentRow, v uint64) { *at(r) = v }}
	}
	at := func(name string, at func(*segmentRow) *time.Time) sealed.Field[segmentRow] {
		return sealed.Field[segmentRow]{Name: name, Kind: sealed.Time,
			Get: func(r *segmentRow) uint64 { return sealed.NanoUnix(*at(r)) },
			Set: func(r *segmentRow, v uint64) { *at(r) = sealed.UnixNano(v) }}
	}
	return sealed.Schema[segmentRow]{
		num("process", sealed.Number, func(r *segmentRow) *uint32 { return &r.process }),
		number("number", func(r *segmentRow) *uint64 { return &r.Number }),
		number("closed", func(r *segmentRow) *uint64 { return &r.Closed }),
		number("dropped", func(r *segmentRow) *uint64 { return &r.Dropped }),
		number("failed", func(r *segmentRow) *uint64 { return &r.Failed }),
		at("began", func(r *segmentRow) *time.Time { return &r.Began }),
		at("ended", func(r *segmentRow) *time.Time { return &r.Ended }),
	}
}

// readSegments says of each process which part of its run there is.
func readSegments(f *sealed.File, procs []Process) error {
	rows, err := segmentSchema().Rows(f, tableSegment)
	if err != nil {
		return err
	}
	for i, r := range rows {
		if int(r.process) >= len(procs) || procs[r.process].Segment != nil {
			return fmt.Errorf("table %s: row %d: process %d is not there, or has a segment", tableSegment, i, r.process)
		}
		procs[r.process].Segment = &rows[i].Segment
	}
	return nil
}

func bucketSchema() sealed.Schema[Bucket] {
	return sealed.Schema[Bucket]{
		{Name: "floor", Max: math.MaxInt64, Get: func(b *Bucket) uint64 { return uint64(b.Floor) },
			Set: func(b *Bucket, v uint64) { b.Floor = time.Duration(v) }},
		{Name: "count", Get: func(b *Bucket) uint64 { return b.Count }, Set: func(b *Bucket, v uint64) { b.Count = v }},
	}
}

// addProcesses adds the tables of processes.
func (p *Profile) addProcesses(f *sealed.File) {
	x := f.Interner()
	var rows []processRow
	var lost, stats []Loss
	var notes []string
	var samplers []samplerRow
	var segments []segmentRow
	var latency []Bucket
	for _, proc := range p.Processes {
		r := processRow{Process: proc, lost: len(proc.Losses), notes: len(proc.Notes)}
		for _, a := range proc.Args {
			r.args = append(r.args, x.Index(a))
		}
		if s := proc.Sampling; s != nil {
			r.samplers = 1
			samplers = append(samplers, samplerRow{*s, len(s.Stats), len(s.Latency)})
			stats, latency = append(stats, s.Stats...), append(latency, s.Latency...)
		}
		if s := proc.Segment; s != nil {
			segments = append(segments, segmentRow{*s, uint32(len(rows))})
		}
		rows, lost, notes = append(rows, r), append(lost, proc.Losses...), append(notes, proc.Notes...)
	}
	processSchema(x).Add(f, tableProcess, rows)
	lossSchema(x).Add(f, tableLost, lost)
	noteSchema(x).Add(f, tableNote, notes)
	samplerSchema(x).Add(f, tableSampler, samplers)
	if len(segments) > 0 {
		segmentSchema().Add(f, tableSegment, segments)
	}
	lossSchema(x).Add(f, tableStat, stats)
	bucketSchema().Add(f, tableLatency, latency)
}

// children reads a table with some rows for each row of a parent.
func children[P, T any](f *sealed.File, name string, s sealed.Schema[T], parents []P, count func(*P) int) ([][]T,
	error) {
	rows, err := s.Rows(f, name)
	if err != nil {
		return nil, err
	}
	counts := make([]int, len(parents))
	for i := range parents {
		counts[i] = count(&parents[i])
	}
	parts, err := sealed.Split(rows, counts)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	return parts, nil
}

// readProcesses is the inverse of addProcesses.
func readProcesses(f *sealed.File) ([]Process, error) {
	x := f.Interner()
	rows, err := processSchema(x).Rows(f, tableProcess)
	if err != nil {
		return nil, err
	}
	lost, err := children(f, tableLost, lossSchema(x), rows, func(r *processRow) int { return r.lost })
	if err != nil {
		return nil, err
	}
	notes, err := children(f, tableNote, noteSchema(x), rows, func(r *processRow) int { return r.notes })
	if err != nil {
		return nil, err
	}
	samplings, err := readSamplings(f, x, rows)
	if err != nil {
		return nil, err
	}
	var procs []Process
	for i, r := range rows {
		for _, a := range r.args {
			r.Args = append(r.Args, x.At(a))
		}
		r.Losses, r.Notes, r.Sampling = lost[i], notes[i], samplings[i]
		procs = append(procs, r.Process)
	}
	return procs, readSegments(f, procs)
}

// readSamplings returns how each process was sampled.
func readSamplings(f *sealed.File, x *sealed.Interner, procs []processRow) ([]*Sampling, error) {
	rows, err := samplerSchema(x).Rows(f, tableSampler)
	if err != nil {
		return nil, err
	}
	stats, err := children(f, tableStat, lossSchema(x), rows, func(r *samplerRow) int { return r.stats })
	if err != nil {
		return nil, err
	}
	latency, err := children(f, tableLatency, bucketSchema(), rows, func(r *samplerRow) int { return r.latencies })
	if err != nil {
		return nil, err
	}
	list := make([]*Sampling, len(procs))
	next := 0
	for i := range procs {
		switch n := procs[i].samplers; {
		case n > 1 || n > len(rows)-next:
			return nil, fmt.Errorf("table %s: %d rows for process %d, want at most 1", tableSampler, n, i)
		case n == 1:
			s := rows[next].Sampling
			s.Stats, s.Latency = stats[next], latency[next]
			list[i] = &s
			next++
		}
	}
	if next < len(rows) {
		return nil, fmt.Errorf("table %s: %d rows that belong to no process", tableSampler, len(rows)-next)
	}
	return list, nil
}

// A funcRow is a function with what belongs to it.
type funcRow struct {
	Func
	inlined, sites, weights, frames int
}

func funcSchema() sealed.Schema[funcRow] {
	return sealed.Schema[funcRow]{
		{Name: "kind", Kind: sealed.Word, Words: funcKindNames, Former: map[string]string{"held": "delay"},
			Get: func(r *funcRow) uint64 { return uint64(r.Kind) },
			Set: func(r *funcRow, v uint64) { r.Kind = FuncKind(v) }},
		num("name", sealed.String, func(r *funcRow) *uint32 { return &r.Name }),
		num("file", sealed.String, func(r *funcRow) *uint32 { return &r.File }),
		num("line", sealed.Number, func(r *funcRow) *uint32 { return &r.Line }),
		num("cells", sealed.Number, func(r *funcRow) *uint32 { return &r.Cells }),
		num("counters", sealed.Number, func(r *funcRow) *uint32 { return &r.Counters }),
		{Name: "flags", Kind: sealed.Flags, Words: []string{"wrapper", "asm", "adapter", "new"},
			Get: func(r *funcRow) uint64 { return uint64(r.Flags) },
			Set: func(r *funcRow, v uint64) { r.Flags = uint8(v) }},
		child(tableInlined, func(r *funcRow) *int { return &r.inlined }),
		child(tableSite, func(r *funcRow) *int { return &r.sites }),
		child(tableWeight, func(r *funcRow) *int { return &r.weights }),
		child(tableFrame, func(r *funcRow) *int { return &r.frames }),
	}
}

func inlinedSchema() sealed.Schema[Inlined] {
	return sealed.Schema[Inlined]{
		optional("in", func(r *Inlined) *int32 { return &r.Parent }),
		num("callee", sealed.String, func(r *Inlined) *uint32 { return &r.Callee }),
		num("file", sealed.String, func(r *Inlined) *uint32 { return &r.File }),
		num("line", sealed.Number, func(r *Inlined) *uint32 { return &r.Line }),
		optional("counter", func(r *Inlined) *int32 { return &r.Counter }),
		num("beginsFile", sealed.String, func(r *Inlined) *uint32 { return &r.CalleeFile }),
		num("beginsLine", sealed.Number, func(r *Inlined) *uint32 { return &r.CalleeLine }),
	}
}

func siteSchema() sealed.Schema[Site] {
	return sealed.Schema[Site]{
		{Name: "kind", Kind: sealed.Word, Words: siteKindNames, Get: func(r *Site) uint64 { return uint64(r.Kind) },
			Set: func(r *Site, v uint64) { r.Kind = SiteKind(v) }},
		optional("in", func(r *Site) *int32 { return &r.Inlined }),
		num("callee", sealed.String, func(r *Site) *uint32 { return &r.Callee }),
		num("file", sealed.String, func(r *Site) *uint32 { return &r.File }),
		num("line", sealed.Number, func(r *Site) *uint32 { return &r.Line }),
		optional("cell", func(r *Site) *int32 { return &r.Cell }),
		optional("counter", func(r *Site) *int32 { return &r.Counter }),
	}
}

func weightSchema() sealed.Schema[Weight] {
	return sealed.Schema[Weight]{
		num("counter", sealed.Number, func(r *Weight) *uint32 { return &r.Counter }),
		optional("in", func(r *Weight) *int32 { return &r.Inlined }),
		{Name: "class", Kind: sealed.Word, Words: OpClasses(), Get: func(r *Weight) uint64 { return uint64(r.Class) },
			Set: func(r *Weight, v uint64) { r.Class = uint32(v) }},
		{Name: "more", Max: math.MaxInt32, Get: func(r *Weight) uint64 { return uint64(max(r.N, 0)) },
			Set: func(r *Weight, v uint64) { r.N += int32(v) }},
		{Name: "less", Max: math.MaxInt32, Get: func(r *Weight) uint64 { return uint64(-min(r.N, 0)) },
			Set: func(r *Weight, v uint64) { r.N -= int32(v) }},
	}
}

// A placedRow has the counters that were placed for operations of a function.
type placedRow struct {
	fn       uint32
	counters []int32
}

func placedSchema() sealed.Schema[placedRow] {
	return sealed.Schema[placedRow]{
		num("func", sealed.Number, func(r *placedRow) *uint32 { return &r.fn }),
		{Name: "counters", Kind: sealed.List, Numbers: func(r *placedRow) (list []uint64) {
			for _, c := range r.counters {
				list = append(list, uint64(c+1))
			}
			return list
		}, SetNumbers: func(r *placedRow, list []uint64) {
			for _, c := range list {
				r.counters = append(r.counters, int32(min(c, math.MaxInt32))-1)
			}
		}},
	}
}

func frameSchema() sealed.Schema[Frame] {
	return sealed.Schema[Frame]{
		num("func", sealed.String, func(r *Frame) *uint32 { return &r.Func }),
		num("file", sealed.String, func(r *Frame) *uint32 { return &r.File }),
		num("line", sealed.Number, func(r *Frame) *uint32 { return &r.Line }),
		num("start", sealed.Number, func(r *Frame) *uint32 { return &r.Start }),
	}
}

// addFuncs adds the tables of functions.
func (p *Profile) addFuncs(f *sealed.File) {
	rows := make([]funcRow, len(p.Funcs))
	var inlined []Inlined
	var sites []Site
	var weights []Weight
	var placed []placedRow
	var frames []Frame
	for i, fn := range p.Funcs {
		if len(fn.Placed) > 0 {
			placed = append(placed, placedRow{uint32(i), fn.Placed})
		}
		rows[i] = funcRow{fn, len(fn.Inlined), len(fn.Sites), len(fn.Weights), len(fn.Frames)}
		inlined, sites = append(inlined, fn.Inlined...), append(sites, fn.Sites...)
		weights, frames = append(weights, fn.Weights...), append(frames, fn.Frames...)
	}
	funcSchema().Add(f, tableFunc, rows)
	inlinedSchema().Add(f, tableInlined, inlined)
	siteSchema().Add(f, tableSite, sites)
	if len(weights) > 0 {
		weightSchema().Add(f, tableWeight, weights)
	}
	if len(placed) > 0 {
		placedSchema().Add(f, tablePlaced, placed)
	}
	frameSchema().Add(f, tableFrame, frames)
}

// readFuncs is the inverse of addFuncs.
func (p *Profile) readFuncs(f *sealed.File) error {
	rows, err := funcSchema().Rows(f, tableFunc)
	if err != nil {
		return err
	}
	inlined, err := children(f, tableInlined, inlinedSchema(), rows, func(r *funcRow) int { return r.inlined })
	if err != nil {
		return err
	}
	sites, err := children(f, tableSite, siteSchema(), rows, func(r *funcRow) int { return r.sites })
	if err != nil {
		return err
	}
	weights, err := children(f, tableWeight, weightSchema(), rows, func(r *funcRow) int { return r.weights })
	if err != nil {
		return err
	}
	frames, err := children(f, tableFrame, frameSchema(), rows, func(r *funcRow) int { return r.frames })
	if err != nil {
		return err
	}
	p.Funcs = make([]Func, len(rows))
	for i, r := range rows {
		r.Inlined, r.Sites, r.Weights, r.Frames = inlined[i], sites[i], weights[i], frames[i]
		p.Funcs[i] = r.Func
	}
	return p.readPlaced(f)
}

// readPlaced reads the counters that functions have for operations, if any has some.
func (p *Profile) readPlaced(f *sealed.File) error {
	rows, err := placedSchema().Rows(f, tablePlaced)
	if err != nil {
		return err
	}
	for i, r := range rows {
		if int(r.fn) >= len(p.Funcs) || p.Funcs[r.fn].Placed != nil || len(r.counters) == 0 {
			return fmt.Errorf("table %s: row %d: function %d is not there, or has counters", tablePlaced, i, r.fn)
		}
		p.Funcs[r.fn].Placed = r.counters
	}
	return nil
}

func valueSchema(x *sealed.Interner) sealed.Schema[Metric] {
	return sealed.Schema[Metric]{
		text("name", x, func(t *Metric) *string { return &t.Name }),
		text("unit", x, func(t *Metric) *string { return &t.Unit }),
		text("about", x, func(t *Metric) *string { return &t.About }),
		{Name: "flags", Kind: sealed.Flags, Words: []string{"perCounter", "sampled", "weighted"},
			Get: func(t *Metric) uint64 { return bits(t.PerCounter, t.Sampled, t.Weighted) },
			Set: func(t *Metric, v uint64) {
				t.PerCounter, t.Sampled, t.Weighted = v&1 != 0, v&2 != 0, v&4 != 0
			}},
	}
}

// nodeColumns are the columns of nodes that are no values.
var nodeColumns = []string{"func", "parent", "cell"}

func nodeSchema() sealed.Schema[Node] {
	return sealed.Schema[Node]{
		num("func", sealed.Number, func(n *Node) *uint32 { return &n.Func }),
		num("parent", sealed.Up, func(n *Node) *uint32 { return &n.Parent }),
		num("cell", sealed.Number, func(n *Node) *uint32 { return &n.Cell }),
	}
}

// addNodes adds the table of nodes, which has a column for each value.
func (p *Profile) addNodes(f *sealed.File) {
	nodeSchema().Add(f, tableNode, p.Nodes)
	t := f.Table(tableNode)
	for k := range p.Columns {
		switch c := &p.Columns[k]; {
		case c.Weighted:
		case c.PerCounter:
			t.AddLists(c.Name, func(i int) []uint64 { return c.counters(p, i) })
		default:
			t.AddNumbers(c.Name, c.Values)
		}
	}
}

// readNodes is the inverse of addNodes. Counters stand in the order of the nodes.
func (p *Profile) readNodes(f *sealed.File) error {
	types, err := valueSchema(f.Interner()).Rows(f, tableValue)
	if err != nil {
		return err
	}
	if p.Nodes, err = nodeSchema().Rows(f, tableNode); err != nil {
		return err
	}
	var counters uint64
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if uint64(n.Func) >= uint64(len(p.Funcs)) {
			return fmt.Errorf("table %s: row %d: function %d is not one of %d", tableNode, i, n.Func, len(p.Funcs))
		}
		n.First = uint32(counters)
		if counters += uint64(p.Funcs[n.Func].Counters); counters > math.MaxUint32 {
			return fmt.Errorf("table %s: row %d: more than %d counters", tableNode, i, uint32(math.MaxUint32))
		}
	}
	t := f.Table(tableNode)
	for _, m := range types {
		c := Column{Metric: m}
		c.Name = CurrentName(m.Name)
		switch {
		case m.Weighted:
		case m.PerCounter:
			c.Values, err = t.Lists(m.Name, func(row int) int { return int(p.Funcs[p.Nodes[row].Func].Counters) })
		default:
			c.Values, err = t.Numbers(m.Name)
		}
		if err != nil {
			return err
		}
		p.Columns = append(p.Columns, c)
	}
	return nil
}
