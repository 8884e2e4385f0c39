// Package tree builds the calling context tree, with nodes for allocations and waits, and the log of calls.
package tree

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
)

// A Tree builds nodes in a tree region. Its methods must be called under one
// lock; readers that only follow cells, as compiled code and the probe in
// assembly do, need none: an object is complete before a cell leads to it.
//
// Any page of the region may become zeros, see Recorder: what the builder reads in it
// it checks where a zero would make it loop.
//
// The zero Tree is not usable; see Init.
type Tree struct {
	rec        *recorder.Recorder
	size, used uint64           // of the region, as in the header
	complete   uint64           // used, for who has no lock
	mem        unsafe.Pointer   // offset 0 of the region, where the header lies
	region     memory.Span      // without the sink
	starts     memory.Span      // a bitmap: does an object begin at this multiple of 8?
	full       bool             // do not fold recursion
	nodes      uint64           // nodes that may still be made
	made       uint64           // nodes that were made, but for overflow nodes
	low, high  uint64           // between them are the IDs that compiled code knows by their lower halves
	labels     Labels           // that goroutines may have
	metrics    uint32           // how many the program has made
	paths      [remembered]path // that were asked for last
}

// Sizes in the region.
const (
	// reserveShift and reserveMin give what is kept for overflow nodes, which are made
	// when there is no room for others, because the region or the disk is full.
	reserveShift = 3
	reserveMin   = 1 << 14

	// SinkSize is the size of the last resort at the end of the region: a
	// place that is as large as any node and leads nowhere. It is no part of the
	// record, and can always be used.
	SinkSize = 1 << 20

	minTree = 1 << 23

	// maxTableLog bounds the table of a site: half of it may be filled.
	maxTableLog = 16
)

// StartsSize returns the bytes of the bitmap for a region of the given size.
func StartsSize(size uint64) uint64 { return size / 64 }

// Init makes t the builder of the region at mem, of size bytes, all zero, with a budget of
// nodes; past it each function has one overflow node. rec writes the header of the region. Init
// makes the root node and the overflow node. starts is zeroed memory of StartsSize(size) bytes.
// Both are spans; the sink and the header can be used. Nothing here points into the Go
// heap.
func (t *Tree) Init(rec *recorder.Recorder, mem, starts unsafe.Pointer, size, nodes uint64, full bool) {
	*t = Tree{} // and nothing in it: with anything the compiler makes it on the stack, which has no room for paths
	t.rec, t.mem, t.size, t.used, t.nodes, t.full = rec, mem, size, layout.HeaderSize, nodes, full
	t.region, t.starts = memory.NewSpan(mem, size-SinkSize), memory.NewSpan(starts, StartsSize(size))
	t.room(layout.HeaderSize, false)
	if full {
		rec.Header().Flags |= layout.HdrFlagFull
	}
	rec.RecordRoot(layout.RootFunc, "stemma.root", layout.RootNames[:])
	rec.RecordRoot(layout.OverflowFunc, "stemma.overflow", []string{"overflow"})
	t.newNode(layout.RootFunc, RootNode, 0, rootSize)
	t.newNode(layout.OverflowFunc, RootNode, layout.RootOverflow, overflowSize)
	*t.cell(CellOf(RootNode, layout.RootOverflow)) = overflowNode
}

// Halves says that compiled code compares the lower halves of the IDs of functions between low and high, which are
// below 1<<32. What a plugin brings lies elsewhere.
func (t *Tree) Halves(low, high uint64) { t.low, t.high = low, high }

// alike reports whether compiled code may take a function for another one, whose ID has the same lower half.
func (t *Tree) alike(id uint64) bool {
	return id != uint64(uint32(id)) && !layout.IsMarked(id) && t.low <= uint64(uint32(id)) &&
		uint64(uint32(id)) < t.high
}

// RootNode is the offset of the root node; it is its own parent.
const RootNode = layout.HeaderSize

const (
	rootSize     = (layout.NodeSize + layout.CellSize*layout.NumRoots + 7) &^ 7
	overflowNode = RootNode + rootSize
	overflowSize = (layout.NodeSize + layout.CellSize + 7) &^ 7
	overflowCell = overflowNode + layout.NodeSize
)

// CellOf returns the offset of cell k of a node.
func CellOf(node uint32, k int) uint32 { return node + layout.NodeSize + layout.CellSize*uint32(k) }

// CellIndex returns which cell of a node the one at an offset is.
func CellIndex(node, cell uint32) uint32 { return (cell - node - layout.NodeSize) / layout.CellSize }

// cell returns the cell at an offset, node and table the object there.
func (t *Tree) cell(off uint32) *uint32      { return (*uint32)(unsafe.Add(t.mem, uintptr(off))) }
func (t *Tree) node(off uint32) *layout.Node { return (*layout.Node)(unsafe.Add(t.mem, uintptr(off))) }
func (t *Tree) table(off uint32) *layout.Table {
	return (*layout.Table)(unsafe.Add(t.mem, uintptr(off)))
}

// entry returns place i of a table.
func (t *Tree) entry(table, i uint32) *uint32 {
	return t.cell(table + layout.TableSize + layout.CellSize*i)
}

// How many nodes a tree has at most if nobody says how many, and how many are so many that the program reports it. A
// reader takes some hundred bytes of memory for each.
const (
	DefaultNodes = 1 << 22
	ManyNodes    = 1 << 21
)

// Made returns how many nodes were made, but for overflow nodes.
func (t *Tree) Made() uint64 { return t.made }

// Bounded reports whether there is a bound of nodes.
func (t *Tree) Bounded() bool { return t.nodes < 1<<32 }

// Used returns the bytes of the region that are in use.
func (t *Tree) Used() uint64 { return t.used }

// A target is what a cell leads to: a function, the allocations of a type, the waits for a reason, a metric, or labels.
type target struct {
	id   uint64
	size uint32       // of a node
	meta *layout.Meta // of a function, nil for others
	kind uint32       // of others: RecAlloc to RecMetric
	name string       // of the type, or the reason
}

// Enter returns the node of the function with metadata meta, entered through
// the cell at offset cell; it creates the node if there is none. It never
// fails: when the region is full it returns an overflow node of the function.
func (t *Tree) Enter(cell uint32, meta *layout.Meta) uint32 {
	return t.enter(cell, target{id: recorder.FuncID(meta), size: meta.NodeSize, meta: meta})
}

func (t *Tree) enter(cell uint32, to target) uint32 {
	id := to.id
	if n := t.Lookup(cell, id); n != 0 {
		return n
	}
	if t.inSink(cell) {
		return t.sink()
	}
	owner := t.Owner(cell)
	parent := t.Home(owner)
	at, n := parent+cell-owner, uint32(0)
	if at != cell {
		n = t.Lookup(at, id)
	}
	if n == 0 {
		n = t.child(parent, at, to)
		if !t.inSink(n) {
			t.link(at, n)
		}
	}
	if at != cell && !t.inSink(n) {
		t.link(cell, n)
	}
	return n
}

// Home returns the node under which the callees of node n hang: for the node
// of a back edge the one that it is folded into, else n itself.
func (t *Tree) Home(n uint32) uint32 {
	if t.full || t.inSink(n) || t.meta(n) == nil && !layout.IsLabels(t.node(n).Func) {
		return n
	}
	return t.path(n).home
}

// homeAbove returns the home of a node below parent, of the function with the given ID
// and metadata, if it is that of a back edge, else 0.
func (t *Tree) homeAbove(parent uint32, id uint64, meta *layout.Meta) uint32 {
	switch {
	case t.full:
		return 0
	case layout.IsLabels(id):
		return t.sameLabels(parent, id)
	case meta == nil:
		return 0
	}
	home, _ := fold.Home(t, parent, id, kindOf(meta))
	return home
}

// kindOf returns what a function is to recursion. Contexts do not show wrappers, so that a cut back to one from
// what other functions call would not be seen.
func kindOf(meta *layout.Meta) fold.Kind {
	if meta == nil {
		return fold.None
	}
	return fold.KindOf(meta.Flags&(layout.MetaFlagAdapter|layout.MetaFlagWrapper) != 0,
		meta.Flags&layout.MetaFlagNew != 0)
}

// Lookup returns the node of function id in cell, or 0.
func (t *Tree) Lookup(cell uint32, id uint64) uint32 {
	v := *t.cell(cell)
	if v == 0 {
		return 0
	}
	if t.node(v).Func == id {
		return v
	}
	if t.table(v).Tag != layout.TagTable {
		return 0
	}
	mask := t.table(v).Mask // 0 if its page has just been lost
	for h := range mask + 1 {
		n := *t.entry(v, (layout.Hash(id)+h)&mask)
		if n == 0 || t.node(n).Func == id {
			return n
		}
	}
	return 0
}

// child makes the node that a call from parent through cell enters. When
// recursion is folded (Ammons et al., PLDI'97, section 4.1) and the function is
// on the path already, at its home, then this is the node of a back edge. It
// counts what was called through this cell, and has no children: its cells lead
// to those of its home. So code that runs in it needs no other sequence, and
// which edge was taken how often is known anyway.
func (t *Tree) child(parent, cell uint32, to target) uint32 {
	id, size := to.id, to.size
	funcs := funcSet{}
	if to.meta != nil && !t.full {
		funcs = t.path(parent).funcs
	}
	home := t.homeAmong(&funcs, parent, id, to.meta)
	if !t.recordTarget(to) {
		return t.sink()
	}
	truncated := parent == overflowNode || t.node(parent).Parent == overflowNode
	switch {
	case !truncated && t.nodes > 0 && t.room(size, true):
		t.nodes--
		t.made++
		n := t.newNode(id, parent, CellIndex(parent, cell), size)
		if to.meta != nil && !t.full {
			t.rememberPath(n, home, &funcs)
		}
		return n
	case home != 0:
		if !truncated {
			t.rec.Lost(layout.LostEdges)
		}
		return home
	case !truncated:
		t.rec.Lost(layout.LostNodes)
	}
	// The node budget is used up, here or further out: one node for each function.
	if n := t.Lookup(overflowCell, id); n != 0 {
		return n
	}
	if !t.room(size, false) {
		return t.sink()
	}
	n := t.newNode(id, overflowNode, 0, size)
	t.link(overflowCell, n)
	return n
}

// Func returns the function of a node, for package fold.
func (t *Tree) Func(n uint32) uint64 { return t.node(n).Func }

// Kind returns what the function of a node is to recursion.
func (t *Tree) Kind(n uint32) fold.Kind { return kindOf(t.meta(n)) }

// Up returns the parent of a node, for package fold. Below labels a function has a home of its own: what runs with
// other labels is no context of it.
func (t *Tree) Up(n uint32) (parent uint32, ok bool) {
	if n == RootNode || layout.IsLabels(t.node(n).Func) {
		return 0, false
	}
	return t.outwards(n), true
}

// outwards returns the parent of node n. A parent lies before its children. One that does not is on a page that was
// lost: what is further out is not known, and the way ends at the root.
func (t *Tree) outwards(n uint32) uint32 {
	up := t.node(n).Parent
	if up < RootNode || up >= n {
		t.rec.Lost(layout.LostPaths)
		return RootNode
	}
	return up
}

// room reports whether size more bytes can be used; with spare, only if overflow nodes have
// room behind them.
func (t *Tree) room(size uint32, spare bool) bool {
	end := t.used + uint64(size)
	if spare {
		end += max(end>>reserveShift, reserveMin)
	}
	return t.starts.Need(end/64+1) && t.region.Need(end)
}

func (t *Tree) sink() uint32              { return uint32(t.size - SinkSize) }
func (t *Tree) inSink(offset uint32) bool { return offset >= t.sink() }

// alloc returns the offset of size zero bytes. The caller has asked room, and publishes the object when it is complete.
func (t *Tree) alloc(size uint32) uint32 {
	off := uint32(t.used)
	*(*uint8)(t.starts.At(uint64(off) / 64)) |= 1 << (off / 8 % 8)
	t.used += uint64(size)
	return off
}

// publish makes the header count what there is: whoever reads it finds complete objects only.
func (t *Tree) publish() {
	memory.StoreRel64(&t.complete, t.used)
	memory.StoreRel64(&t.rec.Header().Used, t.used)
}

// Complete returns the bytes of the region that have complete objects. It may be called without the lock.
func (t *Tree) Complete() uint64 { return memory.Load64(&t.complete) }

// newNode appends a node.
func (t *Tree) newNode(id uint64, parent, cell, size uint32) uint32 {
	n := t.alloc(size)
	node := t.node(n)
	node.Func = id
	node.Cell = cell
	memory.StoreRel32(&node.Parent, parent)
	t.publish()
	return n
}

// Owner returns the node that the cell belongs to: the object that begins
// last before it.
func (t *Tree) Owner(cell uint32) uint32 {
	cell = min(cell, uint32(t.used)-8) // the sink belongs to none
	i := uint64(cell) / 64
	bits := *(*uint8)(t.starts.At(i)) & (1<<(cell/8%8) | (1<<(cell/8%8) - 1))
	for bits == 0 {
		i--
		bits = *(*uint8)(t.starts.At(i))
	}
	top := uint32(0)
	for bits >>= 1; bits != 0; bits >>= 1 {
		top++
	}
	return uint32(i)*64 + top*8
}

// link makes node n reachable through cell, beside what is there already. In a table whole IDs are compared.
func (t *Tree) link(cell, n uint32) {
	v := *t.cell(cell)
	if v == 0 && !t.alike(t.node(n).Func) {
		memory.StoreRel32(t.cell(cell), n)
		return
	}
	old := t.table(v)
	if v == 0 || old.Tag != layout.TagTable {
		table := t.newTable(4)
		if table == 0 {
			t.rec.Lost(layout.LostTables)
			return
		}
		if v != 0 {
			t.insert(table, v)
		}
		t.insert(table, n)
		memory.StoreRel32(t.cell(cell), table)
		return
	}
	if 2*(old.Count+1) <= old.Mask+1 {
		t.insert(v, n)
		return
	}
	table := t.newTable(max(2*(old.Mask+1), 4))
	if table == 0 {
		t.rec.Lost(layout.LostTables)
		return
	}
	for i := uint32(0); i <= old.Mask; i++ {
		if e := *t.entry(v, i); e != 0 {
			t.insert(table, e)
		}
	}
	t.insert(table, n)
	memory.StoreRel32(t.cell(cell), table)
}

// newTable returns an empty table of n entries, a power of 2, or 0 if it may
// not be that large. Then the target that found no place gets a new node each
// time that it is entered, until the budget is used up: no program has so many.
func (t *Tree) newTable(n uint32) uint32 {
	size := layout.TableSize + layout.CellSize*n
	if n > 1<<maxTableLog || !t.room(size, false) {
		return 0
	}
	table := t.alloc(size)
	t.table(table).Size = size
	t.table(table).Mask = n - 1
	memory.StoreRel32(&t.table(table).Tag, layout.TagTable)
	t.publish()
	return table
}

// insert adds node n to a table that has room for it. Readers may be probing.
func (t *Tree) insert(table, n uint32) {
	mask := t.table(table).Mask
	hash := layout.Hash(t.node(n).Func)
	for h := range mask + 1 {
		if e := t.entry(table, (hash+h)&mask); *e == 0 {
			t.table(table).Count++
			memory.StoreRel32(e, n)
			return
		}
	}
}

// ByEntry returns the node in cell whose function begins at the given address,
// or 0.
func (t *Tree) ByEntry(cell uint32, entry uint64) uint32 {
	v := *t.cell(cell)
	if v == 0 {
		return 0
	}
	if t.table(v).Tag != layout.TagTable {
		return t.ifEntry(v, entry)
	}
	for i := uint32(0); i <= t.table(v).Mask; i++ {
		if n := *t.entry(v, i); n != 0 && t.ifEntry(n, entry) != 0 {
			return n
		}
	}
	return 0
}

// meta returns the metadata of a node's function, or nil for one that has none.
func (t *Tree) meta(n uint32) *layout.Meta {
	id := &t.node(n).Func
	if *id <= layout.BypassFunc || layout.IsMarked(*id) {
		return nil
	}
	return *(**layout.Meta)(unsafe.Pointer(id))
}

func (t *Tree) ifEntry(n uint32, entry uint64) uint32 {
	if m := t.meta(n); m == nil || m.Entry != entry {
		return 0
	}
	return n
}

// RecoverCell returns the offset of the cell of node n for what deferreturn
// calls after a recovery, or 0.
func (t *Tree) RecoverCell(n uint32) uint32 {
	m := t.meta(n)
	if m == nil {
		return 0
	}
	if k := m.Recover; k != 0 {
		return CellOf(n, int(k-1))
	}
	return 0
}

// EnterFault creates a node for faults at pc in node parent. It returns 0 if
// there is no room, or was none for the parent.
func (t *Tree) EnterFault(parent uint32, pc uint64) uint32 {
	if t.inSink(parent) || !t.room(layout.FaultSize, false) {
		t.rec.Lost(layout.LostNodes)
		return 0
	}
	return t.newNode(layout.FaultID(pc), parent, layout.NoCell, layout.FaultSize)
}
