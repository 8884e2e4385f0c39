package callgraph

import (
	"slices"
	"testing"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/ssa"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// TestMatchC tests that a call of C may call all that is exported to C.
func TestMatchC(t *testing.T) {
	b := &Binary{Funcs: []Func{
		{Name: "main.main", Cells: 3, Sites: []Site{
			{Kind: layout.SitePanic, Callee: "example.com/db._Cfunc_step", Cell: 1},
			{Kind: layout.SitePanic, Callee: "main._C2func_open", Cell: 2},
			{Kind: layout.SitePanic, Callee: "runtime.gopanic", Cell: 3},
		}},
		{Name: "_cgoexp_0123_compare", Place: Place{"_cgo_gotypes.go", 10}},
		{Name: "main._Cfunc_step", Place: Place{"_cgo_gotypes.go", 20}},
		{Name: "_cgoexp_0123_done", Place: Place{"_cgo_gotypes.go", 30}},
	}}
	g := Match(b, new(Source))
	if len(g.Calls) != 2 {
		t.Fatalf("%d calls are matched, want those of C: %+v", len(g.Calls), g.Calls)
	}
	for _, c := range g.Calls {
		if !c.Dynamic || !slices.Equal(c.Targets, []int{1, 3}) {
			t.Errorf("cell %d: dynamic %t, targets %v; want functions 1 and 3", c.Cell, c.Dynamic, c.Targets)
		}
	}
}

// TestBehindWrappers tests wrappers that call each other: there are more paths
// through them than can be walked.
func TestBehindWrappers(t *testing.T) {
	nodes := make([]*callgraph.Node, 60)
	for i := range nodes {
		nodes[i] = &callgraph.Node{Func: &ssa.Function{Synthetic: "wrapper"}}
	}
	for _, from := range nodes {
		for _, to := range nodes {
			from.Out = append(from.Out, &callgraph.Edge{Caller: from, Callee: to})
		}
	}
	if places := new(Source).behindWrappers(nodes[0]); len(places) != 0 {
		t.Errorf("wrappers that lead nowhere lead to %v", places)
	}
}
