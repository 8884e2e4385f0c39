package tree

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory/memorytest"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
)

// # Lost pages
//
// A page of a mapped file may become zeros while the program runs: the disk is
// full, or another process has cut the file. These tests zero pages at random
// and run on. The structures must never make the program loop, fault, or take one
// function's node for another's; what was recorded on the page is lost.

// TestLostPages zeros any page of random trees, with the header's and the root's
// among them, folded and not, and goes on with calls, through sites with
// many targets as well, with faults and recoveries.
func TestLostPages(t *testing.T) {
	memorytest.MustEnd(t, func() {
		for seed := range uint64(60) {
			loseRandom(t, seed)
		}
	})
}

func loseRandom(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 12))
	m := newMachine(t, 1<<25, seed%3 == 0)
	for range 2 + r.IntN(60) {
		f := m.function(1 + r.IntN(6))
		f.Recover = 1
	}
	var stack []lostFrame
	for step := range 20_000 {
		if step > 2000 && step%500 == 0 {
			memorytest.LosePage(m.mem, r.IntN(int(m.tree.Used())/memorytest.LostPage+1))
		}
		stack = m.lostStep(r, stack)
	}
	if m.tree.Used() <= memorytest.LostPage {
		t.Errorf("seed %d: the tree has forgotten what is in use", seed)
	}
}

type lostFrame struct {
	f    *meta
	node uint32
}

// lostStep returns, calls, or faults. A node that is entered is one of the function,
// and when it is known it is the same each time. A table that grows may bring back an
// older node, which an entry on a lost page had hidden; readers add up the two.
func (m *machine) lostStep(r *rand.Rand, stack []lostFrame) []lostFrame {
	if len(stack) > 0 && (r.IntN(3) == 0 || len(stack) > 40) {
		return stack[:r.IntN(len(stack))]
	}
	cell := CellOf(RootNode, layout.RootMain)
	if len(stack) > 0 {
		up := stack[len(stack)-1]
		cell = CellOf(up.node, r.IntN(up.f.cells))
		switch r.IntN(20) {
		case 0:
			if here := m.tree.EnterFault(up.node, uint64(0x400000+r.IntN(100))); here != 0 {
				cell = CellOf(here, 0)
			}
		case 1:
			if c := m.tree.RecoverCell(up.node); c != 0 {
				cell = c
			}
		}
	}
	f := m.metas[r.IntN(len(m.metas))]
	m.ctx = cell
	m.enter(f)
	m.ctx = cell
	n := m.enter(f)
	if id := m.tree.node(n).Func; id != f.id() && !m.tree.inSink(n) {
		m.t.Fatalf("node %d is of function %#x, want %#x", n, id, f.id())
	}
	m.ctx = cell
	if again := m.enter(f); again != n && !m.tree.inSink(n) && m.tree.rec.Header().Lost[layout.LostTables] == 0 {
		m.t.Fatalf("node %d on the third visit, %d on the second", again, n)
	}
	if m.tree.ByEntry(cell, f.Entry) == 0 && !m.tree.inSink(n) && m.tree.rec.Header().Lost[layout.LostTables] == 0 {
		m.t.Fatalf("node %d is not found by its entry", n)
	}
	return append(stack, lostFrame{f, n})
}

// TestLostAncestor loses the page in the middle of a path: recursion across it is
// not found any more, which is counted, and recursion below it is folded.
func TestLostAncestor(t *testing.T) {
	m := newMachine(t, minTree, false)
	outer, inner := m.function(1), m.function(1)
	n := m.enter(outer)
	for range 3 * memorytest.LostPage / 24 { // a path that is longer than a page
		m.call(n, 0)
		n = m.enter(m.function(1))
	}
	memorytest.LosePage(m.mem, int(n)/memorytest.LostPage-1)
	memorytest.MustEnd(t, func() {
		m.call(n, 0)
		below := m.enter(outer)
		if m.tree.node(below).Parent != n {
			t.Errorf("recursion was found through a lost page: parent %d, want %d", m.tree.node(below).Parent, n)
		}
		if m.tree.rec.Header().Lost[layout.LostPaths] == 0 {
			t.Error("no loss is counted")
		}
		m.call(below, 0)
		in := m.enter(inner)
		m.call(in, 0)
		if again := m.tree.Home(m.enter(outer)); again != below {
			t.Errorf("recursion below the lost page leads to node %d, want %d", again, below)
		}
	})
}

// TestTreeStopsGrowing takes the memory from trees that grow, at random moments: what is new
// then is counted in overflow nodes or nowhere, and that is said; the tree stays valid. The
// memory behind what can be used is not touched: it cannot be.
func TestTreeStopsGrowing(t *testing.T) {
	for seed := range uint64(40) {
		r, before := rand.New(rand.NewPCG(seed, 3)), memorytest.Refused
		m := newMachine(t, 1<<25, seed%3 == 0)
		memorytest.LimitReserved(memorytest.AsBytes(m.mem), uint64(1+r.IntN(100))<<14)
		if seed%4 == 0 {
			memorytest.LimitReserved(memorytest.AsBytes(m.funcs), uint64(1+r.IntN(10))<<12)
		}
		for range 2 + r.IntN(300) {
			m.function(1 + r.IntN(6)).Recover = 1
		}
		var stack []lostFrame
		for range 30_000 {
			stack = m.lostStep(r, stack)
		}
		m.validate()
		lost := uint64(0)
		for _, n := range m.tree.rec.Header().Lost {
			lost += n
		}
		if full := memorytest.Refused > before; full && lost == 0 {
			t.Errorf("seed %d: a tree of %d bytes could not grow, and nothing is lost", seed, m.tree.used)
		}
	}
}

// TestFaultInSink has a fault in a function for whose node there was no room: a node below it would have a parent that
// no reader finds, though there is room for so small a one.
func TestFaultInSink(t *testing.T) {
	m := newMachine(t, minTree, false)
	used := m.tree.Used()
	if n := m.tree.EnterFault(m.tree.sink(), 0x400000); n != 0 || m.tree.Used() != used {
		t.Errorf("a fault without a parent has node %d", n)
	}
	if m.tree.rec.Header().Lost[layout.LostNodes] == 0 {
		t.Error("no loss is counted")
	}
	if home := m.tree.Home(m.tree.sink()); home != m.tree.sink() || m.tree.rec.Header().Lost[layout.LostPaths] != 0 {
		t.Errorf("the home of the sink is %d, and %d pages are lost", home, m.tree.rec.Header().Lost[layout.LostPaths])
	}
}

// TestRecordDoesNotFit calls a function from two places while there is no room for its record: no node has a function
// that readers do not know, however often it is entered, and the loss is counted once. When there is room it has
// both.
func TestRecordDoesNotFit(t *testing.T) {
	m := newMachine(t, minTree, false)
	caller, f := m.function(3), m.function(1)
	n := m.enter(caller)
	f.name = strings.Repeat("f", 1<<17) // more than the file has
	f.str.Addr, f.str.Len = uint64(uintptr(unsafe.Pointer(unsafe.StringData(f.name)))), uint64(len(f.name))
	memorytest.LimitReserved(memorytest.AsBytes(m.funcs), 1<<16)
	for k := range 3 {
		m.call(n, k)
		if in := m.enter(f); !m.tree.inSink(in) {
			t.Errorf("call %d: a function without a record has node %d", k, in)
		}
	}
	m.validate()
	if lost := m.tree.rec.Header().Lost[layout.LostFuncs]; lost != 1 {
		t.Errorf("%d functions are lost, want 1", lost)
	}
	memorytest.LimitReserved(memorytest.AsBytes(m.funcs), 1<<20)
	for range 8 { // to grow is tried more and more seldom
		for k := range 3 {
			m.call(n, k)
			m.enter(f)
		}
	}
	for k := range 3 {
		m.call(n, k)
		if in := m.enter(f); m.tree.inSink(in) {
			t.Errorf("call %d: there is room, and the function has no node", k)
		}
	}
	m.validate()
}

// TestManyRecords has more functions than the set of those with a record has room for: the program goes on, and what
// is beyond is counted as lost.
func TestManyRecords(t *testing.T) {
	m := newMachine(t, minTree, false)
	memorytest.LimitReserved(memorytest.AsBytes(m.funcs), 1<<16)
	const most = recorder.KnownSize / 8
	memorytest.MustEnd(t, func() {
		for i := range uint64(most + 10) {
			m.tree.rec.RecordNamed(layout.RecAlloc, layout.AllocID(64*i), "")
		}
	})
	if m.tree.rec.RecordNamed(layout.RecAlloc, layout.AllocID(64*(most+1)), "") {
		t.Error("something beyond the bound has a record")
	}
}
