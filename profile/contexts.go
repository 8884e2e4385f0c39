package profile

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// Names of the files of the live directory of an engine that gives context IDs.
const (
	fileCce     = "cce"
	fileEpochs  = "epochs"
	fileNodes   = "nodes"
	fileCounts  = "counts."
	fileEvents  = "events."
	fileElapsed = "elapsed" // in a sealed file only
)

// Contexts is what a program recorded so that its context IDs can be decoded:
// where in its code each call is, how the edges of its call graph were encoded in
// each epoch, and the interned entries of ccStacks that IDs refer to. Functions are
// indexes into the Funcs of the profile.
// It is read-only but for [Live.Update]; several goroutines may use it at once.
type Contexts struct {
	Stats    ContextStats
	Text     uint64     // the address that the PC of an ID is relative to
	Run      uint64     // the run number, which the IDs of the process carry
	Code     []Code     // by address; no two overlap
	Interned []Interned // by number; there is no entry 0
	Dict     Dictionary // of no epoch, if there is a log
	Log      *CallLog   // of engine lucce, nil for others
	// EventsSpilt is the number of events that were added up without their context,
	// because there was no room for another one.
	EventsSpilt uint64
	// EventsOverwritten is the number of events that the logs do not hold any more.
	EventsOverwritten uint64

	byID   map[uint64]uint32 // functions by their IDs
	fsys   fs.FS
	header []byte // of the file cce
	files  []usedFile
	counts []eventFile // of files
	logs   []eventFile
}

// ContextStats are what the engine says about itself: the columns of table 1 of
// the DACCE paper, and what it lost.
type ContextStats struct {
	Functions uint64 // that were entered: nodes of the call graph
	Edges     uint64 // of the call graph, as far as it was seen
	Encoded   uint64 // edges that the last epoch encodes
	Groups    uint64 // of functions that share a key, as dynamic sites call them
	BackEdges uint64
	LeftOut   uint64 // edges not encoded because ids would have grown too large
	MaxID     uint64 // the largest id of the last epoch

	Pushes    uint64  // onto ccStacks, in steps of rt.PushStep
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
}

// A StartKind is what the encoding of a program started from.
type StartKind uint8

// The kinds, as rt.CceWarm has them.
const (
	StartNothing StartKind = rt.WarmNone
	StartStatic  StartKind = rt.WarmStatic  // the static call graph
	StartRun     StartKind = rt.WarmRun     // the record of a run
	StartMissing StartKind = rt.WarmMissing // nothing: the warm file was not there
	StartWrong   StartKind = rt.WarmWrong   // nothing: the warm file was that of another program
)

// String tells what the program started from.
func (k StartKind) String() string {
	return [...]string{"nothing", "the static call graph", "an earlier run", "nothing: no warm file beside the program",
		"nothing: the warm file was made for another program"}[k]
}

// A ContextID is a context ID: the two words that package rt defines, and the run number
// of the process. The zero ID is none.
type ContextID struct{ Hi, Lo, Run uint64 }

// NoFunc stands for a function without a record, as an index into Funcs.
const NoFunc = 1<<32 - 1

// An Interned is an interned entry of a ccStack, see rt.InternSize. An entry of
// which a lost page has taken the contents is of kind rt.InternCall with Place 0.
type Interned struct {
	Parent, Epoch, ID uint32
	Target            uint32 // index into Funcs, or NoFunc
	Place             uint64
	Kind              uint8
}

// LongID returns the id of an entry of engine lucce.
func (n *Interned) LongID() uint64 { return uint64(n.Epoch)<<32 | uint64(n.ID) }

// A usedFile is a file of the directory, of which the first used bytes have a
// meaning.
type usedFile struct {
	name string
	used int64
}

// cutNode is the number of the entry that stands for all that had no room.
const cutNode = rt.NodesSize/rt.InternSize - 1

// Node returns entry number n, false if there is none.
func (c *Contexts) Node(n uint32) (Interned, bool) {
	switch {
	case n > 0 && uint64(n) < uint64(len(c.Interned)):
		return c.Interned[n], true
	case n == cutNode && c.Stats.Truncated > 0:
		return Interned{Kind: rt.InternCut, Place: rt.CutNodes, Target: NoFunc}, true
	}
	return Interned{}, false
}

// isContexts tells whether the directory is that of an engine with context IDs.
func isContexts(fsys fs.FS) bool {
	_, err := fs.Stat(fsys, fileCce)
	return err == nil
}

// LiveRun returns the run number of a live directory with context IDs, and reads no
// more than that takes. An error that is fs.ErrNotExist says that there is no such
// record, or not yet; any other that it cannot be read, or is being made.
func LiveRun(fsys fs.FS) (run uint64, err error) {
	f, err := openFile(fsys, fileCce)
	if err != nil {
		return 0, err
	}
	defer f.close()
	f.used = 0
	var h header
	if err := h.read(f); err != nil {
		return 0, err
	}
	return h.run, h.checkContexts(f)
}

// checkContexts checks what the header of a record of context IDs must say.
func (h *header) checkContexts(f *liveFile) error {
	switch {
	case h.flags&rt.HdrFlagCce == 0:
		return f.fail(rt.HdrFlags, "flags %#x without that of context IDs", h.flags)
	case h.run == 0:
		return f.fail(rt.HdrRun, "run number 0, which no run has")
	}
	return nil
}

// openContexts reads the directory of an engine with context IDs.
func (l *Live) openContexts() error {
	r := &contextsReader{Live: l, c: &Contexts{fsys: l.fsys, Interned: make([]Interned, 1)}}
	l.reader, l.Profile.Contexts = r, r.c
	if err := r.readHeader(); err != nil {
		return err
	}
	l.Profile.Processes = []Process{l.header.process()}
	l.process().Engine = "dacce"
	switch {
	case l.header.flags&rt.HdrFlagStatic != 0:
		l.process().Engine = "pcce"
	case l.header.flags&rt.HdrFlagLucce != 0:
		l.process().Engine = "lucce"
	}
	r.funcs = l.newFuncsReader()
	r.c.byID = r.funcs.byID
	l.Profile.Nodes = []Node{{}}
	l.Profile.Counts = make([]uint64, l.Profile.Funcs[0].Counters)
	if err := r.read(); err != nil {
		return err
	}
	if err := r.events(); err != nil {
		return err
	}
	return r.elapsed()
}

// Update reads what the program has recorded to decode its context IDs since l was
// read, or since the last Update, and adds it to l's profile: functions, epochs and
// interned entries, no events. It takes time in proportion to what is new. Nobody
// may use the profile meanwhile. grew tells whether there was anything. With an error
// the profile may have grown, and what it had before still holds; the next Update goes
// on where this one ended.
func (l *Live) Update() (grew bool, err error) {
	r := l.reader
	if r == nil {
		return false, fmt.Errorf("no record of context IDs")
	}
	if grew, err = r.headerChanged(); grew && err == nil {
		err = r.read()
	}
	return grew, err
}

// stat returns a field of the header's second page.
func (c *Contexts) stat(off int) uint64 { return binary.LittleEndian.Uint64(c.header[off:]) }

// readStats fills what follows from the header alone.
func (c *Contexts) readStats() {
	c.Text = c.stat(rt.CceText)
	s := &c.Stats
	for off, field := range map[int]*uint64{
		rt.CceFuncs: &s.Functions, rt.CceEdges: &s.Edges, rt.CceEncoded: &s.Encoded, rt.CceGroups: &s.Groups,
		rt.CceBack: &s.BackEdges, rt.CceLeftOut: &s.LeftOut, rt.CceMaxID: &s.MaxID, rt.CcePushes: &s.Pushes,
		rt.CceMaxDepth: &s.MaxDepth, rt.CceSlow: &s.Slow, rt.CceEpoch: &s.Epoch, rt.CceEncodes: &s.Reencodings,
		rt.CceRewrites: &s.Rewrites, rt.CceTruncated: &s.Truncated,
		rt.CceWarmNodes: &s.GraphNodes, rt.CceWarmEdges: &s.GraphEdges, rt.CceWarmKnown: &s.GraphTaken,
	} {
		*field = c.stat(off)
	}
	s.Start = StartKind(c.stat(rt.CceWarm))
	if s.Start > StartWrong {
		s.Start = StartWrong // of a later version
	}
	s.ReencodeTime = time.Duration(min(c.stat(rt.CceEncodeTime), 1<<62))
	s.MaxPause = time.Duration(min(c.stat(rt.CceMaxPause), 1<<62))
	if counted := s.Pushes / rt.PushStep; counted > 0 {
		s.MeanDepth = float64(c.stat(rt.CceDepths)) / float64(counted)
	}
}

// A contextsReader reads the directory of an engine with context IDs, as far as its
// files are in use, and later what has been added. Each file is read forwards, once.
type contextsReader struct {
	*Live
	c     *Contexts
	funcs *funcsReader
	next  int64 // offset in epochs, or in the log
}

// readHeader reads both pages of the header, which count what was complete before.
// Nodes refer to epochs and functions, and epochs to functions. The program counts
// what is referred to first, so that it must be looked at last: the second page, with
// nodes and epochs, is read before the first.
func (r *contextsReader) readHeader() error {
	f, err := openFile(r.fsys, fileCce)
	if err != nil {
		return err
	}
	defer f.close()
	if f.size < rt.CceSize {
		return f.fail(0, "file ends at %d, want %d bytes", f.size, rt.CceSize)
	}
	f.used = 0 // no windows: two reads
	b := make([]byte, rt.CceSize)
	for _, page := range []int64{rt.HdrEnd, 0} {
		part, err := f.at(page, rt.HdrEnd)
		if err != nil {
			return err
		}
		copy(b[page:], part)
	}
	var h header
	if err := h.parse(f, b[:rt.HdrEnd]); err != nil {
		return err
	}
	if err := h.checkContexts(f); err != nil {
		return err
	}
	if r.c.Run != 0 && r.c.Run != h.run {
		return f.fail(rt.HdrRun, "run %016x, where run %016x was before", h.run, r.c.Run)
	}
	r.header, r.c.header, r.c.Run = h, b, h.run
	r.c.readStats()
	return nil
}

// headerChanged reads the header once more and reports whether it counts more.
func (r *contextsReader) headerChanged() (bool, error) {
	used := func() [3]uint64 {
		return [3]uint64{uint64(r.header.funcsUsed), r.c.stat(rt.CceEpochsUsed), r.c.stat(rt.CceNodesUsed)}
	}
	before := used()
	err := r.readHeader()
	return used() != before, err
}

// read reads what the header counts and was not read before.
func (r *contextsReader) read() error {
	code := len(r.c.Code)
	if err := r.funcs.read(); err != nil {
		return err
	}
	r.c.use(fileFuncs, r.funcs.used)
	if len(r.c.Code) != code {
		if err := r.c.sortCode(); err != nil {
			return fmt.Errorf("%s: %w", fileFuncs, err)
		}
	}
	read := r.epochs
	if r.header.flags&rt.HdrFlagLucce != 0 {
		read = r.callLog
	}
	if err := read(); err != nil {
		return err
	}
	return r.nodes()
}

// open opens a file of which the header counts used bytes, and makes it one of
// those that are sealed. A file that is shorter is read as far as it goes.
func (r *contextsReader) open(name string, used uint64) (f *liveFile, end int64, err error) {
	if f, err = openFile(r.fsys, name); err != nil {
		return nil, 0, err
	}
	end = f.size
	if used <= uint64(f.size) {
		end = int64(used)
	} else {
		r.note("%s: %d bytes are in use, but the file has %d", name, used, f.size)
		r.lose(LossUnread, used-uint64(f.size))
	}
	f.used = end
	r.c.use(name, end)
	return f, end, nil
}

// use notes how much of a file was read.
func (c *Contexts) use(name string, used int64) {
	for i := range c.files {
		if c.files[i].name == name {
			c.files[i].used = used
			return
		}
	}
	c.files = append(c.files, usedFile{name, used})
}

// Size returns how many bytes of the record are in use, but for those of events.
func (c *Contexts) Size() (n int64) {
	for _, u := range c.files {
		if !strings.HasPrefix(u.name, fileEvents) {
			n += u.used
		}
	}
	return n
}

// function returns the index of a function by its ID. Only where records were
// lost may one be missing.
func (r *contextsReader) function(id uint64) (uint32, error) {
	if fn, ok := r.funcs.byID[id]; ok {
		return fn, nil
	}
	if r.header.lost[rt.LostFuncs] == 0 && !r.pagesLost() {
		return NoFunc, fmt.Errorf("function %#x has no record", id)
	}
	return NoFunc, nil
}

// nodes reads the interned entries that were not read before.
func (r *contextsReader) nodes() error {
	used := r.c.stat(rt.CceNodesUsed)
	if used > 1<<rt.IDNodeBits {
		return fmt.Errorf("%s: offset %d: %d nodes, want at most %d", fileCce, rt.CceNodesUsed, used, 1<<rt.IDNodeBits)
	}
	f, end, err := r.open(fileNodes, used*rt.InternSize)
	if err != nil {
		return err
	}
	defer f.close()
	// A damaged header may count more than there is.
	r.c.Interned = slices.Grow(r.c.Interned, min(max(0, int(end/rt.InternSize)-len(r.c.Interned)), 1<<20))
	for off := int64(len(r.c.Interned)) * rt.InternSize; off+rt.InternSize <= end; off += rt.InternSize {
		b, err := f.at(off, rt.InternSize)
		if err != nil {
			return err
		}
		n, err := r.node(b)
		if err != nil {
			return f.fail(off, "%w", err)
		}
		r.c.Interned = append(r.c.Interned, n)
	}
	return nil
}

// node reads one interned entry; those before it are in Interned.
func (r *contextsReader) node(b []byte) (n Interned, err error) {
	le := binary.LittleEndian
	kind, target := le.Uint32(b[12:]), le.Uint64(b[24:])
	n = Interned{Parent: le.Uint32(b), Epoch: le.Uint32(b[4:]), ID: le.Uint32(b[8:]), Place: le.Uint64(b[16:]), Kind: uint8(kind), Target: NoFunc}
	switch {
	case kind > rt.InternSite || kind == rt.InternSite && r.c.Log == nil:
		return n, fmt.Errorf("node of unknown kind %d", kind)
	case n.Parent >= uint32(len(r.c.Interned)) && n.Parent != cutNode:
		return n, fmt.Errorf("parent %d is no node before this one", n.Parent)
	case r.c.Log != nil:
		if n.Epoch > rt.IDLimit>>32 {
			return n, fmt.Errorf("id %d, want at most %d", n.LongID(), uint64(rt.IDLimit))
		}
	case n.ID >= rt.MaxNum:
		return n, fmt.Errorf("id %d, want less than %d", n.ID, rt.MaxNum)
	}
	if n.Kind == rt.InternRoot && n.Place >= rt.NumRoots {
		return n, fmt.Errorf("root %d, want less than %d", n.Place, rt.NumRoots)
	}
	if target == 0 && (n.Kind == rt.InternCut || n.Kind == rt.InternAt || r.pagesLost()) {
		return n, nil
	}
	n.Target, err = r.function(target)
	return n, err
}

// elapsed reads how long the program ran, which a sealed file may know.
func (r *contextsReader) elapsed() error {
	b, err := fs.ReadFile(r.fsys, fileElapsed)
	if err != nil {
		return nil // a live directory
	}
	if len(b) != 8 {
		return fmt.Errorf("%s: offset 0: %d bytes, want 8", fileElapsed, len(b))
	}
	r.c.Stats.Elapsed = time.Duration(min(binary.LittleEndian.Uint64(b), 1<<62))
	return nil
}

// Fault returns the function that describes a fault at the address pc.
func (c *Contexts) Fault(pc uint64) (fn uint32, ok bool) {
	fn, ok = c.byID[rt.FaultID(pc)]
	return fn, ok
}
