package e2e

import (
	"slices"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
)

// TestDescribes matches patterns with the paths of a small tree.
func TestDescribes(t *testing.T) {
	tree := &cct.Tree{Sites: []cct.Site{{}, {Via: cct.ViaCall}, {Via: cct.ViaGo}}}
	for _, name := range []string{"", "[main]", "main.main", "main.a", "main.b", "main.(*T).a"} {
		tree.Funcs = append(tree.Funcs, cct.Func{Name: name})
	}
	tree.Nodes = []cct.Node{
		{},
		{Parent: 0, Func: 1, Site: 1}, // 1 [main]
		{Parent: 1, Func: 2, Site: 1}, // 2 [main];main.main
		{Parent: 2, Func: 3, Site: 1}, // 3 [main];main.main;main.a
		{Parent: 3, Func: 3, Site: 2}, // 4 [main];main.main;main.a;go main.a
		{Parent: 4, Func: 4, Site: 1}, // 5 [main];main.main;main.a;go main.a;main.b
		{Parent: 2, Func: 4, Site: 1}, // 6 [main];main.main;main.b
		{Parent: 6, Func: 5, Site: 1}, // 7 [main];main.main;main.b;main.(*T).a
	}
	for _, test := range []struct {
		pattern string
		nodes   []int
	}{
		{"[main]", []int{1}},
		{"main.main", nil},
		{"[main];main.main;main.a", []int{3}},
		{"[main];main.main;main.a;main.a", []int{4}},
		{"[main];main.main;main.a;call main.a", nil},
		{"[main];main.main;main.a;go main.a", []int{4}},
		{"**;main.a", []int{3, 4}},
		{"**;main.~a", []int{3, 4, 7}},
		{"**;main.(*T).~", []int{7}},
		{"[main];**;main.b", []int{5, 6}},
		{"[main];main.main;**;main.a;**;main.b", []int{5}},
		{"[main];main.main;main.a;**", []int{3, 4, 5}},
		{"**;**", []int{1, 2, 3, 4, 5, 6, 7}},
	} {
		var have []int
		for n, whole := range describes(parsePattern(test.pattern), tree) {
			if whole {
				have = append(have, n)
			}
		}
		if !slices.Equal(have, test.nodes) {
			t.Errorf("%s: describes nodes %v, want %v", test.pattern, have, test.nodes)
		}
	}
}

// TestParseWant reads expectations, and refuses what is none.
func TestParseWant(t *testing.T) {
	w, err := parseWant("x", "context@!full main.main; go main.a >=1_000")
	if err != nil || w.applies("full") || !w.applies("default") || w.holds(999) || !w.holds(1000) ||
		!w.holds(1001) || len(w.pattern) != 2 || w.pattern[1].via != "go" {
		t.Errorf("%+v, %v", w, err)
	}
	for _, bad := range []string{"func main.main", "func main.main x", "line main.main 1", "func"} {
		if w, err := parseWant("x", bad); err == nil {
			t.Errorf("%s: %+v", bad, w)
		}
	}
}
