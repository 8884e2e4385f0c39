package cct_test

import (
	"reflect"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// TestFoldedSamples expands samples of calls in a function that has inlined a call of itself. Where recursion is
// folded, what it calls there hangs where it begins.
func TestFoldedSamples(t *testing.T) {
	const top = "main.main;main.mark"
	nested := map[string]uint64{top + ";inlined main.mark": 1, top + ";inlined main.mark;main.mark": 20,
		top + ";inlined main.mark;inlined main.mark;main.leaf": 300,
		top + ";inlined main.mark;inlined main.in;main.mark":   4000,
		top + ";inlined main.in;inlined main.mark;main.leaf":   50_000}
	folded := map[string]uint64{top: 1, top + ";main.mark": 20, top + ";main.leaf": 50_300,
		top + ";inlined main.in;main.mark": 4000}
	for _, tt := range []struct {
		sampler string
		full    bool
		want    map[string]uint64
	}{
		{"acct", false, folded},
		{"acct", true, nested},
		{"isps", false, nested},
	} {
		p := &sampledProfile{Profile: profile.New(profile.Samples), column: profile.Samples}
		p.index = profile.NewNodeIndex(p.Profile, 0)
		p.Processes = []profile.Process{{Full: tt.full, Sampling: &profile.Sampling{Sampler: tt.sampler}}}
		mark, in := p.frame("main.mark", "main.go", 3), p.frame("main.in", "main.go", 9)
		up := p.at(0, 0, p.frame("main.main", "main.go", 50))
		p.at(up, 1, mark, mark)
		p.at(p.at(up, 0, mark, mark), 20, p.frame("main.mark", "main.go", 1))
		p.at(p.at(up, 0, mark, mark, mark), 300, p.frame("main.leaf", "main.go", 30))
		p.at(p.at(up, 0, in, mark, mark), 4000, p.frame("main.mark", "main.go", 1))
		p.at(p.at(up, 0, mark, in, mark), 50_000, p.frame("main.leaf", "main.go", 30))
		tree, err := cct.Of(p.Profile, profile.Samples.Name)
		if err != nil {
			t.Fatal(err)
		}
		have := make(map[string]uint64)
		for i, n := range tree.Nodes {
			if n.Count > 0 {
				have[path(tree, uint32(i))] += n.Count
			}
		}
		if !reflect.DeepEqual(have, tt.want) {
			t.Errorf("%s, full %v: have %v, want %v", tt.sampler, tt.full, have, tt.want)
		}
	}
}
