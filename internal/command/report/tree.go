package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/profile"
)

// tree prints the subtrees with the most calls, those with more calls first.
// The walk has a stack of its own, since contexts can be as deep as the program
// was, with a million frames in full recursion. The child with the most calls is
// pushed last, to come first. Percentages are of the calls in the whole subtree.
func (r *reporter) tree() {
	sum, kids := r.t.Inclusive(), r.t.Children()
	least := r.o.Min / 100 * float64(r.totals.Calls)
	r.head("%15s %7s  %s", r.t.Type.Name, "total%", "context")
	if sum[0] == 0 {
		r.empty()
	}
	type entry struct {
		node  uint32
		depth int
	}
	stack := []entry{{0, -1}}
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if e.depth >= 0 {
			r.treeLine(e.node, e.depth, sum[e.node])
		}
		if r.o.Depth >= 0 && e.depth+1 >= r.o.Depth {
			continue
		}
		list := slices.Clone(kids.Of(e.node))
		slices.SortStableFunc(list, func(a, b uint32) int { return cmp.Compare(sum[a], sum[b]) })
		for _, k := range list {
			if sum[k] > 0 && float64(sum[k]) >= least {
				stack = append(stack, entry{k, e.depth + 1})
			}
		}
	}
	if r.o.Min > 0 {
		r.printf("%15s subtrees with less than %g%% of %s are left out; -min=0 prints all\n", "", r.o.Min,
			r.t.Type.About)
	}
}

// treeLine prints one node: its own calls, and the share of its subtree.
func (r *reporter) treeLine(n uint32, depth int, below uint64) {
	node := r.t.Nodes[n]
	s := r.t.Sites[node.Site]
	at := ""
	if s.File != "" {
		at = "  at" + position(s.File, s.Line)
	}
	r.printf("%15s %s  %s%s%s%s\n", r.amount(node.Count), r.percent(below), indent(depth),
		r.t.Funcs[node.Func].Name, at, mark(s.Via, node.Fold))
}

// deepest is how far lines are indented. Contexts may be a million calls deep.
const deepest = 100

// indent returns what stands before a line of the tree: deep ones have their depth as a number.
func indent(depth int) string {
	if depth <= deepest {
		return strings.Repeat("  ", depth)
	}
	return fmt.Sprintf("%s[%d] ", strings.Repeat("  ", deepest), depth)
}

// matches prints each matching function between its callers and callees.
// Of calls each has its own and then the total, of other values the total, by which they are sorted.
// -top applies to the functions, and again to the callers and callees of each.
func (r *reporter) matches() {
	list := r.t.Match(r.o.Matching)
	calls := r.t.Type.Name == profile.Calls.Name
	if !calls {
		slices.SortStableFunc(list, func(a, b cct.Neighbours) int { return cmp.Compare(b.Total, a.Total) })
	}
	for _, m := range list[:r.cut(len(list))] {
		r.neighbours("called from", m.Callers)
		count, other := m.Total, r.amount(m.Calls)+" of its own"
		if calls {
			count, other = m.Calls, "total "+r.amount(m.Total)
		}
		r.head("%15s %s  %s  (%s, %s)", r.amount(count), r.percent(count), r.t.Funcs[m.Func].Name, other,
			humanize.Plural(m.Contexts, "context"))
		r.neighbours("calls", m.Callees)
		r.printf("\n")
	}
	r.more(len(list), "function")
	if len(list) == 0 {
		r.noMatch()
	}
}

// neighbours prints callers or callees, one line for each place of a call.
func (r *reporter) neighbours(what string, list []cct.Neighbour) {
	for _, n := range list[:r.cut(len(list))] {
		s := n.Site
		r.printf("%15s %7s    %-11s %s%s%s\n", r.amount(n.Calls), "", what, r.t.Funcs[n.Func].Name,
			position(s.File, s.Line), mark(s.Via))
	}
	r.more(len(list), "entry", "entries")
}
