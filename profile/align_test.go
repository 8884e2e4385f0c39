package profile_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// TestAlign aligns profiles of one program that have different nodes: each keeps its values, on the same nodes, and
// none is changed.
func TestAlign(t *testing.T) {
	for seed := range uint64(20) {
		earlier := mustLive(t, recordtest.Random(seed, 30, rand.New(rand.NewPCG(seed, 1))))
		later := otherRun(mustLive(t, recordtest.Random(seed, 60, rand.New(rand.NewPCG(seed, 2)))))
		if _, err := later.AddColumn(profile.InuseSpace); err != nil { // counted meanwhile
			t.Fatal(err)
		}
		texts := []string{mustText(t, earlier), mustText(t, later)}
		a, b, err := profile.Align(earlier, later)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*profile.Profile{a, b} {
			if err := p.CheckValid(); err != nil {
				t.Fatal(err)
			}
			if !p.Has(profile.InuseSpace) {
				t.Error("a column that only one has is missing")
			}
		}
		if !slices.Equal(a.Nodes, b.Nodes) || !slices.Equal(b.Nodes[:len(later.Nodes)], later.Nodes) {
			t.Errorf("seed %d: the nodes differ, or have other numbers than those of the later profile", seed)
		}
		if sum(a) != sum(earlier) || sum(b) != sum(later) {
			t.Errorf("seed %d: have %d and %d calls, want %d and %d", seed, sum(a), sum(b), sum(earlier), sum(later))
		}
		if have, want := mustText(t, mustMerge(t, a, b)), mustText(t, mustMerge(t, earlier, later)); have != want {
			t.Errorf("seed %d: their sum is\n%s\nwant\n%s", seed, have, want)
		}
		if texts[0] != mustText(t, earlier) || texts[1] != mustText(t, later) {
			t.Errorf("seed %d: a profile has changed", seed)
		}
	}
}
