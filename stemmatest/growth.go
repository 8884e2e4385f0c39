package stemmatest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// A Growing is how a number of calls grows with the size of the input.
type Growing struct {
	t     testing.TB
	what  string
	sizes []int
	trees []*cct.Tree // by size
	of    filter
}

// Growth calls f with each of the sizes and counts the calls. Before that it calls f with the first size, so that
// what is done only once does not count. Give at least two sizes in ascending order, the last
// at least twice the first. Calls that do not depend on the size make growth look slower: they
// should be few already at the first size.
func Growth(t testing.TB, sizes []int, f func(n int)) *Growing {
	t.Helper()
	if err := checkSizes(sizes); err != nil {
		t.Fatalf("stemmatest: %v", err)
	}
	needCounts(t)
	l := take(t)
	defer l.release()
	g := &Growing{t: t, what: "calls", sizes: sizes, of: everything}
	f(sizes[0])
	for _, n := range sizes {
		tree, err := l.count(func() { f(n) }, profile.Calls.Name)
		if err != nil {
			t.Fatalf("stemmatest: %v", err)
		}
		g.trees = append(g.trees, tree)
	}
	return g
}

// checkSizes returns an error if no growth can be seen at these sizes.
func checkSizes(sizes []int) error {
	if len(sizes) < 2 {
		return fmt.Errorf("Growth: sizes %v, want at least two", sizes)
	}
	for i, n := range sizes {
		if n <= 0 || i > 0 && n <= sizes[i-1] {
			return fmt.Errorf("Growth: sizes %v, want positive ones in ascending order", sizes)
		}
	}
	if first, last := sizes[0], sizes[len(sizes)-1]; last/2 < first {
		return fmt.Errorf("Growth: sizes from %d to %d, want the last at least twice the first", first, last)
	}
	return nil
}

// Of returns how the calls of functions whose names match the pattern grow.
func (g *Growing) Of(pattern string) *Growing {
	g.t.Helper()
	of := *g
	of.what = "calls of " + pattern
	of.of = matching(g.t, g.trees[len(g.trees)-1], pattern)
	return &of
}

// counts returns the calls at each size.
func (g *Growing) counts(f filter) []uint64 {
	list := make([]uint64, len(g.sizes))
	for k, tree := range g.trees {
		list[k], _ = f.calls(tree)
	}
	return list
}

// Exponent returns k so that the calls grow as n^k: 0 if their number is always the same, 1
// if it is proportional to n, a little more if to n log n, 2 if to n². It is the slope of the straight line
// that fits the logarithms of calls and sizes best.
func (g *Growing) Exponent() float64 { return slope(g.sizes, g.counts(g.of)) }

// slope fits log(counts) to log(sizes) by least squares. No call counts as one.
func slope(sizes []int, counts []uint64) float64 {
	var x, y, xx, xy float64
	for i, n := range sizes {
		lx, ly := math.Log(float64(n)), math.Log(float64(max(counts[i], 1)))
		x, y, xx, xy = x+lx, y+ly, xx+lx*lx, xy+lx*ly
	}
	n := float64(len(sizes))
	return (n*xy - x*y) / (n*xx - x*x)
}

// AtMost fails the test if the calls grow faster than n^k.
func (g *Growing) AtMost(k float64) *Growing {
	g.t.Helper()
	if have := g.Exponent(); !(have <= k) {
		g.t.Errorf("%s grow as n^%.2f, want at most n^%.2f\n%s", g.what, have, k, g.table())
	}
	return g
}

// AtLeast fails the test if the calls grow more slowly than n^k.
func (g *Growing) AtLeast(k float64) *Growing {
	g.t.Helper()
	if have := g.Exponent(); !(have >= k) {
		g.t.Errorf("%s grow as n^%.2f, want at least n^%.2f\n%s", g.what, have, k, g.table())
	}
	return g
}

// table returns the calls at each size, and of the functions with most calls how theirs grow.
func (g *Growing) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%12s %14s\n", "n", "calls")
	for k, n := range g.counts(g.of) {
		fmt.Fprintf(&b, "%12d %14d\n", g.sizes[k], n)
	}
	calls := make(map[string]uint64)
	largest := g.trees[len(g.trees)-1]
	_, nodes := g.of.calls(largest)
	for _, i := range nodes {
		n := largest.Nodes[i]
		calls[largest.Funcs[n.Func].Name] += n.Count
	}
	names := make([]string, 0, len(calls))
	for name := range calls {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(calls[b], calls[a]), cmp.Compare(a, b))
	})
	for _, name := range names[:min(len(names), maxShown)] {
		k := slope(g.sizes, g.counts(filter{func(other string) bool { return other == name }, g.of.chance}))
		fmt.Fprintf(&b, "%12s %14d  %s\n", fmt.Sprintf("n^%.2f", k), calls[name], name)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
