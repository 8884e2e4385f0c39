package livedir

import (
	"io/fs"
	"slices"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/profile"
)

// A Goroutine is one that exists.
type Goroutine struct {
	Cell   uint32 // offset of the cell in the tree below which it waits; that of its go statement if it runs
	Reason string // why it does not run
}

// OpenGoroutines is [Open], of a directory with a tree, with these goroutines and no others. The nodes of those that
// are not to be recorded are left out.
func OpenGoroutines(fsys fs.FS, list []Goroutine) (*Dir, error) {
	l, err := open(fsys, new(Growth))
	if err != nil {
		return nil, err
	}
	if _, err := l.Profile.AddColumn(profile.Existing); err != nil {
		return nil, err
	}
	l.addGoroutines(list)
	return l, l.Profile.CheckValid()
}

// addGoroutines adds a node for the goroutines in each context and state. Those of the runtime's own are left out.
func (l *Dir) addGoroutines(list []Goroutine) {
	p := l.Profile
	homes, entered := p.Homes(), p.EnteredCells()
	index := profile.NewNodeIndex(p, len(p.Nodes)+len(list))
	funcs := make(map[string]uint32)
	for _, g := range list {
		node, cell, ok := l.cellAt(g.Cell)
		if !ok || node == 0 && cell == layout.RootGo {
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
	}
}

// cellAt returns the node, and the number of its cell, that lies at an offset of the tree region. There is none in a
// node that was left out.
func (l *Dir) cellAt(off uint32) (node int, cell uint32, ok bool) {
	i, at := slices.BinarySearch(l.offsets, off)
	if at || i == 0 {
		return 0, 0, false
	}
	node = int(l.nodes[i-1])
	cell = (off - l.offsets[i-1] - layout.NodeSize) / layout.CellSize
	return node, cell, off >= l.offsets[i-1]+layout.NodeSize && cell < l.Profile.Funcs[l.Profile.Nodes[node].Func].Cells
}
