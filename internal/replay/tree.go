package replay

import (
	"fmt"

	"github.com/stemma-go/stemma/internal/cce"
	"github.com/stemma-go/stemma/internal/cct"
)

// A tree is the exact calling context tree in the form of an encoder: its context
// is a node. It has no limit but memory, and counts the contexts of a run.
type tree struct {
	grower  *cct.Grower
	running map[cce.Goroutine]*treeStack
	calls   uint64
	edges   map[cce.Call]bool
	nodes   map[cce.Func]bool
}

type treeStack struct {
	nodes []uint32
	root  int // 1 if the first node is the root
}

func newTree() *tree {
	t := &tree{
		grower: cct.NewGrower(), running: make(map[cce.Goroutine]*treeStack),
		edges: make(map[cce.Call]bool), nodes: map[cce.Func]bool{cce.Root: true},
	}
	t.Start(cce.Main)
	return t
}

// contexts returns the number of contexts so far.
func (t *tree) contexts() int { return len(t.grower.Tree().Nodes) - 1 }

// enter returns the node of a callee.
func (t *tree) enter(g cce.Goroutine, c cce.Call) uint32 {
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

func (t *tree) Call(g cce.Goroutine, site cce.Site, callee cce.Func) {
	n := t.enter(g, cce.Call{Site: site, Func: callee})
	s := t.running[g]
	s.nodes = append(s.nodes, n)
}

func (t *tree) Unwind(g cce.Goroutine, depth int) {
	s := t.running[g]
	s.nodes = s.nodes[:s.root+depth]
}

func (t *tree) Start(g cce.Goroutine) { t.running[g] = &treeStack{[]uint32{0}, 1} }

func (t *tree) Go(g cce.Goroutine, site cce.Site, entry cce.Func, child cce.Goroutine) {
	t.running[child] = &treeStack{[]uint32{t.enter(g, cce.Call{Site: site, Func: entry})}, 0}
}

func (t *tree) Exit(g cce.Goroutine) { delete(t.running, g) }

func (t *tree) Reencode() {}

func (t *tree) Capture(g cce.Goroutine) cce.Context {
	s := t.running[g]
	n := s.nodes[len(s.nodes)-1]
	return cce.Context{Func: cce.Func(t.grower.Tree().Nodes[n].Func), Node: n}
}

func (t *tree) Decode(c cce.Context) ([]cce.Call, error) {
	nodes := t.grower.Tree().Nodes
	if int(c.Node) >= len(nodes) {
		return nil, fmt.Errorf("there is no node %d", c.Node)
	}
	var calls []cce.Call
	for n := c.Node; n != 0; n = nodes[n].Parent {
		calls = append(calls, cce.Call{Site: cce.Site(nodes[n].Site), Func: cce.Func(nodes[n].Func)})
	}
	for i, j := 0, len(calls)-1; i < j; i, j = i+1, j-1 {
		calls[i], calls[j] = calls[j], calls[i]
	}
	return calls, nil
}

func (t *tree) Stats() cce.Stats {
	contexts := uint64(t.contexts())
	return cce.Stats{
		Calls: t.calls, Nodes: len(t.nodes), Edges: len(t.edges), Encoded: len(t.edges),
		NumCC: contexts + 1, MaxID: contexts, LogEntries: contexts, LogBytes: 12 * contexts, Bytes: t.grower.Bytes(),
	}
}
