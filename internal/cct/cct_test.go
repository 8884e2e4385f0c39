package cct_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/foldtest"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

func read(t testing.TB, d *recordtest.Dir) *profile.Profile {
	t.Helper()
	p, err := record.Open(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	return p.Profile
}

func TestDisplayName(t *testing.T) {
	for symbol, want := range map[string]string{
		"main.f":                         "main.f",
		"main.Map[go.shape.int]":         "main.Map[...]",
		"main.(*List[go.shape.[]int]).F": "main.(*List[...]).F",
		"main.]odd[":                     "main.]odd[",
		"main.[odd":                      "main.[odd",
		"[truncated]":                    "[truncated]",
		"main.list[go.shape.int].fold[go.shape.[]string].func1": "main.list[...].fold[...].func1",
	} {
		if have := cct.DisplayName(symbol); have != want {
			t.Errorf("%s: have %s, want %s", symbol, have, want)
		}
	}
}

// calls computes from the physical nodes what the expansion must add up to.
func calls(p *profile.Profile) uint64 {
	var want uint64
	type entry struct {
		node uint32
		cell int
		name string
	}
	homes := p.Homes()
	made, entered := make(map[entry]uint64), make(map[entry]uint64) // name "" for all functions
	for i, n := range p.Nodes {
		if i > 0 && p.Funcs[n.Func].Kind != profile.FuncFault {
			e := entry{homes[n.Parent], int(n.Cell), p.String(p.Funcs[n.Func].Name)}
			entered[e] += p.NodeCounts(i)[0]
			e.name = ""
			entered[e] += p.NodeCounts(i)[0]
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
				made[entry{homes[i], int(s.Cell), p.String(s.Callee)}] += counts[s.Counter]
			}
		}
	}
	for e, n := range made {
		want += n - min(n, entered[e])
	}
	return want
}

// TestCountsPreserved checks on random profiles that the expansion and trimming
// neither lose nor invent a call, and that no context exists twice.
func TestCountsPreserved(t *testing.T) {
	for seed := range uint64(200) {
		p := read(t, recordtest.Random(seed, 80, rand.New(rand.NewPCG(seed, 9))))
		tree := cct.New(p)
		want := calls(p)
		for name, tr := range map[string]*cct.Tree{"expanded": tree, "trimmed": tree.Trim(want / 50)} {
			if have := tr.Totals().Calls; have != want {
				t.Fatalf("seed %d, %s: %d calls, want %d", seed, name, have, want)
			}
			seen := make(map[cct.Node]bool)
			for i, n := range tr.Nodes {
				n.Count, n.Fold = 0, 0
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
	a := read(t, recordtest.Random(5, 50, rand.New(rand.NewPCG(5, 1))))
	b := read(t, recordtest.Random(5, 50, rand.New(rand.NewPCG(5, 2))))
	b.Processes[0].Run++
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
	tree := cct.New(read(t, recordtest.Shapes()))
	if have, want := tree.Totals(), (cct.Totals{Calls: 67, Contexts: 13, Functions: 12}); have != want {
		t.Errorf("have %+v, want %+v", have, want)
	}
	calls := make(map[string]uint64)
	for _, s := range tree.ByFunction() {
		calls[tree.Funcs[s.Func].Name] = s.Calls
	}
	for name, want := range map[string]uint64{
		"main.main": 1, "main.area": 10, "main.square": 20, "runtime.newobject": 20, "main.(*tri).M": 4,
		"main.worker[...]": 2,
		"main.guard":       2, "main.clean": 2, "runtime.gopanic": 1, "runtime.sigpanic": 1, "main.init": 1,
		"main.sum": 3,
	} {
		if calls[name] != want {
			t.Errorf("%s: %d calls, want %d", name, calls[name], want)
		}
	}
}

// paths returns the calls of each context, with the way in where it is not a
// plain call.
func paths(t *cct.Tree) map[string]uint64 {
	calls := make(map[string]uint64)
	for i, n := range t.Nodes {
		if n.Count == 0 {
			continue
		}
		var names []string
		for _, f := range slices.Backward(t.Stack(uint32(i))) {
			if f.Via != cct.ViaCall {
				f.Func = f.Via.String() + " " + f.Func
			}
			names = append(names, f.Func)
		}
		calls[strings.Join(names, ";")] += n.Count
	}
	return calls
}

// TestUnknownSite calls functions without a Go body: in assembly, linked to a
// Go function, and calling back.
func TestUnknownSite(t *testing.T) {
	d := recordtest.New(1, "prog")
	files := []string{"m.go"}
	site := func(callee string, cell int) recordtest.Site {
		return recordtest.Site{Kind: layout.SiteUnknown, Line: 10 + cell, Callee: callee, Cell: cell, Counter: cell + 1}
	}
	caller := d.Func(recordtest.Func{Name: "main.caller", Files: files, Sites: []recordtest.Site{
		site("main.leaf", 1), site("main.linked", 2), site("main.back", 3), site("main.both", 4)}})
	linked := d.Func(recordtest.Func{Name: "main.linked", Files: files})
	both := d.Func(recordtest.Func{Name: "main.both", Files: files})
	f := d.Func(recordtest.Func{Name: "main.f", Files: files})
	n := d.Node(recordtest.Root, layout.RootMain, caller)
	for counter, calls := range []uint64{1, 5, 6, 7, 8} {
		d.Count(0, n, counter, calls)
	}
	d.Count(0, d.Node(n, 1, linked), 0, 6)
	d.Count(0, d.Node(n, 2, f), 0, 14) // main.back calls it twice
	d.Count(0, d.Node(n, 3, both), 0, 2)
	d.Count(0, d.Node(n, 3, f), 0, 3)
	want := map[string]uint64{
		"[main];main.caller":                         1,
		"[main];main.caller;native main.leaf":        5,
		"[main];main.caller;main.linked":             6,
		"[main];main.caller;native main.back":        7,
		"[main];main.caller;native main.back;main.f": 14,
		"[main];main.caller;main.both":               2,
		"[main];main.caller;native main.both":        6,
		"[main];main.caller;native main.both;main.f": 3,
	}
	if have := paths(cct.New(read(t, d))); !maps.Equal(have, want) {
		t.Errorf("have %v, want %v", have, want)
	}
}

// TestAssemblyWrapper enters a function in assembly through a func value: the
// compiler's wrapper is the context, a native, and its call of the assembly is none.
func TestAssemblyWrapper(t *testing.T) {
	d := recordtest.New(1, "prog")
	asm := d.Func(recordtest.Func{Name: "main.asm", Flags: layout.MetaFlagAsm, Files: []string{"<autogenerated>"},
		Sites: []recordtest.Site{{Kind: layout.SiteUnknown, Callee: "main.asm", Cell: 1, Counter: 1}}})
	f := d.Func(recordtest.Func{Name: "main.f", Files: []string{"m.go"}})
	caller := d.Func(recordtest.Func{Name: "main.caller", Files: []string{"m.go"},
		Sites: []recordtest.Site{{Kind: layout.SiteCall, Line: 3, Cell: 1}}})
	n := d.Node(recordtest.Root, layout.RootMain, asm)
	d.Count(0, n, 0, 3)
	d.Count(0, d.Node(n, 0, f), 0, 6)
	d.Count(0, d.Node(d.Node(recordtest.Root, layout.RootMain, caller), 0, asm), 0, 2)
	want := map[string]uint64{"[main];main.asm": 3, "[main];main.asm;main.f": 6,
		"[main];main.caller;native main.asm": 2}
	if have := paths(cct.New(read(t, d))); !maps.Equal(have, want) {
		t.Errorf("have %v, want %v", have, want)
	}
}

// TestInlinedInWrapper calls methods through wrappers that have inlined them: nothing else is called. A goroutine that
// begins in one has been started anyway.
func TestInlinedInWrapper(t *testing.T) {
	d := recordtest.New(1, "prog")
	caller := d.Func(recordtest.Func{Name: "main.caller", Files: []string{"m.go"}, Sites: []recordtest.Site{
		{Kind: layout.SiteCall, Line: 3, Cell: 1}, {Kind: layout.SiteGo, Line: 4, Cell: 2}}})
	wrapper := d.Func(recordtest.Func{Name: "main.(*T).M", Flags: layout.MetaFlagWrapper,
		Files:   []string{"<autogenerated>"},
		Inlined: []recordtest.Inlined{{Callee: "main.T.M", Line: 1, Counter: 2}},
		Sites: []recordtest.Site{{Kind: layout.SiteCall, In: 1, Line: 9, Cell: 1},
			{Kind: layout.SiteNative, In: 1, Line: 10, Callee: "runtime.memmove", Counter: 3},
			{Kind: layout.SiteCall, Line: 1, Cell: 2}}})
	f := d.Func(recordtest.Func{Name: "main.f", Files: []string{"m.go"}})
	n := d.Node(recordtest.Root, layout.RootMain, caller)
	d.Count(0, n, 0, 1)
	for cell, calls := range []uint64{5, 7} {
		w := d.Node(n, cell, wrapper)
		for counter, more := range []uint64{calls, calls - 1, 2 * calls} {
			d.Count(0, w, counter, more)
		}
		d.Count(0, d.Node(w, 0, f), 0, 3*calls)
		d.Count(0, d.Node(w, 1, f), 0, calls)
	}
	want := map[string]uint64{
		"[main];main.caller":                                         1,
		"[main];main.caller;inlined main.T.M":                        4,
		"[main];main.caller;inlined main.T.M;main.f":                 15,
		"[main];main.caller;inlined main.T.M;native runtime.memmove": 10,
		"[main];main.caller;main.f":                                  5,
		"[main];main.caller;go main.T.M":                             6,
		"[main];main.caller;go main.T.M;main.f":                      21,
		"[main];main.caller;go main.T.M;native runtime.memmove":      14,
		"[main];main.caller;go main.f":                               7,
	}
	if have := paths(cct.New(read(t, d))); !maps.Equal(have, want) {
		t.Errorf("have %v, want %v", have, want)
	}
}

// TestUnknownRecursion recurses through a declaration without a body: the node of
// the back edge counts the calls that reached a function which counts itself. The
// others are native, and so are all that name a function in assembly.
func TestUnknownRecursion(t *testing.T) {
	for _, test := range []struct {
		name          string
		self          uint32 // flags
		counted, made uint64
		want          uint64
	}{
		{"all counted", 0, 6, 6, 7},
		{"some native", 0, 4, 6, 7},
		{"assembly", layout.MetaFlagAsm, 0, 6, 7},
	} {
		d := recordtest.New(1, "prog")
		self := d.Func(recordtest.Func{Name: "main.self", Flags: test.self, Files: []string{"m.go"},
			Sites: []recordtest.Site{{Kind: layout.SiteCall, Cell: 1}}})
		mid := d.Func(recordtest.Func{Name: "main.mid", Files: []string{"m.go"},
			Sites: []recordtest.Site{{Kind: layout.SiteUnknown, Callee: "main.self", Cell: 1, Counter: 2}}})
		n := d.Node(recordtest.Root, layout.RootMain, self)
		d.Count(0, n, 0, 1)
		m := d.Node(n, 0, mid)
		d.Count(0, m, 0, test.made)
		d.Count(0, m, 1, test.made)
		if test.counted > 0 {
			d.Count(0, d.Node(m, 0, self), 0, test.counted)
		}
		have := uint64(0)
		for path, calls := range paths(cct.New(read(t, d))) {
			if strings.HasSuffix(path, "main.self") {
				have += calls
			}
		}
		if have != test.want {
			t.Errorf("%s: main.self has %d calls, want %d", test.name, have, test.want)
		}
	}
}

// TestBackEdges looks at a function that calls itself at two sites: each call counts
// at its own site, and what the function calls in turn hangs below its first call,
// whatever edge it came through.
func TestBackEdges(t *testing.T) {
	d := recordtest.New(1, "prog")
	main := d.Func(recordtest.Func{Name: "main.main", Files: []string{"m.go"},
		Sites: []recordtest.Site{{Kind: layout.SiteCall, Line: 3, Cell: 1}}})
	fib := d.Func(recordtest.Func{Name: "main.fib", Files: []string{"m.go"},
		Inlined: []recordtest.Inlined{{Callee: "main.leaf", Line: 8, Counter: 2}},
		Sites: []recordtest.Site{{Kind: layout.SiteCall, Line: 10, Cell: 1}, {Kind: layout.SiteCall, Line: 11, Cell: 2},
			{Kind: layout.SiteNative, Line: 12, Callee: "runtime.memmove", Counter: 3}}})
	n := d.Node(d.Node(recordtest.Root, layout.RootMain, main), 0, fib)
	for counter, calls := range []uint64{1, 2, 3} {
		d.Count(0, n, counter, calls)
	}
	for cell, calls := range []uint64{50, 30} {
		back := d.Node(n, cell, fib)
		for counter, more := range []uint64{calls, 100, 200} {
			d.Count(0, back, counter, more)
		}
	}
	tree := cct.New(read(t, d))
	if have, want := paths(tree), map[string]uint64{
		"[main];main.main;main.fib":                        1,
		"[main];main.main;main.fib;main.fib":               80,
		"[main];main.main;main.fib;inlined main.leaf":      202,
		"[main];main.main;main.fib;native runtime.memmove": 403,
	}; !maps.Equal(have, want) {
		t.Errorf("have %v, want %v", have, want)
	}
	var callers []string
	for _, n := range tree.Match(regexp.MustCompile(`^main\.fib$`))[0].Callers {
		callers = append(callers, fmt.Sprint(n.Calls, " at line ", n.Site.Line))
	}
	if want := []string{"50 at line 10", "30 at line 11", "1 at line 3"}; !slices.Equal(callers, want) {
		t.Errorf("main.fib is called %q, want %q", callers, want)
	}
}

func TestMatch(t *testing.T) {
	tree := cct.New(read(t, recordtest.Shapes()))
	list := tree.Match(regexp.MustCompile(`^main\.guard$`))
	if len(list) != 1 || len(list[0].Callers) != 1 || len(list[0].Callees) != 1 {
		t.Fatalf("have %+v", list)
	}
	caller, callee := list[0].Callers[0], list[0].Callees[0]
	if tree.Funcs[caller.Func].Name != "main.worker[...]" || caller.Site.Line != 41 || caller.Calls != 2 {
		t.Errorf("have caller %+v", caller)
	}
	if tree.Funcs[callee.Func].Name != "runtime.gopanic" || callee.Calls != 1 {
		t.Errorf("have callee %+v", callee)
	}
}

func TestTruncated(t *testing.T) {
	d := recordtest.New(1, "prog")
	f := d.Func(recordtest.Func{Name: "main.f", Files: []string{"m.go"}})
	d.Count(0, d.Node(recordtest.Root, layout.RootMain, f), 0, 2)
	d.Count(0, d.Node(recordtest.Overflow, 0, f), 0, 5)
	have := cct.New(read(t, d)).Totals()
	if want := (cct.Totals{Calls: 7, Contexts: 1, Functions: 1, Truncated: 5}); have != want {
		t.Errorf("have %+v, want %+v", have, want)
	}
}

func TestFoldPath(t *testing.T) {
	frame := func(name string) cct.PathFrame {
		return cct.PathFrame{Func: name[:1], Inlined: len(name) > 1}
	}
	w := cct.NewWalker(&profile.Profile{Strings: []string{"", "x", "y", "o", "p"}, Funcs: []profile.Func{
		{Name: 1, Flags: profile.FuncAdapter | profile.FuncNew},
		{Name: 2, Flags: profile.FuncAdapter | profile.FuncNew},
		{Name: 3, Flags: profile.FuncAdapter}, {Name: 4, Flags: profile.FuncAdapter}}}) // o and p of an older record
	for _, test := range []struct{ path, want []string }{
		{nil, nil},
		{[]string{"a"}, []string{"a"}},
		{[]string{"c", "b", "a"}, []string{"c", "b", "a"}},
		{[]string{"a", "b", "a", "m"}, []string{"a", "m"}},
		{[]string{"d", "b", "c", "b", "a"}, []string{"d", "b", "a"}},
		{[]string{"a", "i+", "b", "a"}, []string{"a"}},
		{[]string{"c", "i+", "b", "j+", "b", "a"}, []string{"c", "i+", "b", "a"}},
		{[]string{"c", "x", "b", "x", "a"}, []string{"c", "x", "b", "x", "a"}},
		{[]string{"d", "x", "b", "x", "c", "x", "b", "x", "a"}, []string{"d", "x", "b", "x", "a"}},
		{[]string{"b", "x", "y", "i+", "x", "a"}, []string{"b", "x", "y", "i+", "x", "a"}},
		{[]string{"b", "x", "y", "x", "y", "x", "a"}, []string{"b", "x", "y", "x", "a"}},
		{[]string{"b", "o", "p", "i+", "o", "a"}, []string{"b", "o", "a"}},
	} {
		var path, want []cct.PathFrame
		for _, n := range test.path {
			path = append(path, frame(n))
		}
		for _, n := range test.want {
			want = append(want, frame(n))
		}
		if have := w.FoldPath(path); !slices.Equal(have, want) {
			t.Errorf("%v: have %v, want %v", test.path, have, want)
		}
	}
	recursion := []cct.PathFrame{frame("i+"), frame("b"), frame("c"), frame("b"), frame("c"), frame("b"), frame("a")}
	want := []cct.PathFrame{frame("i+"), frame("b"), frame("c"), frame("b"), frame("a")}
	if have := w.FoldCallers(recursion); !slices.Equal(have, want) {
		t.Errorf("callers of %v: have %v, want %v", recursion, have, want)
	}
}

// TestFoldPathInPlace folds all short paths. Contexts have no wrappers, nor the places of faults.
func TestFoldPathInPlace(t *testing.T) {
	p := &profile.Profile{Strings: []string{""}}
	for _, name := range "FGabc" {
		f := profile.Func{Name: uint32(len(p.Strings))}
		if foldtest.Kind(byte(name)) == fold.Adapter {
			f.Flags = profile.FuncAdapter | profile.FuncNew
		}
		p.Strings, p.Funcs = append(p.Strings, string(name)), append(p.Funcs, f)
	}
	w := cct.NewWalker(p)
	for path := range foldtest.Paths("FGabc", 6) {
		var frames []cct.PathFrame
		for _, name := range path {
			frames = append(frames, cct.PathFrame{Func: string(name)})
		}
		slices.Reverse(frames)
		have := ""
		for _, f := range w.FoldPath(frames) {
			have = f.Func + have
		}
		if want := foldtest.Folded(path); have != want {
			t.Fatalf("%s: have %s, want %s", path, have, want)
		}
	}
}

// TestFoldPathWrappers has wrappers with something inlined, which is all that a path shows of them: W.m is that of an
// adapter, also where a function has its name.
func TestFoldPathWrappers(t *testing.T) {
	w := cct.NewWalker(&profile.Profile{Strings: []string{"", "x", "W.m", "f"}, Funcs: []profile.Func{
		{Name: 1, Flags: profile.FuncAdapter | profile.FuncNew}, {Name: 3},
		{Name: 2, Flags: profile.FuncWrapper | profile.FuncNew}, {Name: 2}}})
	in := cct.PathFrame{Func: "m", Inlined: true, In: "W.m"}
	x, f, function := cct.PathFrame{Func: "x"}, cct.PathFrame{Func: "f"}, cct.PathFrame{Func: "W.m"}
	for _, test := range []struct{ path, want []cct.PathFrame }{
		{[]cct.PathFrame{x, in, x, f}, []cct.PathFrame{x, in, x, f}},
		{[]cct.PathFrame{in, x, in, x, f}, []cct.PathFrame{in, x, f}},
		{[]cct.PathFrame{x, function, x, function, f}, []cct.PathFrame{x, function, f}},
		{[]cct.PathFrame{function, x, in, f}, []cct.PathFrame{function, x, in, f}},
	} {
		if have := w.FoldPath(test.path); !slices.Equal(have, test.want) {
			t.Errorf("%v: have %v, want %v", test.path, have, test.want)
		}
	}
}

// FuzzExpand expands whatever the reader accepts and asks the tree everything.
func FuzzExpand(f *testing.F) {
	var b bytes.Buffer
	if err := read(f, recordtest.Shapes()).WriteText(&b); err != nil {
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
		tree.Trim(3).Children()
		tree.Select(cct.Selection{Hide: regexp.MustCompile("a")}).Cover(5)
		for _, g := range cct.Groupings {
			_, _ = tree.By(g) // whatever the tree is like
		}
		w := cct.NewWalker(p)
		for i := range p.Nodes {
			if path, ok := w.Path(i, i%3-1); ok {
				w.FoldPath(w.Known(path))
			}
		}
	})
}

func BenchmarkExpand(b *testing.B) {
	p := read(b, recordtest.Random(3, 1_000_000, rand.New(rand.NewPCG(1, 1))))
	for b.Loop() {
		t := cct.New(p)
		b.ReportMetric(float64(len(t.Nodes))/float64(len(p.Nodes)), "contexts/node")
	}
}

// TestInlinedRecursion checks that calls that were inlined into their own function are
// folded as others are, at any depth, and none is lost; and that they are not where
// recursion is kept.
func TestInlinedRecursion(t *testing.T) {
	const text = `stemma profile 2
record 0
process 0 run 0123456789abcdef pid 1 start 2026-01-02T03:04:05.000000006Z go "go1.26.8" engine "cct"
func 0 kind root name "stemma.root" cells 10 counters 1
func 1 name "main.fib" file "fib.go" line 1 cells 3 counters 4
	inlined 0 callee "main.fib" file "fib.go" line 2 counter 1 beginsFile "fib.go" beginsLine 1
	inlined 1 in 0 callee "main.fib" file "fib.go" line 2 counter 2 beginsFile "fib.go" beginsLine 1
	inlined 2 in 1 callee "main.leaf" file "fib.go" line 3 counter 3 beginsFile "fib.go" beginsLine 9
	inlined 3 callee "main.leaf" file "fib.go" line 3 counter 3 beginsFile "fib.go" beginsLine 9
	site 0 kind call callee "main.fib" file "fib.go" line 2 cell 0
	site 1 kind call in 0 callee "main.fib" file "fib.go" line 2 cell 1
	site 2 kind call in 1 callee "main.fib" file "fib.go" line 2 cell 2
value 0 name "calls" unit "count" about "the calls" flags perCounter
node 0 calls 0
node 1 func 1 parent 0 calls 1,10,20,30
node 2 func 1 parent 1 cell 0 calls 2,1,1,1
node 3 func 1 parent 1 cell 1 calls 3,1,1,1
node 4 func 1 parent 1 cell 2 calls 4,1,1,1
`
	p, err := profile.ParseText(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	tree := cct.New(p)
	if have, want := tree.Totals().Calls, calls(p); have != want {
		t.Errorf("%d calls, want %d", have, want)
	}
	var fib, leaf []uint64
	for _, n := range tree.Nodes {
		switch tree.Funcs[n.Func].Name {
		case "main.fib":
			fib = append(fib, n.Count)
		case "main.leaf":
			leaf = append(leaf, n.Count)
		}
	}
	slices.Sort(fib)
	// The first call; then the second in line 2 of the copies of fib that have two, which
	// both have inlined the first; then the first.
	if want := []uint64{1, 2 + 3, 13 + 23 + 4}; !slices.Equal(fib, want) || !slices.Equal(leaf, []uint64{2 * 33}) {
		t.Errorf("counts of fib %d and leaf %d, want %d and [66]", fib, leaf, want)
	}

	p.Processes[0].Full = true
	if have := len(cct.New(p).Nodes); have < 20 {
		t.Errorf("%d contexts with recursion kept, want all", have)
	}
}

// TestInlinedFar has a function as only a hostile record has it: adapters are inlined into each other, and each once
// more, where none leads back, since the first of another one lies between. One by one, they would take hours.
func TestInlinedFar(t *testing.T) {
	const adapters = 10_000
	p := &profile.Profile{Strings: []string{"", "main.main"}, Processes: []profile.Process{{}}}
	f := profile.Func{Name: 1, Cells: 1, Counters: 2}
	p.Funcs = []profile.Func{{Kind: profile.FuncRoot, Cells: 10, Counters: 1}, {}}
	for i := range uint32(adapters) {
		p.Strings = append(p.Strings, fmt.Sprint("main.adapter", i))
		p.Funcs = append(p.Funcs, profile.Func{Name: 2 + i, Counters: 1, Flags: profile.FuncAdapter | profile.FuncNew})
	}
	for i := range 2*adapters - 1 {
		f.Inlined = append(f.Inlined, profile.Inlined{Parent: int32(i) - 1, Callee: 2 + uint32(i%adapters),
			Counter: profile.None})
	}
	f.Inlined[2*adapters-2].Counter = 1
	p.Funcs[1] = f
	p.Nodes = []profile.Node{{}, {Func: 1, First: 1}}
	p.Columns = []profile.Column{{Metric: profile.Calls, Values: []uint64{0, 1, 7}}}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	tree := cct.New(p)
	if have, want := len(tree.Nodes), 2+2*adapters; have < want {
		t.Errorf("%d contexts, want at least %d", have, want)
	}
	if have := tree.Totals().Calls; have != 8 {
		t.Errorf("%d calls, want 8", have)
	}
}
