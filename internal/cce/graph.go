package cce

import (
	"cmp"
	"slices"
)

// An Edge <p,n,l> is a call that was seen: a site, which tells the caller p, and
// a callee. Go statements are no edges: a goroutine begins a path of its own.
type Edge struct {
	Call
	Weight uint64 // calls, or an estimate of them
}

// A Graph is a call graph as far as it is known.
type Graph struct {
	p     *Program
	Edges []Edge
	index map[Call]int
}

// NewGraph returns a graph without edges.
func NewGraph(p *Program) *Graph { return &Graph{p: p, index: make(map[Call]int)} }

// Add returns the index of an edge, which it adds if it is new.
func (g *Graph) Add(c Call) (index int, isNew bool) {
	i, ok := g.index[c]
	if !ok {
		i = len(g.Edges)
		g.Edges = append(g.Edges, Edge{Call: c})
		g.index[c] = i
	}
	return i, !ok
}

// Nodes returns the number of functions that have an edge, [Root] included.
func (g *Graph) Nodes() int {
	seen := map[Func]bool{Root: true}
	for _, e := range g.Edges {
		seen[e.Func] = true
		seen[g.p.Sites[e.Site].Caller] = true
	}
	return len(seen)
}

// A topology is an acyclic graph in topological order, to which edges are added
// one by one. The order is repaired only between the two ends of an edge that
// contradicts it (Pearce and Kelly, "A dynamic topological sort algorithm for
// directed acyclic graphs", 2006).
type topology struct {
	rank []int // of each node; all different
	out  [][]int
	in   [][]int
	mark []int // search in which a node was seen last
	tick int
}

// newTopology returns a graph without edges, in the order of the numbers.
func newTopology(nodes int) *topology {
	t := &topology{rank: make([]int, nodes), out: make([][]int, nodes), in: make([][]int, nodes), mark: make([]int, nodes)}
	for i := range t.rank {
		t.rank[i] = i
	}
	return t
}

// add adds an edge, unless that closes a cycle: then it returns false.
func (t *topology) add(from, to int) bool {
	if from == to {
		return false
	}
	if low, high := t.rank[to], t.rank[from]; low < high {
		t.tick++
		after, ok := t.reach(nil, to, t.out, func(n int) bool { return t.rank[n] <= high }, from)
		if !ok {
			return false
		}
		before, _ := t.reach(nil, from, t.in, func(n int) bool { return t.rank[n] >= low }, -1)
		t.reorder(before, after)
	}
	t.out[from] = append(t.out[from], to)
	t.in[to] = append(t.in[to], from)
	return true
}

// reach appends what can be reached from n within bounds. It gives up when it
// meets the node avoid.
func (t *topology) reach(list []int, n int, next [][]int, within func(int) bool, avoid int) ([]int, bool) {
	list = append(list, n)
	t.mark[n] = t.tick
	for done := len(list) - 1; done < len(list); done++ {
		for _, m := range next[list[done]] {
			if m == avoid {
				return nil, false
			}
			if t.mark[m] != t.tick && within(m) {
				t.mark[m] = t.tick
				list = append(list, m)
			}
		}
	}
	return list, true
}

// reorder gives the nodes of before, and then those of after, the ranks that they
// have together. Among themselves they stay in order.
func (t *topology) reorder(before, after []int) {
	byRank := func(a, b int) int { return cmp.Compare(t.rank[a], t.rank[b]) }
	slices.SortFunc(before, byRank)
	slices.SortFunc(after, byRank)
	nodes := append(before, after...)
	ranks := make([]int, len(nodes))
	for i, n := range nodes {
		ranks[i] = t.rank[n]
	}
	slices.Sort(ranks)
	for i, n := range nodes {
		t.rank[n] = ranks[i]
	}
}

// order returns the nodes in topological order.
func (t *topology) order() []int {
	order := make([]int, len(t.rank))
	for n, r := range t.rank {
		order[r] = n
	}
	return order
}
