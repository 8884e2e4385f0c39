package tree

import (
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

func callsHeader(mem []byte) *layout.CallsHeader {
	return (*layout.CallsHeader)(unsafe.Pointer(&mem[0]))
}

// words returns the entries of a log.
func words(mem []byte) (list [][2]uint32) {
	for off := layout.CallsHeaderSize; off < int(callsHeader(mem).Used); off += layout.CallSize {
		e := (*layout.Call)(unsafe.Pointer(&mem[off]))
		list = append(list, [2]uint32{e.Goroutine, e.What})
	}
	return list
}

// A log that is full has no gap: what comes later is not in it, though it had room.
func TestCallsFull(t *testing.T) {
	for _, entries := range []int{0, 1, 2, 3, 5, 9} {
		tree := &newMachine(t, minTree, true).tree
		mem := make([]byte, layout.CallsHeaderSize+entries*layout.CallSize)
		var c Calls
		c.Init(tree, unsafe.Pointer(&mem[0]), uint64(len(mem)))
		all := [][2]uint32{{1, RootNode}, {1, RootNode | layout.CallGo}, {2, layout.CallChild}, {2, RootNode}, {2,
			layout.CallExit}}
		c.Enter(c.Goroutine(), RootNode)
		c.Go(1, RootNode, c.Goroutine())
		c.Enter(2, RootNode)
		c.Exit(2)
		want := all[:min(entries, len(all))]
		if entries == 2 {
			want = all[:1] // a go statement is there as a whole
		}
		have := words(mem)
		end := callsHeader(mem).End
		if len(have) != len(want) || (end == layout.CallsEndFull) != (entries < len(all)) {
			t.Errorf("room for %d entries: have %v, want %v; end %d", entries, have, want, end)
		}
		for i := range want {
			if have[i] != want[i] {
				t.Errorf("room for %d entries: have %v, want %v", entries, have, want)
			}
		}
	}
}

// A node past the budget has no path, and ends the log.
func TestCallsNodes(t *testing.T) {
	m := newMachine(t, minTree, true)
	m.tree.nodes = 1
	mem := make([]byte, 4096)
	var c Calls
	c.Init(&m.tree, unsafe.Pointer(&mem[0]), uint64(len(mem)))
	f := m.function(1)
	n := m.enter(f)
	if !c.Enter(1, n) {
		t.Error("the log ended before the budget of nodes")
	}
	m.call(n, 0)
	if over := m.enter(f); c.Enter(1, over) || c.Enter(1, n) {
		t.Error("the log goes on behind a node past the budget")
	}
	if have := words(mem); len(have) != 1 || callsHeader(mem).End != layout.CallsEndNodes {
		t.Errorf("have %v, end %d", have, callsHeader(mem).End)
	}
}

// Pages of the log become zeros, or whatever another process writes: entries go on where they were.
func TestCallsLost(t *testing.T) {
	tree := &newMachine(t, minTree, true).tree
	mem := make([]byte, layout.CallsHeaderSize+100*layout.CallSize)
	var c Calls
	c.Init(tree, unsafe.Pointer(&mem[0]), uint64(len(mem)))
	for i := range 100 {
		for k := range mem[:layout.CallsHeaderSize] {
			mem[k] = byte(-i % 2) // zeros, or ones
		}
		if !c.Enter(1, RootNode) {
			t.Fatalf("the log ended at entry %d", i)
		}
		if have, want := callsHeader(mem).Used, c.Used(); have != want || len(words(mem)) != i+1 {
			t.Fatalf("entry %d: the header has %d bytes, want %d", i, have, want)
		}
	}
	if c.Enter(1, RootNode) || callsHeader(mem).End != layout.CallsEndFull {
		t.Error("a full log goes on")
	}
}
