package livedir_test

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// TestAmounts reads nodes of allocations and of waits, whose counters are two values and no calls.
func TestAmounts(t *testing.T) {
	d := recordtest.New(2, "prog")
	f := d.Func(recordtest.Func{Name: "main.f", Files: []string{"main.go"}, Sites: []recordtest.Site{
		{Kind: layout.SiteNative, Callee: "runtime.newobject", Line: 3, Cell: 1, Counter: 2},
		{Kind: layout.SiteNative, Callee: "time.Sleep", Line: 4, Cell: 2, Counter: 3}}})
	typ := d.Alloc("main.T")
	n := d.Node(recordtest.Root, layout.RootMain, f)
	a := d.Node(n, 0, typ)
	d.Count(0, n, 0, 1)
	d.Count(0, a, 0, 2)
	d.Count(1, a, 0, 3)
	d.Count(0, a, 1, 32)
	d.Count(1, a, 1, 48)
	w := d.Node(n, 1, d.Wait("sleep"))
	d.Count(0, w, 0, 1)
	d.Count(1, w, 1, 700)
	l, err := livedir.Open(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	p := l.Profile
	if allocs, alloc := p.Total(profile.AllocObjects), p.Total(profile.AllocSpace); allocs != 5 || alloc != 80 {
		t.Errorf("%d allocations of %d bytes, want 5 of 80", allocs, alloc)
	}
	if calls := p.Total(profile.Calls); calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
	if waits, wait := p.Total(profile.Waits), p.Total(profile.Wait); waits != 1 || wait != 700 {
		t.Errorf("%d waits of %d ns, want 1 of 700", waits, wait)
	}
	have := make(map[profile.FuncKind]string)
	for _, node := range p.Nodes {
		have[p.Funcs[node.Func].Kind] = p.String(p.Funcs[node.Func].Name)
	}
	if have[profile.FuncAlloc] != "main.T" || have[profile.FuncWait] != "sleep" {
		t.Errorf("the nodes are of %v, want the allocations of main.T, and sleep", have)
	}
}

// TestOwnMetrics reads metrics of the program's own, of several nodes and shards, and again when they have grown. One
// that nothing was added to is there as well.
func TestOwnMetrics(t *testing.T) {
	d := recordtest.New(2, "prog")
	f := d.Func(recordtest.Func{Name: "main.f", Files: []string{"main.go"}, Sites: []recordtest.Site{
		{Kind: layout.SiteCall, Callee: layout.AddFunc, Line: 3, Cell: 1},
		{Kind: layout.SiteCall, Callee: layout.AddFunc, Line: 4, Cell: 2}}})
	written, rows := d.Metric("written", "bytes"), d.Metric("rows", "rows")
	d.Metric("unused", "count")
	n := d.Node(recordtest.Root, layout.RootMain, f)
	d.Count(0, n, 0, 1)
	first, second, both := d.Node(n, 0, written), d.Node(n, 1, written), d.Node(n, 1, rows)
	d.Count(0, first, 0, 1<<40)
	d.Count(1, first, 0, 2)
	d.Count(1, second, 0, 3)
	d.Count(0, both, 0, 4)
	l, err := livedir.Open(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	check := func(metric profile.Metric, want uint64) {
		t.Helper()
		c := l.Profile.Column(metric.Name)
		if c == nil || c.Metric != metric {
			t.Fatalf("%s: have %+v, want %+v", metric.Name, c, metric)
		}
		if have := l.Profile.Total(metric); have != want {
			t.Errorf("%s: %d, want %d", metric.Name, have, want)
		}
	}
	check(profile.OwnMetric("written", "bytes"), 1<<40+5)
	check(profile.OwnMetric("rows", "rows"), 4)
	check(profile.OwnMetric("unused", "count"), 0)
	if calls := l.Profile.Total(profile.Calls); calls != 1 {
		t.Errorf("%d calls, want 1: what is added is none", calls)
	}
	d.Count(1, both, 0, 10)
	if grew, err := l.Recount(); grew || err != nil {
		t.Fatalf("grew %v, %v", grew, err)
	}
	check(profile.OwnMetric("written", "bytes"), 1<<40+5)
	check(profile.OwnMetric("rows", "rows"), 14)
}

// TestReachable reads how many objects were reachable when the program counted them, and reports it if it has not, or
// was counting just then.
func TestReachable(t *testing.T) {
	d := recordtest.New(1, "prog")
	f := d.Func(recordtest.Func{Name: "main.f", Files: []string{"main.go"}, Sites: []recordtest.Site{
		{Kind: layout.SiteNative, Callee: "runtime.newobject", Line: 3, Cell: 1, Counter: 2}}})
	typ := d.Alloc("main.T")
	n := d.Node(recordtest.Root, layout.RootMain, f)
	a := d.Node(n, 0, typ)
	again := d.Node(n, 0, typ) // made twice
	d.Count(0, a, 0, 9)
	d.Counted(a, 2, 32)
	d.Counted(again, 1, 16)
	late := d.Node(recordtest.Root, layout.RootOther, typ) // made since
	d.Count(0, late, 0, 1)
	read := func() *profile.Profile {
		t.Helper()
		l, err := livedir.Open(d.FS())
		if err != nil {
			t.Fatal(err)
		}
		return l.Profile
	}
	p := read()
	if objects, bytes := p.Total(profile.InuseObjects), p.Total(profile.InuseSpace); objects != 3 || bytes != 48 {
		t.Errorf("%d objects of %d bytes, want 3 of 48", objects, bytes)
	}
	for what, change := range map[string]func(*layout.InuseHeader){
		"has not yet": func(h *layout.InuseHeader) { h.Counted = 0 },
		"about to":    func(h *layout.InuseHeader) { h.Changes = 3 },
	} {
		raw.Update(d.Inuse, change)
		p := read()
		notes := p.Processes[0].Notes
		if p.Has(profile.InuseSpace) || len(notes) != 1 || !strings.Contains(notes[0], what) {
			t.Errorf("inuse_space is there: %v, notes %q, want one with %q", p.Has(profile.InuseSpace), notes, what)
		}
		raw.Store(d.Inuse, layout.InuseHeader{Changes: 2, Counted: 1})
	}
	d.Inuse = d.Inuse[:0]
	if p := read(); p.Has(profile.InuseSpace) || len(p.Processes[0].Notes) != 1 {
		t.Errorf("an empty file: %q", p.Processes[0].Notes)
	}
}
