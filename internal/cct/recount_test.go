package cct

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/profile"
)

// stacks returns the counts of a tree by what a person would see of each context.
func stacks(t *Tree) map[string]uint64 {
	list := make(map[string]uint64)
	for i, n := range t.Nodes {
		if n.Count > 0 {
			list[fmt.Sprint(t.Stack(uint32(i)))] += n.Count
		}
	}
	return list
}

// However the counts of a profile change, to nothing as well, recounting gives what expanding gives.
func TestRecount(t *testing.T) {
	for _, name := range []string{"shapes", "losses", "values"} {
		text, err := os.ReadFile("../../profile/testdata/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseText(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		r := NewRecounter(p)
		nodes := len(r.Tree.Nodes)
		c := p.Column(profile.Calls.Name)
		rng := rand.New(rand.NewPCG(1, 2))
		for round := range 50 {
			if round > 0 {
				for i := range c.Values {
					c.Values[i] = uint64(rng.IntN(1<<rng.IntN(6)) * rng.IntN(3))
				}
				r.Recount()
			}
			if have, want := stacks(r.Tree), stacks(New(p)); !maps.Equal(have, want) {
				t.Fatalf("%s, round %d:\n%v\nwant\n%v", name, round, have, want)
			}
			if have, want := r.Tree.Totals(), New(p).Totals(); have != want {
				t.Fatalf("%s, round %d: %+v, want %+v", name, round, have, want)
			}
		}
		if len(r.Tree.Nodes) != nodes {
			t.Errorf("%s: %d nodes, had %d", name, len(r.Tree.Nodes), nodes)
		}
	}
}

// The nodes of a profile that has grown at its end are where they were.
func TestRecountGrown(t *testing.T) {
	text, err := os.ReadFile("../../profile/testdata/shapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := profile.ParseText(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	all := NewRecounter(whole).Tree
	for n := 1; n < len(whole.Nodes); n++ {
		part := *whole
		part.Nodes = whole.Nodes[:n]
		some := NewRecounter(&part).Tree
		for i := range some.Nodes {
			if a, b := fmt.Sprint(some.Stack(uint32(i))), fmt.Sprint(all.Stack(uint32(i))); a != b {
				t.Fatalf("of %d nodes: node %d is %s, later %s", n, i, strings.TrimSpace(a), b)
			}
		}
	}
}
