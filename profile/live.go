package profile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// Names of the files of a live directory.
const (
	fileTree    = "tree"
	fileFuncs   = "funcs"
	fileShard   = "shard."
	fileCheck   = "check"
	fileStrings = "strings"
	fileCalls   = "calls"
)

// maxShards is more than GOMAXPROCS can be.
// It bounds the files that a damaged header makes the reader look for.
const maxShards = 1 << 16

// ReadLive reads the live directory of a program that runs, has ended or was
// killed. What the program was about to write is left out and counted among
// the losses, and so is what it could not write because the disk was full. An
// error names the file and the offset in it.
func ReadLive(fsys fs.FS) (*Profile, error) {
	l, err := OpenLive(fsys)
	if err != nil {
		return nil, err
	}
	return l.Profile, nil
}

// A Live is what was read from a live directory: the profile, and where in the
// directory each node stood.
// It keeps no file open. Its methods may be called by several goroutines at once.
type Live struct {
	Profile *Profile

	fsys    fs.FS
	header  header
	offsets []uint32        // of the complete nodes in tree, ascending
	nodes   []uint32        // for each of offsets the node in Profile
	damages int             // places that cannot be read, see damage
	reader  *contextsReader // of a directory with context IDs

	callsEnd int64 // bytes of the recorded calls, 0 if there are none
	callsWhy uint32
	callsErr error // of reading their header; the tree can be read all the same
}

// A header holds the fields of the tree region's header.
type header struct {
	flags, shards, pid  uint32
	used, size          int64
	funcsUsed           int64
	start, run          uint64
	lost                [rt.NumLost]uint64
	goVersion, argsList string
}

// OpenLive reads a live directory like [ReadLive].
// The program may be running: it writes while this reads. The header is read once
// and first, and objects are complete before the header counts them, so that what
// is read is the tree of that moment; counters may be some calls younger.
func OpenLive(fsys fs.FS) (*Live, error) {
	l := &Live{fsys: fsys, Profile: &Profile{Strings: []string{""}}}
	if isContexts(fsys) {
		if err := l.openContexts(); err != nil {
			return nil, err
		}
		l.noteDamages()
		return l, l.Profile.CheckValid()
	}
	if hasFile(fsys, fileSamples) && !hasFile(fsys, fileTree) {
		l.emptyTree()
		if err := l.readSamples(); err != nil {
			return nil, err
		}
		return l, l.Profile.CheckValid()
	}
	l.callsEnd, l.callsWhy, l.callsErr = callsEnd(fsys)
	tree, err := openFile(fsys, fileTree)
	if err != nil {
		return nil, err
	}
	defer tree.close()
	if err := l.header.read(tree); err != nil {
		return nil, err
	}
	l.Profile.Processes = []Process{l.header.process()}
	r := l.newFuncsReader()
	if err := r.read(); err != nil {
		return nil, err
	}
	if err := l.readTree(tree, r.liveFuncs); err != nil {
		return nil, err
	}
	if err := l.readShards(); err != nil {
		return nil, err
	}
	l.noteDamages()
	if hasFile(fsys, fileSamples) {
		if err := l.readSamples(); err != nil {
			return nil, err
		}
	}
	return l, l.Profile.CheckValid()
}

// read reads the header page. It is one read of one page, so the numbers fit
// together even while the program goes on: what it adds later is beyond used.
// Numbers that no program writes are errors, before anything depends on them.
func (h *header) read(tree *liveFile) error {
	b, err := tree.at(0, rt.HdrEnd)
	if err != nil {
		return err
	}
	return h.parse(tree, b)
}

// parse reads the header page b.
func (h *header) parse(tree *liveFile, b []byte) error {
	le := binary.LittleEndian
	if magic := string(b[:len(rt.Magic)]); magic != rt.Magic {
		return tree.fail(rt.HdrMagic, "not the header of a live directory (have %q, want %q)", magic, rt.Magic)
	}
	if v := le.Uint32(b[rt.HdrVersion:]); v != rt.Version {
		return tree.fail(rt.HdrVersion, "layout version %d (want %d); use the stemma that built the program", v, rt.Version)
	}
	h.flags, h.shards, h.pid = le.Uint32(b[rt.HdrFlags:]), le.Uint32(b[rt.HdrShards:]), le.Uint32(b[rt.HdrPID:])
	h.start, h.run = le.Uint64(b[rt.HdrStart:]), le.Uint64(b[rt.HdrRun:])
	for i := range h.lost {
		h.lost[i] = le.Uint64(b[rt.HdrLost+8*i:])
	}
	goVersion, args := le.Uint32(b[rt.HdrGoVerLen:]), le.Uint32(b[rt.HdrArgsLen:])
	switch {
	case goVersion > rt.HdrGoVerMax:
		return tree.fail(rt.HdrGoVerLen, "Go version of %d bytes, want at most %d", goVersion, rt.HdrGoVerMax)
	case args > rt.HdrArgsMax:
		return tree.fail(rt.HdrArgsLen, "command line of %d bytes, want at most %d", args, rt.HdrArgsMax)
	case h.shards > maxShards:
		return tree.fail(rt.HdrShards, "%d shards, want at most %d", h.shards, maxShards)
	}
	h.goVersion = string(b[rt.HdrGoVer : rt.HdrGoVer+goVersion])
	h.argsList = string(b[rt.HdrArgs : rt.HdrArgs+args])
	h.used, h.size = int64(le.Uint64(b[rt.HdrUsed:])), int64(le.Uint64(b[rt.HdrSize:]))
	h.funcsUsed = int64(le.Uint64(b[rt.HdrFuncsUsed:]))
	if h.used < 0 || h.used > 1<<32 {
		return tree.fail(rt.HdrUsed, "%d bytes in use, want at most %d", uint64(h.used), int64(1)<<32)
	}
	if h.funcsUsed < 0 || h.funcsUsed > 1<<32 {
		return tree.fail(rt.HdrFuncsUsed, "%d bytes of funcs in use, want at most %d", uint64(h.funcsUsed), int64(1)<<32)
	}
	return nil
}

// lossKinds are the kinds that the program counts, in the order of rt.
var lossKinds = [rt.NumLost]string{LossNodes, LossFuncs, LossPages, LossShards, LossTables, LossChecks, LossPaths, LossEdges, LossDeep}

// process returns what the header says about the program.
func (h *header) process() Process {
	p := Process{Run: h.run, PID: int(h.pid), GoVersion: h.goVersion, Engine: "cct"}
	if h.argsList != "" {
		p.Args = strings.Split(strings.TrimSuffix(h.argsList, "\x00"), "\x00")
	}
	if start := int64(h.start); start > 0 {
		p.Start = time.Unix(0, start).UTC()
	}
	p.Full = h.flags&rt.HdrFlagFull != 0
	p.Checked = h.flags&rt.HdrFlagCheck != 0
	for i, n := range h.lost {
		p.Losses = addLoss(p.Losses, Loss{lossKinds[i], n})
	}
	return p
}

// process returns the one process of the profile.
func (l *Live) process() *Process { return &l.Profile.Processes[0] }

// note records an observation that reports show as a warning.
func (l *Live) note(format string, args ...any) {
	l.process().Notes = append(l.process().Notes, fmt.Sprintf(format, args...))
}

// lose counts what the reader had to leave out.
func (l *Live) lose(kind string, n uint64) {
	l.process().Losses = addLoss(l.process().Losses, Loss{kind, n})
}

// readTree walks the objects of the tree region in the order in which they
// were created, so that a parent is known before its children.
func (l *Live) readTree(tree *liveFile, lf *liveFuncs) error {
	p := l.Profile
	p.Nodes = []Node{{}}
	p.Counts = make([]uint64, p.Funcs[0].Counters)
	w := &treeWalk{live: l, tree: tree, funcs: lf, index: newNodeIndex(p, 0), entered: p.enteredCells()}
	w.end = l.header.used
	if w.end > tree.size {
		l.note("tree: %d bytes are in use, but the file has %d", w.end, tree.size)
		l.lose(LossUnread, uint64(w.end-tree.size))
		w.end = tree.size
	}
	if l.pagesLost() {
		return w.salvage()
	}
	for off := int64(rt.HdrEnd); off+8 <= w.end; {
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
	live    *Live
	tree    *liveFile
	funcs   *liveFuncs
	index   *nodeIndex
	entered [][]bool
	end     int64 // of what may be read
}

// object reads the object at off and returns its size, 0 to end the walk.
// A zero word is skipped: the program counts the bytes of an object as used before
// it writes the first word, and may have been killed in between.
func (w *treeWalk) object(off int64) (int64, error) {
	b, err := w.tree.at(off, 8)
	if err != nil {
		return 0, err
	}
	word := binary.LittleEndian.Uint64(b)
	switch {
	case word == 0:
		return 8, nil
	case word&7 == rt.TagTable:
		return w.table(off, int64(word>>32))
	case word&7 != 0:
		return 0, w.tree.fail(off, "object with tag %d, want a node or a table", word&7)
	}
	fn, ok := w.funcs.byID[word]
	if !ok && uint32(word) == 0 {
		return w.table(off, int64(word>>32)) // its tag is written last
	}
	if !ok {
		w.live.note("tree: offset %d: node of a function %#x without a record; what follows was not read", off, word)
		w.live.lose(LossUnread, uint64(w.end-off))
		return 0, nil
	}
	size := int64(w.funcs.sizes[fn])
	if size > w.end-off {
		return 0, w.tree.fail(off, "node of %d bytes, but only %d are in use", size, w.end-off)
	}
	return size, w.node(off, fn)
}

// table checks the size of a table. What is in it is of no interest: tables
// lead from a cell to its nodes, and the nodes know their cells themselves.
func (w *treeWalk) table(off, size int64) (int64, error) {
	if size < rt.TableEntries || size%8 != 0 || size > w.end-off {
		return 0, w.tree.fail(off, "table of %d bytes, but %d are in use", size, w.end-off)
	}
	return size, nil
}

// node adds the node at off, unless the program had not completed it.
// The function ID is written first, the parent last; a node without a parent was
// being created.
func (w *treeWalk) node(off int64, fn uint32) error {
	b, err := w.tree.at(off, rt.NodeCells)
	if err != nil {
		return err
	}
	parent := binary.LittleEndian.Uint32(b[rt.NodeParent:])
	cell := binary.LittleEndian.Uint32(b[rt.NodeCell:])
	switch {
	case (off == rt.HdrEnd) != (fn == 0):
		return w.tree.fail(off, "the root must be the first node, and no other")
	case fn == 0:
		w.add(off, 0)
		return nil
	case parent == 0:
		w.live.lose(LossIncomplete, 1)
		return nil
	}
	up, ok := w.live.Node(parent)
	if !ok {
		return w.tree.fail(off+rt.NodeParent, "parent %d is no node before this one", parent)
	}
	p := w.live.Profile
	if err := p.checkCell(Node{Func: fn, Parent: uint32(up), Cell: cell}, &p.Funcs[fn], w.entered); err != nil {
		return w.tree.fail(off+rt.NodeCell, "%w (%s)", err, p.String(p.Funcs[p.Nodes[up].Func].Name))
	}
	w.add(off, w.index.node(uint32(up), cell, fn))
	return nil
}

// add records where a node stood. Offsets are added in ascending order.
func (w *treeWalk) add(off int64, node uint32) {
	w.live.offsets = append(w.live.offsets, uint32(off))
	w.live.nodes = append(w.live.nodes, node)
}

// Node returns the node that stood at this offset of the tree region. Nodes
// that were created twice are one in the profile.
// There is none at the offset of a table, of a node that was left out, or of none.
func (l *Live) Node(offset uint32) (int, bool) {
	i, ok := slices.BinarySearch(l.offsets, offset)
	if !ok {
		return 0, false
	}
	return int(l.nodes[i]), true
}

// readShards adds up the counters of all shards.
// A shard is a file for each P that there has ever been. One that is missing makes
// counts too low, which a note says.
func (l *Live) readShards() error {
	for s := range int(l.header.shards) {
		name := fmt.Sprint(fileShard, s)
		f, err := openFile(l.fsys, name)
		if errors.Is(err, fs.ErrNotExist) {
			l.note("%s: missing; what its P counted is not included", name)
			continue
		}
		if err != nil {
			return err
		}
		err = l.addShard(f)
		f.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// addShard adds the counters of one shard. It reads forwards, as the offsets
// ascend, and so touches each page once, holes included.
func (l *Live) addShard(f *liveFile) error {
	for i, off := range l.offsets {
		counts := l.Profile.NodeCounts(int(l.nodes[i]))
		size := int64(8 * len(counts))
		if int64(off)+size > f.size {
			l.note("%s: ends at offset %d; the counters behind it are not included", f.name, f.size)
			return nil
		}
		b, err := f.at(int64(off), int(size))
		if err != nil {
			return err
		}
		for c := range counts {
			counts[c] += binary.LittleEndian.Uint64(b[8*c:])
		}
	}
	return nil
}

// A liveFile reads one file of a live directory, mostly forwards.
// A liveFile holds one window of the file in memory; it is not for several
// goroutines. The size is that when the file was opened: it may grow.
type liveFile struct {
	name string
	f    fs.File
	r    io.ReaderAt
	size int64
	used int64 // windows do not go beyond, unless asked to: the rest may be a large hole
	off  int64 // of window
	win  []byte
}

// windowSize is how many bytes are read at once, at least.
const windowSize = 1 << 20

// openFile opens a file of the directory. It must be a regular one: a device
// or a pipe under its name would make the reader wait.
func openFile(fsys fs.FS, name string) (*liveFile, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", name)
	}
	r, ok := f.(io.ReaderAt)
	if err == nil && !ok {
		err = fmt.Errorf("%s: the file system cannot read at an offset", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &liveFile{name: name, f: f, r: r, size: info.Size(), used: info.Size()}, nil
}

func (f *liveFile) close() { f.f.Close() }

// fail returns an error about offset off of the file.
func (f *liveFile) fail(off int64, format string, args ...any) error {
	return fmt.Errorf("%s: offset %d: %w", f.name, off, fmt.Errorf(format, args...))
}

// at returns n bytes at off. They are valid until the next call.
// Bytes behind the end of the file are an error, also if the file was cut after it
// was opened.
func (f *liveFile) at(off int64, n int) ([]byte, error) {
	if off < 0 || n < 0 || int64(n) > f.size-off {
		return nil, f.fail(off, "file ends at %d, want %d more bytes", f.size, n)
	}
	if off < f.off || off+int64(n) > f.off+int64(len(f.win)) {
		size := max(int64(n), min(windowSize, f.used-off))
		f.win = slices.Grow(f.win[:0], int(size))[:size]
		f.off = off
		if got, err := f.r.ReadAt(f.win, off); got < len(f.win) {
			f.win = f.win[:0]
			return nil, f.fail(off+int64(got), "%w", err)
		}
	}
	return f.win[off-f.off:][:n:n], nil
}
