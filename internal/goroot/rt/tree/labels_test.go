package tree

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// newLabelled returns a machine whose tree knows labels with the keys a and b.
func newLabelled(t *testing.T, full bool) *machine {
	m := newMachine(t, 1<<26, full)
	mem := make([]uint64, LabelsMemory/8)
	m.keep = append(m.keep, mem)
	m.tree.InitLabels(unsafe.Pointer(&mem[0]), "a+b")
	return m
}

// set returns the function ID of labels, which are KEY=VALUE.
func (m *machine) set(labels ...string) uint64 {
	set := LabelSet(0)
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		set = m.tree.Add(set, key, value)
	}
	return m.tree.ID(set)
}

// relabel gives the frame of node n other labels.
func (m *machine) relabel(n uint32, labels ...string) uint32 {
	node, _ := m.tree.Relabel(n, m.set(labels...))
	return node
}

// TestRelabel has main, which calls do, which sets labels and calls f, as pprof.Do does, once and again.
func TestRelabel(t *testing.T) {
	for _, full := range []bool{false, true} {
		m := newLabelled(t, full)
		main, do, f := m.function(1), m.function(1), m.function(1)
		m.ctx = CellOf(RootNode, layout.RootMain)
		top := m.enter(main)
		plain := m.set()
		if m.tree.LabelsAt(top) != plain {
			t.Fatal("main has labels")
		}
		m.call(top, 0)
		bare := m.enter(do)
		if n, labels := m.tree.Relabel(bare, plain); n != bare || labels != 0 {
			t.Errorf("a frame that has no labels moves from %d to %d when it gets none", bare, n)
		}
		one := m.relabel(bare, "a=1", "ignored=2")
		if one == bare || m.tree.LabelsAt(one) != m.set("a=1") || m.tree.LabelsAt(bare) != plain {
			t.Fatalf("node %d is not of labels a=1", one)
		}
		if m.relabel(bare, "a=1") != one || m.relabel(one, "a=1") != one || m.relabel(one) != bare {
			t.Error("the same labels have two nodes")
		}
		m.call(one, 0)
		inner := m.enter(f)
		m.call(inner, 0)
		again := m.enter(do) // recursion is not folded across labels that are to come
		two := m.relabel(again, "a=1", "b=x")
		m.call(two, 0)
		deep := m.enter(f)
		if m.tree.Home(deep) != deep || m.tree.LabelsAt(deep) != m.set("b=x", "a=1") {
			t.Error("what runs with other labels is folded into what runs without")
		}
		m.call(deep, 0)
		back := m.relabel(m.enter(do), "a=1")
		m.call(back, 0)
		if home := m.enter(f); (home == inner) == full {
			t.Errorf("full=%v: labels that are on the path have node %d below, want that of %d", full, home, inner)
		}
		if m.tree.IsLabelled(bare) || !m.tree.IsLabelled(one) {
			t.Error("who is the outermost function below labels?")
		}
		m.validate()
	}
}

// TestRelabelBelow gives all frames of a stack other labels: main, f and f again.
func TestRelabelBelow(t *testing.T) {
	m := newLabelled(t, false)
	main, f := m.function(2), m.function(2)
	m.ctx = CellOf(RootNode, layout.RootMain)
	stack := []uint32{m.enter(main)}
	m.call(stack[0], 1)
	stack = append(stack, m.enter(f))
	m.call(stack[1], 0)
	stack = append(stack, m.enter(f)) // a back edge
	now := []uint32{m.relabel(stack[0], "a=1")}
	for i := 1; i < len(stack); i++ {
		now = append(now, m.tree.RelabelBelow(stack[i], stack[i-1], now[i-1]))
		if now[i] == 0 || now[i] == stack[i] || m.tree.LabelsAt(now[i]) != m.set("a=1") {
			t.Fatalf("frame %d: node %d", i, now[i])
		}
	}
	if m.tree.Home(now[2]) != now[1] {
		t.Error("recursion with labels is not folded")
	}
	if m.tree.RelabelBelow(stack[1], stack[2], now[2]) != 0 || m.tree.RelabelBelow(stack[0], stack[1], now[1]) != 0 {
		t.Error("a frame is below one that did not call it")
	}
	m.validate()
}

// TestLabelValues has more values of a key, longer ones, and more sets than are kept.
func TestLabelValues(t *testing.T) {
	m := newLabelled(t, false)
	lost := func() uint64 { return m.tree.rec.Header().Lost[layout.LostLabels] }
	seen := make(map[uint64]bool)
	for i := range LabelValues {
		seen[m.set(fmt.Sprint("a=", i))] = true
	}
	if len(seen) != LabelValues || lost() != 0 {
		t.Errorf("%d values have %d nodes, %d are lost", LabelValues, len(seen), lost())
	}
	if more := m.set("a=new"); seen[more] || more != m.set("a=newer") || lost() != 2 {
		t.Errorf("values beyond the bound: %#x, %d are lost, want 2", more, lost())
	}
	if m.set("a=0") != m.set("b=", "a=0") || m.set("b=") != m.set() {
		t.Error("a label without a value is one")
	}
	long := strings.Repeat("ü", 1+maxLabelValue/2)
	if m.set("b="+long) != m.set("b="+long+"x") || m.set("b=x"+long) == m.set("b=y"+long) {
		t.Error("values are not cut at a length")
	}
	for _, s := range []string{long, "x" + long} {
		if cut := cutValue(s); len(cut) > maxLabelValue || strings.ToValidUTF8(cut, "?") != cut {
			t.Errorf("%q is cut in the middle of a character", cut)
		}
	}
	before := lost()
	for i := range LabelValues {
		for k := range 50 {
			m.set(fmt.Sprint("a=", i), fmt.Sprint("b=", k))
		}
	}
	if lost() == before || m.tree.labels.made > maxSets+1<<layout.MaxLabels {
		t.Errorf("%d sets, %d are lost", m.tree.labels.made, lost()-before)
	}
}
