package tree

import (
	"slices"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// below lists the offsets of the nodes below top from an offset on, a few at a time.
func (m *machine) below(top uint32, from uint64) (list []uint32) {
	var buf [3]layout.Measured
	for from < m.tree.Used() {
		n, next := m.tree.Below(top, from, buf[:])
		if n == 0 && next <= from {
			m.t.Fatalf("the walk stands still at %d", from)
		}
		for _, b := range buf[:n] {
			if b != m.tree.Measured(b.Offset) {
				m.t.Fatalf("have %+v, want %+v", b, m.tree.Measured(b.Offset))
			}
			list = append(list, b.Offset)
		}
		from = next
	}
	return list
}

// TestMeasured measures f, which calls g and what runs further out, in two lanes at once and inside each other.
func TestMeasured(t *testing.T) {
	for _, full := range []bool{false, true} {
		m := newMachine(t, 1<<26, full)
		main, f, g := m.function(1), m.function(2), m.function(1)
		top := m.enter(main)
		m.call(top, 0)
		begin := m.ctx
		one, two := m.tree.Begin(begin, 1), m.tree.Begin(begin, 2)
		if one == 0 || two == 0 || one == two || one != m.tree.Begin(begin, 1) {
			t.Fatalf("lanes have nodes %d and %d", one, two)
		}
		m.call(one, 0)
		inner := m.enter(f)
		m.call(inner, 0)
		again := m.enter(main) // nothing of it is counted further out
		if m.tree.Home(again) != again {
			t.Error("what is measured is folded into what runs further out")
		}
		m.call(again, 0)
		leaf := m.enter(g)
		m.call(two, 0)
		other := m.enter(f)
		m.call(inner, 1)
		nested := m.tree.Begin(m.ctx, 2)
		m.call(nested, 0)
		deep := m.enter(f)
		if deep == other || m.tree.Home(deep) != deep {
			t.Error("a measurement inside of another one is folded into it")
		}
		m.call(deep, 0)
		alloc := m.tree.EnterAside(m.ctx, layout.RecWait, layout.WaitID(1), "reason") // which no cell leads to
		want := []uint32{one, inner, again, leaf, nested, deep, alloc}
		if have := m.below(one, 0); !slices.Equal(have, want) {
			t.Errorf("full=%v: below the first are %d, want %d", full, have, want)
		}
		if have, want := m.below(two, uint64(other)), []uint32{other}; !slices.Equal(have, want) {
			t.Errorf("below the second are %d, want %d", have, want)
		}
		if have, want := m.below(nested, 0), []uint32{nested, deep, alloc}; !slices.Equal(have, want) {
			t.Errorf("below the inner one are %d, want %d", have, want)
		}
		m.validate()
	}
}

// TestMeasuredDepth: there is a bound to how many measurements are inside each other, and none begins where nothing is
// recorded, or where contexts have no nodes of their own.
func TestMeasuredDepth(t *testing.T) {
	m := newMachine(t, 1<<26, false)
	f := m.function(1)
	m.call(m.enter(f), 0)
	for lane := range uint32(layout.MaxDepth) {
		n := m.tree.Begin(m.ctx, lane+1)
		if n == 0 || layout.LaneDepth(m.tree.LabelsAt(n)) != uint64(lane)+1 {
			t.Fatalf("lane %d: node %d, at depth %d", lane+1, n, layout.LaneDepth(m.tree.LabelsAt(n)))
		}
		m.call(n, 0)
		m.call(m.enter(f), 0)
	}
	if n := m.tree.Begin(m.ctx, 100); n != 0 {
		t.Errorf("too deep: node %d", n)
	}
	if n := m.tree.Begin(m.tree.EnterBypass(), 1); n != 0 {
		t.Errorf("where nothing is recorded: node %d", n)
	}
	if n := m.tree.Begin(overflowCell, 1); n != 0 {
		t.Errorf("without room for contexts: node %d", n)
	}
	m.validate()
}

// TestMeasuredLabels sets labels in a measurement and takes them away: they stay in its lane, and its frames below it.
func TestMeasuredLabels(t *testing.T) {
	m := newLabelled(t, false)
	f := m.function(1)
	m.call(m.relabel(m.enter(f), "a=1"), 0)
	begin := m.tree.Begin(m.ctx, 7)
	m.call(begin, 0)
	plain := m.enter(f)
	at := m.tree.LabelsAt(plain)
	if !layout.SameLane(at, m.tree.LabelsAt(begin)) || layout.InLane(at, 0) != m.set("a=1") {
		t.Errorf("a measurement has labels %#x, want those around it", at)
	}
	if m.tree.IsLabelled(plain) {
		t.Error("where a measurement begins labels were set")
	}
	other := layout.InLane(m.set("b=x"), at)
	labelled, labels := m.tree.Relabel(plain, other)
	if labels == 0 || m.tree.LabelsAt(labelled) != other || !m.tree.IsBelow(labelled, begin) {
		t.Errorf("node %d with labels %#x at %d", labelled, m.tree.LabelsAt(labelled), labels)
	}
	if back, _ := m.tree.Relabel(labelled, at); back != plain {
		t.Errorf("without the labels node %d, want %d", back, plain)
	}
	m.validate()
}
