package cct

import (
	"cmp"
	"slices"
)

// Shares that Cover goes by.
const (
	coverLeast = 0.03 // of all values: a path with less is not worth a line
	// of a node's value, and of all values: what the paths below it have, so that they may stand for it
	coverKept = 0.7
)

// Cover returns at most n contexts, none below another one, that together have most of
// what t has: where to look first. It begins at the root and goes down as long as a few
// callees have most of what their caller has; so a path is as long as it says more than a
// shorter one would. Those with the largest value, with what is below them, come first.
func (t *Tree) Cover(n int) []uint32 {
	sum, kids := t.Inclusive(), t.Children()
	least := uint64(coverLeast * float64(sum[0]))
	largest := func(a, b uint32) int { return cmp.Or(cmp.Compare(sum[b], sum[a]), cmp.Compare(a, b)) }
	front, done := []uint32{0}, []uint32(nil)
	lost := uint64(0) // values that no path has any more
	for len(front) > 0 {
		slices.SortFunc(front, largest)
		at := front[0]
		front = front[1:]
		var big []uint32
		covered := uint64(0)
		for _, k := range kids.Of(at) {
			if sum[k] > least {
				big = append(big, k)
				covered += sum[k]
			}
		}
		left := sum[at] - covered
		split := len(big) > 0 && enough(covered, sum[at]) && enough(sum[0]-lost-left, sum[0])
		if at == 0 || split && len(front)+len(done)+len(big) <= n {
			front = append(front, big...)
			lost += left
		} else {
			done = append(done, at)
		}
	}
	slices.SortFunc(done, largest)
	return done[:min(n, len(done))]
}

// enough reports whether a part of a value may stand for it.
func enough(part, value uint64) bool { return float64(part) >= coverKept*float64(value) }
