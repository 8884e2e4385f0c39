package cct

import (
	"maps"
	"testing"

	"github.com/stemma-go/stemma/profile"
)

// TestLabels has a function that sets a label, and another one within, which takes the first one away.
func TestLabels(t *testing.T) {
	p := profile.New(profile.Calls)
	p.Strings = append(p.Strings, "main.main", "main.f", "key", "a", "other", "b")
	site := []profile.Site{{Kind: profile.SiteCall, Inlined: profile.None, Cell: 0, Counter: profile.None}}
	labels := func(frames ...profile.Frame) profile.Func {
		return profile.Func{Kind: profile.FuncLabels, Cells: 1, Counters: 1, Frames: frames}
	}
	p.Funcs = append(p.Funcs, profile.Func{Name: 1, Cells: 1, Counters: 1, Sites: site},
		profile.Func{Name: 2, Cells: 1, Counters: 1, Sites: site},
		labels(profile.Frame{Func: 3, File: 4}), labels(profile.Frame{Func: 5, File: 6}))
	index := profile.NewNodeIndex(p, 0)
	node := uint32(0)
	for i, fn := range []uint32{1, 3, 2, 4, 2} { // main [key=a] f [other=b] [key=] f
		node = index.Node(node, 0, fn)
		p.Column(profile.Calls.Name).Of(p, int(node))[0] = uint64(1 + i)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	tree, err := Of(p, profile.Calls.Name)
	if err != nil {
		t.Fatal(err)
	}
	innermost := uint32(len(tree.Nodes) - 1)
	want := []string{"main.f", "[key=]", "[other=b]", "main.f", "[key=a]", "main.main", "[main]"}
	for i, f := range tree.Stack(innermost) {
		if i >= len(want) || f.Func != want[i] {
			t.Errorf("frame %d: have %s, want %s", i, f.Func, want)
		}
	}
	if have := tree.LabelsOf(innermost); !maps.Equal(have, map[string]string{"other": "b"}) {
		t.Errorf("labels of the innermost frame: %v, want other=b", have)
	}
	groups, err := tree.By("label:key")
	if err != nil {
		t.Fatal(err)
	}
	self := make(map[string]uint64)
	for _, g := range groups {
		self[g.Name] += g.Self
	}
	// Main; the label and f; both labels that change count as one, at the innermost.
	if want := map[string]uint64{"[no key]": 1 + 4 + 5, "[key=a]": 2 + 3}; !maps.Equal(self, want) {
		t.Errorf("calls by label: have %v, want %v", self, want)
	}
	if !tree.HasLabel("other") || tree.HasLabel("a") || len(tree.Labels()) != 2 {
		t.Errorf("keys %v, want key and other", tree.Labels())
	}
	if _, err := tree.By("label:"); err == nil {
		t.Error("a label without a key is a grouping")
	}
}
