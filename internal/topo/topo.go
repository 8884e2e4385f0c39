// Package topo keeps a graph acyclic, and its nodes in topological order, while edges come. The
// algorithm is that of Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic
// graphs", JEA 2006. Package rt has the same for running programs, without maps and with an upper
// bound on its time.
package topo

import "slices"

// An Order is a graph that stays acyclic, with a topological order of its nodes. The order
// is repaired only between the two ends of an edge that contradicts it.
type Order struct {
	place, nodes []int // by node, and by place
	out, in      [][]int
	have         map[[2]int]bool
	added        [][2]int // edges, in the order in which they came
	mark         []int    // by node: when it was visited last
	visit        int
}

// New returns a graph without edges, in the order in which nodes are given.
func New(nodes []int) *Order {
	o := &Order{nodes: nodes, place: make([]int, len(nodes)), out: make([][]int, len(nodes)),
		in:   make([][]int, len(nodes)),
		mark: make([]int, len(nodes)), have: make(map[[2]int]bool)}
	for at, n := range nodes {
		o.place[n] = at
	}
	return o
}

// Add adds an edge, unless it closes a cycle.
func (o *Order) Add(from, to int) bool {
	e := [2]int{from, to}
	if from == to || o.have[e] {
		return from != to
	}
	if low, high := o.place[to], o.place[from]; low < high {
		ahead := o.search(to, o.out, func(n int) bool { return o.place[n] <= high })
		if o.mark[from] == o.visit {
			return false
		}
		behind := o.search(from, o.in, func(n int) bool { return o.place[n] >= low })
		o.reorder(behind, ahead)
	}
	o.have[e] = true
	o.added = append(o.added, e)
	o.out[from] = append(o.out[from], to)
	o.in[to] = append(o.in[to], from)
	return true
}

// Edges returns how many edges there are.
func (o *Order) Edges() int { return len(o.added) }

// Nodes returns the nodes in topological order.
func (o *Order) Nodes() []int { return slices.Clone(o.nodes) }

// Undo takes the edges back that came when there were n already. The order holds
// for those that stay.
func (o *Order) Undo(n int) {
	for i := len(o.added) - 1; i >= n; i-- {
		e := o.added[i]
		delete(o.have, e)
		o.out[e[0]] = o.out[e[0]][:len(o.out[e[0]])-1]
		o.in[e[1]] = o.in[e[1]][:len(o.in[e[1]])-1]
	}
	o.added = o.added[:n]
}

// search returns the nodes that can be reached from n by way of nodes in bounds.
func (o *Order) search(n int, edges [][]int, inBounds func(int) bool) []int {
	o.visit++
	o.mark[n] = o.visit
	found := []int{n}
	for i := 0; i < len(found); i++ {
		for _, m := range edges[found[i]] {
			if o.mark[m] != o.visit && inBounds(m) {
				o.mark[m] = o.visit
				found = append(found, m)
			}
		}
	}
	return found
}

// reorder puts the nodes behind before those ahead, into the places of both.
func (o *Order) reorder(behind, ahead []int) {
	byPlace := func(a, b int) int { return o.place[a] - o.place[b] }
	slices.SortFunc(behind, byPlace)
	slices.SortFunc(ahead, byPlace)
	nodes := append(behind, ahead...)
	places := make([]int, 0, len(nodes))
	for _, n := range nodes {
		places = append(places, o.place[n])
	}
	slices.Sort(places)
	for i, n := range nodes {
		o.place[n], o.nodes[places[i]] = places[i], n
	}
}
