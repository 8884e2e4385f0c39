package tree

import (
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestNested starts 10,000 goroutines, each of which starts the next.
func TestNested(t *testing.T) {
	e2e.NeedMore(t)
	e2e.Prove(t, "nested", []int{1, 8})
}

// TestManyContexts makes 1.5 million contexts, with room and without.
func TestManyContexts(t *testing.T) {
	e2e.NeedMore(t)
	wants := e2e.SourceWants(t, "contexts")
	for _, b := range e2e.Builds(t, "contexts") {
		t.Run(b[0], func(t *testing.T) {
			r := e2e.Run(t, e2e.Build(t, "contexts", b[1:]...), "GOMAXPROCS=2")
			r.OK(t)
			p := r.Read(t)
			tree := cct.New(p)
			totals := tree.Totals()
			t.Logf("%+v, lost %v", totals, p.Lost())
			switch b[0] {
			case "full":
				e2e.NoLoss(t, p)
			case "small":
				if totals.Contexts > 60_000 || totals.Contexts < 40_000 {
					t.Errorf("have %d contexts with a budget of 50,000", totals.Contexts)
				}
				if totals.Truncated == 0 || len(p.Lost()) == 0 {
					t.Errorf("nothing said about what is missing: %+v", totals)
				}
			}
			e2e.CheckFuncs(t, tree, wants, b[0])
		})
	}
}

// TestManyTargets calls 3000 functions from one site, over and over: the tree
// must not grow.
func TestManyTargets(t *testing.T) {
	r := e2e.Run(t, e2e.Build(t, "targets"), "GOMAXPROCS=2")
	r.OK(t)
	p := r.Read(t)
	e2e.NoLoss(t, p)
	e2e.Check(t, cct.New(p), e2e.SourceWants(t, "targets"), "default")
}
