package live_test

import (
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/rt"
	"github.com/stemma-go/stemma/internal/live"
	"github.com/stemma-go/stemma/internal/livetest"
	"github.com/stemma-go/stemma/profile"
)

// TestAllocations reads nodes of allocations, whose counters are two values and no calls.
func TestAllocations(t *testing.T) {
	d := livetest.New(2, "prog")
	f := d.Func(livetest.Func{Name: "main.f", Files: []string{"main.go"}, Sites: []livetest.Site{
		{Kind: rt.SiteNative, Callee: "runtime.newobject", Line: 3, Cell: 1, Counter: 2}}})
	typ := d.Alloc("main.T")
	n := d.Node(livetest.Root, rt.RootMain, f)
	a := d.Node(n, 0, typ)
	d.Count(0, n, 0, 1)
	d.Count(0, a, 0, 2)
	d.Count(1, a, 0, 3)
	d.Count(0, a, 1, 32)
	d.Count(1, a, 1, 48)
	l, err := live.Open(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	p := l.Profile
	if allocs, alloc := p.Total(profile.Allocs), p.Total(profile.Alloc); allocs != 5 || alloc != 80 {
		t.Errorf("%d allocations of %d bytes, want 5 of 80", allocs, alloc)
	}
	if calls := p.Total(profile.Calls); calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
	if last := p.Funcs[p.Nodes[len(p.Nodes)-1].Func]; last.Kind != profile.FuncAlloc ||
		p.String(last.Name) != "main.T" {
		t.Errorf("the last node is of %v %s, want the allocations of main.T", last.Kind, p.String(last.Name))
	}
}
