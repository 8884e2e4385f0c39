package cct_test

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/goroot/rt"
	"github.com/stemma-go/stemma/internal/livetest"
	"github.com/stemma-go/stemma/profile"
)

func read(t testing.TB, d *livetest.Dir) *profile.Profile {
	t.Helper()
	p, err := profile.ReadLive(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDisplayName(t *testing.T) {
	for symbol, want := range map[string]string{
		"main.f":                         "main.f",
		"main.Map[go.shape.int]":         "main.Map[...]",
		"main.(*List[go.shape.[]int]).F": "main.(*List[...]).F",
		"main.]odd[":                     "main.]odd[",
	} {
		if have := cct.DisplayName(symbol); have != want {
			t.Errorf("%s: have %s, want %s", symbol, have, want)
		}
	}
}

// calls computes from the physical nodes what the expansion must add up to.
func calls(p *profile.Profile) uint64 {
	var want uint64
	entered := make(map[[2]int]uint64) // node and cell
	for i, n := range p.Nodes {
		if i > 0 && p.Funcs[n.Func].Kind != profile.FuncFault {
			entered[[2]int{int(n.Parent), int(n.Cell)}] += p.NodeCounts(i)[0]
		}
	}
	for i, n := range p.Nodes {
		f, counts := &p.Funcs[n.Func], p.NodeCounts(i)
		if (f.Kind == profile.FuncOrdinary || f.Kind == profile.FuncFault) && f.Flags&profile.FuncWrapper == 0 {
			want += counts[0]
		}
		for _, in := range f.Inlined {
			if in.Counter != profile.None {
				want += counts[in.Counter]
			}
		}
		for _, s := range f.Sites {
			switch s.Kind {
			case profile.SiteNative, profile.SitePanic:
				want += counts[s.Counter]
			case profile.SiteUnknown:
				want += counts[s.Counter] - min(counts[s.Counter], entered[[2]int{i, int(s.Cell)}])
			}
		}
	}
	return want
}

// TestCountsPreserved checks on random profiles that the expansion, folding
// and trimming neither lose nor invent a call, and that no context exists twice.
func TestCountsPreserved(t *testing.T) {
	for seed := range uint64(200) {
		p := read(t, livetest.Random(seed, 80, rand.New(rand.NewPCG(seed, 9))))
		tree := cct.New(p)
		want := calls(p)
		for name, tr := range map[string]*cct.Tree{"expanded": tree, "folded": tree.Fold(), "trimmed": tree.Trim(want / 50)} {
			if have := tr.Totals().Calls; have != want {
				t.Fatalf("seed %d, %s: %d calls, want %d", seed, name, have, want)
			}
			seen := make(map[cct.Node]bool)
			for i, n := range tr.Nodes {
				n.Count = 0
				if i > 0 && (seen[n] || n.Parent >= uint32(i)) {
					t.Fatalf("seed %d, %s: node %d exists twice or comes before its parent", seed, name, i)
				}
				seen[n] = true
			}
		}
		if sum := tree.Inclusive(); sum[0] != want {
			t.Fatalf("seed %d: %d calls below the root, want %d", seed, sum[0], want)
		}
	}
}

// TestMergedExpansion checks that expanding a sum is the sum of the expansions.
func TestMergedExpansion(t *testing.T) {
	a := read(t, livetest.Random(5, 50, rand.New(rand.NewPCG(5, 1))))
	b := read(t, livetest.Random(5, 50, rand.New(rand.NewPCG(5, 2))))
	sum, err := profile.Merge(a, b)
	if err != nil {
		t.Fatal(err)
	}
	have := byName(cct.New(sum))
	for _, p := range []*profile.Profile{a, b} {
		for name, n := range byName(cct.New(p)) {
			have[name] -= n
		}
	}
	for name, n := range have {
		if n != 0 {
			t.Errorf("%s: off by %d", name, n)
		}
	}
}

// byName leaves natives of unknown sites out: their count is a difference,
// cut at 0, which does not add up.
func byName(t *cct.Tree) map[string]int64 {
	calls := make(map[string]int64)
	for _, s := range t.ByFunction() {
		if name := t.Funcs[s.Func].Name; name[:5] == "main." {
			calls[name] = int64(s.Calls)
		}
	}
	return calls
}

func TestShapes(t *testing.T) {
	tree := cct.New(read(t, livetest.Shapes()))
	if have, want := tree.Totals(), (cct.Totals{Calls: 67, Contexts: 13, Functions: 12}); have != want {
		t.Errorf("have %+v, want %+v", have, want)
	}
	calls := make(map[string]uint64)
	for _, s := range tree.ByFunction() {
		calls[tree.Funcs[s.Func].Name] = s.Calls
	}
	for name, want := range map[string]uint64{
		"main.main": 1, "main.area": 10, "main.square": 20, "runtime.newobject": 20, "main.(*tri).M": 4, "main.worker[...]": 2,
		"main.guard": 2, "main.clean": 2, "runtime.gopanic": 1, "runtime.sigpanic": 1, "main.init": 1, "main.sum": 3,
	} {
		if calls[name] != want {
			t.Errorf("%s: %d calls, want %d", name, calls[name], want)
		}
	}
}

func TestMatch(t *testing.T) {
	tree := cct.New(read(t, livetest.Shapes()))
	list := tree.Match(regexp.MustCompile(`^main\.guard$`))
	if len(list) != 1 || len(list[0].Callers) != 1 || len(list[0].Callees) != 1 {
		t.Fatalf("have %+v", list)
	}
	caller, callee := list[0].Callers[0], list[0].Callees[0]
	if tree.Funcs[caller.Func].Name != "main.worker[...]" || tree.Sites[caller.Site].Line != 41 || caller.Calls != 2 {
		t.Errorf("have caller %+v", caller)
	}
	if tree.Funcs[callee.Func].Name != "runtime.gopanic" || callee.Calls != 1 {
		t.Errorf("have callee %+v", callee)
	}
}

func TestTruncated(t *testing.T) {
	d := livetest.New(1, "prog")
	f := d.Func(livetest.Func{Name: "main.f", Files: []string{"m.go"}})
	d.Count(0, d.Node(livetest.Root, rt.RootMain, f), 0, 2)
	d.Count(0, d.Node(livetest.Overflow, 0, f), 0, 5)
	have := cct.New(read(t, d)).Totals()
	if want := (cct.Totals{Calls: 7, Contexts: 1, Functions: 1, Truncated: 5}); have != want {
		t.Errorf("have %+v, want %+v", have, want)
	}
}

// TestFold folds a recursion of three functions, but not across a go statement.
func TestFold(t *testing.T) {
	d := livetest.New(1, "prog")
	d.Set32(rt.HdrFlags, rt.HdrFlagFull)
	var ids []uint64
	for _, name := range []string{"main.a", "main.b", "main.c"} {
		ids = append(ids, d.Func(livetest.Func{Name: name, Files: []string{"m.go"},
			Sites: []livetest.Site{{Kind: rt.SiteCall, Cell: 1}, {Kind: rt.SiteGo, Cell: 2}}}))
	}
	up := d.Node(livetest.Root, rt.RootMain, ids[0])
	for i := range 9 {
		d.Count(0, up, 0, 1)
		up = d.Node(up, 0, ids[(i+1)%3])
	}
	d.Count(0, d.Node(up, 1, ids[0]), 0, 1)
	tree := cct.New(read(t, d)).Fold()
	have := tree.Totals()
	if want := (cct.Totals{Calls: 10, Contexts: 4, Functions: 3}); have != want {
		t.Errorf("have %+v, want %+v", have, want)
	}
}

func TestFoldPath(t *testing.T) {
	frame := func(name string) cct.PathFrame {
		return cct.PathFrame{Func: name[:1], Inlined: len(name) > 1}
	}
	for _, test := range []struct{ path, want []string }{
		{nil, nil},
		{[]string{"a"}, []string{"a"}},
		{[]string{"c", "b", "a"}, []string{"c", "b", "a"}},
		{[]string{"a", "b", "a", "m"}, []string{"a", "m"}},
		{[]string{"d", "b", "c", "b", "a"}, []string{"d", "b", "a"}},
		{[]string{"a", "i+", "b", "a"}, []string{"a"}},
		{[]string{"c", "i+", "b", "j+", "b", "a"}, []string{"c", "i+", "b", "a"}},
	} {
		var path, want []cct.PathFrame
		for _, n := range test.path {
			path = append(path, frame(n))
		}
		for _, n := range test.want {
			want = append(want, frame(n))
		}
		if have := cct.FoldPath(path); !slices.Equal(have, want) {
			t.Errorf("%v: have %v, want %v", test.path, have, want)
		}
	}
}

// FuzzExpand expands whatever the reader accepts and asks the tree everything.
func FuzzExpand(f *testing.F) {
	var b bytes.Buffer
	if err := read(f, livetest.Shapes()).WriteText(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := profile.ParseText(bytes.NewReader(text))
		if err != nil {
			return
		}
		tree := cct.New(p)
		for _, n := range tree.Hottest(10) {
			tree.Stack(n)
		}
		tree.Match(regexp.MustCompile("m"))
		tree.Fold().Totals()
		tree.Trim(3).Children()
		w := cct.NewWalker(p)
		for i := range p.Nodes {
			if path, ok := w.Path(i, i%3-1); ok {
				cct.FoldPath(w.Known(path))
			}
		}
	})
}

func BenchmarkExpand(b *testing.B) {
	p := read(b, livetest.Random(3, 1_000_000, rand.New(rand.NewPCG(1, 1))))
	for b.Loop() {
		t := cct.New(p)
		b.ReportMetric(float64(len(t.Nodes))/float64(len(p.Nodes)), "contexts/node")
	}
}
