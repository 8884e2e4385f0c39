package rt

import (
	"fmt"
	"testing"
)

// allocate is what the runtime does for an allocation; it returns the node.
func (m *machine) allocate(typ uint64) uint32 {
	id := AllocID(typ)
	if n := m.tree.Lookup(m.ctx, id); n != 0 {
		return n
	}
	return m.tree.EnterAlloc(m.ctx, id, fmt.Sprint("T", typ))
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
