package replay

import (
	"fmt"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/encoder"
)

// A tree is the exact calling context tree in the form of an encoder: its context
// is a node. It has no limit but memory, and counts the contexts of a run.
type tree struct {
	grower  *cct.Grower
	running map[encoder.Goroutine]*treeStack
	calls   uint64
	edges   map[encoder.Call]bool
	nodes   map[encoder.Func]bool
}

type treeStack struct {
	nodes []uint32
	root  int // 1 if the first node is the root
}

func newTree() *tree {
	t := &tree{
		grower: cct.NewGrower(), running: make(map[encoder.Goroutine]*treeStack),
		edges: make(map[encoder.Call]bool), nodes: map[encoder.Func]bool{encoder.Root: true},
	}
	t.Start(encoder.Main)
	return t
}

// contexts returns the number of contexts so far.
func (t *tree) contexts() int { return len(t.grower.Tree().Nodes) - 1 }

// enter returns the node of a callee.
func (t *tree) enter(g encoder.Goroutine, c encoder.Call) uint32 {
	s := t.running[g]
	before := t.contexts()
	n := t.grower.Enter(s.nodes[len(s.nodes)-1], uint32(c.Site), uint32(c.Func))
	if t.contexts() > before {
		t.edges[c], t.nodes[c.Func] = true, true
	}
	t.calls++
	return n
}

// Name implements [cce.Encoder], as do the methods that follow.
func (t *tree) Name() string { return "cct" }

func (t *tree) Call(g encoder.Goroutine, site encoder.Site, callee encoder.Func) {
	n := t.enter(g, encoder.Call{Site: site, Func: callee})
	s := t.running[g]
	s.nodes = append(s.nodes, n)
}

func (t *tree) Unwind(g encoder.Goroutine, depth int) {
	s := t.running[g]
	s.nodes = s.nodes[:s.root+depth]
}

func (t *tree) Start(g encoder.Goroutine) { t.running[g] = &treeStack{[]uint32{0}, 1} }

func (t *tree) Go(g encoder.Goroutine, site encoder.Site, entry encoder.Func, child encoder.Goroutine) {
	t.running[child] = &treeStack{[]uint32{t.enter(g, encoder.Call{Site: site, Func: entry})}, 0}
}

func (t *tree) Exit(g encoder.Goroutine) { delete(t.running, g) }

func (t *tree) Reencode() {}

func (t *tree) Capture(g encoder.Goroutine) encoder.Context {
	s := t.running[g]
	n := s.nodes[len(s.nodes)-1]
	return encoder.Context{Func: encoder.Func(t.grower.Tree().Nodes[n].Func), Node: n}
}

func (t *tree) Decode(c encoder.Context) ([]encoder.Call, error) {
	nodes := t.grower.Tree().Nodes
	if int(c.Node) >= len(nodes) {
		return nil, fmt.Errorf("there is no node %d", c.Node)
	}
	var calls []encoder.Call
	for n := c.Node; n != 0; n = nodes[n].Parent {
		calls = append(calls, encoder.Call{Site: encoder.Site(nodes[n].Site), Func: encoder.Func(nodes[n].Func)})
	}
	for i, j := 0, len(calls)-1; i < j; i, j = i+1, j-1 {
		calls[i], calls[j] = calls[j], calls[i]
	}
	return calls, nil
}

func (t *tree) Stats() encoder.Stats {
	contexts := uint64(t.contexts())
	return encoder.Stats{
		Calls: t.calls, Nodes: len(t.nodes), Edges: len(t.edges), Encoded: len(t.edges),
		NumCC: contexts + 1, MaxID: contexts, LogEntries: contexts, LogBytes: 12 * contexts, Bytes: t.grower.Bytes(),
	}
}
