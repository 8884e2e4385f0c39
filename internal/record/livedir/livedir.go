// Package livedir reads live directories: the memory-mapped files that a program records
// its tree, or its samples, into. Package ids reads those of context IDs, with the parts
// that they have in common.
package livedir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/sealed"
	"github.com/stemma-go/stemma/profile"
)

// formerInuse is what layout.FileInuse was called.
const formerInuse = "live"

// maxShards is more than GOMAXPROCS can be.
// It bounds the files that a damaged header makes the reader look for.
const maxShards = 1 << 16

// A Dir is what was read from a live directory: the profile, and where in the
// directory each node stood.
// It keeps no file open. Its methods may be called by several goroutines at once.
type Dir struct {
	Profile *profile.Profile

	FS     fs.FS
	Header Header

	bypassed map[uint32]bool // offsets of nodes that the program does not want to be recorded

	offsets offsets  // of the complete nodes in tree
	nodes   []uint32 // for each of offsets the node in Profile
	damages int      // places that cannot be read, see damage

	growth *Growth // what counts instead of the shards, or nil
	rest   uint64  // the segment that is to come: without what is in those before, see OpenRest; 0 for all

	earlier time.Time // when the last of these ended

	callsEnd int64 // bytes of the recorded calls, 0 if there are none
	callsWhy uint32
	callsErr error // of reading their header; the tree can be read anyway
}

// A Header holds the fields of the header page of a tree, or of a record of context IDs.
type Header struct {
	Flags, Shards, PID  uint32
	Used, Size          int64
	FuncsUsed           int64
	Start, Run          uint64
	Lost                [layout.NumLost]uint64
	goVersion, argsList string

	layout.Rotation
}

// HasFile reports whether a directory has a file.
func HasFile(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return !errors.Is(err, fs.ErrNotExist)
}

// Open reads the live directory of a program that runs, has ended or was killed, and that
// records a tree, samples or both. What the program was about to write is left out and
// counted among the losses, and so is what it could not write because the disk was full.
// An error names the file and the offset in it.
// The program may be running: it writes while this reads. A header is read before what it counts,
// which is complete by then and stays, see [File]. What refers to something else is read before that: samples and
// calls before the tree, nodes before functions. So what is read is the tree of one moment, with all that anything
// refers to; counters may be some calls younger.
func Open(fsys fs.FS) (*Dir, error) { return newDir(fsys).open() }

func newDir(fsys fs.FS) *Dir { return &Dir{FS: fsys, bypassed: make(map[uint32]bool)} }

func (l *Dir) open() (*Dir, error) {
	var samples *samplesReader
	tree := HasFile(l.FS, layout.FileTree) // before samples, which are not all of a record whose tree is removed
	if l.hasSamples(tree) {
		var err error
		if samples, err = l.openSamples(tree); err != nil {
			return nil, err
		}
		defer samples.f.Close()
	}
	if samples != nil && !tree {
		l.Profile = profile.New()
	} else if err := l.openTree(); err != nil {
		return nil, err
	}
	if samples != nil {
		if err := samples.read(); err != nil {
			return nil, err
		}
	}
	return l, l.Profile.CheckValid()
}

// openTree reads what the directory has of a tree.
func (l *Dir) openTree() error {
	l.Profile = profile.New() // columns come when all nodes are known: they need not grow then
	l.callsEnd, l.callsWhy, l.callsErr = callsEnd(l.FS)
	tree, err := OpenFile(l.FS, layout.FileTree)
	if err != nil {
		return err
	}
	defer tree.Close()
	if err := l.Header.read(tree); err != nil {
		return err
	}
	l.Profile.Processes = []profile.Process{l.Header.Process(layout.FileTree)}
	r := l.NewFuncsReader(nil)
	if err := r.Read(); err != nil {
		return err
	}
	if err := l.readTree(tree, r); err != nil {
		return err
	}
	if _, err := l.Profile.AddColumn(profile.Calls); err != nil {
		return err
	}
	if err := l.amountColumns(); err != nil {
		return err
	}
	if slices.ContainsFunc(l.Profile.Funcs, countsOps) {
		if _, err := l.Profile.AddColumn(profile.Ops); err != nil {
			return err
		}
	}
	if l.growth != nil {
		return l.addCounters(l.growth.at)
	}
	if err := l.readShards(); err != nil {
		return err
	}
	if l.rest > 1 {
		if err := l.subtractEarlier(); err != nil {
			return err
		}
	}
	if l.Header.Flags&layout.HdrFlagLasting != 0 {
		l.Note("%s: waits that last, and goroutines that live, are counted when the program ends in an orderly way; "+
			"it had not when this was read", profile.Wait.Name)
	}
	if l.Header.Flags&layout.HdrFlagInuse != 0 {
		if err := l.readInuse(); err != nil {
			return err
		}
	}
	if l.Header.Flags&layout.HdrFlagExisting != 0 {
		if err := l.readGoroutines(time.Now()); err != nil {
			return err
		}
	}
	l.NoteDamages()
	return nil
}

// read reads the header page. What the program adds later is beyond used.
// Numbers that no program writes are errors, before anything depends on them.
func (h *Header) read(tree *File) error {
	b, err := tree.Head(layout.HeaderSize)
	if err != nil {
		return err
	}
	if err := h.parse(tree, b); err != nil || h.hasNodes() {
		return err
	}
	return tree.Fail(int64(unsafe.Offsetof(layout.Header{}.Flags)), "flags %#x with that of context IDs, in a tree",
		h.Flags)
}

// ParseIDs reads the header page b of a record of context IDs, as read does that of a tree.
func (h *Header) ParseIDs(f *File, b []byte) error {
	err := h.parse(f, b)
	switch {
	case err != nil:
		return err
	case h.hasNodes():
		return f.Fail(int64(unsafe.Offsetof(layout.Header{}.Flags)), "flags %#x without that of context IDs", h.Flags)
	case h.Run == 0:
		return f.Fail(int64(unsafe.Offsetof(layout.Header{}.Run)), "run number 0, which no run has")
	}
	return nil
}

// hasNodes reports whether functions have nodes: they do beside a tree, not beside context IDs.
func (h *Header) hasNodes() bool { return h.Flags&layout.HdrFlagCce == 0 }

// parse reads the header page b.
func (h *Header) parse(tree *File, b []byte) error {
	r := raw.Load[layout.Header](b)
	if r.Magic == [len(r.Magic)]byte{} {
		return tree.Fail(0, "the header is empty: the program is about to begin, or the file was cut")
	}
	if magic := string(r.Magic[:]); magic != layout.Magic {
		return tree.Fail(int64(unsafe.Offsetof(r.Magic)), "not the header of a live directory (have %q, want %q)",
			magic, layout.Magic)
	}
	if r.Version < layout.OldestVersion || r.Version > layout.Version {
		return tree.Fail(int64(unsafe.Offsetof(r.Version)),
			"layout version %d (want %d); use the stemma that built the program", r.Version, layout.Version)
	}
	args := b[unsafe.Offsetof(r.Args):]
	if r.Version >= layout.RotationVersion {
		args = args[:len(r.Args)]
	} else {
		args = args[:layout.FormerArgs]
		r.Rotation = layout.Rotation{}
	}
	switch {
	case uint64(r.GoVerLen) > uint64(len(r.GoVer)):
		return tree.Fail(int64(unsafe.Offsetof(r.GoVerLen)), "Go version of %d bytes, want at most %d", r.GoVerLen,
			len(r.GoVer))
	case uint64(r.ArgsLen) > uint64(len(args)):
		return tree.Fail(int64(unsafe.Offsetof(r.ArgsLen)), "command line of %d bytes, want at most %d", r.ArgsLen,
			len(args))
	case r.Shards > maxShards:
		return tree.Fail(int64(unsafe.Offsetof(r.Shards)), "%d shards, want at most %d", r.Shards, maxShards)
	case r.Used > 1<<32:
		return tree.Fail(int64(unsafe.Offsetof(r.Used)), "%d bytes in use, want at most %d", r.Used, int64(1)<<32)
	case r.FuncsUsed > 1<<32:
		return tree.Fail(int64(unsafe.Offsetof(r.FuncsUsed)), "%d bytes of funcs in use, want at most %d",
			r.FuncsUsed, int64(1)<<32)
	}
	*h = Header{
		Flags: r.Flags, Shards: r.Shards, PID: r.PID, Start: r.Start, Run: r.Run,
		Used: int64(r.Used), Size: int64(r.Size), FuncsUsed: int64(r.FuncsUsed),
		goVersion: string(r.GoVer[:r.GoVerLen]), argsList: string(args[:r.ArgsLen]),
		Rotation: r.Rotation,
	}
	copy(h.Lost[:], r.Lost[:])
	return nil
}

// lossKinds are the kinds that the program counts, in the order of rt.
var lossKinds = [layout.NumLost]string{profile.LossNodes, profile.LossFuncs, profile.LossPages, profile.LossShards,
	profile.LossTables, profile.LossChecks, profile.LossPaths, profile.LossEdges, profile.LossDeep,
	profile.LossFaults, profile.LossLabels, profile.LossMetrics, profile.LossNegative, profile.LossWaits}

// plainVersion returns the version of Go that an instrumented GOROOT was made of; others are as they are. What the two
// build is the same.
func plainVersion(goVersion string) string {
	plain, rest, ok := strings.Cut(goVersion, layout.VersionSuffix)
	if _, experiments, more := strings.Cut(rest, " "); ok && more {
		plain += " " + experiments
	}
	return plain
}

// Process returns what the header, which is that of a main file, says about the program.
func (h *Header) Process(file string) profile.Process {
	p := profile.Process{Run: h.Run, PID: int(h.PID), GoVersion: plainVersion(h.goVersion),
		Engine: engine.Recorded(file, h.Flags).Name}
	if h.argsList != "" {
		p.Args = strings.Split(strings.TrimSuffix(h.argsList, "\x00"), "\x00")
	}
	p.Start = sealed.UnixNano(h.Start)
	if p.Segment = segmentOf(&h.Rotation, h.Start); p.Segment != nil && !h.hasNodes() {
		p.Segment = segmentOfIDs(&h.Rotation)
	}
	p.Full = h.Flags&layout.HdrFlagFull != 0
	p.Checked = h.Flags&layout.HdrFlagCheck != 0
	for i, n := range h.Lost {
		p.Losses = profile.AddLoss(p.Losses, profile.Loss{Kind: lossKinds[i], Count: n})
	}
	return p
}

// countsOps reports whether f says how many operations its counters stand for. Those of a build for the checker stand
// for the beginnings of inlined calls as well, which are none.
func countsOps(f profile.Func) bool {
	return slices.ContainsFunc(f.Weights, func(w profile.Weight) bool { return profile.IsOperation(w.Class) })
}

// Process returns the one process of the profile.
func (l *Dir) Process() *profile.Process { return &l.Profile.Processes[0] }

// Note records an observation that reports show as a warning.
func (l *Dir) Note(format string, args ...any) {
	l.Process().Notes = append(l.Process().Notes, fmt.Sprintf(format, args...))
}

// Lose counts what the reader had to leave out.
func (l *Dir) Lose(kind string, n uint64) {
	l.Process().Losses = profile.AddLoss(l.Process().Losses, profile.Loss{Kind: kind, Count: n})
}

// readTree walks the objects of the tree region in the order in which they
// were created, so that a parent is known before its children.
func (l *Dir) readTree(tree *File, lf *FuncsReader) error {
	p := l.Profile
	w := &treeWalk{live: l, tree: tree, funcs: lf, entered: p.EnteredCells()}
	var err error
	if w.end, err = tree.Has(l.Header.Used); err != nil {
		return err
	}
	// Room for about as many nodes as there are, but not for all that a damaged file seems to have.
	some := int(min(w.end/(layout.NodeSize+layout.CellSize), 1<<20))
	p.Nodes = slices.Grow(p.Nodes, some)
	l.nodes = slices.Grow(l.nodes, some)
	w.index = profile.NewNodeIndex(p, some)
	if w.end < l.Header.Used {
		l.Note("tree: %d bytes are in use, but the file has %d", l.Header.Used, w.end)
		l.Lose(profile.LossUnread, uint64(l.Header.Used-w.end))
	}
	tree.Limit(w.end)
	if l.PagesLost() {
		return w.salvage()
	}
	for off := int64(layout.HeaderSize); off+8 <= w.end; {
		size, err := w.object(off)
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		off += size
	}
	return nil
}

// A treeWalk is the state of readTree.
type treeWalk struct {
	live    *Dir
	tree    *File
	funcs   *FuncsReader
	index   *profile.NodeIndex
	entered profile.Cells
	end     int64 // of what may be read
}

// readLater reads the records of functions that the program has written since they were read.
func (w *treeWalk) readLater() error {
	var later Header
	if err := later.read(w.tree); err != nil {
		return err
	}
	w.live.Header.FuncsUsed = later.FuncsUsed
	return w.funcs.Read()
}

// object reads the object at off and returns its size, 0 to end the walk.
// A zero word is skipped: the program counts the bytes of an object as used before
// it writes the first word, and may have been killed in between.
func (w *treeWalk) object(off int64) (int64, error) {
	b, err := w.tree.At(off, 8)
	if err != nil {
		return 0, err
	}
	word := raw.Load[uint64](b)
	switch {
	case word == 0:
		return 8, nil
	case word&7 == layout.TagTable:
		return w.table(off, tableBytes(b))
	case word&7 != 0:
		return 0, w.tree.Fail(off, "object with tag %d, want a node or a table", word&7)
	}
	fn, ok := w.funcs.ByID[word]
	if !ok && uint32(word) == 0 {
		return w.table(off, tableBytes(b)) // its tag is written last
	}
	if !ok {
		if err := w.readLater(); err != nil {
			return 0, err
		}
		fn, ok = w.funcs.ByID[word]
	}
	if !ok {
		w.live.Note("tree: offset %d: node of a function %#x without a record; what follows was not read", off, word)
		w.live.Lose(profile.LossUnread, uint64(w.end-off))
		return 0, nil
	}
	size := int64(w.funcs.sizes[fn])
	if size > w.end-off {
		return 0, w.tree.Fail(off, "node of %d bytes, but only %d are in use", size, w.end-off)
	}
	return size, w.node(off, fn)
}

// A tableHead is the first 8 bytes of a table.
type tableHead struct{ Tag, Size uint32 }

func tableBytes(b []byte) int64 { return int64(raw.Load[tableHead](b).Size) }

// table checks the size of a table. What is in it is of no interest: tables
// lead from a cell to its nodes, and the nodes know their cells themselves.
func (w *treeWalk) table(off, size int64) (int64, error) {
	if size < layout.TableSize || size%8 != 0 || size > w.end-off {
		return 0, w.tree.Fail(off, "table of %d bytes, but %d are in use", size, w.end-off)
	}
	return size, nil
}

// node adds the node at off, unless the program had not completed it.
// The function ID is written first, the parent last; a node without a parent was
// being created.
func (w *treeWalk) node(off int64, fn uint32) error {
	b, err := w.tree.At(off, layout.NodeSize)
	if err != nil {
		return err
	}
	n := raw.Load[layout.Node](b)
	switch {
	case (off == layout.HeaderSize) != (fn == 0):
		return w.tree.Fail(off, "the root must be the first node, and no other")
	case fn == 0:
		w.add(off, 0)
		return nil
	case n.Parent == 0:
		w.live.Lose(profile.LossIncomplete, 1)
		return nil
	case n.Func == layout.BypassFunc, w.live.bypassed[n.Parent]:
		w.live.bypassed[uint32(off)] = true
		return nil
	}
	up, ok := w.live.Node(n.Parent)
	if !ok {
		return w.tree.Fail(off+int64(unsafe.Offsetof(n.Parent)), "parent %d is no node before this one", n.Parent)
	}
	p := w.live.Profile
	if err := p.CheckCell(profile.Node{Func: fn, Parent: uint32(up), Cell: n.Cell}, w.entered); err != nil {
		return w.tree.Fail(off+int64(unsafe.Offsetof(n.Cell)), "%w (%s)", err, p.String(p.Funcs[p.Nodes[up].Func].Name))
	}
	w.reserve(off)
	w.add(off, w.index.Node(uint32(up), n.Cell, fn))
	return nil
}

// reserve makes room for all nodes when it is used up, if those behind off are like those before it: to grow step by
// step takes much longer. It is no more than four times as much as there is: what a damaged file seems to have may not
// be there.
func (w *treeWalk) reserve(off int64) {
	p := w.live.Profile
	n := len(p.Nodes)
	if n < cap(p.Nodes) {
		return
	}
	all := int(float64(n)*float64(w.end)/float64(off)*1.03) + 64
	more := min(max(all, n+n/4), 4*n) - n
	p.Nodes, w.live.nodes = slices.Grow(p.Nodes, more), slices.Grow(w.live.nodes, more)
}

// add records where a node stood. Offsets are added in ascending order.
func (w *treeWalk) add(off int64, node uint32) {
	w.live.offsets.add(uint32(off))
	w.live.nodes = append(w.live.nodes, node)
}

// Node returns the node that stood at this offset of the tree region. Nodes
// that were created twice are one in the profile.
// There is none at the offset of a table, of a node that was left out, or of none.
func (l *Dir) Node(offset uint32) (int, bool) {
	i, ok := l.offsets.rank(offset)
	if !ok {
		return 0, false
	}
	return int(l.nodes[i]), true
}

// An amount is a kind of functions that stand for what the runtime does: a flag of the header says that it is
// counted, and what counter 0 and counter 1 of a node are.
type amount struct {
	kind   profile.FuncKind
	flag   uint32
	values [layout.AmountCounters]profile.Metric
}

// amounts returns all of them.
func amounts() []amount {
	return []amount{
		{profile.FuncAlloc, layout.HdrFlagAlloc, [...]profile.Metric{profile.AllocObjects, profile.AllocSpace}},
		{profile.FuncWait, layout.HdrFlagWait, [...]profile.Metric{profile.Waits, profile.Wait}},
		{profile.FuncDelay, layout.HdrFlagWait, [...]profile.Metric{profile.Contentions, profile.Delay}},
		{profile.FuncRun, layout.HdrFlagWait, [...]profile.Metric{profile.Goroutines, profile.Run}},
		{profile.FuncExisting, layout.HdrFlagExisting, [...]profile.Metric{profile.Existing, profile.Idle}},
	}
}

// amountColumns adds the columns of what the program counted.
func (l *Dir) amountColumns() error {
	for _, a := range amounts() {
		if uint32(l.Header.Flags)&a.flag == 0 {
			continue
		}
		for _, t := range a.values {
			if _, err := l.Profile.AddColumn(t); err != nil {
				return err
			}
		}
	}
	own := l.ownMetrics()
	for _, fn := range slices.Sorted(maps.Keys(own)) { // in the order in which the program made them
		if _, err := l.Profile.AddColumn(own[fn]); err != nil {
			return err
		}
	}
	return nil
}

// ownMetrics returns the metrics of the program's own, by the function that stands for each.
func (l *Dir) ownMetrics() map[int]profile.Metric {
	own := make(map[int]profile.Metric)
	for i, f := range l.Profile.Funcs {
		if f.Kind == profile.FuncMetric {
			own[i] = profile.OwnMetric(l.Profile.String(f.Name), l.Profile.String(f.File))
		}
	}
	return own
}

// amountsByKind returns, for each kind of functions, the columns that the counters of their nodes belong to. They are
// nil for kinds whose counters are calls, and a column is nil if the program does not count it.
func (l *Dir) amountsByKind() (columns [profile.FuncMetric + 1][]*profile.Column) {
	for _, a := range amounts() {
		for _, t := range a.values {
			columns[a.kind] = append(columns[a.kind], l.Profile.Column(t.Name))
		}
	}
	return columns
}

// readShards adds up the counters of all shards.
// A shard is a file for each P that there has ever been. One that is missing makes
// counts too low: a loss, unless the program has counted it, and a note that says which.
func (l *Dir) readShards() error {
	missing := uint64(0)
	defer func() {
		if known := l.Header.Lost[layout.LostShards]; missing > known {
			l.Lose(profile.LossShards, missing-known)
		}
	}()
	for s := range int(l.Header.Shards) {
		name := fmt.Sprint(layout.FileShard, s)
		f, err := OpenFile(l.FS, name)
		if errors.Is(err, fs.ErrNotExist) {
			l.Note("%s: missing; what its P counted is not included", name)
			missing++
			continue
		}
		if err != nil {
			return err
		}
		err = l.addShard(f)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// addShard adds the counters of one shard.
func (l *Dir) addShard(f *File) error {
	end, err := f.Has(l.Header.Used)
	if err != nil {
		return err
	}
	f.Limit(end)
	return l.addCounters(func(off int64, size int) ([]byte, error) {
		if off+int64(size) <= end {
			return f.At(off, size)
		}
		l.Note("%s: ends at offset %d; the counters behind it are not included", f.Name, end)
		l.Lose(profile.LossShards, 1)
		return nil, nil
	})
}

// addCounters adds to each node what at returns for the bytes of its counters, until that is nil. It reads forwards, as
// the offsets ascend, and so touches each page of a file once, holes included.
func (l *Dir) addCounters(at func(off int64, size int) ([]byte, error)) error {
	return l.eachCounter(at, func(to []uint64, b []byte) {
		for c := range to {
			to[c] += raw.Load[uint64](b[layout.CounterSize*c:])
		}
	})
}

// eachCounter is addCounters with any operation, which gets the values of some counters and their bytes.
func (l *Dir) eachCounter(at func(off int64, size int) ([]byte, error), do func(to []uint64, b []byte)) error {
	p, amounts, calls := l.Profile, l.amountsByKind(), l.Profile.Column(profile.Calls.Name)
	own := make(map[int][]*profile.Column)
	for fn, m := range l.ownMetrics() {
		own[fn] = []*profile.Column{p.Column(m.Name)}
	}
	for i, off := range l.offsets.all() {
		n := l.nodes[i]
		columns := amounts[p.Funcs[p.Nodes[n].Func].Kind]
		if p.Funcs[p.Nodes[n].Func].Kind == profile.FuncMetric {
			columns = own[int(p.Nodes[n].Func)]
		}
		var counts []uint64
		counters := len(columns)
		if columns == nil {
			counts = calls.Of(p, int(n))
			counters = len(counts)
		}
		b, err := at(int64(off), layout.CounterSize*counters)
		if err != nil || b == nil {
			return err
		}
		for c, column := range columns {
			if column != nil {
				do(column.Values[n:n+1], b[layout.CounterSize*c:])
			}
		}
		if len(counts) > 0 {
			do(counts, b)
		}
	}
	return nil
}
