package records

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/replay"
	"github.com/stemma-go/stemma/profile"
)

// program makes a tree: main calls f, which recurs once, and g from one site, and
// starts g as a goroutine from another.
func program() *profile.Profile {
	p := &profile.Profile{Strings: []string{"", "main", "f", "g"}, Counts: []uint64{0, 1, 9, 1, 1, 1}}
	sites := []profile.Site{{Kind: profile.SiteCall, Cell: 0}, {Kind: profile.SiteGo, Cell: 1}}
	for name := range p.Strings {
		p.Funcs = append(p.Funcs, profile.Func{Name: uint32(name), Counters: 1, Cells: 2, Sites: sites})
	}
	for i, n := range []struct{ fn, parent, cell uint32 }{{0, 0, 0}, {1, 0, 0}, {2, 1, 0}, {2, 2, 0}, {3, 1, 0}, {3, 1, 1}} {
		p.Nodes = append(p.Nodes, profile.Node{Func: n.fn, Parent: n.parent, Cell: n.cell, First: uint32(i)})
	}
	return p
}

func TestStreamCanBeReplayed(t *testing.T) {
	var b strings.Builder
	calls, err := WriteStream(&b, program())
	if err != nil {
		t.Fatal(err)
	}
	open := func() (*replay.Reader, error) { return replay.NewReader(strings.NewReader(b.String()), "stream") }
	o := replay.DefaultOptions()
	o.Check = 1
	r, err := replay.Run(open, o)
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	// Five contexts; that with nine calls is entered three times more.
	if calls != 8 || r.Calls != 8 || r.Contexts != 5 || r.Goroutines != 2 || r.MaxDepth != 3 {
		t.Errorf("%d calls written; replayed %+v\n%s", calls, r, b.String())
	}
	if n := r.Mismatches(); n != 0 {
		t.Errorf("%d mismatches", n)
	}
	for _, line := range []string{"site 1 1 dynamic\n", "site 3 1 go\n", "site 2 2 static\n", "go 1 3 3\non 1\nexit\non 0\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no %q in\n%s", line, b.String())
		}
	}
}
