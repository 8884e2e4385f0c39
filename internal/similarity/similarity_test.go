package similarity_test

import (
	"math"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/similarity"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// TestOverlap works the definition out by hand.
func TestOverlap(t *testing.T) {
	a := similarity.Weights{"x": 50, "y": 30, "z": 20}
	for _, tt := range []struct {
		b    similarity.Weights
		want float64
	}{
		{similarity.Weights{"x": 50, "y": 30, "z": 20}, 1},
		{similarity.Weights{"x": 5, "y": 3, "z": 2}, 1},                   // a factor does not matter
		{similarity.Weights{"w": 1}, 0},                                   // nothing in common
		{similarity.Weights{"x": 1}, 0.5},                                 // min(0.5, 1)
		{similarity.Weights{"x": 1, "y": 1}, 0.8},                         // min(0.5, 0.5) + min(0.3, 0.5)
		{similarity.Weights{"x": 1, "y": 1, "z": 1, "w": 1}, 0.25 + 0.45}, // 0.25 + 0.25 + 0.2
		{similarity.Weights{}, 0},
	} {
		if have := similarity.Overlap(a, tt.b); !near(have, tt.want) {
			t.Errorf("overlap with %v: %v, want %v", tt.b, have, tt.want)
		}
		if have := similarity.Overlap(tt.b, a); !near(have, tt.want) {
			t.Errorf("overlap of %v: %v, want %v: it is symmetric", tt.b, have, tt.want)
		}
	}
	if have := similarity.Overlap[similarity.Weights](nil, nil); have != 1 {
		t.Errorf("two empty trees: %v, want 1", have)
	}
}

// TestHotEdgeCoverage works the definition out by hand.
func TestHotEdgeCoverage(t *testing.T) {
	a := similarity.Weights{"x": 100, "y": 10, "z": 9.9} // x and y are hot
	for _, tt := range []struct {
		b    similarity.Weights
		want float64
	}{
		{a, 1},
		{similarity.Weights{"x": 1}, 0.5},
		{similarity.Weights{"x": 1, "y": 1, "z": 1}, 2. / 3},
		{similarity.Weights{"z": 7}, 0},
		{similarity.Weights{"x": 2, "y": 1, "w": 0.1}, 1},
	} {
		if have := similarity.HotEdgeCoverage(a, tt.b, 0.1); !near(have, tt.want) {
			t.Errorf("coverage with %v: %v, want %v", tt.b, have, tt.want)
		}
	}
	if have := similarity.HotEdgeCoverage[similarity.Weights](nil, nil, 0.1); have != 1 {
		t.Errorf("two empty trees: %v, want 1", have)
	}
}

func TestAverage(t *testing.T) {
	avg := similarity.Average(similarity.Weights{"x": 1, "y": 1}, similarity.Weights{"x": 30}, similarity.Weights{})
	if !near(avg["x"], 0.5) || !near(avg["y"], 1./6) {
		t.Errorf("have %v, want x 1/2 and y 1/6", avg)
	}
}

// tree returns main → a → b, and main → b at two places.
func tree() *cct.Tree {
	return &cct.Tree{
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "[main]", Pseudo: true}, {Name: "main.main"},
			{Name: "a"}, {Name: "b"}},
		Sites: []cct.Site{{}, {File: "m.go", Line: 1}, {File: "m.go", Line: 2}, {File: "a.go", Line: 1},
			{File: "m.go", Line: 3, Via: cct.ViaGo}},
		Nodes: []cct.Node{{}, {Parent: 0, Func: 1}, {Parent: 1, Func: 2, Count: 1},
			{Parent: 2, Func: 3, Site: 1, Count: 10},
			{Parent: 3, Func: 4, Site: 3, Count: 100}, {Parent: 2, Func: 4, Site: 1, Count: 5},
			{Parent: 2, Func: 4, Site: 2, Count: 7}, {Parent: 3, Func: 4, Site: 4, Count: 3}},
	}
}

func TestOf(t *testing.T) {
	for level, want := range map[similarity.Level]int{similarity.ByLine: 6, similarity.ByFunction: 4,
		similarity.InGoroutine: 6} {
		w := similarity.Of(tree(), level)
		if len(w) != want || w.Total() != 126 {
			t.Errorf("level %v: %d edges of weight %v, want %d of 126: %v", level, len(w), w.Total(), want, w)
		}
	}
}

// TestPair has calls back from natives: in the tree of calls each native has a node, in that of samples one of them has
// no frame. Paths lead past all of them, so the trees are the same.
func TestPair(t *testing.T) {
	funcs := []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "[main]", Pseudo: true}, {Name: "main.main"},
		{Name: "f"}, {Name: "runtime.reflectcall"}, {Name: "runtime.gopanic"}, {Name: "x.assembly"},
		{Name: "x.value", Asm: true}}
	at := func(line int, via cct.Via) cct.Site { return cct.Site{File: "m.go", Line: line, Via: via} }
	exact := &cct.Tree{Funcs: funcs,
		Sites: []cct.Site{{}, at(1, cct.ViaNative), at(2, cct.ViaNative), at(3, cct.ViaNative), at(4, cct.ViaDefer)},
		Nodes: []cct.Node{{}, {Func: 1}, {Parent: 1, Func: 2, Count: 10},
			{Parent: 2, Func: 4, Site: 1, Count: 30}, {Parent: 3, Func: 3, Count: 30},
			{Parent: 2, Func: 5, Site: 2, Count: 40}, {Parent: 5, Func: 3, Count: 40},
			{Parent: 2, Func: 6, Site: 3, Count: 50}, {Parent: 7, Func: 3, Count: 50},
			{Parent: 2, Func: 7, Site: 4, Count: 60}, {Parent: 9, Func: 3, Count: 60}}}
	samples := &cct.Tree{Funcs: funcs,
		Sites: []cct.Site{{}, at(1, cct.ViaCall), at(2, cct.ViaCall), at(3, cct.ViaCall), {File: "panic.go", Line: 860},
			{File: "assembly.s", Line: 7}, at(4, cct.ViaCall)},
		Nodes: []cct.Node{{}, {Func: 1}, {Parent: 1, Func: 2, Count: 1},
			{Parent: 2, Func: 3, Site: 1, Count: 3},
			{Parent: 2, Func: 5, Site: 2}, {Parent: 4, Func: 3, Site: 4, Count: 4},
			{Parent: 2, Func: 6, Site: 3}, {Parent: 6, Func: 3, Site: 5, Count: 5},
			{Parent: 2, Func: 7, Site: 6}, {Parent: 8, Func: 3, Site: 5, Count: 6}}}
	calls, sampled := similarity.Pair(exact, samples)
	if overlap := similarity.Overlap(calls, sampled); !near(overlap, 1) || len(calls) != 5 || calls.Total() != 190 {
		t.Errorf("overlap %v of %v and %v", overlap, calls, sampled)
	}
}

// TestHotEdgesOfAverage compares trees with the average of equal ones. Many edges have exactly the weight that makes an
// edge hot, as loops make them, which no sum of parts of it need have.
func TestHotEdgesOfAverage(t *testing.T) {
	for runs := 1; runs <= 9; runs++ {
		for _, rest := range []float64{1, 3, 7, 12_345, 4_574_109} {
			e := similarity.Edges{0, 36_000, 3_600, 3_600, 3_600, 3_599, rest}
			var list []similarity.Edges
			for range runs {
				list = append(list, e)
			}
			if have := similarity.HotEdgeCoverage(e, similarity.AverageEdges(list...), 0.1); have != 1 {
				t.Errorf("%d runs, another edge of %.0f: hot edges %.4f, want 1", runs, rest, have)
			}
		}
	}
	a, b := similarity.Edges{0, 36_000, 3_600}, similarity.Edges{0, 36_000, 3_599}
	if have := similarity.HotEdgeCoverage(a, b, 0.1); have != 0.5 {
		t.Errorf("one call less than hot: %.4f, want 0.5", have)
	}
}
