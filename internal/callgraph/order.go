package callgraph

import (
	"slices"

	"github.com/stemma-go/stemma/internal/topo"
)

// A numbered is a call graph in the making that has no cycles: functions, and the
// groups that dynamic sites make of their callees (see package rt/ids).
type numbered struct {
	*topo.Order
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
	a := &numbered{Order: topo.New(nodes), groups: make([]int, num), members: make([][]int, num),
		callers: make([][]int, num)}
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
		if !c.Dynamic && len(c.Targets) == 1 && a.Add(c.Caller, c.Targets[0]) || c.Dynamic && a.addDynamic(c) {
			kept = append(kept, *c)
		} else {
			back = append(back, *c)
		}
	}
	funcs = slices.DeleteFunc(a.Nodes(), func(n int) bool { return n >= num })
	return kept, back, funcs
}

// addDynamic adds a call that makes its callees one group, or nothing.
func (a *numbered) addDynamic(c *Call) bool {
	num := len(a.groups)
	began := a.Edges()
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
		a.Undo(began)
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
func (a *numbered) addAll(group int, members, callers []int) bool {
	for _, f := range members {
		if !a.Add(group, f) {
			return false
		}
	}
	for _, f := range callers {
		if !a.Add(f, group) {
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
