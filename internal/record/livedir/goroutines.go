package livedir

import (
	"bytes"
	"errors"
	"io/fs"
	"time"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// A Goroutine is one that exists.
type Goroutine struct {
	Cell   uint32        // offset of the cell in the tree below which it waits; that of its go statement if it runs
	Reason string        // why it does not run
	Idle   time.Duration // since when
}

// OpenGoroutines is [Open], of a directory with a tree, with these goroutines and no others. The nodes of those that
// are not to be recorded are left out.
func OpenGoroutines(fsys fs.FS, list []Goroutine) (*Dir, error) {
	l, err := OpenGrowth(fsys, Growth{})
	if err != nil {
		return nil, err
	}
	for _, t := range []profile.Metric{profile.Existing, profile.Idle} {
		if _, err := l.Profile.AddColumn(t); err != nil {
			return nil, err
		}
	}
	l.addGoroutines(list)
	return l, l.Profile.CheckValid()
}

// runs is the name of what a goroutine does that does not wait.
const runs = "running"

// readGoroutines adds the goroutines that exist: where the program still runs, at the moment now. An entry that is
// being written is left out.
func (l *Dir) readGoroutines(now time.Time) error {
	f, err := OpenFile(l.FS, layout.FileGoroutines)
	if errors.Is(err, fs.ErrNotExist) {
		l.Note("%s: missing; it is not known which goroutines existed", layout.FileGoroutines)
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if has, err := f.Has(layout.GoroutinesHeaderSize); err != nil || has < layout.GoroutinesHeaderSize {
		return err // the program has just made it
	}
	b, err := f.Head(layout.GoroutinesHeaderSize)
	if err != nil {
		return err
	}
	h := raw.Load[layout.GoroutinesHeader](b)
	end := uint64(now.UnixNano())
	if h.End != 0 {
		end = h.End
	}
	n, err := f.Records(layout.GoroutinesHeaderSize, h.Entries, layout.GoroutineSize)
	if err != nil {
		return err
	}
	if left := h.Entries - n + h.Lost; left > 0 {
		l.Note("%s: %d goroutines are not listed, since there was no room", layout.FileGoroutines, left)
	}
	entries, err := goroutineEntries(f, int64(n))
	if err != nil {
		return err
	}
	var list []Goroutine
	for _, e := range entries {
		if e.ID == 0 || e.ID != e.Again {
			continue
		}
		g := Goroutine{Cell: e.At, Reason: runs}
		if int(e.Reason) < len(h.Reasons) {
			name, _, _ := bytes.Cut(h.Reasons[e.Reason][:], []byte{0})
			g.Reason = string(name)
		}
		if e.Reason != layout.GoroutineRuns && end > e.Since {
			g.Idle = time.Duration(end - e.Since)
		}
		list = append(list, g)
	}
	l.addGoroutines(list)
	return nil
}

// goroutineTries is how often the entries are read that change meanwhile.
const goroutineTries = 8

// goroutineEntries reads n entries. One that is written while it is copied may be of two moments, and all its parts of
// the same goroutine: so all are read until two copies of each are equal. One that changes all the time is left out.
func goroutineEntries(f *File, n int64) ([]layout.Goroutine, error) {
	entries, moving := make([]layout.Goroutine, n), make([]bool, n)
	for i := range moving {
		moving[i] = true
	}
	for try := range goroutineTries {
		f.Forget()
		left := 0
		for i := range entries {
			if !moving[i] {
				continue
			}
			b, err := f.At(layout.GoroutinesHeaderSize+int64(i)*layout.GoroutineSize, layout.GoroutineSize)
			if err != nil {
				return nil, err
			}
			e := raw.Load[layout.Goroutine](b)
			if moving[i] = try == 0 || e != entries[i]; moving[i] {
				left++
			}
			entries[i] = e
		}
		if left == 0 {
			break
		}
	}
	for i := range entries {
		if moving[i] {
			entries[i] = layout.Goroutine{}
		}
	}
	return entries, nil
}

// addGoroutines adds a node for the goroutines in each context and state. Those of the runtime's own are left out.
func (l *Dir) addGoroutines(list []Goroutine) {
	p := l.Profile
	homes, entered := p.Homes(), p.EnteredCells()
	index := profile.NewNodeIndex(p, len(p.Nodes)+len(list))
	funcs := make(map[string]uint32)
	for _, g := range list {
		node, cell, ok := l.cellAt(g.Cell)
		if !ok || node == 0 && ownsRoot(cell) {
			continue
		}
		fn, ok := funcs[g.Reason]
		if !ok {
			fn = uint32(len(p.Funcs))
			p.Strings = append(p.Strings, g.Reason)
			p.Funcs = append(p.Funcs,
				profile.Func{Kind: profile.FuncExisting, Name: uint32(len(p.Strings) - 1), Counters: 1})
			funcs[g.Reason] = fn
		}
		n := profile.Node{Func: fn, Parent: uint32(homes[node]), Cell: cell}
		if err := p.CheckCell(n, entered); err != nil {
			continue
		}
		i := index.Node(n.Parent, n.Cell, n.Func)
		p.Column(profile.Existing.Name).Values[i]++
		p.Column(profile.Idle.Name).Values[i] += uint64(max(g.Idle, 0))
	}
}

// ownsRoot reports whether goroutines that are at a cell of the root are the runtime's own. Those for finalizers and
// cleanups are there until the first one, and between two.
func ownsRoot(cell uint32) bool {
	return cell == layout.RootGo || cell == layout.RootFinalizer || cell == layout.RootCleanup
}

// cellAt returns the node, and the number of its cell, that lies at an offset of the tree region. There is none in a
// node that was left out.
func (l *Dir) cellAt(off uint32) (node int, cell uint32, ok bool) {
	i, at := l.offsets.rank(off)
	if at || i == 0 {
		return 0, 0, false
	}
	node = int(l.nodes[i-1])
	begin := l.offsets.last(off)
	cell = (off - begin - layout.NodeSize) / layout.CellSize
	return node, cell, off >= begin+layout.NodeSize && cell < l.Profile.Funcs[l.Profile.Nodes[node].Func].Cells
}
