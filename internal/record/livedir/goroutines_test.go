package livedir_test

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// TestGoroutines leads goroutines that exist to their contexts: one that waits in a function, and one that runs. Those
// of the runtime, and cells that are none, are left out.
func TestGoroutines(t *testing.T) {
	d := recordtest.New(1, "prog")
	main := d.Func(recordtest.Func{Name: "main.main", Files: []string{"main.go"}, Sites: []recordtest.Site{
		{Kind: layout.SiteGo, Callee: "main.work", Line: 3, Cell: 1}}})
	work := d.Func(recordtest.Func{Name: "main.work", Files: []string{"main.go"}, Sites: []recordtest.Site{
		{Kind: layout.SiteNative, Callee: "runtime.chanrecv1", Line: 7, Cell: 1, Counter: 2}}})
	m := d.Node(recordtest.Root, layout.RootMain, main)
	w := d.Node(m, 0, work)
	cell := func(node, k int) uint32 { return uint32(node + layout.NodeSize + layout.CellSize*k) }
	l, err := livedir.OpenGoroutines(d.FS(), []livedir.Goroutine{
		{cell(w, 0), "sleep"}, {cell(m, 0), "running"}, {cell(recordtest.Root, layout.RootGo), "sleep"}, {77, "sleep"},
		{cell(w, 12), "sleep"}})
	if err != nil {
		t.Fatal(err)
	}
	compareStacks(t, l.Profile, []string{
		"goroutine(sleep) runtime.chanrecv1 main.work main.main [main]", "goroutine(running) main.main [main]"})
}

// compareStacks compares the contexts of goroutines, each of one.
func compareStacks(t *testing.T, p *profile.Profile, want []string) {
	t.Helper()
	tree, err := cct.Of(p, profile.Existing.Name)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for i, n := range tree.Nodes {
		if n.Count == 1 {
			var names []string
			for _, f := range tree.Stack(uint32(i)) {
				names = append(names, f.Func)
			}
			have = append(have, strings.Join(names, " "))
		}
	}
	if len(have) != len(want) || p.Total(profile.Existing) != uint64(len(want)) {
		t.Fatalf("have %q, want %q", have, want)
	}
	for _, w := range want {
		if !strings.Contains(strings.Join(have, "\n")+"\n", w+"\n") {
			t.Errorf("have %q, want %q", have, want)
		}
	}
}
