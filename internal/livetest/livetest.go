// Package livetest builds live directories by hand, for tests: it plays the
// instrumented program, byte for byte as package rt lays it out.
package livetest

import (
	"encoding/binary"
	"testing"
	"testing/fstest"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// A Dir is a live directory in the making. Its offsets and IDs are what the
// program would have written.
type Dir struct {
	Tree    []byte
	Shards  [][]byte
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
	d := &Dir{Tree: make([]byte, rt.HdrEnd), Shards: make([][]byte, shards), nextID: 0x400000, sizes: make(map[uint64]uint32)}
	copy(d.Tree, rt.Magic)
	d.Set32(rt.HdrVersion, rt.Version)
	d.Set32(rt.HdrShards, uint32(shards))
	d.Set64(rt.HdrRun, Run)
	d.Set32(rt.HdrPID, 4242)
	d.Set64(rt.HdrStart, 1767323045000000006)
	d.Set64(rt.HdrSize, 1<<32)
	d.Set32(rt.HdrGoVerLen, uint32(copy(d.Tree[rt.HdrGoVer:], "go1.26.8")))
	n := 0
	for i, a := range args {
		if i > 0 {
			n++
		}
		n += copy(d.Tree[rt.HdrArgs+n:], a)
	}
	d.Set32(rt.HdrArgsLen, uint32(n))
	d.record(rt.RecFunc, rt.RootFunc, pseudo("stemma.root", rt.RootNames[:]))
	d.record(rt.RecFunc, rt.OverflowFunc, pseudo("stemma.overflow", []string{"overflow"}))
	d.Node(rt.HdrEnd, 0, rt.RootFunc)
	d.Node(rt.HdrEnd, rt.RootOverflow, rt.OverflowFunc)
	return d
}

// Root is the offset of the root node, Overflow that of the overflow node.
const (
	Root     = rt.HdrEnd
	Overflow = Root + (rt.NodeCells+4*rt.NumRoots+7)&^7
)

func pseudo(name string, cells []string) Func {
	f := Func{Name: name, Files: []string{""}}
	for i, c := range cells {
		f.Sites = append(f.Sites, Site{Kind: rt.SiteCall, Callee: c, Cell: i + 1})
	}
	return f
}

// Set32 and Set64 write a field of the header or of a node.
func (d *Dir) Set32(off int, v uint32) { binary.LittleEndian.PutUint32(d.Tree[off:], v) }
func (d *Dir) Set64(off int, v uint64) { binary.LittleEndian.PutUint64(d.Tree[off:], v) }

// Func records f and returns its ID.
func (d *Dir) Func(f Func) uint64 {
	id := d.nextID
	d.nextID += 64
	d.record(rt.RecFunc, id, f)
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
	d.write(rt.RecFault, id, 24, 0, b)
	return id
}

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
	size := (max(rt.NodeCells+4*cells, 8*counters) + 7) &^ 7
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
	return b
}

// write appends a record to funcs.
func (d *Dir) write(kind uint32, id uint64, size, flags uint32, b *blob) {
	le := binary.LittleEndian
	start := len(d.Funcs)
	r := le.AppendUint32(d.Funcs, 0)
	r = le.AppendUint32(r, kind)
	r = le.AppendUint64(r, id)
	r = le.AppendUint32(r, size)
	r = le.AppendUint32(r, flags)
	r = le.AppendUint32(r, uint32(len(b.strings)))
	r = le.AppendUint32(r, uint32(len(b.data)))
	for _, s := range b.strings {
		r = le.AppendUint32(r, uint32(len(s)))
	}
	for _, s := range b.strings {
		r = append(r, s...)
	}
	r = append(r, b.data...)
	for len(r)%8 != 0 {
		r = append(r, 0)
	}
	le.PutUint32(r[start:], uint32(len(r)-start))
	d.Funcs = r
	d.sizes[id] = size
	d.Set64(rt.HdrFuncsUsed, uint64(len(r)))
}

// alloc returns the offset of size zero bytes in all shards and in the tree.
func (d *Dir) alloc(size int) int {
	off := len(d.Tree)
	d.Tree = append(d.Tree, make([]byte, size)...)
	for i := range d.Shards {
		d.Shards[i] = append(d.Shards[i], make([]byte, len(d.Tree)-len(d.Shards[i]))...)
	}
	d.Set64(rt.HdrUsed, uint64(len(d.Tree)))
	return off
}

// Node appends a node and returns its offset. It does not fill the parent's cell.
func (d *Dir) Node(parent, cell int, fn uint64) int {
	off := d.alloc(int(d.sizes[fn]))
	d.Set64(off+rt.NodeFunc, fn)
	d.Set32(off+rt.NodeParent, uint32(parent))
	d.Set32(off+rt.NodeCell, uint32(cell))
	return off
}

// Table appends a table with room for n nodes.
func (d *Dir) Table(n int) int {
	off := d.alloc(rt.TableEntries + 4*n)
	d.Set32(off, rt.TagTable)
	d.Set32(off+rt.TableSize, uint32(rt.TableEntries+4*n))
	d.Set32(off+rt.TableMask, uint32(n-1))
	return off
}

// Count adds to a counter of a node in one shard.
func (d *Dir) Count(shard, node, counter int, n uint64) {
	b := d.Shards[shard][node+8*counter:]
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+n)
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
	le := binary.LittleEndian
	d.Check = le.AppendUint32(d.Check, uint32(rt.CheckHeaderSize+16*len(frames)))
	d.Check = le.AppendUint32(d.Check, uint32(c.Node))
	d.Check = le.AppendUint64(d.Check, c.Events)
	for _, v := range []int{len(frames), c.Cell, c.Start, c.StartCell} {
		d.Check = le.AppendUint32(d.Check, uint32(v))
	}
	for _, f := range frames {
		flags := uint32(0)
		if f.Inlined {
			flags |= rt.CheckInlined
		}
		if f.Wrapper {
			flags |= rt.CheckWrapper
		}
		for _, v := range []uint32{d.str(f.Func), d.str(f.File), uint32(f.Line), flags} {
			d.Check = le.AppendUint32(d.Check, v)
		}
	}
}

// Enter, Go and Exit append to the recorded calls.
func (d *Dir) Enter(goroutine uint32, node int) { d.call(goroutine, uint32(node)|rt.CallEnter) }
func (d *Dir) Exit(goroutine uint32)            { d.call(goroutine, rt.CallExit) }
func (d *Dir) Go(goroutine uint32, node int, child uint32) {
	d.call(goroutine, uint32(node)|rt.CallGo)
	d.call(child, rt.CallChild)
}

// call appends an entry of calls, behind the header if it is the first.
func (d *Dir) call(goroutine, what uint32) {
	if d.Calls == nil {
		d.Calls = make([]byte, rt.CallsHeader)
		copy(d.Calls, rt.CallsMagic)
		d.Set32(rt.HdrFlags, rt.HdrFlagFull)
	}
	d.Calls = binary.LittleEndian.AppendUint32(d.Calls, goroutine)
	d.Calls = binary.LittleEndian.AppendUint32(d.Calls, what)
	binary.LittleEndian.PutUint64(d.Calls[rt.CallsUsed:], uint64(len(d.Calls)))
}

// str appends to the file strings.
func (d *Dir) str(s string) uint32 {
	off := len(d.Strings)
	d.Strings = binary.LittleEndian.AppendUint32(d.Strings, uint32(len(s)))
	d.Strings = append(d.Strings, s...)
	return uint32(off)
}

// Files returns the contents of the directory by file name.
func (d *Dir) Files() map[string][]byte {
	files := map[string][]byte{"tree": d.Tree, "funcs": d.Funcs}
	for i, s := range d.Shards {
		files["shard."+string(rune('0'+i))] = s
	}
	if d.Check != nil {
		files["check"], files["strings"] = d.Check, d.Strings
	}
	if d.Calls != nil {
		files["calls"] = d.Calls
	}
	return files
}

// FS returns the directory as a file system.
func (d *Dir) FS() fstest.MapFS { return mapFS(d.Files()) }

// WriteTo writes the directory to disk, at path.
func (d *Dir) WriteTo(t testing.TB, path string) { writeFiles(t, path, d.Files()) }
