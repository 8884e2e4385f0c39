package cct_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// TestContexts compares the stacks of profile.Contexts with those of a Walker, which finds them in another way, and
// the sum of their calls with that of the nodes.
func TestContexts(t *testing.T) {
	inlined, err := os.Open("../../profile/testdata/shapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer inlined.Close()
	shapes, err := profile.ParseText(inlined)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*profile.Profile{shapes, read(t, recordtest.Shapes()),
		read(t, recordtest.Random(3, 1000, rand.New(rand.NewPCG(1, 1))))} {
		w := cct.NewWalker(p)
		var want, have uint64
		for i := range p.Nodes {
			if f := &p.Funcs[p.Nodes[i].Func]; f.Kind == profile.FuncOrdinary && f.Flags&profile.FuncWrapper == 0 {
				want += p.NodeCounts(i)[0]
			}
		}
		compared, frames := 0, 0
		for c := range p.Contexts() {
			if c.Kind() == profile.FuncOrdinary {
				have += c.Calls()
			}
			path, ok := w.Path(c.Node, profile.None)
			if !ok || !cct.Shown(&p.Funcs[p.Nodes[c.Node].Func]) {
				continue
			}
			var stack []cct.PathFrame
			for f := range c.Stack() {
				stack = append(stack, cct.PathFrame{Func: cct.DisplayName(f.Func), File: f.File, Line: f.Line,
					Inlined: f.Inlined})
			}
			stack[0].Line = 0 // where the function begins
			if !slices.Equal(stack, path) {
				t.Errorf("node %d: have %v, want %v", c.Node, stack, path)
			}
			compared, frames = compared+1, frames+len(stack)
		}
		if have != want || want == 0 {
			t.Errorf("%d calls, want %d", have, want)
		}
		if compared < 5 || frames < 2*compared {
			t.Errorf("%d stacks with %d frames were compared", compared, frames)
		}
	}
}

// TestHottest compares the first contexts with all of them in order: many have as many calls as others.
func TestHottest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	tree := &cct.Tree{Funcs: make([]cct.Func, 2), Sites: make([]cct.Site, 1), Nodes: make([]cct.Node, 1)}
	for i := range uint32(20000) {
		tree.Nodes = append(tree.Nodes, cct.Node{Parent: r.Uint32N(i + 1), Func: 1, Count: r.Uint64N(300)})
	}
	all := tree.Hottest(-1)
	for _, top := range []int{0, 1, 20, 3000, len(all), len(all) + 1} {
		if have, want := tree.Hottest(top), all[:min(top, len(all))]; !slices.Equal(have, want) {
			t.Errorf("the first %d: have %d, want %d, or others", top, len(have), len(want))
		}
	}
}
