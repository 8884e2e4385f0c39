package ids

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// A Warm is a warm file in memory: a call graph from which calling context encoding starts. It holds
// edges, not ids: the program numbers them itself. So a file that is wrong costs
// pushes, but it cannot make an ID decode to something else.
//
// See layout.WarmHeader for what is in it.
type Warm struct {
	head  *layout.WarmHeader
	funcs []layout.WarmFunc
	edges []layout.WarmEdge
	text  uint64
}

// OpenWarm returns the warm file of size bytes at p. ok is false if it is none, or
// if it was made for another program than the one with its code at text and its data
// in [low, high): each function must have its data, metadata and code where the file
// says.
func OpenWarm(p unsafe.Pointer, size uint64, text, low, high uintptr) (w Warm, ok bool) {
	if size < layout.WarmHeaderSize {
		return w, false
	}
	h := (*layout.WarmHeader)(p)
	if h.Magic != layout.WarmMagic || h.Version != layout.WarmVersion ||
		size != layout.WarmHeaderSize+uint64(h.Funcs)*layout.WarmFuncSize+uint64(h.Edges)*layout.WarmEdgeSize {
		return w, false
	}
	w.head, w.text = h, uint64(text)
	w.funcs = unsafe.Slice((*layout.WarmFunc)(unsafe.Add(p, layout.WarmHeaderSize)), h.Funcs)
	w.edges = unsafe.Slice((*layout.WarmEdge)(unsafe.Add(p,
		layout.WarmHeaderSize+uintptr(h.Funcs)*layout.WarmFuncSize)), h.Edges)
	for i := range w.funcs {
		if !w.isHere(&w.funcs[i], low, high) {
			return w, false
		}
	}
	for i := range w.edges {
		if e := &w.edges[i]; e.Caller >= h.Funcs || e.Callee >= h.Funcs || e.Cell >= w.funcs[e.Caller].Cells {
			return w, false
		}
	}
	return w, true
}

// isHere reports whether this program has the function.
func (w *Warm) isHere(f *layout.WarmFunc, low, high uintptr) bool {
	data := w.data(f)
	if data < low || data >= high || f.Cells > maxSites || avOf(data, f.Cells) > high {
		return false
	}
	id := dataAt(data).Func
	return id == w.text+f.Meta && metaAt(id).Entry == w.text+f.Entry && metaAt(id).Cells == f.Cells
}

func (w *Warm) data(f *layout.WarmFunc) uintptr { return uintptr(w.text + f.Data) }

// NumFuncs returns the number of functions in the file.
func (w *Warm) NumFuncs() int { return len(w.funcs) }

// EnterWarm enters function number i of the file, see Enter.
func (c *Dacce) EnterWarm(w *Warm, i int) (f uint32, isNew bool) { return c.Enter(w.data(&w.funcs[i])) }

// WarmUp makes the edges of the file known. All functions of the file are entered.
// The next plan has them.
func (c *Dacce) WarmUp(w *Warm) {
	for i := range w.edges {
		e := &w.edges[i]
		from := uint32(dataAt(w.data(&w.funcs[e.Caller])).Index)
		to := uint32(dataAt(w.data(&w.funcs[e.Callee])).Index)
		if from == 0 || to == 0 {
			continue // there was no room for them
		}
		known := c.numEdges
		c.saw(c.funcs[from].sites+e.Cell, to, 0)
		if c.numEdges > known {
			c.edges[c.numEdges].Weight = uint64(e.Weight)
		}
	}
	d := c.Stats()
	d.Warm, d.WarmNodes, d.WarmEdges, d.WarmKnown = uint64(w.head.Source), w.head.Nodes, w.head.Graph,
		uint64(c.numEdges)
}

// Fix says that there is no epoch after the next: an edge that it does not encode
// is pushed, without a way through the slow path.
func (c *Dacce) Fix() {
	c.fixed = true
	c.rec.Header().Flags |= layout.HdrFlagStatic
	for s := range c.numSites {
		c.fixSite(s)
	}
}

// fixSite makes site s push as long as no epoch encodes it.
func (c *Dacce) fixSite(s uint32) { *word(c.av(s)) = layout.KeyPush << layout.WordKey }
