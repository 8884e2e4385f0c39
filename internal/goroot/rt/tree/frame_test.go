package tree

import (
	"math/rand/v2"
	"testing"
)

// TestNodeOfFrame asks for the nodes of frames as they are in a function's first instructions, when its slot has
// something else, and later, when g has a cell of its own, or that of a call of the function on its own.
func TestNodeOfFrame(t *testing.T) {
	for _, full := range []bool{false, true} {
		m := newMachine(t, 1<<24, full)
		caller, callee := m.function(3), m.function(2)
		a := m.enter(caller)
		m.call(a, 0)
		left, entry := m.enter(callee), uint64(callee.Entry)
		m.call(a, 1)
		right := m.enter(callee)
		m.call(right, 0)
		again := m.enter(callee) // it calls itself
		for _, c := range []struct {
			what       string
			slot, cell uint32
			entered    bool
			want       uint32
		}{
			{"its first instructions, with nothing in the slot", 0, CellOf(a, 1), true, right},
			{"its first instructions, with another frame's node in the slot", left, CellOf(a, 1), true, right},
			{"its first instructions, with a node of the caller in the slot", a, CellOf(a, 0), true, left},
			{"before its first call", right, CellOf(a, 1), true, right},
			{"behind its first call", right, CellOf(right, 1), true, right},
			{"behind a call of itself", right, CellOf(right, 0), true, right},
			{"in what it calls", left, CellOf(a, 1), false, left},
			{"its first instructions below itself", again, CellOf(right, 0), true, again},
			{"in the slow path of its first call", left, CellOf(a, 2), true, left}, // nothing better is known
			{"no function", 0, CellOf(a, 2), true, 0},
			{"an address", 8, 12, true, 0},
			{"no cell", a + 8, uint32(m.tree.Used()) + 64, true, 0},
		} {
			if have := m.tree.NodeOfFrame(c.slot, c.cell, entry, c.entered); have != c.want {
				t.Errorf("full=%v: %s: node %d, want %d", full, c.what, have, c.want)
			}
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 10000 {
			n := m.tree.NodeOfFrame(r.Uint32()>>r.IntN(20), CellOf(a, r.IntN(3)), entry, r.IntN(2) == 0)
			if n != 0 && m.tree.ifEntry(n, entry) == 0 {
				t.Fatalf("node %d is not one of the function", n)
			}
		}
	}
}
