package stemma

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// What was measured is read as a live directory that has nothing else: a tree of the nodes that have counted something,
// and the records of their functions. So counts mean what they mean in each report.

// readMeasured makes the profile of what was measured.
func readMeasured(c *Counts) (*profile.Profile, error) {
	m := &miniature{place: make(map[uint32]uint32), recorded: make(map[uint64]bool)}
	if err := m.addNodes(c); err != nil {
		return nil, err
	}
	if err := m.addHeader(c); err != nil {
		return nil, err
	}
	d, err := livedir.OpenGrowth(m, livedir.Growth{Counters: m.counters})
	if err != nil {
		return nil, err
	}
	return d.Profile, nil
}

// A miniature is a live directory in memory.
type miniature struct {
	tree, funcs []byte
	counters    []uint64 // for each eight bytes of tree
	place       map[uint32]uint32
	recorded    map[uint64]bool
}

// addNodes adds the nodes that have counted something, with those that lead there.
func (m *miniature) addNodes(c *Counts) error {
	m.tree = make([]byte, layout.HeaderSize)
	m.counters = make([]uint64, layout.HeaderSize/layout.CounterSize)
	index := make(map[uint32]int, len(c.nodes))
	for i, n := range c.nodes {
		index[n.Offset] = i
	}
	keep := make([]bool, len(c.nodes))
	keep[0] = true // the root
	for i := len(c.nodes) - 1; i > 0; i-- {
		for _, n := range c.counts[i] {
			keep[i] = keep[i] || n != 0
		}
		keep[index[c.nodes[i].Parent]] = keep[index[c.nodes[i].Parent]] || keep[i]
	}
	for i, n := range c.nodes {
		if !keep[i] {
			continue
		}
		if err := m.record(n.Func); err != nil {
			return err
		}
		at := uint32(len(m.tree))
		m.place[n.Offset] = at
		m.tree = append(m.tree, make([]byte, n.Size)...)
		raw.Store(m.tree[at:], layout.Node{Func: n.Func, Parent: m.place[n.Parent], Cell: n.Cell})
		counts := make([]uint64, n.Size/layout.CounterSize)
		copy(counts, c.counts[i])
		if i > 0 && layout.BeginsLane(n.Func) {
			clear(counts) // the measurements themselves
		}
		m.counters = append(m.counters, counts...)
	}
	return nil
}

// addHeader makes the first page that of the process, with what was lost meanwhile. A shard that Ps share is lost all
// the time.
func (m *miniature) addHeader(c *Counts) error {
	h, err := ownRecord.header()
	if err != nil {
		return err
	}
	h.Flags &^= layout.HdrFlagInuse | layout.HdrFlagExisting | layout.HdrFlagCheck
	h.Used, h.FuncsUsed, h.Shards = uint64(len(m.tree)), uint64(len(m.funcs)), 0
	for i := range h.Lost {
		h.Lost[i] = c.after[i]
		if i != layout.LostShards {
			h.Lost[i] -= c.before[i]
		}
	}
	raw.Store(m.tree, h)
	return nil
}

// record adds the record of a function.
func (m *miniature) record(id uint64) error {
	if m.recorded[id] {
		return nil
	}
	m.recorded[id] = true
	b, err := ownRecord.of(id)
	m.funcs = append(m.funcs, b...)
	return err
}

// Open implements fs.FS.
func (m *miniature) Open(name string) (fs.File, error) {
	switch name {
	case layout.FileTree:
		return &memoryFile{name, bytes.NewReader(m.tree)}, nil
	case layout.FileFuncs:
		return &memoryFile{name, bytes.NewReader(m.funcs)}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// A memoryFile is a file of a miniature, and what is said of it.
type memoryFile struct {
	name string
	*bytes.Reader
}

func (f *memoryFile) Stat() (fs.FileInfo, error) { return memoryInfo{f}, nil }
func (f *memoryFile) Close() error               { return nil }

type memoryInfo struct{ f *memoryFile }

func (i memoryInfo) Name() string     { return i.f.name }
func (i memoryInfo) Size() int64      { return i.f.Reader.Size() }
func (memoryInfo) Mode() fs.FileMode  { return 0o400 }
func (memoryInfo) ModTime() time.Time { return time.Time{} }
func (memoryInfo) IsDir() bool        { return false }
func (memoryInfo) Sys() any           { return nil }

// ownRecord knows where the records of functions lie in the live directory of this process.
var ownRecord recordIndex

// A recordIndex is an index of the file funcs of a live directory, which only grows.
type recordIndex struct {
	mu   sync.Mutex
	at   map[uint64]recordPlace
	next int64 // offset that was not looked at
}

type recordPlace struct {
	offset int64
	length uint32
}

// header returns the header of the tree.
func (x *recordIndex) header() (h layout.Header, err error) {
	b, err := x.read(layout.FileTree, 0, int(unsafe.Sizeof(h)))
	if err != nil {
		return h, err
	}
	return raw.Load[layout.Header](b), nil
}

// read returns n bytes of a file of the directory.
func (x *recordIndex) read(name string, offset int64, n int) ([]byte, error) {
	dir, err := Recording()
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	if got, err := f.ReadAt(b, offset); got < n {
		return b[:got], err
	}
	return b, nil
}

// of returns the record of a function. That of the root may be missing.
func (x *recordIndex) of(id uint64) ([]byte, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p, ok := x.at[id]
	if !ok {
		if err := x.look(); err != nil {
			return nil, err
		}
		if p, ok = x.at[id]; !ok {
			return nil, fmt.Errorf("%s: no record of function %#x", layout.FileFuncs, id)
		}
	}
	return x.read(layout.FileFuncs, p.offset, int(p.length))
}

// look finds the records that the program has written since it was looked last.
func (x *recordIndex) look() error {
	if x.at == nil {
		x.at = make(map[uint64]recordPlace)
	}
	const window = 1 << 20
	for {
		b, err := x.read(layout.FileFuncs, x.next, window)
		if err != nil && err != io.EOF {
			return err
		}
		begin := x.next
		for len(b) >= layout.FuncRecordSize {
			r := raw.Load[layout.FuncRecord](b)
			if r.Length < layout.FuncRecordSize || r.Length > uint32(len(b)) {
				break
			}
			if _, known := x.at[r.ID]; !known {
				x.at[r.ID] = recordPlace{x.next, r.Length}
			}
			x.next, b = x.next+int64(r.Length), b[r.Length:]
		}
		if x.next == begin {
			return nil
		}
	}
}
