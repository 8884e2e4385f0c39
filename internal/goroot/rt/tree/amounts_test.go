package tree

import (
	"fmt"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// allocate is what the runtime does for an allocation; it returns the node.
func (m *machine) allocate(typ uint64) uint32 {
	id := layout.AllocID(typ)
	if n := m.tree.Lookup(m.ctx, id); n != 0 {
		return n
	}
	return m.tree.EnterAlloc(m.ctx, id, fmt.Sprint("T", typ))
}

// wait is what the runtime does for a wait; it returns the node.
func (m *machine) wait(reason uint64) uint32 {
	if n := m.tree.Lookup(m.ctx, layout.WaitID(reason)); n != 0 {
		return n
	}
	return m.tree.EnterWait(m.ctx, layout.WaitID(reason), fmt.Sprint("R", reason))
}

// TestWait enters nodes of waits beside one of allocations and a callee, and finds the cell for a goroutine that
// was preempted.
func TestWait(t *testing.T) {
	m := newMachine(t, 1<<22, false)
	f, g, h := m.function(2), m.function(1), m.function(0)
	h.NodeSize = uint32(layout.NodeBytes(0, 8))
	n := m.enter(f)
	m.call(n, 0)
	seen := map[uint32]bool{0: true, n: true}
	for _, node := range []uint32{m.wait(0), m.wait(1), m.allocate(0), m.enter(g)} {
		if seen[node] {
			t.Errorf("node %d has two meanings", node)
		}
		seen[node] = true
	}
	first, second := m.wait(0), m.wait(1)
	if first != m.wait(0) || second != m.wait(1) || first == second {
		t.Errorf("waits for two reasons have nodes %d and %d, and later %d and %d", first, second, m.wait(0), m.wait(1))
	}
	cell := *m.tree.cell(m.ctx)
	aside := m.tree.EnterAside(m.ctx, layout.RecWait, layout.WaitID(2), "R2")
	if seen[aside] || *m.tree.cell(m.ctx) != cell || m.tree.node(aside).Parent != n ||
		m.tree.node(aside).Func != layout.WaitID(2) || m.tree.Lookup(m.ctx, layout.WaitID(2)) != 0 {
		t.Errorf("node %d aside changes the cell, or is not below node %d", aside, n)
	}

	callee := m.enter(g)
	m.call(n, 1)
	leaf := m.enter(h)
	m.call(n, 0)
	for _, c := range []struct {
		what       string
		node, cell uint32
		of         *meta
		want       uint32
	}{
		{"after a call of its own", n, CellOf(n, 1), f, CellOf(n, 1)},
		{"after a call that a callee has made", n, CellOf(callee, 0), f, CellOf(n, 0)},
		{"before its first call", callee, CellOf(n, 0), g, CellOf(callee, 0)},
		{"in a function that calls nothing", leaf, CellOf(n, 1), h, CellOf(n, 1)},
		{"in one that calls nothing, long after it was called", leaf, CellOf(n, 0), h, 0},
		{"in the node of another function", callee, CellOf(n, 0), f, 0},
		{"in waits", first, CellOf(n, 1), f, 0},
		{"between nodes", n + 8, CellOf(n, 1), f, 0},
		{"not at a word", n + 1, CellOf(n, 1), f, 0},
		{"behind all nodes", 1 << 21, CellOf(n, 1), f, 0},
	} {
		if have := m.tree.CellNear(c.node, c.cell, c.of.Entry); have != c.want {
			t.Errorf("%s: cell %d, want %d", c.what, have, c.want)
		}
	}
}

// TestAlloc enters nodes of allocations: there is one for each type and cell, beside what the cell
// leads to otherwise; a back edge has those of its home; and when there is no room, one for each type.
func TestAlloc(t *testing.T) {
	m := newMachine(t, 1<<22, false)
	f, g := m.function(2), m.function(1)
	n := m.enter(f)
	m.call(n, 0)
	one := m.allocate(64)
	if again := m.allocate(64); again != one {
		t.Errorf("the same type at the same cell has node %d, and then %d", one, again)
	}
	untyped, other := m.allocate(0), m.allocate(128)
	callee := m.enter(g)
	m.call(n, 1)
	elsewhere := m.allocate(64)
	seen := map[uint32]bool{0: true, n: true}
	for _, node := range []uint32{one, untyped, other, callee, elsewhere} {
		if seen[node] {
			t.Errorf("node %d has two meanings", node)
		}
		seen[node] = true
	}

	m.call(n, 1)
	back := m.enter(f)
	m.call(back, 0)
	if have := m.allocate(64); have != one || back == n {
		t.Errorf("allocated in a back edge: node %d, want %d, that of its home", have, one)
	}
	if nodes := m.validate(); nodes != 3 {
		t.Errorf("%d nodes of functions, want 3", nodes)
	}

	m.tree.nodes = 0
	m.call(n, 0)
	cut := m.allocate(256)
	m.call(n, 1)
	if have := m.allocate(256); have != cut || m.tree.node(cut).Parent != overflowNode {
		t.Errorf("without room: node %d, and %d below %d; want one node below %d", cut, have,
			m.tree.node(cut).Parent, uint32(overflowNode))
	}
	m.validate()
}

// TestMetrics makes as many metrics as there may be, and more, and adds to two of them at one call site, beside one of
// allocations and a callee. What is added to a back edge is at the node that it is folded into.
func TestMetrics(t *testing.T) {
	m := newMachine(t, 1<<22, false)
	ids := make(map[uint64]bool)
	for i := range uint64(layout.MaxMetrics) {
		id := m.tree.NewMetric(fmt.Sprint("m", i), "count")
		if id == 0 || ids[id] || !layout.IsMarked(id) || layout.IsLabels(id) || id == layout.RunID || id&7 != 0 ||
			id == layout.WaitID(i) || id == layout.HeldID(i) {
			t.Fatalf("metric %d has the ID %#x, want one of its own", i, id)
		}
		ids[id] = true
	}
	if id := m.tree.NewMetric("more", "count"); id != 0 || m.tree.rec.Header().Lost[layout.LostMetrics] != 1 {
		t.Errorf("one more than there may be has the ID %#x, and %d are lost, want 0 and 1", id,
			m.tree.rec.Header().Lost[layout.LostMetrics])
	}
	f, g := m.function(2), m.function(1)
	n := m.enter(f)
	m.call(n, 0)
	cell := m.ctx
	seen := map[uint32]bool{0: true, n: true}
	for _, k := range []uint32{0, 1} {
		id := layout.MetricID(k)
		node := m.tree.EnterMetric(cell, id)
		if seen[node] || m.tree.EnterMetric(cell, id) != node || m.tree.node(node).Parent != n {
			t.Errorf("metric %d has node %d, and later %d, want one of its own below %d", k, node,
				m.tree.EnterMetric(cell, id), n)
		}
		seen[node] = true
	}
	if a, c := m.allocate(0), m.enter(g); seen[a] || seen[c] {
		t.Errorf("nodes %d and %d have two meanings", a, c)
	}
	m.ctx = CellOf(n, 1)
	again := m.enter(f)
	if again == n {
		t.Fatal("the back edge has no node")
	}
	if node := m.tree.EnterMetric(CellOf(again, 0), layout.MetricID(0)); m.tree.node(node).Parent != n {
		t.Errorf("what a back edge adds is below node %d, want %d", m.tree.node(node).Parent, n)
	}
	m.validate()
}
