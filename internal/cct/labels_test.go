package cct

import (
	"maps"
	"regexp"
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

// TestMatchLabels has a function that sets two labels at once. The frame of the outer one counts nothing, and is found
// anyway, with how often the inner one was set.
func TestMatchLabels(t *testing.T) {
	tree := &Tree{
		Funcs: []Func{{Name: "[main]", Pseudo: true}, {Name: "main.serve"},
			{Name: "[key=a]", Pseudo: true, Label: Label{"key", "a"}},
			{Name: "[other=b]", Pseudo: true, Label: Label{"other", "b"}}},
		Nodes: []Node{{}, {}, {Parent: 1, Func: 1, Count: 1}, {Parent: 2, Func: 2},
			{Parent: 3, Func: 3, Count: 5}},
		Sites: make([]Site, 1),
		Type:  profile.Calls,
	}
	list := tree.Match(regexp.MustCompile(`^\[`))
	if len(list) != 2 || list[1].Func != 2 || list[1].Calls != 0 || list[1].Total != 5 || len(list[1].Callees) != 1 ||
		list[1].Callees[0].Calls != 5 {
		t.Errorf("have %+v, want [other=b] with 5 of its own, and [key=a] with the 5 below it", list)
	}
}
