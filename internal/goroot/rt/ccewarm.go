package rt

import "unsafe"

// A warm file is a call graph from which calling context encoding starts. It holds
// edges, not ids: the program numbers them itself. So a file that is wrong costs
// pushes, but it cannot make an ID decode to something else.
//
//	{ u64 WarmMagic; u32 WarmVersion; u32 number of functions; u32 number of edges;
//	  u32 source; u64 nodes of the graph; u64 edges of the graph;
//	  functions: { u64 data; u64 metadata; u64 entry; u32 cells; u32 0 }
//	  edges: { u32 caller; u32 cell; u32 callee; u32 weight } }
//
// Addresses are relative to runtime.text; callers and callees are indexes into the
// functions. The edges are acyclic, and the functions in a topological order of
// them, so that the plan need not look for cycles. Of a site that may call several
// functions there are only as many edges as it takes to make its group.
const (
	WarmMagic   = 0x316d7261776d7473 // "stmwarm1"
	WarmVersion = 1

	WarmNumFuncs  = 12
	WarmNumEdges  = 16
	WarmSource    = 20
	WarmNodes     = 24
	WarmGraph     = 32
	WarmHeader    = 40
	WarmFunc      = 32
	WarmFuncCells = 24
	WarmEdge      = 16
)

// Sources of a warm file, as CceWarm and WarmSource have them.
const (
	WarmNone    = 0
	WarmStatic  = 1 // a call graph of the program's source
	WarmRun     = 2 // the record of a run
	WarmMissing = 3 // there is no file
	WarmWrong   = 4 // it was made for another program
)

// A warmFunc and a warmEdge are what the file has.
type warmFunc struct {
	data, meta, entry uint64
	cells, _          uint32
}

type warmEdge struct{ caller, cell, callee, weight uint32 }

// A Warm is a warm file in memory.
type Warm struct {
	head  unsafe.Pointer
	funcs []warmFunc
	edges []warmEdge
	text  uint64
}

// OpenWarm returns the warm file of size bytes at p. ok is false if it is none, or
// if it was made for another program than the one with its code at text and its data
// in [low, high): each function must have its data, metadata and code where the file
// says.
func OpenWarm(p unsafe.Pointer, size uint64, text, low, high uintptr) (w Warm, ok bool) {
	if size < WarmHeader || *(*uint64)(p) != WarmMagic || *(*uint32)(unsafe.Add(p, 8)) != WarmVersion {
		return w, false
	}
	funcs, edges := *(*uint32)(unsafe.Add(p, WarmNumFuncs)), *(*uint32)(unsafe.Add(p, WarmNumEdges))
	if size != WarmHeader+uint64(funcs)*WarmFunc+uint64(edges)*WarmEdge {
		return w, false
	}
	w.head, w.text = p, uint64(text)
	w.funcs = unsafe.Slice((*warmFunc)(unsafe.Add(p, WarmHeader)), funcs)
	w.edges = unsafe.Slice((*warmEdge)(unsafe.Add(p, WarmHeader+uintptr(funcs)*WarmFunc)), edges)
	for i := range w.funcs {
		if !w.isHere(&w.funcs[i], low, high) {
			return w, false
		}
	}
	for i := range w.edges {
		if e := &w.edges[i]; e.caller >= funcs || e.callee >= funcs || e.cell >= w.funcs[e.caller].cells {
			return w, false
		}
	}
	return w, true
}

// isHere reports whether this program has the function.
func (w *Warm) isHere(f *warmFunc, low, high uintptr) bool {
	data := w.data(f)
	if data < low || data >= high || uint64(f.cells) > maxSites || data+DataAV+8*uintptr(f.cells) > high {
		return false
	}
	meta := *word(data + DataMeta)
	return meta == w.text+f.meta && *word(uintptr(meta) + MetaEntry) == w.text+f.entry &&
		*(*uint32)(unsafe.Add(unsafe.Pointer(nil), uintptr(meta)+MetaCells)) == f.cells
}

func (w *Warm) data(f *warmFunc) uintptr { return uintptr(w.text + f.data) }

// NumFuncs returns the number of functions in the file.
func (w *Warm) NumFuncs() int { return len(w.funcs) }

// EnterWarm enters function number i of the file, see Enter.
func (c *Cce) EnterWarm(w *Warm, i int) (f uint32, isNew bool) { return c.Enter(w.data(&w.funcs[i])) }

// WarmUp makes the edges of the file known, of which all functions are entered.
// The next plan has them.
func (c *Cce) WarmUp(w *Warm) {
	for i := range w.edges {
		e := &w.edges[i]
		from := uint32(*word(w.data(&w.funcs[e.caller]) + DataIndex))
		to := uint32(*word(w.data(&w.funcs[e.callee]) + DataIndex))
		if from == 0 || to == 0 {
			continue // there was no room for them
		}
		known := c.numEdges
		c.saw(c.funcs[from].sites+e.cell, to, 0)
		if c.numEdges > known {
			c.edges[c.numEdges].weight = uint64(e.weight)
		}
	}
	*c.Stat(CceWarm) = uint64(*(*uint32)(unsafe.Add(w.head, WarmSource)))
	*c.Stat(CceWarmNodes) = *(*uint64)(unsafe.Add(w.head, WarmNodes))
	*c.Stat(CceWarmEdges) = *(*uint64)(unsafe.Add(w.head, WarmGraph))
	*c.Stat(CceWarmKnown) = uint64(c.numEdges)
}

// Fix says that there is no epoch after the next: an edge that it does not encode
// is pushed, without a way through the slow path.
func (c *Cce) Fix() {
	c.fixed = true
	*c.u32(HdrFlags) |= HdrFlagStatic
	for s := range c.numSites {
		c.fixSite(s)
	}
}

// fixSite makes site s push as long as no epoch encodes it.
func (c *Cce) fixSite(s uint32) { *word(c.av(s)) = KeyPush << WordKey }
