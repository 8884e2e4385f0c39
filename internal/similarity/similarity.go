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
	// InGoroutine is for trees of different kinds, see Entries: paths begin with the
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
		keys[i] = level.key(t, keys[n.Parent], n.Func, &t.Sites[n.Site])
		if n.Count > 0 {
			w[keys[i]] += float64(n.Count)
		}
	}
	return w
}

// Entries returns the edges that lead to functions which a sample at function entry can
// find: those that are not inlined, nor native. Calls that a function has inlined into itself are left out, also where
// recursion is folded and they share a node with others. Paths begin with the goroutine's own function, and lead past
// natives: a stack has frames of some of them that no tree of calls has nodes for, such as those of the runtime below a
// panic, and none of others. natives are what Natives has found in a tree of calls of the program, nil for that tree
// itself.
func Entries(t *cct.Tree, natives map[string]bool) Weights {
	w := make(Weights)
	keys := make([]string, len(t.Nodes))
	sites := make([]*cct.Site, len(t.Nodes)) // of natives, whose key is that of who calls them: where that is
	for i, n := range t.Nodes {
		if i == 0 {
			continue
		}
		name, via := t.Funcs[n.Func].Name, t.Sites[n.Site].Via
		site := &t.Sites[n.Site]
		if of := sites[n.Parent]; of != nil {
			site = of // what a native calls back counts as called where the native is
		}
		if name != mainRoot && keys[n.Parent] != "" &&
			(via == cct.ViaNative || t.Funcs[n.Func].Asm || strings.HasPrefix(name, "runtime.") || natives[name]) {
			keys[i], sites[i] = keys[n.Parent], site
			continue
		}
		keys[i] = InGoroutine.key(t, keys[n.Parent], n.Func, site)
		inlined := via == cct.ViaInlined && !t.Sites[n.Site].Entered
		if entered := t.Entered(uint32(i)); entered > 0 && keys[i] != "" && !inlined && via != cct.ViaFault {
			w[keys[i]] += float64(entered)
		}
	}
	return w
}

// Pair returns the edges of a tree of calls and of one of samples of the same program, as Entries does.
func Pair(exact, samples *cct.Tree) (calls, sampled Weights) {
	return Entries(exact, nil), Entries(samples, Natives(exact))
}

// Natives returns the names of the functions that a tree of calls has as natives, and not otherwise.
func Natives(t *cct.Tree) map[string]bool {
	natives := make(map[string]bool)
	for i, n := range t.Nodes {
		if i > 0 && (t.Sites[n.Site].Via == cct.ViaNative || t.Funcs[n.Func].Asm) {
			natives[t.Funcs[n.Func].Name] = true
		}
	}
	for i, n := range t.Nodes {
		if i > 0 && t.Sites[n.Site].Via != cct.ViaNative && !t.Funcs[n.Func].Asm {
			delete(natives, t.Funcs[n.Func].Name)
		}
	}
	return natives
}

// mainRoot is what calls main.main in a stack.
const mainRoot = "runtime.main"

// key returns the key of a node whose parent has the key path: of a function that is called at a site.
func (level Level) key(t *cct.Tree, path string, function uint32, s *cct.Site) string {
	f := &t.Funcs[function]
	if level != InGoroutine {
		return path + "\n" + level.text(f, s)
	}
	if f.Pseudo || f.Name == mainRoot {
		return ""
	}
	if path == "" || s.Via == cct.ViaGo {
		return "\n" + f.Name
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
// heaviest edge; weights of an average are not exact, and those that are less by no more than that count as the same.
// That of two empty trees is 1.
func HotEdgeCoverage[W Weighted[W]](a, b W, t float64) float64 {
	var heaviestA, heaviestB float64
	a.both(b, func(v, w float64) { heaviestA, heaviestB = max(heaviestA, v), max(heaviestB, w) })
	const rounding = 1e-9
	leastA, leastB := t*heaviestA*(1-rounding), t*heaviestB*(1-rounding)
	common, union := 0, 0
	a.both(b, func(v, w float64) {
		hotA, hotB := v > 0 && v >= leastA, w > 0 && w >= leastB
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
