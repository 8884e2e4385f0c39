package cct_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// randomTree returns a tree of n nodes with functions a to f, in two packages and files,
// that recur.
func randomTree(r *rand.Rand, n int) *cct.Tree {
	t := &cct.Tree{Type: profile.Calls, Nodes: make([]cct.Node, 1), Sites: make([]cct.Site, 1),
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}}}
	for i, name := range []string{"p.a", "p.b", "p.c", "q/v2.d", "q/v2.(*T).e", "f"} {
		t.Funcs = append(t.Funcs, cct.Func{Name: name, File: []string{"p.go", "q.go", ""}[i/2%3], Line: i})
	}
	for i := range 9 {
		t.Sites = append(t.Sites,
			cct.Site{File: "p.go", Line: i % 5, Via: []cct.Via{cct.ViaCall, cct.ViaGo, cct.ViaInlined}[i%3]})
	}
	seen := make(map[cct.Node]bool)
	for len(t.Nodes) < n {
		node := cct.Node{Parent: r.Uint32N(uint32(len(t.Nodes))), Func: 1 + r.Uint32N(6), Site: r.Uint32N(10)}
		if !seen[node] {
			seen[node] = true
			node.Count = r.Uint64N(3)
			t.Nodes = append(t.Nodes, node)
		}
	}
	return t
}

// names returns the functions of a stack, innermost first.
func names(stack []cct.Frame) (list []string) {
	for _, f := range stack {
		list = append(list, f.Func)
	}
	return list
}

// TestSelect compares Select with what it means, context by context.
func TestSelect(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		tree := randomTree(r, 60)
		pick := func() cct.Pattern {
			return []cct.Pattern{nil, regexp.MustCompile("a$|d"), regexp.MustCompile("q/"),
				regexp.MustCompile("b|e$")}[r.IntN(4)]
		}
		s := cct.Selection{Focus: pick(), Ignore: pick(), Hide: pick()}
		matches := func(re cct.Pattern, list []string) bool { return slices.ContainsFunc(list, re.MatchString) }
		want := make(map[string]uint64)
		for i, n := range tree.Nodes {
			list := names(tree.Stack(uint32(i)))
			if s.Focus != nil && !matches(s.Focus, list) || s.Ignore != nil && matches(s.Ignore, list) || n.Count == 0 {
				continue
			}
			if s.Hide != nil {
				list = slices.DeleteFunc(list, s.Hide.MatchString)
			}
			want[strings.Join(list, " ")] += n.Count
		}
		have := make(map[string]uint64)
		selected := tree.Select(s)
		for i, n := range selected.Nodes {
			if n.Count > 0 {
				have[strings.Join(names(selected.Stack(uint32(i))), " ")] += n.Count
			}
		}
		if !maps.Equal(have, want) {
			t.Fatalf("%v: have %v, want %v", s, have, want)
		}
	}
}

// TestHiddenSites checks where, and how, a function is entered from which hidden ones lead
// to it.
func TestHiddenSites(t *testing.T) {
	tree := &cct.Tree{
		Type:  profile.Calls,
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "a"}, {Name: "h"}, {Name: "b"}},
		Sites: []cct.Site{{}, {File: "a.go", Line: 1, Via: cct.ViaCall},
			{File: "h.go", Line: 2, Via: cct.ViaGo},
			{File: "h.go", Line: 3, Via: cct.ViaInlined}},
		Nodes: []cct.Node{{}, {0, 1, 0, 0, 1}, {1, 2, 1, 0, 1}, {2, 3, 2, 0, 1}, {2, 3, 3, 0, 1}, {2, 2, 2, 0, 1},
			{5, 3, 3, 0, 1}},
	}
	out := tree.Select(cct.Selection{Hide: regexp.MustCompile("^h$")})
	var have []string
	for _, n := range out.Nodes[1:] {
		s := out.Sites[n.Site]
		have = append(have, fmt.Sprintf("%s %d %s:%d %v", out.Funcs[n.Func].Name, n.Count, s.File, s.Line, s.Via))
	}
	want := []string{"a 3 :0 call", "b 2 a.go:1 go", "b 1 a.go:1 inlined"}
	if !slices.Equal(have, want) {
		t.Errorf("have %q, want %q", have, want)
	}
}

// TestNeighbours adds up what the callers of a function give: of calls its calls, of another value its total.
func TestNeighbours(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		tree := randomTree(r, 60)
		for _, of := range []profile.Metric{profile.Calls, profile.AllocSpace} {
			tree.Type = of
			for _, m := range tree.Match(regexp.MustCompile("")) {
				want := m.Total
				if of.Name == profile.Calls.Name {
					want = m.Calls
				}
				sum := uint64(0)
				for _, n := range m.Callers {
					sum += n.Calls
				}
				if sum != want {
					t.Fatalf("%s of %s: callers have %d, want %d", of.Name, tree.Funcs[m.Func].Name, sum, want)
				}
			}
		}
	}
}

// TestBy compares each grouping with what it means, context by context.
func TestBy(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		tree := randomTree(r, 60)
		for _, grouping := range cct.Groupings {
			if grouping == "type" || grouping == "reason" {
				continue // calls have none
			}
			self, total := make(map[cct.Group]uint64), make(map[cct.Group]uint64)
			for i := range tree.Nodes[1:] {
				n := uint32(i + 1)
				seen := make(map[cct.Group]bool)
				for up := n; up != 0; up = tree.Nodes[up].Parent {
					g := groupOf(tree, grouping, up)
					if up == n {
						self[g] += tree.Nodes[n].Count
					}
					if !seen[g] {
						seen[g] = true
						total[g] += tree.Nodes[n].Count
					}
				}
			}
			groups, err := tree.By(grouping)
			if err != nil {
				t.Fatal(err)
			}
			sum := uint64(0)
			for _, g := range groups {
				key := cct.Group{Name: g.Name, File: g.File, Line: g.Line, Via: g.Via}
				if g.Self != self[key] || g.Total != total[key] {
					t.Errorf("%s: %v: have %d, %d, want %d, %d", grouping, key, g.Self, g.Total, self[key], total[key])
				}
				sum += g.Self
			}
			if want := tree.Totals().Calls; sum != want {
				t.Errorf("%s: groups have %d calls, want %d", grouping, sum, want)
			}
		}
	}
	if _, err := randomTree(r, 3).By("lines"); err == nil {
		t.Error("no error for an unknown grouping")
	}
}

// groupOf returns the group of a node, without values.
func groupOf(t *cct.Tree, grouping string, n uint32) cct.Group {
	node := t.Nodes[n]
	f, s := t.Funcs[node.Func], t.Sites[node.Site]
	switch grouping {
	case "package":
		return cct.Group{Name: cct.Package(f.Name)}
	case "file":
		if f.File == "" {
			return cct.Group{Name: "[file not known]"}
		}
		return cct.Group{File: f.File}
	case "line":
		return cct.Group{Name: t.Funcs[t.Nodes[node.Parent].Func].Name, File: s.File, Line: s.Line}
	case "goroutine":
		for node.Parent != 0 && t.Sites[node.Site].Via != cct.ViaGo {
			node = t.Nodes[node.Parent]
		}
		name := t.Funcs[node.Func].Name
		if s = t.Sites[node.Site]; s.Via != cct.ViaGo {
			return cct.Group{Name: name}
		}
		return cct.Group{Name: name, File: s.File, Line: s.Line, Via: s.Via}
	}
	return cct.Group{Name: f.Name, File: f.File, Line: f.Line}
}

func TestPackage(t *testing.T) {
	for name, want := range map[string]string{
		"main.main":                      "main",
		"net/http.(*Server).Serve.func1": "net/http",
		"gopkg.in/yaml%2ev3.Unmarshal":   "gopkg.in/yaml.v3",
		"example.com/a.b/c.(*T[...]).M":  "example.com/a.b/c",
		"[main]":                         "[main]",
		"crosscall2":                     "crosscall2",
		"slices.SortFunc[...].func1":     "slices",
	} {
		if have := cct.Package(name); have != want {
			t.Errorf("%s: have %s, want %s", name, have, want)
		}
	}
}

// TestCover checks that the paths of Cover are disjoint, that they have most of the calls
// where a few paths do, and that a chain is followed to where it branches.
func TestCover(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		tree := randomTree(r, 60)
		paths := tree.Cover(6)
		if len(paths) > 6 {
			t.Errorf("%d paths, want at most 6", len(paths))
		}
		for _, p := range paths {
			for up := tree.Nodes[p].Parent; up != 0; up = tree.Nodes[up].Parent {
				if slices.Contains(paths, up) {
					t.Fatalf("%d is below %d", p, up)
				}
			}
		}
	}
	// root → 1 → 2, which has two large callees and one that is not worth a line.
	tree := &cct.Tree{Funcs: make([]cct.Func, 1), Sites: make([]cct.Site, 1),
		Nodes: []cct.Node{{}, {Parent: 0, Count: 1}, {Parent: 1, Count: 1}, {Parent: 2, Count: 60},
			{Parent: 2, Count: 38}, {Parent: 2, Count: 1}}}
	if have := tree.Cover(6); !slices.Equal(have, []uint32{3, 4}) {
		t.Errorf("have %v, want 3 and 4", have)
	}
	if have := tree.Cover(1); !slices.Equal(have, []uint32{2}) {
		t.Errorf("one path: have %v, want 2", have)
	}
}

// TestMatchMerges checks that equal places of calls are one.
func TestMatchMerges(t *testing.T) {
	tree := &cct.Tree{
		Type:  profile.Calls,
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "a"}, {Name: "b"}},
		Sites: []cct.Site{{}, {File: "a.go", Line: 1, Via: cct.ViaCall},
			{File: "a.go", Line: 1, Via: cct.ViaCall},
			{File: "a.go", Line: 1, Via: cct.ViaGo}},
		Nodes: []cct.Node{{}, {0, 1, 0, 0, 1}, {1, 2, 1, 0, 5}, {1, 2, 2, 0, 7}, {1, 2, 3, 0, 2}},
	}
	m := tree.Match(regexp.MustCompile("b"))[0]
	if want := []cct.Neighbour{{1, tree.Sites[1], 12}, {1, tree.Sites[3], 2}}; !slices.Equal(m.Callers, want) {
		t.Errorf("have %v, want %v", m.Callers, want)
	}
	if m = tree.Match(regexp.MustCompile("a"))[0]; len(m.Callees) != 2 {
		t.Errorf("have callees %v, want two", m.Callees)
	}
}

// stacks returns the counts of a tree by its contexts.
func stacks(t *cct.Tree) map[string]uint64 {
	list := map[string]uint64{}
	for i, n := range t.Nodes {
		if n.Count > 0 {
			list[fmt.Sprint(t.Stack(uint32(i)))] += n.Count
		}
	}
	return list
}

// Of trees that differ in their counts each has what is selected of it alone, and their nodes are the same.
func TestSelectSides(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for _, s := range []cct.Selection{{}, {Focus: regexp.MustCompile("b")}, {Ignore: regexp.MustCompile("[cd]$")},
		{Hide: regexp.MustCompile("[a-c]$")}, {Focus: regexp.MustCompile("e"), Hide: regexp.MustCompile("f|a")}} {
		a := randomTree(r, 400)
		b := *a
		b.Nodes = slices.Clone(a.Nodes)
		for i := range b.Nodes[1:] {
			b.Nodes[i+1].Count = r.Uint64N(4)
		}
		sides := cct.SelectSides(s, a, &b)
		for k, alone := range []*cct.Tree{a.Select(s), b.Select(s)} {
			if have, want := stacks(sides[k]), stacks(alone); !maps.Equal(have, want) {
				t.Errorf("%+v: side %d: %v, want %v", s, k, have, want)
			}
		}
		for i, n := range sides[0].Nodes {
			if m := sides[1].Nodes[i]; n.Parent != m.Parent || n.Func != m.Func || n.Site != m.Site {
				t.Fatalf("%+v: node %d differs", s, i)
			}
		}
	}
}
