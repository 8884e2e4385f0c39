package cct_test

import (
	"slices"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// TestGrowth reads a record again and again, also between the count of a call at its site and that of the callee. What
// it grows by from one reading to the next adds up to what it has in the end.
func TestGrowth(t *testing.T) {
	reading := func(made, counted, other uint64) *profile.Profile {
		d := recordtest.New(1, "prog")
		files := []string{"m.go"}
		caller := d.Func(recordtest.Func{Name: "main.caller", Files: files, Sites: []recordtest.Site{
			{Kind: layout.SiteUnknown, Line: 11, Callee: "main.both", Cell: 1, Counter: 1}}})
		both := d.Func(recordtest.Func{Name: "main.both", Files: files})
		n := d.Node(recordtest.Root, layout.RootMain, caller)
		d.Count(0, n, 0, 1)
		d.Count(0, n, 1, made)
		if counted > 0 { // else it has no node yet
			d.Count(0, d.Node(n, 0, both), 0, counted)
		}
		if other > 0 {
			d.Count(0, d.Node(recordtest.Root, layout.RootInit, both), 0, other)
		}
		return read(t, d)
	}
	var before *profile.Profile
	sums := make(map[string]int64)
	negative := false
	for _, p := range []*profile.Profile{reading(3, 0, 0), reading(4, 4, 0), reading(4, 4, 2), reading(9, 5, 2)} {
		earlier, later, err := before, p, error(nil)
		if before != nil {
			if earlier, later, err = profile.Align(before, p); err != nil {
				t.Fatal(err)
			}
		}
		v := cct.Growth(earlier, later, []string{"calls"})
		for name, n := range paths(v.Tree) {
			sums[name] += int64(n)
			negative = negative || int64(n) < 0
		}
		if !slices.Equal(v.Types, []profile.Metric{profile.Calls}) || len(v.Counts[0]) != len(v.Nodes) {
			t.Errorf("types %v, %d counts of %d nodes", v.Types, len(v.Counts[0]), len(v.Nodes))
		}
		before = p
	}
	for name, want := range paths(cct.New(before)) {
		if sums[name] != int64(want) {
			t.Errorf("%s: growths add up to %d, want %d", name, sums[name], want)
		}
		delete(sums, name)
	}
	for name, n := range sums {
		if n != 0 {
			t.Errorf("%s: growths add up to %d, want 0", name, n)
		}
	}
	if !negative {
		t.Error("nothing was half counted: the test shows nothing")
	}
}
