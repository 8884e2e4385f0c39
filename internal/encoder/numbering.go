package encoder

import (
	"cmp"
	"slices"
)

// A numbering computes numCC and addition values (DACCE paper, section 2.1,
// after Ball and Larus). Its nodes are functions, and whatever else intervals of
// ids are divided at; see [SiteTables].
type numbering struct {
	links []link
	base  []int    // for each node, the node whose ids it begins with, or -1
	least []uint64 // numCC of a node that nothing leads to
	numCC []uint64

	leftOut int // links that did not fit
}

// A link is what is numbered: one edge, or one dynamic site with all its edges.
type link struct {
	from, to int // nodes
	call     Call
	weight   uint64
	av       uint64 // addition value, if encoded
	encoded  bool
}

// newNumbering returns a numbering of so many nodes, each of which can be the
// beginning of a path.
func newNumbering(nodes int) *numbering {
	n := &numbering{base: make([]int, nodes), least: make([]uint64, nodes), numCC: make([]uint64, nodes)}
	for i := range n.base {
		n.base[i], n.least[i] = -1, 1
	}
	return n
}

// chooseHot marks as encoded as many links as possible, heaviest first, and leaves
// out those that would close a cycle: these are the back edges. A node comes
// behind its base in any case. It returns the nodes in topological order.
func (n *numbering) chooseHot() []int {
	slices.SortStableFunc(n.links, func(a, b link) int { return cmp.Compare(b.weight, a.weight) })
	t := inOrder(len(n.base))
	for node, base := range n.base {
		if base >= 0 {
			t.Add(base, node)
		}
	}
	for i := range n.links {
		l := &n.links[i]
		l.encoded = t.Add(l.from, l.to)
	}
	return t.Nodes()
}

// chooseStatic marks all links as encoded but the back edges of a depth-first
// search, as a compiler does that knows no weights. It returns the nodes in
// topological order.
func (n *numbering) chooseStatic() []int {
	out := make([][]int, len(n.base))
	for i, l := range n.links {
		out[l.from] = append(out[l.from], i)
	}
	const onPath, done = 1, 2
	state := make([]int, len(n.base))
	var order []int // in reverse
	var visit func(node int)
	visit = func(node int) {
		state[node] = onPath
		for _, i := range out[node] {
			l := &n.links[i]
			l.encoded = state[l.to] != onPath
			if state[l.to] == 0 {
				visit(l.to)
			}
		}
		state[node] = done
		order = append(order, node)
	}
	for node := range out {
		if state[node] == 0 {
			visit(node)
		}
	}
	slices.Reverse(order)
	return order
}

// number gives the encoded links their addition values, so that no numCC passes
// limit: the links that do not fit at their node are left out. At each node the
// links come in the order in which they are listed, so the first one gets the
// lowest ids.
func (n *numbering) number(order []int, limit uint64) {
	in := make([][]int, len(n.base))
	for i, l := range n.links {
		if l.encoded {
			in[l.to] = append(in[l.to], i)
		}
	}
	for _, node := range order {
		var total uint64
		if base := n.base[node]; base >= 0 {
			total = n.numCC[base]
		}
		for _, i := range in[node] {
			l := &n.links[i]
			width := n.numCC[l.from]
			if l.encoded = width <= limit-total; l.encoded {
				l.av = total
				total += width
			} else {
				n.leftOut++
			}
		}
		n.numCC[node] = max(total, n.least[node])
	}
}

// An interval is the ids of a function that come from one site: from av on,
// numCC(caller) of them.
type interval struct {
	av, width uint64
	site      Site
}

// intervals returns those of each node, in ascending order.
func (n *numbering) intervals() [][]interval {
	list := make([][]interval, len(n.base))
	for _, l := range n.links {
		if l.encoded {
			list[l.to] = append(list[l.to], interval{l.av, n.numCC[l.from], l.call.Site})
		}
	}
	for _, in := range list {
		slices.SortFunc(in, byValue)
	}
	return list
}

func byValue(a, b interval) int { return cmp.Compare(a.av, b.av) }

// findInterval returns the interval in which id lies.
func findInterval(list []interval, id uint64) (interval, bool) {
	i, _ := slices.BinarySearchFunc(list, id, func(in interval, id uint64) int {
		if in.av <= id {
			return -1
		}
		return 1
	})
	if i == 0 || id-list[i-1].av >= list[i-1].width {
		return interval{}, false
	}
	return list[i-1], true
}

// A unionFind divides numbers into sets that grow together.
type unionFind []int

// newUnionFind returns n sets of one number each.
func newUnionFind(n int) unionFind {
	u := make(unionFind, n)
	for i := range u {
		u[i] = i
	}
	return u
}

// find returns the number that stands for the set of x.
func (u unionFind) find(x int) int {
	for u[x] != x {
		u[x] = u[u[x]]
		x = u[x]
	}
	return x
}

// join makes one set of two.
func (u unionFind) join(x, y int) { u[u.find(x)] = u.find(y) }
