// Package ids reads what a program with context IDs recorded, and answers what decoding asks of it.
// It reads live directories and sealed files.
//
// # Terminology
//
// An [Encoding] says where in the program's code each call is, how the edges of its call
// graph were encoded, and what IDs refer to: the interned entries of ccStacks, or of
// engine lucce the versions. A [Dictionary] has the encoding of each epoch, a [GraphLog]
// that of an engine that never changes it.
package ids

import (
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// An Encoding is what a program recorded so that its context IDs can be decoded. Functions are
// indexes into the Funcs of its profile, which has no nodes but the root.
// It is read-only but for [Reader.Update]; several goroutines may use it at once.
type Encoding struct {
	Stats    Stats
	Text     uint64     // the address that the PC of an ID is relative to
	Run      uint64     // the run number, which the IDs of the process carry
	Code     []Code     // by address; no two overlap
	Interned []Interned // by number; there is no entry 0
	Dict     Dictionary // of no epoch, if there is a log
	Log      *GraphLog  // nil without one
	// EventsSpilt is the number of events that were added up without their context,
	// because there was no room for another one.
	EventsSpilt uint64
	// EventsOverwritten is the number of events that the logs do not hold any more.
	EventsOverwritten uint64

	byID map[uint64]uint32 // functions by their IDs

	// Of a live directory.
	fsys   fs.FS
	header layout.ContextsHeader
	files  []usedFile
	counts []eventFile
	logs   []eventFile

	// Of a sealed file.
	sealedCounts []EventCount
	sealedLog    []Event
	logged       bool  // there was a log of events
	size         int64 // of the tables
}

// Stats are what the engine says about itself: the columns of table 1 of
// the DACCE paper, and what it lost.
type Stats struct {
	Functions uint64 // that were entered: nodes of the call graph
	Edges     uint64 // of the call graph, as far as it was seen
	Encoded   uint64 // edges that the last epoch encodes
	Groups    uint64 // of functions that share a key, as dynamic sites call them
	BackEdges uint64
	LeftOut   uint64 // edges not encoded because ids would have grown too large
	MaxID     uint64 // the largest id of the last epoch

	Pushes    uint64  // onto ccStacks, in steps of layout.PushStep
	MeanDepth float64 // of ccStacks at the counted pushes
	MaxDepth  uint64
	Slow      uint64 // entries through the slow path in Go

	Epoch        uint64 // the last one
	Reencodings  uint64
	ReencodeTime time.Duration // spent in them
	MaxPause     time.Duration // the longest stop of the program
	Rewrites     uint64        // of the frames of a goroutine

	Start      StartKind
	GraphNodes uint64 // functions of the graph that it started from
	GraphEdges uint64 // edges of that graph: pairs of a site and a callee
	GraphTaken uint64 // those of Edges that it started from

	Truncated uint64        // contexts cut because a ccStack or the file nodes was full
	Elapsed   time.Duration // how long the program ran, 0 if not known

	depths uint64 // of ccStacks at the counted pushes, added up
}

// A StartKind is what the encoding of a program started from.
type StartKind uint8

// The kinds, as the header has them.
const (
	StartNothing StartKind = layout.SourceNone
	StartStatic  StartKind = layout.SourceStatic  // the static call graph
	StartRun     StartKind = layout.SourceRun     // the record of a run
	StartMissing StartKind = layout.SourceMissing // nothing: the warm file was not there
	StartWrong   StartKind = layout.SourceWrong   // nothing: the warm file was that of another program
)

// String returns what the program started from.
func (k StartKind) String() string {
	return [...]string{"nothing", "the static call graph", "an earlier run", "nothing: no warm file beside the program",
		"nothing: the warm file was made for another program"}[k]
}

// NoFunc stands for a function without a record, as an index into Funcs.
const NoFunc = 1<<32 - 1

// An Interned is an interned entry of a ccStack, see layout.Interned. An entry whose
// contents a lost page has taken is of kind layout.InternCall with Place 0.
type Interned struct {
	Parent, Epoch, ID uint32
	Target            uint32 // index into Funcs, or NoFunc
	Place             uint64
	Kind              uint8
}

// LongID returns the id of an entry of engine lucce.
func (n *Interned) LongID() uint64 { return uint64(n.Epoch)<<32 | uint64(n.ID) }

// A usedFile is a file of the directory whose first used bytes have a meaning.
type usedFile struct {
	name string
	used int64
}

// cutNode is the number of the entry that stands for all that had no room.
const cutNode = layout.InternedBytes/layout.InternedSize - 1

// Node returns entry number n, false if there is none.
func (c *Encoding) Node(n uint32) (Interned, bool) {
	switch {
	case n > 0 && uint64(n) < uint64(len(c.Interned)):
		return c.Interned[n], true
	case n == cutNode && c.Stats.Truncated > 0:
		return Interned{Kind: layout.InternCut, Place: layout.CutInterned, Target: NoFunc}, true
	}
	return Interned{}, false
}

// LiveRun returns the run number of a live directory with context IDs, and reads no
// more than that takes. An error that is fs.ErrNotExist says that there is no such
// record, or not yet; any other that it cannot be read, or is being made.
func LiveRun(fsys fs.FS) (run uint64, err error) {
	f, err := livedir.OpenFile(fsys, layout.FileIDs)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b, err := f.Head(layout.HeaderSize)
	if err != nil {
		return 0, err
	}
	var h livedir.Header
	err = h.ParseIDs(f, b)
	return h.Run, err
}

// Grown returns how much of a live directory decodes IDs, in a measure that only grows, and reads no more than the
// headers for that.
func Grown(fsys fs.FS) (used uint64, err error) {
	r := &Reader{Dir: &livedir.Dir{FS: fsys}, Encoding: new(Encoding)}
	if err := r.readHeader(); err != nil {
		return 0, err
	}
	for _, n := range r.used() {
		used += n
	}
	return used, nil
}

// used returns how much there is of all that decodes IDs.
func (r *Reader) used() [4]uint64 {
	h := &r.Encoding.header
	return [4]uint64{uint64(r.Header.FuncsUsed), h.Dacce.EpochsUsed, h.Lucce.LogUsed, h.NodesUsed}
}

// DropEvents leaves out the events: what is left decodes IDs.
func (c *Encoding) DropEvents() { c.counts, c.logs, c.sealedCounts, c.sealedLog = nil, nil, nil, nil }

// Open reads the live directory of a program with context IDs.
func Open(fsys fs.FS) (*Reader, error) {
	r := &Reader{Dir: &livedir.Dir{FS: fsys, Profile: profile.New()},
		Encoding: &Encoding{fsys: fsys, Interned: make([]Interned, 1)}}
	// Events have the IDs of contexts that are on record, so that they come first.
	if err := r.events(); err != nil {
		return nil, err
	}
	if err := r.readHeader(); err != nil {
		return nil, err
	}
	r.Profile.Processes = []profile.Process{r.Header.Process(layout.FileIDs)}
	r.funcs = r.NewFuncsReader(r.Encoding.addCode)
	r.Encoding.byID = r.funcs.ByID
	if err := r.read(); err != nil {
		return nil, err
	}
	r.NoteDamages()
	return r, r.Profile.CheckValid()
}

// Update reads what the program has recorded to decode its context IDs since r was opened, or
// since the last Update, and adds it to r's profile: functions, epochs and
// interned entries, no events. It takes time in proportion to what is new. Nobody
// may use the profile meanwhile. grew reports whether there was anything. With an error
// the profile may have grown, and what it had before still holds; the next Update goes
// on where this one ended.
func (r *Reader) Update() (grew bool, err error) {
	grew, err = r.headerChanged()
	if err != nil || !grew && !r.unread {
		return grew, err
	}
	err = r.read()
	r.unread = err != nil
	return true, err
}

// readStats fills what follows from the header alone.
func (c *Encoding) readStats(lucce bool) {
	h, d, s := &c.header, &c.header.Dacce, &c.Stats
	c.Text = h.Text
	s.Functions, s.Edges, s.MaxID, s.Slow, s.Truncated = h.Functions, h.Edges, h.MaxID, h.Slow, h.Truncated
	s.Encoded, s.Groups, s.BackEdges, s.LeftOut = d.Encoded, d.Groups, d.Back, d.LeftOut
	if lucce {
		s.Encoded, s.Groups, s.BackEdges = h.Lucce.Steps, h.Lucce.Groups, h.Lucce.Open
	}
	s.Pushes, s.depths, s.MaxDepth = d.Pushes, d.Depths, d.MaxDepth
	s.Epoch, s.Reencodings, s.Rewrites = d.Epoch, d.Encodes, d.Rewrites
	s.ReencodeTime = time.Duration(min(d.EncodeTime, 1<<62))
	s.MaxPause = time.Duration(min(d.MaxPause, 1<<62))
	s.Start = StartKind(min(d.Warm, uint64(StartWrong))) // more is of a later version
	s.GraphNodes, s.GraphEdges, s.GraphTaken = d.WarmNodes, d.WarmEdges, d.WarmKnown
	s.meanDepth()
}

// meanDepth fills in what follows from other numbers.
func (s *Stats) meanDepth() {
	if counted := s.Pushes / layout.PushStep; counted > 0 {
		s.MeanDepth = float64(s.depths) / float64(counted)
	}
}

// statNames are the names of numbers in a sealed file.
var statNames = []string{"functions", "edges", "encoded", "groups", "backEdges", "leftOut", "maxID", "pushes",
	"depths", "maxDepth",
	"slow", "epoch", "reencodings", "rewrites", "graphNodes", "graphEdges", "graphTaken", "truncated"}

// numbers are what statNames names.
func (s *Stats) numbers() []*uint64 {
	return []*uint64{&s.Functions, &s.Edges, &s.Encoded, &s.Groups, &s.BackEdges, &s.LeftOut, &s.MaxID, &s.Pushes,
		&s.depths, &s.MaxDepth,
		&s.Slow, &s.Epoch, &s.Reencodings, &s.Rewrites, &s.GraphNodes, &s.GraphEdges, &s.GraphTaken, &s.Truncated}
}

// A Reader reads the directory of an engine with context IDs, as far as its
// files are in use, and later what has been added. Each file is read forwards, once.
type Reader struct {
	*livedir.Dir
	Encoding *Encoding

	funcs  *livedir.FuncsReader
	next   int64 // offset in epochs, or in the log
	unread bool  // the last Update has failed, and not all that the header counts was read
}

// readHeader reads both pages of the header, which count what was complete before.
// Nodes refer to epochs and functions, and epochs to functions. The program counts
// what is referred to first, so that it must be looked at last: the second page, with
// nodes and epochs, is read before the first.
func (r *Reader) readHeader() error {
	f, err := livedir.OpenFile(r.FS, layout.FileIDs)
	if err != nil {
		return err
	}
	defer f.Close()
	f.Limit(0) // no windows: two reads
	b := make([]byte, layout.ContextsSize)
	for _, page := range []int64{layout.HeaderSize, 0} {
		part, err := f.At(page, layout.HeaderSize)
		if err != nil {
			return err
		}
		copy(b[page:], part)
	}
	var h livedir.Header
	if err := h.ParseIDs(f, b[:layout.HeaderSize]); err != nil {
		return err
	}
	if r.Encoding.Run != 0 && r.Encoding.Run != h.Run {
		return f.Fail(int64(unsafe.Offsetof(layout.Header{}.Run)), "run %016x, where run %016x was before", h.Run,
			r.Encoding.Run)
	}
	r.Header, r.Encoding.Run = h, h.Run
	r.Encoding.header = raw.Load[layout.ContextsHeader](b[layout.HeaderSize:])
	r.Encoding.readStats(h.Flags&layout.HdrFlagLucce != 0)
	return nil
}

// headerChanged reads the header once more and reports whether it counts more.
func (r *Reader) headerChanged() (bool, error) {
	before := r.used()
	err := r.readHeader()
	return r.used() != before, err
}

// read reads what the header counts and was not read before.
func (r *Reader) read() error {
	code := len(r.Encoding.Code)
	err := r.funcs.Read()
	if len(r.Encoding.Code) != code { // also of what was read before an error: addresses are looked for in it
		if unsorted := r.Encoding.sortCode(); err == nil && unsorted != nil {
			err = fmt.Errorf("%s: %w", layout.FileFuncs, unsorted)
		}
	}
	if err != nil {
		return err
	}
	r.Encoding.use(layout.FileFuncs, r.funcs.Used)
	read := r.epochs
	if engine.Recorded(layout.FileIDs, r.Header.Flags).Decoder == engine.ByLog {
		read = r.graphLog
	}
	if err := read(); err != nil {
		return err
	}
	return r.nodes()
}

// open opens a file with as many used bytes as the header counts, and makes it one of
// those that are sealed. A file that is shorter is read as far as it goes.
func (r *Reader) open(name string, used uint64) (f *livedir.File, end int64, err error) {
	if f, err = livedir.OpenFile(r.FS, name); err != nil {
		return nil, 0, err
	}
	if end, err = f.Has(int64(min(used, math.MaxInt64))); err != nil {
		f.Close()
		return nil, 0, err
	}
	if uint64(end) < used {
		r.Note("%s: %d bytes are in use, but the file has %d", name, used, end)
		r.Lose(profile.LossUnread, used-uint64(end))
	}
	f.Limit(end)
	r.Encoding.use(name, end)
	return f, end, nil
}

// use notes how much of a file was read.
func (c *Encoding) use(name string, used int64) {
	for i := range c.files {
		if c.files[i].name == name {
			c.files[i].used = used
			return
		}
	}
	c.files = append(c.files, usedFile{name, used})
}

// Size returns how many bytes of the record are in use, but for those of events.
func (c *Encoding) Size() (n int64) {
	for _, u := range c.files {
		n += u.used
	}
	return n + c.size
}

// Recorded returns how much the record holds. Of one run it only grows.
func (c *Encoding) Recorded() uint64 {
	return uint64(len(c.Interned)) + c.Stats.Edges + c.Stats.Epoch + c.Stats.Slow
}

// function returns the index of a function by its ID. Only where records were
// lost may one be missing.
func (r *Reader) function(id uint64) (uint32, error) {
	if fn, ok := r.funcs.ByID[id]; ok {
		return fn, nil
	}
	if r.Header.Lost[layout.LostFuncs] == 0 && !r.PagesLost() {
		return NoFunc, fmt.Errorf("function %#x has no record", id)
	}
	return NoFunc, nil
}

// nodes reads the interned entries that were not read before.
func (r *Reader) nodes() error {
	used := r.Encoding.header.NodesUsed
	if used > 1<<layout.IDInternedBits {
		return fmt.Errorf("%s: offset %d: %d nodes, want at most %d", layout.FileIDs,
			layout.HeaderSize+unsafe.Offsetof(r.Encoding.header.NodesUsed), used, 1<<layout.IDInternedBits)
	}
	f, end, err := r.open(layout.FileNodes, used*layout.InternedSize)
	if err != nil {
		return err
	}
	defer f.Close()
	// A damaged header may count more than there is.
	r.Encoding.Interned = slices.Grow(r.Encoding.Interned,
		min(max(0, int(end/layout.InternedSize)-len(r.Encoding.Interned)), 1<<20))
	for off := int64(len(r.Encoding.Interned)) * layout.InternedSize; off+
		layout.InternedSize <= end; off += layout.InternedSize {
		b, err := f.At(off, layout.InternedSize)
		if err != nil {
			return err
		}
		n, err := r.node(raw.Load[layout.Interned](b))
		if err != nil {
			return f.Fail(off, "%w", err)
		}
		r.Encoding.Interned = append(r.Encoding.Interned, n)
	}
	return nil
}

// node reads one interned entry; those before it are in Interned.
func (r *Reader) node(e layout.Interned) (n Interned, err error) {
	n = Interned{Parent: e.Parent, Epoch: e.Epoch, ID: e.ID, Place: e.Place, Kind: uint8(e.Kind), Target: NoFunc}
	if e.Kind > layout.InternSite {
		return n, fmt.Errorf("node of unknown kind %d", e.Kind)
	}
	if err := r.Encoding.check(&n); err != nil {
		return n, err
	}
	if e.Target == 0 && (n.Kind == layout.InternCut || n.Kind == layout.InternAt || r.PagesLost()) {
		return n, nil
	}
	n.Target, err = r.function(e.Target)
	return n, err
}

// check checks the next interned entry, but for its target.
func (c *Encoding) check(n *Interned) error {
	switch {
	case n.Kind == layout.InternSite && c.Log == nil:
		return fmt.Errorf("node of unknown kind %d", n.Kind)
	case n.Parent >= uint32(len(c.Interned)) && n.Parent != cutNode:
		return fmt.Errorf("parent %d is no node before this one", n.Parent)
	case c.Log != nil && n.Epoch > layout.IDLimit>>32:
		return fmt.Errorf("id %d, want at most %d", n.LongID(), uint64(layout.IDLimit))
	case c.Log == nil && n.ID >= layout.MaxNum:
		return fmt.Errorf("id %d, want less than %d", n.ID, layout.MaxNum)
	case n.Kind == layout.InternRoot && n.Place >= layout.NumRoots:
		return fmt.Errorf("root %d, want less than %d", n.Place, layout.NumRoots)
	}
	return nil
}

// Fault returns the function that describes a fault at the address pc.
func (c *Encoding) Fault(pc uint64) (fn uint32, ok bool) {
	fn, ok = c.byID[layout.FaultID(pc)]
	return fn, ok
}
