package callgraph

import "slices"

// An order is a graph that stays acyclic, with a topological order of its nodes
// that is kept while edges come (Pearce and Kelly, JEA 2006).
type order struct {
	place, nodes []int // by node, and by place
	out, in      [][]int
	have         map[[2]int]bool
	added        [][2]int // edges, in the order in which they came
	mark         []int    // by node: when it was visited last
	visit        int
}

// newOrder returns a graph without edges, in the order in which nodes are given.
func newOrder(nodes []int) *order {
	o := &order{nodes: nodes, place: make([]int, len(nodes)), out: make([][]int, len(nodes)), in: make([][]int, len(nodes)),
		mark: make([]int, len(nodes)), have: make(map[[2]int]bool)}
	for at, n := range nodes {
		o.place[n] = at
	}
	return o
}

// add adds an edge, unless it closes a cycle.
func (o *order) add(from, to int) bool {
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

// undo takes the edges back that came when there were n already. The order holds
// for those that stay.
func (o *order) undo(n int) {
	for i := len(o.added) - 1; i >= n; i-- {
		e := o.added[i]
		delete(o.have, e)
		o.out[e[0]] = o.out[e[0]][:len(o.out[e[0]])-1]
		o.in[e[1]] = o.in[e[1]][:len(o.in[e[1]])-1]
	}
	o.added = o.added[:n]
}

// search returns the nodes that can be reached from n by way of nodes in bounds.
func (o *order) search(n int, edges [][]int, inBounds func(int) bool) []int {
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
func (o *order) reorder(behind, ahead []int) {
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

// An acyclic is a call graph in the making that has no cycles: functions, and the
// groups that dynamic sites make of their callees (see the plan of package rt).
type acyclic struct {
	order
	groups  []int   // by function: the node of its group, or -1
	members [][]int // by node, less the number of functions: the functions of a group
	callers [][]int // and those that call it
	free    []int   // nodes of groups that are not used
}

// Acyclic splits the calls into those that can be encoded together, in any order,
// and the back edges. It also returns the functions in a topological order of the
// former. A dynamic site unites the groups of all its callees; that is why it must
// be able to precede all members of all of them.
func (g *Graph) Acyclic() (kept, back []Call, funcs []int) {
	num := len(g.Binary.Funcs)
	nodes := g.depthFirst()
	for range num { // at most as many groups as functions
		nodes = append(nodes, len(nodes))
	}
	a := &acyclic{order: *newOrder(nodes), groups: make([]int, num), members: make([][]int, num), callers: make([][]int, num)}
	for f := range num {
		a.groups[f] = -1
		a.free = append(a.free, 2*num-1-f)
	}
	calls := make([]*Call, len(g.Calls))
	for i := range calls {
		calls[i] = &g.Calls[i]
	}
	slices.SortStableFunc(calls, byWeight)
	for _, c := range calls {
		if !c.Dynamic && len(c.Targets) == 1 && a.add(c.Caller, c.Targets[0]) || c.Dynamic && a.addDynamic(c) {
			kept = append(kept, *c)
		} else {
			back = append(back, *c)
		}
	}
	funcs = slices.DeleteFunc(slices.Clone(a.nodes), func(n int) bool { return n >= num })
	return kept, back, funcs
}

// addDynamic adds a call that makes its callees one group, or nothing.
func (a *acyclic) addDynamic(c *Call) bool {
	num := len(a.groups)
	began := len(a.added)
	// The largest group takes the others in.
	group := -1
	for _, f := range c.Targets {
		if g := a.groups[f]; g >= 0 && (group < 0 || len(a.members[g-num]) > len(a.members[group-num])) {
			group = g
		}
	}
	fresh := group < 0
	if fresh {
		group = a.free[len(a.free)-1]
	}
	var members, callers []int
	taken := map[int]bool{group: true}
	for _, f := range c.Targets {
		switch g := a.groups[f]; {
		case g < 0:
			members = append(members, f)
		case !taken[g]:
			taken[g] = true
			members = append(members, a.members[g-num]...)
			callers = append(callers, a.callers[g-num]...)
		}
	}
	callers = append(callers, c.Caller)
	if !a.addAll(group, members, callers) {
		a.undo(began)
		return false
	}
	if fresh {
		a.free = a.free[:len(a.free)-1]
	}
	for _, f := range members {
		a.groups[f] = group
	}
	a.members[group-num] = append(a.members[group-num], members...)
	a.callers[group-num] = append(a.callers[group-num], callers...)
	return true
}

// addAll adds the edges of new members and callers of a group.
func (a *acyclic) addAll(group int, members, callers []int) bool {
	for _, f := range members {
		if !a.add(group, f) {
			return false
		}
	}
	for _, f := range callers {
		if !a.add(f, group) {
			return false
		}
	}
	return true
}

// depthFirst returns the functions in reverse postorder: callers mostly come
// before what they call, and what nothing calls comes first.
func (g *Graph) depthFirst() []int {
	num := len(g.Binary.Funcs)
	out := make([][]int, num)
	called := make([]bool, num)
	for i := range g.Calls {
		c := &g.Calls[i]
		out[c.Caller] = append(out[c.Caller], c.Targets...)
		for _, t := range c.Targets {
			called[t] = true
		}
	}
	seen := make([]bool, num)
	post := make([]int, 0, num)
	var visit func(f int)
	visit = func(f int) {
		seen[f] = true
		for _, t := range out[f] {
			if !seen[t] {
				visit(t)
			}
		}
		post = append(post, f)
	}
	for _, roots := range []bool{true, false} {
		for f := range num {
			if !seen[f] && called[f] != roots {
				visit(f)
			}
		}
	}
	slices.Reverse(post)
	return post
}
