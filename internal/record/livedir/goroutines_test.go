package livedir_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// TestGoroutines reads goroutines that exist: one that waits in a function, one that runs, the main goroutine, three of
// the runtime, one that is about to begin, and a place that is not used.
func TestGoroutines(t *testing.T) {
	d := recordtest.New(1, "prog")
	main := d.Func(recordtest.Func{Name: "main.main", Files: []string{"main.go"}, Sites: []recordtest.Site{
		{Kind: layout.SiteGo, Callee: "main.work", Line: 3, Cell: 1}}})
	work := d.Func(recordtest.Func{Name: "main.work", Files: []string{"main.go"}, Sites: []recordtest.Site{
		{Kind: layout.SiteNative, Callee: "runtime.chanrecv1", Line: 7, Cell: 1, Counter: 2}}})
	m := d.Node(recordtest.Root, layout.RootMain, main)
	w := d.Node(m, 0, work)
	d.Header(func(h *layout.Header) { h.Flags |= layout.HdrFlagWait | layout.HdrFlagExisting })
	cell := func(node, k int) uint32 { return uint32(node + layout.NodeSize + layout.CellSize*k) }
	h := layout.GoroutinesHeader{Entries: 8, End: 1e18}
	copy(h.Reasons[5][:], "chan receive")
	file := raw.Append(nil, h)
	for _, g := range []layout.Goroutine{
		{ID: 7, Since: 1e18 - 500, Start: cell(m, 0), At: cell(w, 0), Reason: 5, Again: 7},
		{ID: 8, Since: 1e18 - 500, Start: cell(m, 0), At: cell(m, 0), Reason: layout.GoroutineRuns, Again: 8},
		{ID: 1, Since: 1e18 - 50, Start: cell(recordtest.Root, layout.RootMain),
			At: cell(recordtest.Root, layout.RootMain), Reason: layout.GoroutineRuns, Again: 1},
		{ID: 2, Start: cell(recordtest.Root, layout.RootGo), At: cell(recordtest.Root, layout.RootGo), Reason: 5,
			Again: 2},
		{ID: 3, Start: cell(recordtest.Root, layout.RootFinalizer), At: cell(recordtest.Root, layout.RootFinalizer),
			Reason: 5, Again: 3},
		{ID: 4, Start: cell(recordtest.Root, layout.RootCleanup), At: cell(recordtest.Root, layout.RootCleanup),
			Reason: 5, Again: 4},
		{ID: 9, Start: cell(m, 0), At: cell(m, 0), Reason: 5},
		{},
	} {
		file = raw.Append(file, g)
	}
	files := d.FS()
	files["goroutines"] = &fstest.MapFile{Data: file}
	l, err := livedir.Open(files)
	if err != nil {
		t.Fatal(err)
	}
	compareStacks(t, l.Profile, []string{
		"goroutine(chan receive) runtime.chanrecv1 main.work main.main [main]",
		"goroutine(running) main.main [main]", "goroutine(running) [main]"})
	if idle := l.Profile.Total(profile.Idle); idle != 500 {
		t.Errorf("they have not run for %d ns, want 500", idle)
	}
	files["goroutines"].Data = file[:len(file)-6*layout.GoroutineSize]
	if l, err = livedir.Open(files); err != nil || l.Profile.Total(profile.Existing) != 2 {
		t.Errorf("of a file that was cut: %v, %d goroutines, want 2", err, l.Profile.Total(profile.Existing))
	}
	notes(t, l, "goroutines: 6 goroutines are not listed")
	delete(files, "goroutines")
	if l, err = livedir.Open(files); err != nil {
		t.Fatal(err)
	}
	notes(t, l, "goroutines: missing")
	l, err = livedir.OpenGoroutines(files, []livedir.Goroutine{
		{Cell: cell(w, 0), Reason: "sleep", Idle: time.Second}, {Cell: 77}, {Cell: cell(w, 12)}})
	if err != nil {
		t.Fatal(err)
	}
	compareStacks(t, l.Profile, []string{"goroutine(sleep) runtime.chanrecv1 main.work main.main [main]"})
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

// notes fails the test if no note of the record begins with a text.
func notes(t *testing.T, l *livedir.Dir, want string) {
	t.Helper()
	if all := strings.Join(l.Process().Notes, "\n"); !strings.Contains("\n"+all, "\n"+want) {
		t.Errorf("have notes %q, want %q", all, want)
	}
}
