// Package recordtest builds live directories by hand, for tests: it plays the instrumented program.
// It does so byte for byte, as package layout has them.
package recordtest

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
)

// A Dir is a live directory in the making. Its offsets and IDs are what the
// program would have written.
type Dir struct {
	Tree    []byte
	Shards  [][]byte
	Inuse   []byte // as the file, if reachable objects are counted
	Funcs   []byte
	Check   []byte
	Strings []byte
	Calls   []byte

	nextID uint64
	sizes  map[uint64]uint32
}

// A Func is a function to record. Files[0] is its own file.
type Func struct {
	Name    string
	Line    int
	Flags   uint32
	Files   []string
	Inlined []Inlined
	Sites   []Site
	Weights []Weight
	Placed  []int // counter + 1, 0 for none
}

// A Weight says what operations a counter stands for. In is one more than the index.
type Weight struct {
	Counter, In, Class, N int
}

// An Inlined is an inlined call. In, Counter and CalleeFile are one more than the index,
// 0 for none.
type Inlined struct {
	In      int
	Callee  string
	File    int
	Line    int
	Counter int

	CalleeFile, CalleeLine int
}

// A Site is a call site. In, Cell and Counter are one more than the index, 0 for none.
type Site struct {
	Kind    byte
	In      int
	File    int
	Line    int
	Callee  string
	Cell    int
	Counter int
}

// A Frame is a frame of a fault, or of a check.
type Frame struct {
	Func, File string
	Line       int
	Inlined    bool
	Wrapper    bool
}

// Run is the run number of the programs whose directories this package makes.
const Run = 0x0123456789abcdef

// New returns a directory with a header, the root and the overflow node, and
// the given number of shards.
func New(shards int, args ...string) *Dir {
	d := &Dir{Tree: make([]byte, layout.HeaderSize), Shards: make([][]byte, shards), nextID: 0x400000,
		sizes: make(map[uint64]uint32)}
	d.Header(func(h *layout.Header) {
		copy(h.Magic[:], layout.Magic)
		h.Version, h.Shards, h.Run, h.PID = layout.Version, uint32(shards), Run, 4242
		h.Start, h.Size = 1767323045000000006, 1<<32
		h.GoVerLen = uint32(copy(h.GoVer[:], "go1.26.8"))
		h.ArgsLen = uint32(copy(h.Args[:], strings.Join(args, "\x00")))
	})
	d.record(layout.RecFunc, layout.RootFunc, pseudo("stemma.root", layout.RootNames[:]))
	d.record(layout.RecFunc, layout.OverflowFunc, pseudo("stemma.overflow", []string{"overflow"}))
	d.Node(Root, 0, layout.RootFunc)
	d.Node(Root, layout.RootOverflow, layout.OverflowFunc)
	return d
}

// Root is the offset of the root node, Overflow that of the overflow node.
const (
	Root     = layout.HeaderSize
	Overflow = Root + (layout.NodeSize+layout.CellSize*layout.NumRoots+7)&^7
)

func pseudo(name string, cells []string) Func {
	f := Func{Name: name, Files: []string{""}}
	for i, c := range cells {
		f.Sites = append(f.Sites, Site{Kind: layout.SiteCall, Callee: c, Cell: i + 1})
	}
	return f
}

// Header changes the header, and NodeAt and TableAt the object at an offset.
func (d *Dir) Header(change func(*layout.Header))          { raw.Update(d.Tree, change) }
func (d *Dir) NodeAt(off int, change func(*layout.Node))   { raw.Update(d.Tree[off:], change) }
func (d *Dir) TableAt(off int, change func(*layout.Table)) { raw.Update(d.Tree[off:], change) }

// SetCell makes cell k of a node lead to an object.
func (d *Dir) SetCell(node, k, off int) {
	raw.Store(d.Tree[node+layout.NodeSize+layout.CellSize*k:], uint32(off))
}

// Func records f and returns its ID.
func (d *Dir) Func(f Func) uint64 {
	id := d.nextID
	d.nextID += 64
	d.record(layout.RecFunc, id, f)
	return id
}

// Fault records a place of a run-time error, handled by the function handler,
// and returns its ID. The frames are innermost first.
func (d *Dir) Fault(handler string, frames ...Frame) uint64 {
	b := &blob{}
	b.uint(b.str(handler), len(frames))
	for _, fr := range frames {
		b.uint(b.str(fr.Func), b.str(fr.File), fr.Line)
	}
	id := 1<<62 | d.nextID
	d.nextID += 64
	d.write(layout.RecFault, id, faultSize, 0, b)
	return id
}

// Alloc records the allocations of a type, which the header then says are counted, and
// returns its ID.
func (d *Dir) Alloc(typ string) uint64 {
	d.Header(func(h *layout.Header) { h.Flags |= layout.HdrFlagAlloc })
	b := &blob{}
	b.uint(b.str(typ))
	id := layout.AllocID(d.nextID)
	d.nextID += 64
	d.write(layout.RecAlloc, id, uint32(layout.NodeBytes(0, layout.AmountCounters)), 0, b)
	return id
}

// Counted makes the program count the reachable objects of a node of allocations.
func (d *Dir) Counted(node int, objects, bytes uint64) {
	d.Header(func(h *layout.Header) { h.Flags |= layout.HdrFlagInuse })
	d.Inuse = append(d.Inuse, make([]byte, len(d.Tree)-len(d.Inuse))...)
	raw.Update(d.Inuse, func(h *layout.InuseHeader) { h.Changes, h.Counted = h.Changes+2, h.Counted+1 })
	raw.Store(d.Inuse[node:], layout.InuseCounts{Objects: objects, Bytes: bytes})
}

// Wait records the waits for a reason, which the header then says are counted, and returns its ID. Held records those
// of others for locks, and Run the time that goroutines ran.
func (d *Dir) Wait(reason string) uint64 {
	return d.waited(layout.RecWait, layout.WaitID(d.nextID), reason)
}
func (d *Dir) Held(reason string) uint64 {
	return d.waited(layout.RecHeld, layout.HeldID(d.nextID<<9), reason)
}
func (d *Dir) Run() uint64 { return d.waited(layout.RecRun, layout.RunID, "") }

func (d *Dir) waited(kind uint32, id uint64, reason string) uint64 {
	d.Header(func(h *layout.Header) { h.Flags |= layout.HdrFlagWait })
	b := &blob{}
	b.uint(b.str(reason))
	d.nextID += 64
	d.write(kind, id, uint32(layout.NodeBytes(0, layout.AmountCounters)), 0, b)
	return id
}

// Metric records a metric of the program's own and returns its ID.
func (d *Dir) Metric(name, unit string) uint64 {
	b := &blob{}
	b.uint(b.str(name), b.str(unit))
	id := layout.MetricID(uint32(d.nextID / 64 % layout.MaxMetrics))
	d.nextID += 64
	d.write(layout.RecMetric, id, layout.AmountSize, 0, b)
	return id
}

// faultSize is the size of the node of a fault, which has one cell.
var faultSize = uint32(layout.NodeBytes(1, 1))

// A blob collects what follows the header of a record.
type blob struct {
	strings []string
	data    []byte
}

func (b *blob) uint(vs ...int) {
	for _, v := range vs {
		b.data = binary.AppendUvarint(b.data, uint64(v))
	}
}

func (b *blob) str(s string) int {
	for i, have := range b.strings {
		if have == s {
			return i
		}
	}
	b.strings = append(b.strings, s)
	return len(b.strings) - 1
}

func (d *Dir) record(kind uint32, id uint64, f Func) {
	cells, counters := 0, 1
	for _, in := range f.Inlined {
		counters = max(counters, in.Counter)
	}
	for _, s := range f.Sites {
		cells, counters = max(cells, s.Cell), max(counters, s.Counter)
	}
	for _, w := range f.Weights {
		counters = max(counters, w.Counter+1)
	}
	counters = max(counters, slices.Max(append(f.Placed, 0)))
	size := layout.NodeBytes(cells, counters)
	d.write(kind, id, uint32(size), f.Flags, describe(f))
}

// describe returns the description of a function, as the compiler writes it.
func describe(f Func) *blob {
	b := &blob{}
	b.uint(b.str(f.Name), f.Line, len(f.Files))
	for _, s := range f.Files {
		b.uint(b.str(s))
	}
	b.uint(len(f.Inlined))
	for _, in := range f.Inlined {
		b.uint(in.In, b.str(in.Callee), in.File, in.Line, in.Counter, in.CalleeFile, in.CalleeLine)
	}
	b.uint(len(f.Sites))
	for _, s := range f.Sites {
		callee := 0
		if s.Callee != "" {
			callee = b.str(s.Callee) + 1
		}
		b.uint(int(s.Kind), s.In, s.File, s.Line, callee, s.Cell, s.Counter)
	}
	b.uint(len(f.Weights))
	for _, w := range f.Weights {
		b.uint(w.Counter, w.In, w.Class)
		b.data = binary.AppendVarint(b.data, int64(w.N))
	}
	if len(f.Placed) > 0 {
		b.uint(len(f.Placed))
		b.uint(f.Placed...)
	}
	return b
}

// write appends a record to funcs.
func (d *Dir) write(kind uint32, id uint64, size, flags uint32, b *blob) {
	start := len(d.Funcs)
	head := layout.FuncRecord{Kind: kind, ID: id, NodeSize: size, Flags: flags, Strings: uint32(len(b.strings)),
		BlobLen: uint32(len(b.data))}
	r := raw.Append(d.Funcs, head)
	for _, s := range b.strings {
		r = raw.Append(r, uint32(len(s)))
	}
	for _, s := range b.strings {
		r = append(r, s...)
	}
	r = append(r, b.data...)
	for len(r)%8 != 0 {
		r = append(r, 0)
	}
	raw.Update(r[start:], func(h *layout.FuncRecord) { h.Length = uint32(len(r) - start) })
	d.Funcs = r
	d.sizes[id] = size
	d.Header(func(h *layout.Header) { h.FuncsUsed = uint64(len(r)) })
}

// alloc returns the offset of size zero bytes in all shards and in the tree.
func (d *Dir) alloc(size int) int {
	off := len(d.Tree)
	d.Tree = append(d.Tree, make([]byte, size)...)
	for i := range d.Shards {
		d.Shards[i] = append(d.Shards[i], make([]byte, len(d.Tree)-len(d.Shards[i]))...)
	}
	d.Header(func(h *layout.Header) { h.Used = uint64(len(d.Tree)) })
	return off
}

// Node appends a node and returns its offset. It does not fill the parent's cell.
func (d *Dir) Node(parent, cell int, fn uint64) int {
	off := d.alloc(int(d.sizes[fn]))
	raw.Store(d.Tree[off:], layout.Node{Func: fn, Parent: uint32(parent), Cell: uint32(cell)})
	return off
}

// Table appends a table with room for n nodes.
func (d *Dir) Table(n int) int {
	size := layout.TableSize + layout.CellSize*n
	off := d.alloc(size)
	raw.Store(d.Tree[off:], layout.Table{Tag: layout.TagTable, Size: uint32(size), Mask: uint32(n - 1)})
	return off
}

// Count adds to a counter of a node in one shard.
func (d *Dir) Count(shard, node, counter int, n uint64) {
	raw.Update(d.Shards[shard][node+layout.CounterSize*counter:], func(c *uint64) { *c += n })
}

// A Check is the head of a record of the checker. Cell is one more than the
// index, 0 at the entry of the node.
type Check struct {
	Node, Cell       int
	Events           uint64
	Start, StartCell int
}

// AddCheck appends a record of the checker. The frames are innermost first.
func (d *Dir) AddCheck(c Check, frames ...Frame) {
	d.Check = raw.Append(d.Check, layout.Check{
		Length: uint32(layout.CheckSize + layout.CheckFrameSize*len(frames)), Node: uint32(c.Node), Events: c.Events,
		Frames: uint32(len(frames)), Cell: uint32(c.Cell), StartNode: uint32(c.Start), StartCell: uint32(c.StartCell),
	})
	d.checkFrames(frames)
}

func (d *Dir) checkFrames(frames []Frame) {
	for _, f := range frames {
		flags := uint32(0)
		if f.Inlined {
			flags |= layout.CheckFrameInlined
		}
		if f.Wrapper {
			flags |= layout.CheckFrameWrapper
		}
		d.Check = raw.Append(d.Check,
			layout.CheckFrame{Func: d.str(f.Func), File: d.str(f.File), Line: uint32(f.Line), Flags: flags})
	}
}

// Enter, Go and Exit append to the recorded calls.
func (d *Dir) Enter(goroutine uint32, node int) { d.call(goroutine, uint32(node)|layout.CallEnter) }
func (d *Dir) Exit(goroutine uint32)            { d.call(goroutine, layout.CallExit) }
func (d *Dir) Go(goroutine uint32, node int, child uint32) {
	d.call(goroutine, uint32(node)|layout.CallGo)
	d.call(child, layout.CallChild)
}

// call appends an entry of calls, behind the header if it is the first.
func (d *Dir) call(goroutine, what uint32) {
	if d.Calls == nil {
		d.Calls = make([]byte, layout.CallsHeaderSize)
		copy(d.Calls, layout.CallsMagic)
		d.Header(func(h *layout.Header) { h.Flags |= layout.HdrFlagFull })
	}
	d.Calls = raw.Append(d.Calls, layout.Call{Goroutine: goroutine, What: what})
	raw.Update(d.Calls, func(h *layout.CallsHeader) { h.Used = uint64(len(d.Calls)) })
}

// str appends to the file strings.
func (d *Dir) str(s string) uint32 {
	off := len(d.Strings)
	d.Strings = raw.Append(d.Strings, layout.CheckString{Len: uint32(len(s))})
	d.Strings = append(d.Strings, s...)
	return uint32(off)
}

// Files returns the contents of the directory by file name.
func (d *Dir) Files() map[string][]byte {
	files := map[string][]byte{layout.FileTree: d.Tree, layout.FileFuncs: d.Funcs}
	for i, s := range d.Shards {
		files[layout.FileShard+string(rune('0'+i))] = s
	}
	if d.Inuse != nil {
		files[layout.FileInuse] = d.Inuse
	}
	if d.Check != nil {
		files[layout.FileCheck], files[layout.FileStrings] = d.Check, d.Strings
	}
	if d.Calls != nil {
		files[layout.FileCalls] = d.Calls
	}
	return files
}

// FS returns the directory as a file system.
func (d *Dir) FS() fstest.MapFS { return mapFS(d.Files()) }

// WriteTo writes the directory to disk, at path.
func (d *Dir) WriteTo(t testing.TB, path string) { writeFiles(t, path, d.Files()) }
