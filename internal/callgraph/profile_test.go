package callgraph

import (
	"slices"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/profile"
)

// TestFromProfile numbers sites that have other cells in the profile, two of them in one line, and a function that the
// binary has not.
func TestFromProfile(t *testing.T) {
	b := &Binary{Funcs: []Func{
		{Name: "main.main", Cells: 3, Sites: []Site{
			{Kind: layout.SiteCall, Place: Place{"/there/main.go", 5}, Callee: "main.f", Cell: 1},
			{Kind: layout.SiteCall, Place: Place{"/there/main.go", 5}, Callee: "main.f", Cell: 2},
			{Kind: layout.SiteCall, Place: Place{"/there/main.go", 7}, Cell: 3},
		}},
		{Name: "main.f"}, {Name: "main.g"},
	}}
	p := &profile.Profile{Strings: []string{"", "main.main", "main.f", "main.g", "main.leaf", "main.go"}}
	sites := []profile.Site{
		{Kind: profile.SitePanic, File: 5, Line: 4, Cell: 0, Counter: profile.None},
		{Kind: profile.SiteCall, File: 5, Line: 5, Callee: 2, Cell: 1, Counter: profile.None},
		{Kind: profile.SiteCall, File: 5, Line: 5, Callee: 2, Cell: 2, Counter: profile.None},
		{Kind: profile.SiteCall, File: 5, Line: 7, Cell: 3, Counter: profile.None},
	}
	p.Funcs = []profile.Func{
		{Kind: profile.FuncRoot, Cells: 1},
		{Name: 1, Kind: profile.FuncOrdinary, Cells: 4, Counters: 1, Sites: sites},
		{Name: 2, Kind: profile.FuncOrdinary, Counters: 1}, {Name: 3, Kind: profile.FuncOrdinary, Counters: 1},
		{Name: 4, Kind: profile.FuncOrdinary, Counters: 1},
	}
	if _, err := p.AddColumn(profile.Calls); err != nil {
		t.Fatal(err)
	}
	p.Nodes = append(p.Nodes[:0], profile.Node{})
	calls := p.Column(profile.Calls.Name)
	calls.Values = nil
	for _, n := range []struct {
		fn, parent, cell uint32
		count            uint64
	}{{1, 0, 0, 1}, {2, 1, 1, 10}, {2, 1, 2, 20}, {3, 1, 3, 30}, {2, 1, 3, 40}, {4, 1, 3, 50}} {
		p.Nodes = append(p.Nodes, profile.Node{Func: n.fn, Parent: n.parent, Cell: n.cell,
			First: uint32(len(calls.Values))})
		calls.Values = append(calls.Values, n.count)
	}
	g := FromProfile(b, p)
	want := []Call{
		{Cell: 0, Targets: []int{1}, Weight: 10}, {Cell: 1, Targets: []int{1}, Weight: 20},
		{Cell: 2, Dynamic: true, Targets: []int{1, 2}, Weight: 70},
	}
	if !slices.EqualFunc(g.Calls, want, func(x, y Call) bool {
		return x.Caller == y.Caller && x.Cell == y.Cell && x.Dynamic == y.Dynamic && x.Weight == y.Weight &&
			slices.Equal(x.Targets, y.Targets)
	}) {
		t.Errorf("have %+v, want %+v", g.Calls, want)
	}
}
