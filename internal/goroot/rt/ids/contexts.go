// Package ids encodes calling contexts as IDs, by dacce and by lucce.
package ids

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
)

// A Contexts is what the engines with context IDs have in common: the functions that were
// entered, with their call sites and return addresses, and interned entries, which say what is
// outside of a context. Dacce and Lucce stand on top of it, each with a state of its own.
//
// Its methods must be called under one lock, unless they say otherwise. All its
// memory lies outside the Go heap.
type Contexts struct {
	internedFile
	rec    *recorder.Recorder
	budget uint32         // numbers of interned entries are less, and less than maxNum
	begun  uint64         // entries that the segment began with
	pcs    unsafe.Pointer // the table of return addresses
	numPC  uint32         // entries in it
	text   uint64         // address that the PC of an ID is relative to
	mem    memory.Arena
	stacks stackPool // in mem

	max                limits
	funcs              []fun       // by index; 0 is not used
	sites              []site      // those of a function lie side by side
	funcMem, siteMem   memory.Span // of the two
	numFuncs, numSites uint32
	entries            index // funcs by entry address
	crowded            bool  // there was a function for which there was no room, see Crowded
}

// An internedFile is what one record, or one segment of it, has of interned entries.
type internedFile struct {
	head         unsafe.Pointer // the two pages of cce; the recorder writes the first
	internedMem  memory.Span    // interned entries
	internedUsed uint64         // of them, as in the header
	recent       memory.Span    // for each interned entry the last two on top of it, see recentOn
	maxNum       uint32         // of them; the last one stands for all that had no room, and is in no file
}

// A fun is a function that was entered.
type fun struct {
	data, entry uintptr
	sites       uint32 // its first one
	cells       uint32
}

// A site is a call site with a cell in the function's data.
type site struct {
	caller uint32
	cell   uint32
}

// limits bound what is encoded; what is beyond goes through the slow path for ever.
type limits struct{ funcs, sites uint32 }

const (
	maxFuncs = 1 << 18
	maxSites = 1 << 20

	// Where addresses are scarce, all sizes below are divided by 1<<shift, as Init
	// is told, and the limits above by 1<<(shift-tableShift).
	MaxShift   = 7
	tableShift = 3
)

// Sizes of the memory that Init needs, in bytes. PCSize stays, interned entries and mem are spans.
const (
	ArenaSize = 1 << 32
	PCSize    = layout.PCEntrySize << layout.PCBits
)

// Init makes c describe contexts in head, of ContextsSize bytes, whose first page rec
// writes, and in interned, the file nodes. All memory is zero; the sizes are divided by 1<<shift.
func (c *Contexts) Init(rec *recorder.Recorder, head, interned, pcs, mem unsafe.Pointer, text uint64, shift uint) {
	*c = Contexts{rec: rec, pcs: pcs, text: text,
		internedFile: internedFile{head: head, internedUsed: 1, maxNum: layout.InternedBytes / layout.InternedSize,
			internedMem: memory.NewSpan(interned, layout.InternedBytes>>shift)},
		mem:    memory.Arena{Span: memory.NewSpan(mem, ArenaSize>>shift)},
		stacks: stackPool{left: ArenaSize >> shift}}
	c.budget = c.maxNum - 1
	rec.Header().Flags |= layout.HdrFlagCce
	c.Header().Text, c.Header().NodesUsed = text, 1
	c.max = limits{scaled(maxFuncs, shift), scaled(maxSites, shift)}
	c.funcs = tableOf[fun](&c.mem, &c.funcMem, c.max.funcs)
	c.sites = tableOf[site](&c.mem, &c.siteMem, c.max.sites)
	c.recent = c.mem.Array(layout.InternedBytes/layout.InternedSize>>shift, unsafe.Sizeof(*c.recentOn(0)))
	needs(&c.funcMem, c.funcs, 1)
	c.numFuncs = 1
	c.internedRoom(0)
}

// scaled returns a limit where sizes are divided by 1<<shift.
func scaled(limit uint32, shift uint) uint32 { return limit >> (max(shift, tableShift) - tableShift) }

// tableOf returns n things. Only those can be used that mem was asked for.
func tableOf[T any](a *memory.Arena, mem *memory.Span, n uint32) []T {
	var t T
	*mem = a.Array(uintptr(n), unsafe.Sizeof(t))
	return unsafe.Slice((*T)(mem.At(0)), n)
}

// needs makes n things of a table usable.
func needs[T any](mem *memory.Span, _ []T, n uint32) bool {
	var t T
	return mem.Need(uint64(n) * uint64(unsafe.Sizeof(t)))
}

// LimitInterned makes the numbers of interned entries, which begin at 1, less than n. Contexts that need more are cut.
func (c *Contexts) LimitInterned(n uint64) { c.budget = uint32(min(n, uint64(c.maxNum)-1)) }

// NearlyFull reports whether three quarters are in use of the interned entries that were left when the segment began.
// It may be called without the lock.
func (c *Contexts) NearlyFull() bool { return nearlyFull(c.internedUsed, c.begun, uint64(c.budget)) }

// nearlyFull reports whether three quarters are in use of what was left when the segment began.
func nearlyFull(used, began, all uint64) bool { return began < all && used-began > (all-began)/4*3 }

// Begun notes that the segment has all that it has of the one before.
func (c *Contexts) Begun() { c.begun = c.internedUsed }

// Known returns how many functions and sites there are. It may be called without the lock.
func (c *Contexts) Known() (funcs, sites uint32) {
	return memory.Load32(&c.numFuncs), memory.Load32(&c.numSites)
}

// LimitStacks bounds the memory of all ccStacks together, in bytes.
func (c *Contexts) LimitStacks(n uintptr) { c.stacks.left = n }

// Header returns the second page.
//
//go:nosplit
func (f *internedFile) Header() *layout.ContextsHeader {
	return (*layout.ContextsHeader)(unsafe.Add(f.head, layout.HeaderSize))
}

// UsedInterned returns the bytes of the file nodes that are in use.
func (f *internedFile) UsedInterned() uint64 { return f.internedUsed * layout.InternedSize }

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

// size returns how many numbers there are places for.
func (x *index) size() uint64 {
	if x.slots == nil {
		return 0
	}
	return uint64(x.mask) + 1
}

// grow makes room for one more number; hash gives the hash of one that is there.
// It reports false if there is no memory.
func (x *index) grow(mem *memory.Arena, hash func(uint32) uint32) bool {
	if x.slots != nil && 2*(x.num+1) <= x.mask+1 {
		return true
	}
	old := *x
	mask := max(2*(old.mask+1), 1<<10) - 1
	slots := mem.Alloc(uintptr(mask+1) * unsafe.Sizeof(mask))
	if slots == nil {
		return false
	}
	memory.SetPointer(&x.slots, slots)
	x.mask = mask
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

// Crowded reports whether functions were entered for which there was no room. Their contexts, and those of what they
// call, are cut. A frame of such a function holds that as any other frame its context.
func (c *Contexts) Crowded() bool { return c.crowded }

// refuse notes that there was no room for a function.
func (c *Contexts) refuse() (f uint32, recorded bool) {
	c.crowded = true
	return 0, false
}

// enter makes the function with the given data known, which it is not. It returns
// its index, or 0 if there are too many functions. recorded tells that the record
// of its return addresses is to be written, behind its own.
func (c *Contexts) enter(data uintptr) (f uint32, recorded bool) {
	d := dataAt(data)
	meta := metaAt(d.Func)
	cells := meta.Cells
	if c.numFuncs == c.max.funcs || c.numSites+cells > c.max.sites || !c.entries.grow(&c.mem, c.hashEntry) {
		return c.refuse()
	}
	if !needs(&c.funcMem, c.funcs, c.numFuncs+1) || !needs(&c.siteMem, c.sites, c.numSites+cells) {
		return c.refuse()
	}
	f = c.numFuncs
	c.funcs[f] = fun{data: data, entry: uintptr(meta.Entry), sites: c.numSites, cells: cells}
	for k := range cells {
		c.sites[c.numSites+k] = site{caller: f, cell: k}
	}
	c.numSites += cells
	c.entries.put(c.hashEntry(f), f)
	c.entries.num++
	recorded = c.rec.Record(meta)
	c.Header().Functions++
	c.numFuncs++
	d.Index = uint64(f)
	return f, recorded
}

func (c *Contexts) hashEntry(f uint32) uint32 { return mix(uint64(c.funcs[f].entry), 0) }

// Entered returns the index of the function that begins at entry, or 0 if it was
// not entered.
func (c *Contexts) Entered(entry uintptr) uint32 {
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
func (c *Contexts) Data(f uint32) uintptr { return c.funcs[f].data }

// ID returns the function ID of function f.
func (c *Contexts) ID(f uint32) uint64 { return dataAt(c.funcs[f].data).Func }

// BeginPCs begins the record of the n return addresses in function f, whose code
// has size bytes.
func (c *Contexts) BeginPCs(f, size, n uint32) (w PCsWriter) {
	w.w = c.rec.NewRecord()
	if p := w.w.At(layout.PCsRecordSize); p != nil {
		*(*layout.PCsRecord)(p) = layout.PCsRecord{Kind: layout.RecPCs, ID: c.ID(f), Entry: uint64(c.funcs[f].entry),
			Size: size, Pairs: n}
	}
	return w
}

// A PCsWriter writes the record of the return addresses in a function.
type PCsWriter struct{ w recorder.Writer }

// PC adds a return address, as a distance from the entry, and its site.
func (w *PCsWriter) PC(pc, site uint32) {
	if p := w.w.At(layout.PCPairSize); p != nil {
		*(*layout.PCPair)(p) = layout.PCPair{Return: pc, Site: site}
	}
}

// End publishes the record.
func (w *PCsWriter) End() { w.w.End() }

// A Frame is an instrumented frame on a stack. Its function has called another.
type Frame struct {
	Func uint32  // index of the function; 0 for one that calls nothing, or, with a slot, that there was no room for
	Slot uintptr // address of the slot, 0 if the function calls nothing
	PC   uintptr // the return address; or the instruction that a signal struck
	Site int32   // index of the call's site, or -1
}

// cell returns the index of the frame's site among all sites; ok is false if the
// site has no cell.
func (c *Contexts) cell(f *Frame) (s uint32, ok bool) {
	if f.Func == 0 || f.Site < 0 || uint32(f.Site) >= c.funcs[f.Func].cells {
		return 0, false
	}
	return c.funcs[f.Func].sites + uint32(f.Site), true
}

// av returns the address of the addition value of site s.
//
//go:nosplit
func (c *Contexts) av(s uint32) uintptr {
	return avOf(c.funcs[c.sites[s].caller].data, c.sites[s].cell)
}

// LearnPC tells the assembly about a return address: the site of f, or, if f is
// nil, that the function passes contexts through.
func (c *Contexts) LearnPC(pc uintptr, f *Frame) {
	if c.numPC >= 1<<layout.PCBits/2 {
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
			memory.StoreRel64(&e.Return, uint64(pc)) // readers do not take the lock
			c.numPC++
			return
		}
	}
}

//go:nosplit
func (c *Contexts) pcEntry(h uint32) *layout.PCEntry {
	return (*layout.PCEntry)(unsafe.Add(c.pcs, uintptr(h%(1<<layout.PCBits))*layout.PCEntrySize))
}

// PCHash is where the probe for a return address begins.
//
//go:nosplit
func PCHash(pc uintptr) uint32 { return uint32(uint64(pc) * layout.PCMul >> (64 - layout.PCBits)) }

// LookupPC returns what LearnPC has told about pc: the index of the site, or
// that pc is passed through. ok is false if nothing is known.
//
//go:nosplit
func (c *Contexts) LookupPC(pc uintptr) (s uint32, through, ok bool) {
	e := c.learnt(pc)
	if e == nil {
		return 0, false, false
	}
	return uint32(e.Site), e.AV == 0, true
}

// learnt returns what LearnPC has told about pc, or nil.
//
//go:nosplit
func (c *Contexts) learnt(pc uintptr) *layout.PCEntry {
	for h := PCHash(pc); ; h++ {
		e := c.pcEntry(h)
		ret := memory.Load64(&e.Return) // what does not change was written before
		if ret == uint64(pc) {
			return e
		}
		if ret == 0 {
			return nil
		}
	}
}

// FrameOf returns the frame of a call from site s.
func (c *Contexts) FrameOf(s uint32, pc, slot uintptr) Frame {
	return Frame{c.sites[s].caller, slot, pc, int32(c.sites[s].cell)}
}

// interned returns entry i of the file nodes.
//
//go:nosplit
func (f *internedFile) interned(i uint32) *layout.Interned {
	return (*layout.Interned)(f.internedMem.At(uint64(i) * layout.InternedSize))
}

//go:nosplit
func hashInterned(n *layout.Interned) uint32 {
	// Entries differ in a few bits of a few fields: each line must spread those before.
	const m1, m2 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
	h := (uint64(n.Parent)<<32 | uint64(n.ID)) * m1
	h = (h ^ h>>32 ^ n.Place) * m2
	h = (h ^ h>>32 ^ n.Target ^ uint64(n.Epoch)<<40 ^ uint64(n.Kind)<<60) * m1
	return uint32(h >> 32)
}

// internedRoom makes room for interned entry number i, and for those that are last on top of it.
func (f *internedFile) internedRoom(i uint32) bool {
	return f.recent.Need(uint64(i+1)*uint64(unsafe.Sizeof(*f.recentOn(0)))) &&
		f.internedMem.Need(uint64(i+1)*layout.InternedSize)
}

// recentOn returns where the two entries are that were looked for last on top of a
// parent: the last one in the lower half. There are none on top of the one that had no room. They lie near each other,
// as entries do that are made together, where the places in a hash table of millions lie anywhere.
//
//go:nosplit
func (f *internedFile) recentOn(parent uint32) *uint64 {
	if parent == f.maxNum-1 {
		return nil
	}
	return (*uint64)(f.recent.At(uint64(parent) * uint64(unsafe.Sizeof(uint64(0)))))
}

// noteRecent makes entry i the last one on top of its parent. It needs no lock: what two threads note at once is
// noted once.
//
//go:nosplit
func (f *internedFile) noteRecent(parent, i uint32) {
	if recent := f.recentOn(parent); recent != nil {
		memory.StoreRel64(recent, memory.Load64(recent)<<32|uint64(i))
	}
}

// addInterned appends an interned entry, for which there is room.
func (f *internedFile) addInterned(n *layout.Interned) {
	*f.interned(uint32(f.internedUsed)) = *n
	f.internedUsed++
	memory.StoreRel64(&f.Header().NodesUsed, f.internedUsed)
}

// Cut counts a context that is not known as a whole, and returns the last entry, which reports it.
func (c *Contexts) Cut() uint32 {
	c.Header().Truncated++
	return c.maxNum - 1
}
