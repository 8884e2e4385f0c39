package rt

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// A Cce encodes calling contexts: it knows the functions that were entered, the
// edges <p,n,l> that were seen, and the ids that the current epoch gives them. It
// is an adaption of DACCE (Li et al., CGO'14) in which the callee, not the caller,
// finds out that an edge is not encoded; see Plan for the encoding.
//
// Its methods must be called under one lock, unless they say otherwise. All its
// memory lies outside the Go heap.
type Cce struct {
	Tree // of which only the header and the records are used

	head   unsafe.Pointer // the two pages of cce
	nodes  Span           // interned entries
	recent Span           // for each of them the last two on top of it, see recentOn
	maxNum uint32         // of them; the last one stands for all that had no room, and is in no file
	epochs Span           // the dictionaries
	pcs    unsafe.Pointer // the table of return addresses
	numPC  uint32         // entries in it
	mem    arena

	max                         limits
	funcs                       []fun  // by index; 0 is not used
	sites                       []site // those of a function lie side by side
	edges                       []edge
	funcMem, siteMem, edgeMem   Span // of the three
	numFuncs, numSites          uint32
	numEdges                    uint32
	entries, targets, internals index       // funcs by entry address, edges by site and target, nodes by contents
	missed                      uint64      // entries that another encoding would have spared, since the last snapshot
	free                        [32]uintptr // ccStacks by the logarithm of their size
	stackMem                    uintptr     // bytes that new ones may take
	plan                        plan
	fixed                       bool // see Fix

	// What the encoder relies on of the header, which may be lost: see Tree.
	text, epoch, nodesUsed, epochsUsed uint64
}

// A fun is a function that was entered.
type fun struct {
	data, entry uintptr
	sites       uint32 // its first one
	cells       uint32
	key, num    uint32 // of the current epoch
}

// A site is a call site with an addition value.
type site struct {
	caller  uint32
	cell    uint32
	add     uint32 // of the current epoch, or NoAddition
	target  uint32 // of the current epoch: the function that a static site calls, the key for a dynamic one
	first   uint32 // the first function that it called, 0 if it was not seen
	dynamic bool
}

// An edge is a pair of a site and a function that it called.
type edge struct {
	site, target uint32
	hits         uint64 // times it was seen since the last plan
	weight       uint64 // calls a second, the best that is known
}

// limits bound what is encoded; what is beyond goes through the slow path for ever.
type limits struct{ funcs, sites, edges uint32 }

const (
	maxFuncs = 1 << 18
	maxSites = 1 << 20
	maxEdges = 1 << 20

	// Where addresses are scarce, all sizes below are divided by 1<<shift, as InitCce
	// is told, and the limits above by 1<<(shift-tableShift).
	MaxShift   = 7
	tableShift = 3
)

// Sizes of the memory that InitCce needs, in bytes. PCSize stays, nodes, epochs and mem are
// spans.
const (
	CceArena   = 1 << 32
	PCSize     = layout.PCEntrySize << PCBits
	NodesSize  = 1 << 30
	EpochsSize = 1 << 30
)

// InitCce makes c an encoder that records in head, of CceSize bytes, and funcs,
// epochs and nodes. All memory is zero; the sizes are divided by 1<<shift, but not funcsSize.
func (c *Cce) InitCce(head, known, funcs, epochs, nodes, pcs, mem unsafe.Pointer, funcsSize, text uint64, shift uint) {
	c.initHeader(head, known, funcs, CceSize, funcsSize)
	c.header().Flags |= HdrFlagCce
	c.head, c.maxNum, c.pcs = head, NodesSize/layout.InternedSize, pcs
	c.epochs, c.nodes = NewSpan(epochs, EpochsSize>>shift), NewSpan(nodes, NodesSize>>shift)
	c.mem = arena{Span: NewSpan(mem, CceArena>>shift)}
	less := max(shift, tableShift) - tableShift
	c.max = limits{maxFuncs >> less, maxSites >> less, maxEdges >> less}
	c.text, c.epoch, c.nodesUsed, c.epochsUsed = text, 0, 1, 0
	c.Header().Text, c.Header().NodesUsed = text, 1
	c.funcs = tableOf[fun](&c.mem, &c.funcMem, c.max.funcs)
	c.sites = tableOf[site](&c.mem, &c.siteMem, c.max.sites)
	c.edges = tableOf[edge](&c.mem, &c.edgeMem, c.max.edges)
	c.recent = c.mem.array(NodesSize/layout.InternedSize>>shift, unsafe.Sizeof(*c.recentOn(0)))
	needs(&c.funcMem, c.funcs, 1)
	c.roomFor(0)
	c.numFuncs, c.stackMem = 1, CceArena>>shift
	c.plan.init(c)
}

// tableOf returns n things, of which only those can be used that mem was asked for.
func tableOf[T any](a *arena, mem *Span, n uint32) []T {
	var t T
	*mem = a.array(uintptr(n), unsafe.Sizeof(t))
	return unsafe.Slice((*T)(mem.base), n)
}

// needs makes n things of a table usable.
func needs[T any](mem *Span, _ []T, n uint32) bool {
	var t T
	return mem.Need(uint64(n) * uint64(unsafe.Sizeof(t)))
}

// LimitStacks bounds the memory of all ccStacks together, in bytes.
func (c *Cce) LimitStacks(n uintptr) { c.stackMem = n }

// Header returns the second page.
//
//go:nosplit
func (c *Cce) Header() *layout.ContextsHeader {
	return (*layout.ContextsHeader)(unsafe.Add(c.head, layout.HeaderSize))
}

// Stats returns what only this engine counts.
func (c *Cce) Stats() *layout.DacceHeader { return &c.Header().Dacce }

// Epoch returns the current epoch.
//
//go:nosplit
func (c *Cce) Epoch() uint64 { return c.epoch }

// UsedEpochs returns the bytes of epochs that are in use.
func (c *Cce) UsedEpochs() uint64 { return c.epochsUsed }

// UsedNodes returns the bytes of nodes that are in use.
func (c *Cce) UsedNodes() uint64 { return c.nodesUsed * layout.InternedSize }

// word returns the word at address p, which is outside the Go heap.
//
//go:nosplit
func word(p uintptr) *uint64 { return (*uint64)(unsafe.Add(unsafe.Pointer(nil), p)) }

// dataAt returns the data of a function, metaAt the metadata of that with the given ID.
// Both lie outside the Go heap.
//
//go:nosplit
func dataAt(p uintptr) *layout.FuncData {
	return (*layout.FuncData)(unsafe.Add(unsafe.Pointer(nil), p))
}

func metaAt(id uint64) *layout.Meta {
	return (*layout.Meta)(unsafe.Add(unsafe.Pointer(nil), uintptr(id)))
}

// avOf returns the address of a cell in the data of a function.
//
//go:nosplit
func avOf(data uintptr, cell uint32) uintptr {
	return data + layout.FuncDataSize + layout.AVSize*uintptr(cell)
}

// An index is a hash set of numbers. Its user compares what they stand for.
type index struct {
	slots unsafe.Pointer
	mask  uint32
	num   uint32
}

func (x *index) at(i uint32) *uint32 {
	return (*uint32)(unsafe.Add(x.slots, uintptr(i&x.mask)*unsafe.Sizeof(i)))
}

// grow makes room for one more number; hash gives the hash of one that is there.
// It reports false if there is no memory.
func (x *index) grow(mem *arena, hash func(uint32) uint32) bool {
	if x.slots != nil && 2*(x.num+1) <= x.mask+1 {
		return true
	}
	old := *x
	x.mask = max(2*(old.mask+1), 1<<10) - 1
	if x.slots = mem.alloc(uintptr(x.mask+1) * unsafe.Sizeof(x.mask)); x.slots == nil {
		*x = old
		return false
	}
	if old.slots == nil {
		return true
	}
	for i := uint32(0); i <= old.mask; i++ {
		if v := *old.at(i); v != 0 {
			x.put(hash(v), v)
		}
	}
	return true
}

func (x *index) put(h, v uint32) {
	for *x.at(h) != 0 {
		h++
	}
	*x.at(h) = v
}

//go:nosplit
func mix(a, b uint64) uint32 {
	h := (a ^ b*0x9E3779B97F4A7C15) * 0xD6E8FEB86659FD93
	return uint32(h >> 32)
}

// Enter makes the function with the given data known, if it is not. It returns
// its index, or 0 if there are too many functions. isNew tells that the record
// of its return addresses is to be written, behind its own.
func (c *Cce) Enter(data uintptr) (f uint32, isNew bool) {
	d := dataAt(data)
	if f = uint32(d.Index); f != 0 {
		return f, false
	}
	meta := metaAt(d.Func)
	cells := meta.Cells
	if c.numFuncs == c.max.funcs || c.numSites+cells > c.max.sites || !c.entries.grow(&c.mem, c.hashEntry) {
		return 0, false
	}
	if !needs(&c.funcMem, c.funcs, c.numFuncs+1) || !needs(&c.siteMem, c.sites, c.numSites+cells) {
		return 0, false
	}
	f = c.numFuncs
	c.funcs[f] = fun{data: data, entry: uintptr(meta.Entry), sites: c.numSites, cells: cells}
	for k := range cells {
		c.sites[c.numSites+k] = site{caller: f, cell: k, add: NoAddition, dynamic: *word(avOf(data, k))&Dynamic != 0}
	}
	c.numSites += cells
	for k := uint32(0); k < cells && c.fixed; k++ {
		c.fixSite(c.funcs[f].sites + k)
	}
	c.entries.put(c.hashEntry(f), f)
	c.entries.num++
	recorded := c.record(meta)
	c.Header().Functions++
	c.numFuncs++
	d.Index = uint64(f)
	return f, recorded
}

func (c *Cce) hashEntry(f uint32) uint32 { return mix(uint64(c.funcs[f].entry), 0) }

// Entered returns the index of the function that begins at entry, or 0 if it was
// not entered.
func (c *Cce) Entered(entry uintptr) uint32 {
	if c.entries.slots == nil {
		return 0
	}
	for h := mix(uint64(entry), 0); ; h++ {
		f := *c.entries.at(h)
		if f == 0 || c.funcs[f].entry == entry {
			return f
		}
	}
}

// Data returns the address of the data of function f.
func (c *Cce) Data(f uint32) uintptr { return c.funcs[f].data }

// ID returns the function ID of function f.
func (c *Cce) ID(f uint32) uint64 { return dataAt(c.funcs[f].data).Func }

// BeginPCs begins the record of the return addresses in function f, of which
// there are n, and whose code has size bytes.
func (c *Cce) BeginPCs(f, size, n uint32) (w PCsWriter) {
	w.w = recordWriter{t: &c.Tree, begin: c.funcsUsed}
	if p := w.w.at(layout.PCsRecordSize); p != nil {
		*(*layout.PCsRecord)(p) = layout.PCsRecord{Kind: RecPCs, ID: c.ID(f), Entry: uint64(c.funcs[f].entry), Size: size, Pairs: n}
	}
	return w
}

// A PCsWriter writes the record of the return addresses in a function.
type PCsWriter struct{ w recordWriter }

// PC adds a return address, as a distance from the entry, and its site.
func (w *PCsWriter) PC(pc, site uint32) {
	if p := w.w.at(layout.PCPairSize); p != nil {
		*(*layout.PCPair)(p) = layout.PCPair{Return: pc, Site: site}
	}
}

// End publishes the record.
func (w *PCsWriter) End() { w.w.end() }

// A Frame is an instrumented frame on a stack. Its function has called another.
type Frame struct {
	Func uint32  // index of the function; 0 for one that was never entered: it calls nothing
	Slot uintptr // address of the slot
	PC   uintptr // the return address; or the instruction that a signal struck
	Site int32   // index of the call's site, or -1
}

// cell returns the index of the frame's site among all sites; ok is false if the
// site has no cell.
func (c *Cce) cell(f *Frame) (s uint32, ok bool) {
	if f.Func == 0 || f.Site < 0 || uint32(f.Site) >= c.funcs[f.Func].cells {
		return 0, false
	}
	return c.funcs[f.Func].sites + uint32(f.Site), true
}

// Step returns the word of the function with the data target, called from the frame f, whose own
// word is w: if the edge is encoded, by addition, else by a push. through says that
// other functions lie between the two. It counts the edge hits times, so that a
// later plan may encode it.
func (c *Cce) Step(st *Stack, w uint64, f *Frame, target uintptr, through bool, hits uint64) uint64 {
	s, ok := c.cell(f)
	if ok {
		if r := w + c.addition(s) - dataAt(target).Key; r < dataAt(target).Limit {
			return r
		}
		if t := uint32(dataAt(target).Index); hits != 0 && t != 0 {
			c.sites[s].dynamic = c.sites[s].dynamic || through
			c.saw(s, t, hits)
		}
	}
	kind := uint32(InternCall)
	if f.Site < 0 {
		kind = InternFault
	}
	return c.Push(st, w, uint64(f.PC), dataAt(target).Func, kind)
}

// addition returns the addition value of site s.
func (c *Cce) addition(s uint32) uint64 { return *word(c.av(s)) }

// av returns the address of the addition value of site s.
//
//go:nosplit
func (c *Cce) av(s uint32) uintptr {
	return avOf(c.funcs[c.sites[s].caller].data, c.sites[s].cell)
}

// saw counts the edge from site s to function target.
func (c *Cce) saw(s, target uint32, hits uint64) {
	c.missed += hits & 1 // pushes are counted by themselves
	hash := func(e uint32) uint32 { return mix(uint64(c.edges[e].site), uint64(c.edges[e].target)) }
	if !c.targets.grow(&c.mem, hash) {
		return
	}
	h := mix(uint64(s), uint64(target))
	for ; ; h++ {
		e := *c.targets.at(h)
		if e == 0 {
			break
		}
		if c.edges[e].site == s && c.edges[e].target == target {
			c.edges[e].hits += hits
			return
		}
	}
	if c.numEdges+1 >= c.max.edges || !needs(&c.edgeMem, c.edges, c.numEdges+2) {
		return
	}
	c.numEdges++
	c.edges[c.numEdges] = edge{site: s, target: target, hits: hits}
	*c.targets.at(h) = c.numEdges
	c.targets.num++
	if c.sites[s].first == 0 {
		c.sites[s].first = target
	} else {
		c.sites[s].dynamic = true // whatever the compiler thought
	}
	c.Header().Edges = uint64(c.numEdges)
}

// LearnPC tells the assembly about a return address: the site of f, or, if f is
// nil, that the function passes contexts through.
func (c *Cce) LearnPC(pc uintptr, f *Frame) {
	if c.numPC >= 1<<PCBits/2 {
		return
	}
	var av, s uint64
	if f != nil {
		i, ok := c.cell(f)
		if !ok {
			return
		}
		av, s = uint64(c.av(i)), uint64(i)
	}
	for h := PCHash(pc); ; h++ {
		e := c.pcEntry(h)
		if e.Return == uint64(pc) {
			return
		}
		if e.Return == 0 {
			e.AV, e.Site = av, s
			storeRel64(&e.Return, uint64(pc)) // readers do not take the lock
			c.numPC++
			return
		}
	}
}

//go:nosplit
func (c *Cce) pcEntry(h uint32) *layout.PCEntry {
	return (*layout.PCEntry)(unsafe.Add(c.pcs, uintptr(h%(1<<PCBits))*layout.PCEntrySize))
}

// PCHash is where the probe for a return address begins.
//
//go:nosplit
func PCHash(pc uintptr) uint32 { return uint32(uint64(pc) * PCMul >> (64 - PCBits)) }

// LookupPC returns what LearnPC has told about pc: the index of the site, or
// that pc is passed through. ok is false if nothing is known.
//
//go:nosplit
func (c *Cce) LookupPC(pc uintptr) (s uint32, through, ok bool) {
	for h := PCHash(pc); ; h++ {
		e := c.pcEntry(h)
		if e.Return == uint64(pc) {
			return uint32(e.Site), e.AV == 0, true
		}
		if e.Return == 0 {
			return 0, false, false
		}
	}
}

// FrameOf returns the frame of a call from site s.
func (c *Cce) FrameOf(s uint32, pc, slot uintptr) Frame {
	return Frame{c.sites[s].caller, slot, pc, int32(c.sites[s].cell)}
}
