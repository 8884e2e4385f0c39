package similarity

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
)

// marks reads "f1 g2": names of one letter, each with a position.
func marks(s string) (list []mark) {
	for _, w := range strings.Fields(s) {
		m := mark{name: w[:1]}
		fmt.Sscan(w[1:], &m.pos)
		list = append(list, m)
	}
	return list
}

func TestAlign(t *testing.T) {
	for _, test := range []struct {
		a, b string
		all  bool
		want []int
	}{
		{"", "f1", true, []int{-1}},
		{"f1", "", true, []int{}},
		{"f1 g2 f3", "f1 g2 f3", true, []int{0, 1, 2}},
		{"f1 g2 f3", "f2 g3 f4", true, []int{0, 1, 2}},        // a comment before
		{"f1 g2 f3", "f1 g5 f6", true, []int{0, 1, 2}},        // and within
		{"f1 g20 f30", "f2 g22 f33", true, []int{0, 1, 2}},    // several
		{"f1 f2", "f2 f3", true, []int{0, 1}},                 // all have moved on by one
		{"f1 f2", "f2 f3", false, []int{0, 1}},                // the distance is the same
		{"f1 g2 f3", "f1 h2 g3 f4", true, []int{0, -1, 1, 2}}, // a new call
		{"f1 h2 g3 f4", "f1 g2 f3", true, []int{0, 2, 3}},     // one less
		{"f10", "f90", true, []int{0}},
		{"f10", "f90", false, []int{-1}}, // another call, that was met in one build only
		{"f10", "f12", false, []int{0}},
	} {
		have := align(marks(test.a), marks(test.b), test.all)
		if !slices.Equal(have, test.want) {
			t.Errorf("%s, %s, all %v: have %v, want %v", test.a, test.b, test.all, have, test.want)
		}
	}
}

// paired returns the number of pairs, which must be of marks with one name, and in order.
func paired(t *testing.T, a, b []mark, same []int) (n int) {
	t.Helper()
	last := -1
	for k, i := range same {
		if i < 0 {
			continue
		}
		if i <= last || a[i].name != b[k].name {
			t.Fatalf("%v and %v are not the same, in %v", a[i], b[k], same)
		}
		last = i
		n++
	}
	return n
}

// TestAlignRandom edits functions at random: as many marks are paired as were
// there before and are still there.
func TestAlignRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var a, b []mark
		kept, posA, posB := 0, 0, 0
		for range r.IntN(40) {
			posA, posB = posA+r.IntN(3), posB+r.IntN(3)
			m := mark{name: string(rune('f' + r.IntN(4)))}
			inA, inB := r.IntN(8) > 0, r.IntN(8) > 0
			if m.pos = posA; inA {
				a = append(a, m)
			}
			if m.pos = posB; inB {
				b = append(b, m)
			}
			if inA && inB {
				kept++
			}
		}
		if n := paired(t, a, b, align(a, b, true)); n < kept {
			t.Fatalf("%v, %v: %d pairs, want at least %d", a, b, n, kept)
		}
	}
}

// oneCall returns a tree in which main calls f at a line. The code has calls at all lines.
func oneCall(begin, line int, code ...int) Tree {
	tree := Tree{Tree: &cct.Tree{
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "main.main", Line: begin}, {Name: "main.f"}},
		Sites: []cct.Site{{}, {File: "m.go", Line: line}},
		Nodes: []cct.Node{{}, {Parent: 0, Func: 1, Count: 1}, {Parent: 1, Func: 2, Site: 1, Count: 99}},
	}}
	for _, l := range code {
		tree.Calls = append(tree.Calls, cct.Call{Caller: "main.main", Callee: "main.f", File: "m.go", Line: l})
	}
	return tree
}

// TestAlignTrees compares calls at several lines: the code shows which is which.
func TestAlignTrees(t *testing.T) {
	for _, test := range []struct {
		a, b Tree
		same bool
	}{
		{oneCall(10, 12, 12, 15), oneCall(10, 12, 12, 15), true},
		{oneCall(10, 12, 12, 15), oneCall(10, 15, 12, 15), false}, // the other branch
		{oneCall(10, 12, 12, 15), oneCall(11, 13, 13, 16), true},  // a comment above the function
		{oneCall(10, 15, 12, 15), oneCall(10, 16, 12, 16), true},  // and between the calls
		{oneCall(10, 12, 12, 15), oneCall(10, 16, 12, 16), false},
		{oneCall(10, 12, 12), oneCall(10, 13, 12, 13), false}, // a new one
		{oneCall(10, 12), oneCall(11, 13), true},              // samples
		{oneCall(10, 12), oneCall(10, 70), false},
	} {
		w := Align(test.a, test.b)
		want := 0.01
		if test.same {
			want = 1
		}
		if have := Overlap(w[0], w[1]); have < want-1e-9 || have > want+1e-9 {
			t.Errorf("calls at %d and %d: overlap %v, want %v", test.a.Sites[1].Line, test.b.Sites[1].Line, have, want)
		}
	}
}

// TestNames gives functions names that do not depend on what was added before them.
func TestNames(t *testing.T) {
	named := func(lines map[string]int) Tree {
		tree := Tree{Tree: new(cct.Tree)}
		for name, line := range lines {
			tree.Funcs = append(tree.Funcs, cct.Func{Name: name, Line: line})
		}
		return tree
	}
	n := newNaming([]Tree{
		named(map[string]int{"main.main": 10, "main.main.func1": 12, "main.main.func1.1": 13, "main.main.func2": 20,
			"main.init": 0, "main.init.0": 5, "plugin/unnamed-0123abcd.F": 1, "main.T.func7": 0}),
		named(map[string]int{"main.main": 11, "main.main.func1": 12, "main.main.func2": 14, "main.main.func2.1": 15,
			"main.main.func3": 22, "main.init": 0, "main.init.0": 6, "plugin/unnamed-4567cdef.F": 1,
			"main.T.func7": 3}),
	})
	for a, b := range map[string]string{
		"main.main": "main.main", "main.main.func1": "main.main.func2", "main.main.func1.1": "main.main.func2.1",
		"main.main.func2": "main.main.func3",
		"main.init.0":     "main.init.0", "plugin/unnamed-0123abcd.F": "plugin/unnamed-4567cdef.F",
		"main.T.func7": "main.T.func7",
	} {
		if n.names[0][a] != n.names[1][b] || n.names[0][a] == "" {
			t.Errorf("%s is %q, and %s is %q, want the same", a, n.names[0][a], b, n.names[1][b])
		}
	}
	if n.names[1]["main.main.func1"] == n.names[0]["main.main.func1"] {
		t.Error("a new closure has the name of an old one")
	}
}
