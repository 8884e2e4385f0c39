package cct

import (
	"cmp"
	"slices"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/profile"
)

// Totals sum up a tree.
type Totals struct {
	Calls     uint64 // invocations, of inlined functions and natives as well
	Contexts  uint64 // contexts that were entered; none of the truncated ones
	Functions uint64 // functions with a count of their own; those that memory or waits are of, not types and reasons
	Truncated uint64 // those of Calls whose context had no room in the program's memory
}

// A FuncStat sums up a function.
type FuncStat struct {
	Func     uint32
	Calls    uint64
	Total    uint64 // of all contexts that it is in, each once
	Contexts uint64 // of its own that have a count; none of the truncated ones
}

// Truncated tells for each node whether it stands for calls whose context is
// not known.
func (t *Tree) Truncated() []bool {
	lost := make([]bool, len(t.Nodes))
	overflow := make([]bool, len(t.Funcs))
	for i, f := range t.Funcs {
		overflow[i] = f.Pseudo && f.Name == pseudo(layout.RootNames[layout.RootOverflow])
	}
	if !slices.Contains(overflow, true) {
		return lost
	}
	for i, n := range t.Nodes[1:] {
		lost[i+1] = lost[n.Parent] || overflow[n.Func]
	}
	return lost
}

// Totals sums up t.
func (t *Tree) Totals() Totals {
	var sum Totals
	lost, entered := t.Truncated(), make([]bool, len(t.Funcs))
	for i, n := range t.Nodes {
		sum.Calls += n.Count
		if n.Count > 0 {
			_, f := t.Allocator(uint32(i))
			entered[t.Nodes[f].Func] = true
		}
		switch {
		case lost[i]:
			sum.Truncated += n.Count
		case n.Count > 0:
			sum.Contexts++
		}
	}
	functions := make(map[Group]bool) // as By has them
	for i, e := range entered {
		if e {
			functions[t.describe("function", groupKey{fn: uint32(i)})] = true
		}
	}
	sum.Functions = uint64(len(functions))
	return sum
}

// ByFunction returns the functions that are in a context with a count, most calls first. A
// function that only leads to such contexts has a total and no calls; of pseudo-functions
// only those with calls of their own are listed. Samples of waiting goroutines are those of their [Tree.Waiter].
func (t *Tree) ByFunction() []FuncStat {
	return slices.DeleteFunc(t.byFunction(), func(s FuncStat) bool { return s.Calls == 0 && t.Funcs[s.Func].Pseudo })
}

// byFunction returns the functions with calls of their own or below them, in the order of [Tree.ByFunction].
func (t *Tree) byFunction() []FuncStat {
	all := make([]FuncStat, len(t.Funcs))
	lost, waits := t.Truncated(), t.waits()
	for i, n := range t.Nodes {
		s := &all[n.Func]
		if waits {
			s = &all[t.Nodes[t.OutOfRuntime(uint32(i))].Func]
		}
		s.Calls += n.Count
		if n.Count > 0 && !lost[i] {
			s.Contexts++
		}
	}
	for i, total := range t.InclusiveByFunction() {
		all[i].Func, all[i].Total = uint32(i), total
	}
	all = slices.DeleteFunc(all, func(s FuncStat) bool { return s.Calls == 0 && s.Total == 0 })
	slices.SortFunc(all, func(a, b FuncStat) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(b.Total, a.Total),
			cmp.Compare(t.Funcs[a.Func].Name, t.Funcs[b.Func].Name), cmp.Compare(a.Func, b.Func))
	})
	return all
}

// Hottest returns the entered contexts with the most calls, at most top of
// them; all if top is negative. Truncated ones are not among them.
func (t *Tree) Hottest(top int) []uint32 {
	lost := t.Truncated()
	var hot []uint32
	// A node's index breaks ties: it follows the order of the profile.
	sort := func() {
		slices.SortFunc(hot, func(a, b uint32) int {
			return cmp.Or(cmp.Compare(t.Nodes[b].Count, t.Nodes[a].Count), cmp.Compare(a, b))
		})
		if top >= 0 && len(hot) > top {
			hot = hot[:top]
		}
	}
	least := uint64(0) // what has no more is not among the first: of those with as many there are enough before it
	for i, n := range t.Nodes {
		if n.Count <= least || lost[i] {
			continue
		}
		if hot = append(hot, uint32(i)); top > 0 && len(hot) >= 4*top+1000 {
			sort()
			least = t.Nodes[hot[top-1]].Count
		}
	}
	sort()
	return hot
}

// Inclusive returns for each node the calls in its whole subtree.
func (t *Tree) Inclusive() []uint64 {
	sum := make([]uint64, len(t.Nodes))
	for i := len(t.Nodes) - 1; i > 0; i-- {
		sum[i] += t.Nodes[i].Count
		sum[t.Nodes[i].Parent] += sum[i]
	}
	return sum
}

// Children are the children of each node of a tree.
type Children struct {
	first []uint32 // children of node n are list[first[n]:first[n+1]]
	list  []uint32
}

// Children returns the children of all nodes, in the order of their indexes.
func (t *Tree) Children() *Children {
	c := &Children{make([]uint32, len(t.Nodes)+2), make([]uint32, len(t.Nodes))}
	for _, n := range t.Nodes[1:] {
		c.first[n.Parent+2]++
	}
	for i := 2; i < len(c.first); i++ {
		c.first[i] += c.first[i-1]
	}
	for i, n := range t.Nodes[1:] {
		c.list[c.first[n.Parent+1]] = uint32(i + 1)
		c.first[n.Parent+1]++
	}
	return c
}

// Of returns the children of node n.
func (c *Children) Of(n uint32) []uint32 { return c.list[c.first[n]:c.first[n+1]] }

// A Neighbour is a caller or a callee of a function, at one place: the call sites of one line
// that enter it in the same way are one. Calls are the calls from there. Of another value it is what the callee, and
// all that it calls, has from there, where it was not counted further out on the same path.
type Neighbour struct {
	Func  uint32
	Site  Site
	Calls uint64
}

// Neighbours are what calls a function and what it calls, most calls first.
// Pseudo-functions are among the callers.
type Neighbours struct {
	FuncStat
	Callers, Callees []Neighbour
}

// Match returns those of [Tree.ByFunction] whose name matches re with their
// callers and callees, most calls first. Frames of labels that only lead to others are among them:
// if several labels are set at once, only the innermost one counts.
func (t *Tree) Match(re Pattern) []Neighbours {
	var list []Neighbours
	place := make(map[uint32]int)
	for _, s := range t.byFunction() {
		f := &t.Funcs[s.Func]
		if (s.Calls > 0 || !f.Pseudo || f.Label.Value != "") && re.MatchString(f.Name) {
			place[s.Func] = len(list)
			list = append(list, Neighbours{FuncStat: s})
		}
	}
	callers, callees := make([]map[Neighbour]uint64, len(list)), make([]map[Neighbour]uint64, len(list))
	for i := range list {
		callers[i], callees[i] = make(map[Neighbour]uint64), make(map[Neighbour]uint64)
	}
	counts, calls := t.ownCounts(), t.Type.Name == profile.Calls.Name
	for i, n := range t.Nodes[1:] {
		caller, count := t.Nodes[n.Parent].Func, counts[i+1]
		if count == 0 {
			continue
		}
		if i, ok := place[n.Func]; ok && (calls || !t.isBelow(n.Parent, n.Func)) {
			callers[i][Neighbour{Func: caller, Site: t.Sites[n.Site]}] += count
		}
		if i, ok := place[caller]; ok && (calls || !t.isCalledAbove(n.Parent, caller, n.Func)) {
			callees[i][Neighbour{Func: n.Func, Site: t.Sites[n.Site]}] += count
		}
	}
	for i := range list {
		list[i].Callers, list[i].Callees = t.ranked(callers[i]), t.ranked(callees[i])
	}
	return list
}

// ownCounts returns what each node brings to those that call it: its calls, or of another value its whole subtree.
func (t *Tree) ownCounts() []uint64 {
	if t.Type.Name != profile.Calls.Name {
		return t.Inclusive()
	}
	counts := make([]uint64, len(t.Nodes))
	for i, n := range t.Nodes {
		counts[i] = n.Count
	}
	return counts
}

// isBelow reports whether node n is of function f, or below a node that is.
func (t *Tree) isBelow(n, f uint32) bool {
	for ; n != 0; n = t.Nodes[n].Parent {
		if t.Nodes[n].Func == f {
			return true
		}
	}
	return false
}

// isCalledAbove reports whether on the path to node n there is a call of callee by caller.
func (t *Tree) isCalledAbove(n, caller, callee uint32) bool {
	for ; n != 0; n = t.Nodes[n].Parent {
		if t.Nodes[n].Func == callee && t.Nodes[t.Nodes[n].Parent].Func == caller {
			return true
		}
	}
	return false
}

// ranked returns the sums as a list. Ties are broken by name and site, so that
// the order does not depend on the map.
func (t *Tree) ranked(calls map[Neighbour]uint64) []Neighbour {
	list := make([]Neighbour, 0, len(calls))
	for n, c := range calls {
		n.Calls = c
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b Neighbour) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(t.Funcs[a.Func].Name, t.Funcs[b.Func].Name),
			cmp.Compare(a.Site.File, b.Site.File), cmp.Compare(a.Site.Line, b.Site.Line),
			cmp.Compare(a.Site.Via, b.Site.Via))
	})
	return list
}

// Overflowed returns how many calls of p are counted by function only, since their contexts had no room, and how many
// calls there are in all, as a report of calls has them.
func Overflowed(p *profile.Profile) (lost, all uint64) {
	t, err := Of(p, profile.Calls.Name)
	if err != nil {
		return 0, 0
	}
	sum := t.Totals()
	return sum.Truncated, sum.Calls
}
