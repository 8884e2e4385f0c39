package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory/memorytest"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
	"github.com/stemma-go/stemma/internal/testing/foldtest"
)

// A machine plays the part of compiled code and of the runtime on a Tree in
// ordinary memory: functions with metadata as the compiler lays it out, and the
// sequence that it emits.
type machine struct {
	t       testing.TB
	tree    Tree
	mem     []uint64
	funcs   []uint64
	metas   []*meta
	keep    [][]uint64
	slow    int    // how often the slow path ran
	ctx     uint32 // offset of the cell that the caller left
	names   []string
	counted map[uint32]uint64
}

// meta is a function's metadata, as the compiler lays it out, with one string, and a blob if it has few cells.
type meta struct {
	layout.Meta
	str   layout.MetaString
	blob  [64]byte
	name  string
	cells int
}

func (m *meta) id() uint64 { return uint64(uintptr(unsafe.Pointer(m))) }

func newMachine(t testing.TB, size uint64, full bool) *machine {
	words := func(n uint64) []uint64 { return memorytest.AsWords(memorytest.Reserve(t, int(n))) }
	m := &machine{t: t, mem: words(size), funcs: words(1 << 23), counted: map[uint32]uint64{}}
	starts, known := words(StartsSize(size)+8), make([]uint64, recorder.KnownSize/8)
	// What the runtime makes usable from the beginning: the first page, and the sink.
	for _, part := range [][]uint64{m.mem[:layout.HeaderSize/8], m.mem[(size-SinkSize)/8:]} {
		if err := syscall.Mprotect(memorytest.AsBytes(part), syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
			t.Fatal(err)
		}
	}
	m.keep = append(m.keep, starts, known)
	rec := new(recorder.Recorder)
	rec.Init(unsafe.Pointer(&m.mem[0]), unsafe.Pointer(&known[0]), unsafe.Pointer(&m.funcs[0]), size,
		8*uint64(len(m.funcs)))
	m.tree.Init(rec, unsafe.Pointer(&m.mem[0]), unsafe.Pointer(&starts[0]), size, 1<<40, full)
	m.ctx = CellOf(RootNode, layout.RootMain)
	return m
}

// function adds a function with a number of cells.
func (m *machine) function(cells int) *meta {
	f := &meta{name: fmt.Sprintf("f%d", len(m.metas)), cells: cells}
	f.Meta = layout.Meta{Entry: uint64(0x400000 + 32*len(m.metas)), NodeSize: uint32(layout.NodeBytes(cells, 1)),
		Strings: 1, Cells: uint32(cells)}
	f.str = layout.MetaString{Addr: uint64(uintptr(unsafe.Pointer(unsafe.StringData(f.name)))),
		Len: uint64(len(f.name))}
	f.describe()
	m.metas = append(m.metas, f)
	return f
}

// describe makes the blob of a function that calls something from each of its cells.
func (f *meta) describe() {
	b := []byte{0, 0, 1, 0, 0, byte(f.cells)}
	for k := range f.cells {
		b = append(b, layout.SiteCall, 0, 0, 0, 0, byte(k+1), 0)
	}
	if b = append(b, 0); len(b) <= len(f.blob) {
		f.BlobLen = uint32(copy(f.blob[:], b))
	}
}

// enter is what a function does on entry; it returns the node.
func (m *machine) enter(f *meta) uint32 {
	n := *m.tree.cell(m.ctx) // MOVL (C), N
	if m.tree.node(n).Func != f.id() {
		n = m.tree.Lookup(m.ctx, f.id()) // the probe in assembly
		if n == 0 {
			m.slow++
			n = m.tree.Enter(m.ctx, &f.Meta)
		}
	}
	m.counted[n]++
	return n
}

// call leaves cell k of node n for the callee.
func (m *machine) call(n uint32, k int) { m.ctx = CellOf(n, k) }

// validate walks the region and checks every invariant that readers rely on.
func (m *machine) validate() (nodes int) {
	m.t.Helper()
	byID := map[uint64]*meta{}
	for _, f := range m.metas {
		byID[f.id()] = f
	}
	begun, recorded := map[uint32]bool{}, m.recorded()
	for off := uint32(layout.HeaderSize); off < uint32(m.tree.Used()); {
		size := uint32(0)
		switch id := m.tree.node(off).Func; {
		case id == layout.RootFunc:
			size = rootSize
		case id == layout.OverflowFunc, id == layout.BypassFunc:
			size = overflowSize
		case layout.IsLabels(id):
			size = layout.LabelsSize
		case layout.IsMarked(id) && id < layout.FaultID(0):
			size = layout.AmountSize
		case layout.IsMarked(id):
			size = layout.FaultSize
		case id&7 == 0 && byID[id] != nil:
			size = byID[id].NodeSize
			nodes++
		case uint32(id) == layout.TagTable:
			size = m.tree.table(off).Size
			m.validateTable(off)
		default:
			m.t.Fatalf("offset %d: word %#x is neither a node nor a table", off, id)
		}
		begun[off] = true
		if id := m.tree.node(off).Func; id&7 == 0 && !layout.IsFault(id) && !recorded[id] {
			m.t.Fatalf("node %d is of %#x, which has no record", off, id)
		}
		if owner := m.tree.Owner(off + size - 4); owner != off {
			m.t.Fatalf("offset %d of the object at %d belongs to %d", off+size-4, off, owner)
		}
		if m.tree.node(off).Func&7 == 0 && off != RootNode {
			if p := m.tree.node(off).Parent; p >= off || !begun[p] {
				m.t.Fatalf("node %d has parent %d, which is no earlier node", off, p)
			}
		}
		off += size
	}
	return nodes
}

// recorded returns the IDs of all that has a record.
func (m *machine) recorded() map[uint64]bool {
	ids := map[uint64]bool{}
	for off := uint64(0); off < m.tree.rec.UsedFuncs(); {
		r := (*layout.FuncRecord)(unsafe.Add(m.tree.rec.Funcs(), off))
		ids[r.ID] = true
		off += uint64(r.Length)
	}
	return ids
}

func (m *machine) validateTable(off uint32) {
	m.t.Helper()
	mask, count := m.tree.table(off).Mask, uint32(0)
	for i := range mask + 1 {
		if e := *m.tree.entry(off, i); e != 0 {
			count++
		}
	}
	if count != m.tree.table(off).Count || 2*count > mask+1 {
		m.t.Fatalf("table %d holds %d entries of %d, and says %d", off, count, mask+1, m.tree.table(off).Count)
	}
}

func TestEnterStatic(t *testing.T) {
	m := newMachine(t, minTree, false)
	f, g := m.function(2), m.function(0)
	n := m.enter(f)
	var callees [2]uint32
	for k := range callees {
		m.call(n, k)
		callees[k] = m.enter(g)
		if p := m.tree.node(callees[k]).Parent; p != n {
			t.Errorf("call site %d: parent %d, want %d", k, p, n)
		}
		if c := m.tree.node(callees[k]).Cell; c != uint32(k) {
			t.Errorf("call site %d: cell %d", k, c)
		}
	}
	if callees[0] == callees[1] {
		t.Error("two call sites lead to one node")
	}
	slow := m.slow
	m.call(n, 0)
	if m.enter(g) != callees[0] || m.slow != slow {
		t.Error("the second visit is not the fast path to the same node")
	}
	m.validate()
}

func TestEnterPolymorphic(t *testing.T) {
	for _, targets := range []int{1, 2, 3, 5, 100, 1000} {
		m := newMachine(t, minTree, false)
		n := m.enter(m.function(1))
		want := map[*meta]uint32{}
		for range targets {
			f := m.function(1)
			m.call(n, 0)
			want[f] = m.enter(f)
		}
		slow := m.slow
		for f, node := range want {
			m.call(n, 0)
			if have := m.enter(f); have != node {
				t.Fatalf("%d targets: node %d on the second visit, %d on the first", targets, have, node)
			}
		}
		if m.slow != slow {
			t.Errorf("%d targets: %d second visits took the slow path", targets, m.slow-slow)
		}
		if have := m.validate(); have != targets+1 {
			t.Errorf("%d targets: %d nodes", targets, have)
		}
	}
}

// high moves a function to an address that needs more than 32 bits: the heap begins where chance wants.
func (m *machine) high(f *meta) *meta {
	page, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = syscall.Munmap(page) })
	moved := (*meta)(unsafe.Pointer(&page[0]))
	*moved = *f
	m.metas[slices.Index(m.metas, f)] = moved
	m.names = append(m.names, f.name) // which the collector does not see there
	return moved
}

// TestHalves has a function, a plugin's say, whose ID has a lower half that may be that of another one: a cell must
// lead to it through a table, where whole IDs are compared, from the first call on.
func TestHalves(t *testing.T) {
	m := newMachine(t, 1<<23, false)
	caller, alike, other := m.function(2), m.high(m.function(0)), m.function(0)
	half := uint64(uint32(alike.id()))
	if half == alike.id() {
		t.Fatalf("the ID %#x has no upper half", alike.id())
	}
	m.tree.Halves(half, half+1)
	n := m.enter(caller)
	for k, f := range []*meta{alike, other} {
		m.call(n, k)
		first := m.enter(f)
		m.call(n, k)
		if again := m.enter(f); again != first {
			t.Errorf("cell %d leads to node %d, then to %d", k, first, again)
		}
		v := *m.tree.cell(CellOf(n, k))
		if isTable := m.tree.table(v).Tag == layout.TagTable; isTable != (f == alike) {
			t.Errorf("cell %d leads to a table: %t", k, isTable)
		}
	}
	if m.slow != 3 {
		t.Errorf("the slow path ran %d times, want 3", m.slow)
	}
	m.validate()
}

// TestTooPolymorphic passes what a table may hold: contexts stay right, and
// the loss is counted.
func TestTooPolymorphic(t *testing.T) {
	m := newMachine(t, 1<<25, false)
	n := m.enter(m.function(1))
	for range 1<<maxTableLog/2 + 10 {
		f := m.function(0)
		m.call(n, 0)
		if node := m.enter(f); m.tree.node(node).Func != f.id() || m.tree.node(node).Parent != n {
			t.Fatalf("%s: node %d of function %#x", f.name, node, m.tree.node(node).Func)
		}
	}
	if lost := m.tree.rec.Header().Lost[layout.LostTables]; lost == 0 {
		t.Error("no loss is counted")
	}
	m.validate()
}

// TestNodeBudget counts nodes, not bytes.
func TestNodeBudget(t *testing.T) {
	m := newMachine(t, minTree, true)
	m.tree.nodes = 10
	f := m.function(1)
	for range 100 {
		m.call(m.enter(f), 0)
	}
	if have, want := m.validate(), 10+1; have != want {
		t.Errorf("%d nodes, want %d within the budget and one overflow node", have, want)
	}
}

func TestRecursion(t *testing.T) {
	for _, full := range []bool{false, true} {
		m := newMachine(t, minTree, full)
		f, g := m.function(1), m.function(1)
		var nodes []uint32
		for range 10 {
			for _, fn := range []*meta{f, g} {
				n := m.enter(fn)
				nodes = append(nodes, n)
				m.call(n, 0)
			}
		}
		want := map[bool]int{false: 3, true: 20}[full] // f, g, and f as g calls it
		if have := m.validate(); have != want {
			t.Errorf("full %v: %d nodes, want %d", full, have, want)
		}
		if full {
			continue
		}
		nf, ng, back := nodes[0], nodes[1], nodes[2]
		if m.counted[nf] != 1 || m.counted[ng] != 10 || m.counted[back] != 9 {
			t.Errorf("f is counted %d times, g %d, and f called by g %d; want 1, 10, 9", m.counted[nf],
				m.counted[ng], m.counted[back])
		}
		if m.tree.Home(back) != nf || m.tree.Home(nf) != nf || m.tree.Home(ng) != ng {
			t.Errorf("the back edge's home is %d, want %d", m.tree.Home(back), nf)
		}
	}
}

// TestEdgeBudget folds a recursion where there is no node left: calls count
// where the function was entered first, and the loss is counted.
func TestEdgeBudget(t *testing.T) {
	m := newMachine(t, minTree, false)
	m.tree.nodes = 1
	f := m.function(1)
	n := m.enter(f)
	m.call(n, 0)
	if have := m.enter(f); have != n {
		t.Errorf("node %d, want %d", have, n)
	}
	if lost := m.tree.rec.Header().Lost[layout.LostEdges]; lost != 1 {
		t.Errorf("%d edges are lost, want 1", lost)
	}
	m.validate()
}

// TestFoldedCellOfOther enters another function through the cell of a back
// edge: it must hang below the caller, not below the home.
func TestFoldedCellOfOther(t *testing.T) {
	m := newMachine(t, minTree, false)
	f, g, h := m.function(1), m.function(1), m.function(0)
	nf := m.enter(f)
	m.call(nf, 0)
	ng := m.enter(g)
	m.call(ng, 0)
	if m.tree.Home(m.enter(f)) != nf {
		t.Fatal("recursion is not folded")
	}
	m.call(ng, 0)
	if p := m.tree.node(m.enter(h)).Parent; p != ng {
		t.Errorf("parent %d, want %d", p, ng)
	}
	m.validate()
}

func TestWrappersAreNotFolded(t *testing.T) {
	m := newMachine(t, minTree, false)
	w, f := m.function(1), m.function(1)
	w.Flags |= layout.MetaFlagWrapper
	w1 := m.enter(w)
	m.call(w1, 0)
	nf := m.enter(f)
	m.call(nf, 0)
	w2 := m.enter(w)
	m.call(w2, 0)
	if w1 == w2 || m.tree.Home(w2) != w2 || m.tree.Home(m.enter(f)) != nf {
		t.Error("want the wrapper twice and the function once")
	}
}

// newAdapter has the flags of an adapter that the compiler sets.
const newAdapter = layout.MetaFlagAdapter | layout.MetaFlagNew

// TestAdapters goes through an adapter to three functions, one below the other, and back: each is in its place below
// the others, and the recursion ends at the first of them.
func TestAdapters(t *testing.T) {
	m := newMachine(t, minTree, false)
	a, outer, middle, inner := m.function(1), m.function(1), m.function(1), m.function(1)
	a.Flags |= newAdapter
	var first, last []uint32
	for round := range 4 {
		last = nil
		for _, f := range []*meta{a, outer, a, middle, a, inner} {
			n := m.enter(f)
			if len(last) > 0 && round == 0 {
				if up := m.tree.node(n).Parent; up != last[len(last)-1] {
					t.Errorf("%s is called by node %d, want %d", f.name, up, last[len(last)-1])
				}
			}
			last = append(last, n)
			m.call(n, 0)
		}
		if round == 0 {
			first = last
		}
	}
	if back := last[1]; m.tree.Home(back) != first[1] || m.tree.Home(last[0]) != last[0] {
		t.Errorf("the recursion is folded at %d, want %d; the adapter below it at %d", m.tree.Home(back), first[1],
			m.tree.Home(last[0]))
	}
	if have, want := m.validate(), 6+2; have != want { // and the adapter as inner calls it, and outer as that one does
		t.Errorf("%d nodes, want %d", have, want)
	}
}

// TestAdaptersAlone has recursion that consists of adapters, wrappers and places of faults: it is folded as well.
func TestAdaptersAlone(t *testing.T) {
	m := newMachine(t, minTree, false)
	f, a, b, w := m.function(1), m.function(1), m.function(1), m.function(1)
	a.Flags |= newAdapter
	b.Flags |= newAdapter
	w.Flags |= layout.MetaFlagWrapper
	m.call(m.enter(f), 0)
	faults := map[uint32]uint32{}
	for round := range 100 {
		n := m.tree.Home(m.enter(a))
		if round%2 == 0 { // the runtime knows the places of faults
			if faults[n] == 0 {
				faults[n] = m.tree.EnterFault(n, 0x401234)
			}
			m.call(faults[n], 0)
		} else {
			m.call(n, 0)
		}
		m.call(m.enter(w), 0)
		m.call(m.enter(b), 0)
	}
	if have, most := m.validate(), 20; have > most {
		t.Errorf("%d nodes, want at most %d", have, most)
	}
}

// TestAdaptersInPlace enters all short paths: the node of each has the place that folding of the path before it gives.
func TestAdaptersInPlace(t *testing.T) {
	m := newMachine(t, 1<<26, false)
	flags := map[fold.Kind]uint32{fold.Adapter: newAdapter, fold.Wrapper: layout.MetaFlagWrapper}
	const letters = "FGabw"
	var functions [128]*meta
	for _, c := range letters {
		functions[c] = m.function(1)
		functions[c].Flags |= flags[foldtest.Kind(byte(c))]
		functions[c].name = string(c)
	}
	byID := map[uint64]string{}
	for _, f := range m.metas {
		byID[f.id()] = f.name
	}
	for path := range foldtest.Paths(letters, 6) {
		m.call(RootNode, layout.RootMain)
		n := uint32(0)
		for _, c := range path {
			n = m.enter(functions[c])
			m.call(n, 0)
		}
		have := ""
		for ; n != RootNode; n = m.tree.node(n).Parent {
			have = byID[m.tree.node(n).Func] + have
		}
		last := len(path) - 1
		if want := foldtest.Folded(path[:last]) + path[last:]; have != want {
			t.Fatalf("%s: have %s, want %s", path, have, want)
		}
	}
	m.validate()
}

// TestBudget uses up the region: counts go on, at overflow nodes, one for each
// function, and in the end in the sink; nothing is written outside.
func TestBudget(t *testing.T) {
	m := newMachine(t, minTree, true)
	f, g := m.function(3), m.function(1)
	r := rand.New(rand.NewPCG(1, 2))
	n := m.enter(f)
	for range 400_000 {
		m.call(n, r.IntN(3))
		n = m.enter(f)
	}
	m.call(n, 0)
	o := m.enter(g)
	if p := m.tree.node(o).Parent; p != overflowNode {
		t.Errorf("parent %d past the budget, want the overflow node %d", p, overflowNode)
	}
	m.call(o, 0)
	if m.enter(g) != o {
		t.Error("an overflow node's callee of the same function is another node")
	}
	if m.tree.rec.Header().Lost[layout.LostNodes] == 0 {
		t.Error("no loss is counted")
	}
	m.validate()
	for range 100_000 {
		m.call(o, 0)
		if n := m.enter(m.function(2)); m.tree.inSink(n) {
			m.call(n, 1)
			if !m.tree.inSink(m.enter(f)) {
				t.Error("a call out of the sink leads into the tree")
			}
			return
		}
	}
	t.Error("the reserve for overflow nodes is never used up")
}

// TestRandom compares random calls, returns, jumps out of several frames and
// goroutine switches with the stack of call sites that leads to each node.
func TestRandom(t *testing.T) {
	for seed := range uint64(20) {
		randomCalls(t, seed, 20_000)
	}
}

func FuzzCalls(f *testing.F) {
	f.Add(uint64(1), uint16(500))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint16) { randomCalls(t, seed, int(steps)) })
}

type frame struct {
	f      *meta
	node   uint32
	path   string
	folded []*meta // the functions of path
}

func randomCalls(t testing.TB, seed uint64, steps int) {
	r := rand.New(rand.NewPCG(seed, 1))
	full := seed%2 == 0
	m := newMachine(t, 1<<26, full)
	for range 3 + r.IntN(30) {
		f := m.function(1 + r.IntN(6))
		if seed%3 == 0 {
			f.Flags |= []uint32{0, 0, 0, newAdapter, newAdapter, layout.MetaFlagAdapter, layout.MetaFlagWrapper,
				layout.MetaFlagWrapper | layout.MetaFlagNew}[r.IntN(8)]
		}
	}
	paths := map[string]uint32{} // reference: path of sites → node
	counts := map[uint32]uint64{}
	stacks := [3][]frame{}
	for range steps {
		s := &stacks[r.IntN(len(stacks))]
		if len(*s) > 0 && (r.IntN(3) == 0 || len(*s) > 40) {
			*s = (*s)[:r.IntN(len(*s))] // return, or a panic that skips frames
			continue
		}
		up := frame{node: RootNode, path: "/"}
		k := layout.RootMain
		if len(*s) > 0 {
			up = (*s)[len(*s)-1]
			k = r.IntN(up.f.cells)
		}
		m.call(up.node, k)
		f := m.metas[r.IntN(len(m.metas))]
		node := m.enter(f)
		counts[node]++
		path := fmt.Sprintf("%s%d:%s/", up.path, k, f.name)
		if have, ok := paths[path]; ok && have != node {
			t.Fatalf("seed %d: path %s has nodes %d and %d", seed, path, have, node)
		}
		paths[path] = node
		home := foldtest.HomeOf(up.folded, f, func(f *meta) fold.Kind { return kindOf(&f.Meta) })
		if !full && home < len(up.folded) {
			i := strings.LastIndex(up.path, ":"+f.name+"/")
			path = up.path[:i+len(f.name)+2] // what it calls hangs below that entry of f
		}
		*s = append(*s, frame{f, node, path, append(slices.Clone(up.folded[:home]), f)})
	}
	byNode := map[uint32]string{}
	for path, node := range paths {
		if other, ok := byNode[node]; ok {
			t.Fatalf("seed %d: node %d has paths %s and %s", seed, node, path, other)
		}
		byNode[node] = path
	}
	if have := m.validate(); have != len(paths) {
		t.Fatalf("seed %d: %d nodes for %d paths", seed, have, len(paths))
	}
	for node, n := range counts {
		if m.counted[node] != n {
			t.Fatalf("seed %d: node %d counted %d times, want %d", seed, node, m.counted[node], n)
		}
	}
}

func TestByEntry(t *testing.T) {
	m := newMachine(t, minTree, false)
	n := m.enter(m.function(1))
	f, g := m.function(0), m.function(0)
	m.call(n, 0)
	if m.tree.ByEntry(m.ctx, f.Entry) != 0 {
		t.Error("an empty cell has a node")
	}
	nf := m.enter(f)
	if m.tree.ByEntry(m.ctx, f.Entry) != nf || m.tree.ByEntry(m.ctx, g.Entry) != 0 {
		t.Error("wrong node in a cell with one")
	}
	ng := m.enter(g)
	if m.tree.ByEntry(m.ctx, f.Entry) != nf || m.tree.ByEntry(m.ctx, g.Entry) != ng {
		t.Error("wrong node in a table")
	}
}

func TestFault(t *testing.T) {
	m := newMachine(t, minTree, false)
	f, d := m.function(1), m.function(0)
	f.Recover = 1
	n := m.enter(f)
	here := m.tree.EnterFault(n, 0x401234)
	m.call(here, 0)
	if p := m.tree.node(m.enter(d)).Parent; p != here {
		t.Errorf("parent %d, want the fault %d", p, here)
	}
	if have, want := m.tree.RecoverCell(n), CellOf(n, 0); have != want {
		t.Errorf("cell %d after recovery, want %d", have, want)
	}
	if m.tree.RecoverCell(here) != 0 || m.tree.RecoverCell(RootNode) != 0 {
		t.Error("a node without metadata has a recover cell")
	}
	m.validate()
}
