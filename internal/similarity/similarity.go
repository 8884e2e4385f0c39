// Package similarity compares calling context trees, also of different builds.
//
// An edge of a tree is a context: the path of call sites from the root to a node. Its
// weight is the count of the node. Two trees have an edge in common if the
// functions and call sites on the paths are the same.
package similarity

import (
	"fmt"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
)

// Weights are the edges of a tree, by a text that is the same in every tree for the
// same path, with their weights. Edges of weight 0 are not there.
type Weights map[string]float64

// Level is how much of a path must be the same.
type Level int

const (
	ByLine     Level = iota // functions, files and lines of the calls
	ByFunction              // functions only
	// InGoroutine is for trees of different kinds: paths begin with the
	// goroutine's own function, since a stack does not show what started it, and call sites
	// count by their lines, however the call is made.
	InGoroutine
)

// Of returns the edges of t.
func Of(t *cct.Tree, level Level) Weights {
	w := make(Weights)
	keys := make([]string, len(t.Nodes))
	for i, n := range t.Nodes {
		if i == 0 {
			continue
		}
		keys[i] = level.key(t, keys[n.Parent], n)
		if n.Count > 0 {
			w[keys[i]] += float64(n.Count)
		}
	}
	return w
}

// Entries returns the edges that lead to functions which a sample at function entry can
// find: those that are not inlined, nor native. It compares trees as InGoroutine does.
func Entries(t *cct.Tree) Weights {
	w := make(Weights)
	keys := make([]string, len(t.Nodes))
	for i, n := range t.Nodes {
		if i == 0 {
			continue
		}
		keys[i] = InGoroutine.key(t, keys[n.Parent], n)
		via := t.Sites[n.Site].Via
		inlined := via == cct.ViaInlined && !t.Sites[n.Site].Entered
		if n.Count > 0 && keys[i] != "" && !inlined && via != cct.ViaNative && via != cct.ViaFault {
			w[keys[i]] += float64(n.Count)
		}
	}
	return w
}

// key returns the key of node n, whose parent has the key path.
func (level Level) key(t *cct.Tree, path string, n cct.Node) string {
	f, s := t.Funcs[n.Func], t.Sites[n.Site]
	if level != InGoroutine {
		return path + "\n" + level.text(&f, &s)
	}
	if f.Pseudo || f.Name == "runtime.main" {
		return ""
	}
	if path == "" || s.Via == cct.ViaGo {
		return "\n" + f.Name
	}
	if strings.HasPrefix(t.Funcs[t.Nodes[n.Parent].Func].Name, "runtime.") {
		s = cct.Site{} // a tree of calls does not know where a native calls back
	}
	return fmt.Sprintf("%s\n%s\x00%s\x00%d", path, f.Name, s.File, s.Line)
}

// Total returns the sum of all weights.
func (w Weights) Total() float64 {
	var sum float64
	for _, v := range w {
		sum += v
	}
	return sum
}

// Average returns the average of several trees, each of which counts the same however
// much weight it has in all: an edge has the mean of its shares.
func Average(list ...Weights) Weights {
	avg := make(Weights)
	for _, w := range list {
		total := w.Total()
		for k, v := range w {
			if total > 0 {
				avg[k] += v / total / float64(len(list))
			}
		}
	}
	return avg
}

func (w Weights) both(other Weights, visit func(weight, other float64)) {
	for k, v := range w {
		visit(v, other[k])
	}
	for k, v := range other {
		if _, ok := w[k]; !ok {
			visit(0, v)
		}
	}
}

// Overlap returns the degree of overlap of two trees: the sum over all common edges of the
// smaller one of the edge's two shares in its tree's weight. It is 1 for trees that are
// equal but for a factor, and 0 for trees with nothing in common. (Arnold and Grove;
// ICPE 2015, section 7.3; CCCP, section 6.1.) That of two empty trees is 1.
func Overlap[W Weighted[W]](a, b W) float64 {
	ta, tb := a.Total(), b.Total()
	if ta == 0 || tb == 0 {
		if ta == tb {
			return 1
		}
		return 0
	}
	var sum float64
	a.both(b, func(v, w float64) { sum += min(v/ta, w/tb) })
	return sum
}

// HotEdgeCoverage returns which share of the hot edges of either tree are hot in both:
// the edges in the intersection over those in the union. An edge is hot if its weight is at least t times that of the
// heaviest edge. That of two empty trees is 1.
func HotEdgeCoverage[W Weighted[W]](a, b W, t float64) float64 {
	var heaviestA, heaviestB float64
	a.both(b, func(v, w float64) { heaviestA, heaviestB = max(heaviestA, v), max(heaviestB, w) })
	common, union := 0, 0
	a.both(b, func(v, w float64) {
		hotA, hotB := v > 0 && v >= t*heaviestA, w > 0 && w >= t*heaviestB
		if hotA || hotB {
			union++
		}
		if hotA && hotB {
			common++
		}
	})
	if union == 0 {
		return 1
	}
	return float64(common) / float64(union)
}
