package encoder

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/testing/level"
)

// A named is a program whose functions have names of one letter, or of one letter
// and primes. Sites are made when an edge is first used.
type named struct {
	t     *testing.T
	p     *Program
	funcs map[string]Func
	sites map[string]Site
}

func newNamed(t *testing.T) *named {
	return &named{t, NewProgram(), map[string]Func{"root": Root}, make(map[string]Site)}
}

func (n *named) fn(name string) Func {
	f, ok := n.funcs[name]
	if !ok {
		f = n.p.AddFunc()
		n.funcs[name] = f
	}
	return f
}

// call returns the call of an edge; at tells several sites apart.
func (n *named) call(caller, callee, at string, kind SiteKind) Call {
	key := caller + " " + callee + " " + at
	s, ok := n.sites[key]
	if !ok {
		s = n.p.AddSite(n.fn(caller), kind)
		n.sites[key] = s
	}
	return Call{s, n.fn(callee)}
}

// path returns the static calls along some functions, from the root on.
func (n *named) path(names ...string) []Call {
	var calls []Call
	caller := "root"
	for _, name := range names {
		calls = append(calls, n.call(caller, name, "", Static))
		caller = name
	}
	return calls
}

// enter calls along a path and returns the context at its end; then it leaves.
func (n *named) enter(e Encoder, path []Call) Context {
	n.t.Helper()
	for _, c := range path {
		e.Call(Main, c.Site, c.Func)
	}
	c := e.Capture(Main)
	e.Unwind(Main, 0)
	n.decodes(e, c, path)
	return c
}

func (n *named) decodes(e Encoder, c Context, want []Call) {
	n.t.Helper()
	if got, err := e.Decode(c); err != nil || !slices.Equal(got, want) {
		n.t.Errorf("%s: %+v decodes to %v, %v; want %v", e.Name(), c, got, err, want)
	}
}

// graph returns the graph of some paths.
func (n *named) graph(paths ...[]Call) *Graph {
	g := NewGraph(n.p)
	for _, path := range paths {
		for _, c := range path {
			g.Add(c)
		}
	}
	return g
}

// Figure 1 of the DACCE paper: of all edges, only C-D has an addition value, 1.
func TestDacceFigure1(t *testing.T) {
	n := newNamed(t)
	g := n.graph(n.path("A", "B", "D"), n.path("A", "C", "D"))
	tables := NumberStatic(g, 1<<62)
	for _, e := range g.Edges {
		want := uint64(0)
		if e.Call == n.call("C", "D", "", Static) {
			want = 1
		}
		if av, ok := tables.AddValue(e.Call); !ok || av != want {
			t.Errorf("edge %v has value %d, %v; want %d", e.Call, av, ok, want)
		}
	}
	if got := tables.NumCC(n.fn("D")); got != 2 {
		t.Errorf("numCC(D) = %d, want 2", got)
	}
}

// Section 3.1 of the DACCE paper, figure 2: with A-D not encoded, AD and ACD have
// the same id, and the ccStack tells them apart. ABCD with A-B and C-D not encoded
// has two entries.
func TestDacceUnencoded(t *testing.T) {
	n := newNamed(t)
	for _, begin := range []func() *Dacce{
		func() *Dacce { return NewDacce(n.p, Policy{}, MaxNumCC) },
		func() *Dacce { return NewDacceEdges(n.p, Policy{}, 1<<62) },
	} {
		d := begin()
		n.enter(d, n.path("A", "C", "D"))
		d.Reencode()
		acd := n.enter(d, n.path("A", "C", "D"))
		ad := n.enter(d, n.path("A", "D"))
		if acd.ID != 0 || acd.Node != 0 || ad.ID != 0 || d.stackOf(ad) != 1 {
			t.Errorf("%s: ACD is %+v, AD is %+v; want id 0 for both, and one entry for AD", d.Name(), acd, ad)
		}
		// As in the paper, the edges that its example has are the encoded ones.
		d = begin()
		n.enter(d, n.path("A"))
		n.enter(d, []Call{n.call("root", "B", "", Static), n.call("B", "C", "", Static)})
		d.Reencode()
		if abcd := n.enter(d, n.path("A", "B", "C", "D")); abcd.ID != 0 || d.stackOf(abcd) != 2 {
			t.Errorf("ABCD is %+v with %d entries, want 2", abcd, d.stackOf(abcd))
		}
	}
}

// stackOf returns the number of entries below a context.
func (d *Dacce) stackOf(c Context) int {
	depth := 0
	for n := c.Node; n != 0; n = d.nodes[n].parent {
		depth++
	}
	return depth
}

// Section 3.3 of the DACCE paper, figure 5: D-A is recursive and A-D not encoded.
// The context ADACDAD has four entries: AD, DA, DA, AD. The last id but one is that
// of ACD.
func TestDacceRecursion(t *testing.T) {
	n := newNamed(t)
	d := NewDacce(n.p, Policy{}, MaxNumCC)
	for range 2 {
		n.enter(d, n.path("A", "C", "D"))
	}
	n.enter(d, n.path("A", "C", "D", "A"))
	d.Reencode()
	c := n.enter(d, n.path("A", "D", "A", "C", "D", "A", "D"))
	var entries []Call
	for i := c.Node; i != 0; i = d.nodes[i].parent {
		entries = append(entries, d.nodes[i].call)
	}
	ad, da := n.call("A", "D", "", Static), n.call("D", "A", "", Static)
	if want := []Call{ad, da, da, ad}; c.ID != 0 || !slices.Equal(entries, want) {
		t.Errorf("id %d, entries %v; want 0 and %v", c.ID, entries, want)
	}
}

// Section 3.3: a recursion that repeats itself is one entry with a count, below whatever is pushed on top of it, and
// each of its levels is another context.
func TestDacceCounts(t *testing.T) {
	n := newNamed(t)
	loop := func(times int, end ...string) []Call {
		names := []string{"A"}
		for range times {
			names = append(names, "B", "A")
		}
		return n.path(append(names, end...)...)
	}
	d := NewDacceCounts(n.p, Policy{}, 1<<62)
	n.enter(d, loop(1, "C", "A"))
	d.Reencode() // B-A and C-A are back edges
	before := d.Stats().StackMax
	seen := map[Context]bool{}
	for times := range 100 {
		c := n.enter(d, loop(times, "C", "A"))
		n.enter(d, append(loop(times, "C", "A"), loop(times / 2)[1:]...))
		if seen[c] {
			t.Errorf("%d repetitions have the context of fewer", times)
		}
		seen[c] = true
	}
	if deepest := d.Stats().StackMax; deepest > max(before, 3) {
		t.Errorf("the ccStack had %d entries, want at most 3", deepest)
	}
	path := loop(20)
	for i, c := range path { // captured on the way, each time with one more
		d.Call(Main, c.Site, c.Func)
		n.decodes(d, d.Capture(Main), path[:i+1])
	}
	d.Unwind(Main, 0)
	edges := NewDacceEdges(n.p, Policy{}, 1<<62)
	n.enter(edges, loop(1, "C", "A"))
	edges.Reencode()
	n.enter(edges, loop(100))
	if deepest := edges.Stats().StackMax; deepest < 100 {
		t.Errorf("without counts the ccStack had %d entries, want one for each level", deepest)
	}
}

// Section 6.1: PCCE's profile has the targets of indirect calls, which are encoded then, and shows which edge of a
// function is the most frequent.
func TestPCCEProfile(t *testing.T) {
	n := newNamed(t)
	indirect := n.call("A", "C", "indirect", Dynamic)
	cold, hot := n.call("B", "C", "cold", Static), n.call("A", "C", "hot", Static)
	g := n.graph(n.path("A", "B"), []Call{cold, indirect, hot})
	for i := range g.Edges {
		if g.Edges[i].Call == hot {
			g.Edges[i].Weight = 100
		}
	}
	for _, test := range []struct {
		tables *EdgeTables
		av     uint64
		known  bool
	}{{NumberStatic(g, 1<<62), 1, false}, {NumberProfiled(g, 1<<62), 0, true}} {
		av, _ := test.tables.AddValue(hot)
		if _, ok := test.tables.AddValue(indirect); av != test.av || ok != test.known {
			t.Errorf("the hot edge has %d, the indirect one a value: %v; want %d, %v", av, ok, test.av, test.known)
		}
	}
}

// Section 6.3: where each function is called from two places of the one before, ids have a bit for each level, and
// edges are left out when there are no more.
func TestPCCEOverflow(t *testing.T) {
	n := newNamed(t)
	calls := n.path("f0")
	for i := range 70 {
		from, to := fmt.Sprint("f", i), fmt.Sprint("f", i+1)
		calls = append(calls, n.call(from, to, "", Static), n.call(from, to, "again", Static))
	}
	for levels, want := range map[int]int{60: 0, 70: 1} {
		d := NewPCCE(n.p, n.graph(calls[:1+2*levels]))
		if s := d.Stats(); (s.LeftOut > 0) != (want > 0) || s.Encoded+s.LeftOut != 1+2*levels {
			t.Errorf("%d levels: %d edges are left out, %d encoded", levels, s.LeftOut, s.Encoded)
		}
		path := calls[:1:1]
		for i := range levels {
			path = append(path, calls[2+2*i])
		}
		n.enter(d, path)
	}
}

// Section 4: the most frequent edge of each function gets 0 when the frequencies
// have changed, and old contexts keep their dictionary.
func TestDacceHottestIsZero(t *testing.T) {
	n := newNamed(t)
	abd, acd := n.path("A", "B", "D"), n.path("A", "C", "D")
	for _, d := range []*Dacce{
		NewDacce(n.p, Policy{Check: 60, Gain: 0.1}, MaxNumCC), NewDacceEdges(n.p, Policy{Check: 60, Gain: 0.1}, 1<<62),
	} {
		var old []Context
		for range 100 {
			n.enter(d, abd)
		}
		old = append(old, n.enter(d, abd), n.enter(d, acd))
		if old[0].ID != 0 {
			t.Errorf("%s: the hot context has id %d", d.Name(), old[0].ID)
		}
		epoch := d.Epoch()
		for range 1000 {
			n.enter(d, acd)
		}
		if c := n.enter(d, acd); c.ID != 0 || d.Epoch() == epoch {
			t.Errorf("%s: after a change, the hot context has id %d in epoch %d", d.Name(), c.ID, d.Epoch())
		}
		n.decodes(d, old[0], abd)
		n.decodes(d, old[1], acd)
	}
}

// A context that was not handed out is an error, or decodes to something that could
// be; it never panics, and it is not decoded without end.
func TestDacceDamaged(t *testing.T) {
	n := newNamed(t)
	for _, d := range []*Dacce{NewDacce(n.p, Policy{}, MaxNumCC), NewDacceEdges(n.p, Policy{}, 1<<62)} {
		paths := [][]Call{n.path("A", "B", "D"), n.path("A", "C", "D"), n.path("A", "B", "D", "A")}
		for _, path := range paths {
			n.enter(d, path)
		}
		d.Reencode()
		good := n.enter(d, n.path("A", "B", "D", "A", "C"))
		for _, bad := range []Context{
			{Func: good.Func, Version: good.Version, ID: good.ID + 100, Node: good.Node},
			{Func: n.fn("D"), Version: good.Version, ID: 2},
			{Func: n.fn("D"), Version: 99},
			{Func: n.fn("D"), Version: good.Version, Node: 99},
			{Func: 99, Version: good.Version},
			{Func: n.fn("A"), Version: good.Version, ID: 1, Node: good.Node},
			{Func: Root, Version: good.Version, ID: 1},
		} {
			if calls, err := d.Decode(bad); err == nil {
				t.Errorf("%s: %+v decodes to %v", d.Name(), bad, calls)
			}
		}
		_, err := d.Decode(Context{Func: n.fn("D"), Version: good.Version, ID: 2})
		if err == nil || !strings.Contains(err.Error(), "no call of function") {
			t.Errorf("%s: an id outside of all intervals: %v", d.Name(), err)
		}
		// Tables in which D is called by A and A by D.
		loop := &EdgeTables{p: n.p, in: make([][]interval, n.p.Funcs)}
		loop.in[n.fn("A")] = []interval{{0, 1, n.call("D", "A", "", Static).Site}}
		loop.in[n.fn("D")] = []interval{{0, 1, n.call("A", "D", "", Static).Site}}
		if calls, err := DecodeDacce(Context{Func: n.fn("D")}, n.p, []Tables{loop}, d.node); err == nil {
			t.Errorf("a path with a cycle decodes to %v", calls)
		}
	}
}

// A site has one value for all of its targets,
// also for those of the group that it has not called yet.
func TestSiteGroups(t *testing.T) {
	n := newNamed(t)
	s1 := n.call("A", "X", "dynamic", Dynamic).Site
	s2 := n.call("B", "X", "dynamic", Dynamic).Site
	x, y, z := n.fn("X"), n.fn("Y"), n.fn("Z")
	g := n.graph(n.path("A"), n.path("B"), n.path("A", "B"),
		[]Call{{s1, x}, {s2, x}, {s2, y}, n.call("A", "Y", "static", Static)})
	tables := NumberSites(g, MaxNumCC)
	if tables.Key[x] == 0 || tables.Key[x] != tables.Key[y] || tables.Key[z] != 0 || tables.Key[Root] != 0 {
		t.Fatalf("keys are %v", tables.Key)
	}
	// A has 1 context and B 2: so 3 come through the group, and Y has one more.
	if tables.GroupCC[tables.Key[x]] != 3 || tables.NumCC[x] != 3 || tables.NumCC[y] != 4 {
		t.Errorf("numCC: group %v, functions %v", tables.GroupCC, tables.NumCC)
	}
	if state, ok := tables.Enter(0, Call{s1, y}); !ok {
		t.Errorf("site %d does not accept function %d of its group (%#x)", s1, y, state)
	}
	if state, ok := tables.Enter(0, Call{s1, z}); ok {
		t.Errorf("site %d accepts function %d, which is in no group (%#x)", s1, z, state)
	}
	if got := NumberSites(g, 2); got.NumCC[y] > 2 || got.NumCC[x] > 2 {
		t.Errorf("numCC passes a limit of 2: %v", got.NumCC)
	}
}

// With more groups than keys, the coldest groups have none: their calls are pushed,
// and nothing else takes them for its own.
func TestTooManyGroups(t *testing.T) {
	p := NewProgram()
	g := NewGraph(p)
	for i := range layout.NumKeys + 10 {
		c := Call{p.AddSite(Root, Dynamic), p.AddFunc()}
		j, _ := g.Add(c)
		g.Edges[j].Weight = uint64(i)
	}
	tables := NumberSites(g, MaxNumCC)
	cold := 0
	for i, e := range g.Edges {
		_, ok := tables.Enter(0, e.Call)
		if want := i >= 11; ok != want || (tables.Key[e.Func] != 0) != want {
			t.Fatalf("edge %d: encoded is %v, want %v; the key is %d", i, ok, want, tables.Key[e.Func])
		}
		if !ok {
			cold++
		}
		if state, ok := tables.Enter(0, Call{e.Site, g.Edges[(i+1)%len(g.Edges)].Func}); ok {
			t.Fatalf("edge %d: the next function accepts %#x", i, state)
		}
	}
	if cold != 11 || int(slices.Max(tables.Key)) != layout.NumKeys-1 {
		t.Errorf("%d groups without a key, and the last key is %d", cold, slices.Max(tables.Key))
	}
}

// A dictionary that cannot be decoded by is refused.
func TestReadSiteTables(t *testing.T) {
	n := newNamed(t)
	dynamic := n.call("A", "X", "dynamic", Dynamic)
	loop := []Call{n.call("D", "E", "", Static), n.call("E", "D", "", Static)}
	g := n.graph(n.path("A", "B", "C"), n.path("C"), []Call{dynamic, n.call("B", "X", "", Static)})
	good := NumberSites(g, MaxNumCC)
	for what, spoil := range map[string]func(key []uint16, numCC []uint32, values *[]SiteValue){
		"":             func([]uint16, []uint32, *[]SiteValue) {},
		"another site": func(_ []uint16, _ []uint32, v *[]SiteValue) { setValues(*v, 0) },
		"numCC is":     func(_ []uint16, _ []uint32, v *[]SiteValue) { (*v)[0].Value += 100 },
		"no group":     func(key []uint16, _ []uint32, _ *[]SiteValue) { clear(key) },
		"numCC is 1": func(_ []uint16, numCC []uint32, v *[]SiteValue) {
			*v = append(*v, SiteValue{loop[0], 1}, SiteValue{loop[1], 0}) // nothing is left for the loop
			numCC[loop[0].Func], numCC[loop[1].Func] = 1, 1
		},
		"no such call": func(_ []uint16, _ []uint32, v *[]SiteValue) { (*v)[0].Call.Func = 99 },
		"closes a cycle": func(_ []uint16, _ []uint32, v *[]SiteValue) {
			// Only a cycle that nothing leads into can have numCC that fit.
			*v = append(*v, SiteValue{loop[0], 0}, SiteValue{loop[1], 0})
		},
		"ids go up to 5, but numCC is 2": func(_ []uint16, numCC []uint32, v *[]SiteValue) {
			// The ids of a loop begin with 1 at least.
			*v = append(*v, SiteValue{loop[0], 0})
			numCC[n.p.Sites[loop[0].Site].Caller], numCC[loop[0].Func] = 5, 2
		},
	} {
		key, numCC, values := slices.Clone(good.Key), slices.Clone(good.NumCC), slices.Clone(good.Values())
		spoil(key, numCC, &values)
		_, err := ReadSiteTables(n.p, key, numCC, values)
		if what == "" && err != nil || what != "" && (err == nil || !strings.Contains(err.Error(), what)) {
			t.Errorf("want an error with %q, have %v", what, err)
		}
	}
}

func setValues(list []SiteValue, value uint32) {
	for i := range list {
		list[i].Value = value
	}
}

// Of a cycle, the coldest edge is the back edge.
func TestBackEdgeIsCold(t *testing.T) {
	n := newNamed(t)
	g := n.graph(n.path("A", "B", "C", "A"))
	cold := n.call("B", "C", "", Static)
	for i := range g.Edges {
		if g.Edges[i].Weight = 10; g.Edges[i].Call == cold {
			g.Edges[i].Weight = 1
		}
	}
	tables := NumberEdges(g, 1<<62)
	for _, e := range g.Edges {
		if _, ok := tables.AddValue(e.Call); ok != (e.Call != cold) {
			t.Errorf("edge %v: encoded is %v", e.Call, ok)
		}
	}
}

// Section 2 of the Lucce paper, on a graph with the two call sites D1 and D2 of
// example 1, whose figure is not in the text: each site has ids of its own.
func TestLucceExample1(t *testing.T) {
	n := newNamed(t)
	d1, d2 := n.call("D", "F", "1", Static), n.call("D", "F", "2", Static)
	abd, acd := n.path("A", "B", "D"), n.path("A", "C", "D")
	tables := NumberStatic(n.graph(abd, acd, []Call{d1, d2}), 1<<62)
	av1, _ := tables.AddValue(d1)
	av2, _ := tables.AddValue(d2)
	if tables.NumCC(n.fn("D")) != 2 || tables.NumCC(n.fn("F")) != 4 || av1 != 0 || av2 != 2 {
		t.Errorf("numCC(D) = %d, numCC(F) = %d, av(D1 F) = %d, av(D2 F) = %d; want 2, 4, 0, 2",
			tables.NumCC(n.fn("D")), tables.NumCC(n.fn("F")), av1, av2)
	}
	l := NewLucce(n.p, LucceLimit, LucceBudget)
	var ids []uint64
	for _, path := range [][]Call{abd, acd} {
		for _, d := range []Call{d1, d2} {
			ids = append(ids, n.enter(l, append(slices.Clone(path), d)).ID)
		}
	}
	t.Logf("ABD1F, ABD2F, ACD1F, ACD2F: %v", ids)
}

// Example 2, figure 2: the id of ABDE, 1, is that of XBCE when X-B has been added.
func TestLucceExample2(t *testing.T) {
	n := newNamed(t)
	abce, abde := n.path("A", "B", "C", "E"), n.path("A", "B", "D", "E")
	before := n.graph(abce, abde)
	after := n.graph(abce, abde, n.path("X", "B"))
	for _, test := range []struct {
		g    *Graph
		want []Call
	}{{before, abde}, {after, n.path("X", "B", "C", "E")}} {
		c := Context{Func: n.fn("E"), ID: 1}
		got, err := DecodeDacce(c, n.p, []Tables{NumberStatic(test.g, 1<<62)},
			func(uint32) (ccLogged, bool) { return ccLogged{}, true })
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("id 1 at E decodes to %v, %v; want %v", got, err, test.want)
		}
	}
}

// Section 3, figure 3: the three paths are <0,v1>, <1,v2> and <2,v3>, and the
// second one decodes by its own version for ever.
func TestLucceFigure3(t *testing.T) {
	n := newNamed(t)
	l := NewLucce(n.p, LucceLimit, LucceBudget)
	paths := [][]Call{n.path("A", "B", "C", "E"), n.path("A", "B", "D", "E"), n.path("X", "B", "D", "E")}
	var got []Context
	version := uint32(0)
	for i, path := range paths {
		c := n.enter(l, path)
		if c.ID != uint64(i) || c.Version <= version {
			t.Errorf("path %d is <%d,%d>, want <%d,v> with v > %d", i, c.ID, c.Version, i, version)
		}
		version = c.Version
		got = append(got, c)
	}
	for i, c := range got {
		n.decodes(l, c, paths[i])
	}
	// The graph does not have the context XBCE, which did not occur.
	if numCC := l.graph.numCC(n.fn("E"), version); numCC != 3 {
		t.Errorf("numCC(E) = %d, want 3", numCC)
	}
}

// Example 3: a recursive function is entered with a pair of its own at each level.
func TestLucceExample3(t *testing.T) {
	n := newNamed(t)
	l := NewLucce(n.p, LucceLimit, LucceBudget)
	path := n.path("f", "f", "f", "f", "f")
	seen := make(map[Context]bool)
	for i := range path {
		seen[n.enter(l, path[:i+1])] = true
	}
	if len(seen) != len(path) {
		t.Errorf("%d levels have %d contexts", len(path), len(seen))
	}
}

// Example 4, figure 4: D-B is recursive, av(DB) = numCC(A) + numCC(A') = 2, and the
// id of A'BCDBC is 3.
func TestLucceExample4(t *testing.T) {
	n := newNamed(t)
	l := NewLucce(n.p, LucceLimit, LucceBudget)
	n.enter(l, n.path("A", "B", "C", "D"))
	n.enter(l, n.path("A'", "B", "C", "D"))
	for name, want := range map[string]uint64{"A": 1, "A'": 1, "B": 2, "C": 2, "D": 2} {
		if got := l.graph.numCC(n.fn(name), l.graph.version()); got != want {
			t.Errorf("numCC(%s) = %d, want %d", name, got, want)
		}
	}
	c := n.enter(l, n.path("A'", "B", "C", "D", "B", "C"))
	if av, _, _ := l.graph.interval(n.call("D", "B", "", Static), c.Version); av != 2 || c.ID != 3 {
		t.Errorf("av(DB) = %d, id = %d; want 2 and 3", av, c.ID)
	}
	// If the recursion goes on, so does the algorithm.
	n.enter(l, n.path("A'", "B", "C", "D", "B", "C", "D", "B", "C", "D", "B"))
}

// An in-edge that stands behind a recursive one: by the letter of Algorithm 1 its
// ids would be 1 + numCC(f) and more, which are those of other edges below f.
func TestLucceBehindRecursion(t *testing.T) {
	n := newNamed(t)
	l := NewLucce(n.p, LucceLimit, LucceBudget)
	n.enter(l, n.path("A", "f", "f", "m"))
	n.enter(l, n.path("X", "m"))
	n.enter(l, n.path("B", "f", "m"))
	n.enter(l, n.path("B", "f", "f", "f", "m"))
}

// The log converges: when nothing is new it stops growing, even if frames that
// were entered with old versions take turns.
func TestLucceConverges(t *testing.T) {
	n := newNamed(t)
	l := NewLucce(n.p, LucceLimit, LucceBudget)
	paths := [][]Call{
		n.path("A", "B", "C", "E", "B"), n.path("A", "D", "E"), n.path("X", "B", "D", "E", "C"),
		n.path("X", "C", "B", "A"),
	}
	sizes := make([]int, 20)
	for i := range sizes {
		for _, p := range paths {
			n.enter(l, p)
		}
		sizes[i] = len(l.Log())
	}
	if sizes[5] != sizes[19] {
		t.Errorf("the log grows without anything new: %v", sizes)
	}
	t.Logf("log entries after each round: %v", sizes)
}

// Versions that lack edges are replaced: when all edges are known, contexts below
// one that is entered again share its version. Without that, each path through the
// late edges would have versions of its own.
func TestLucceSettles(t *testing.T) {
	n := newNamed(t)
	l := NewLucce(n.p, LucceLimit, LucceBudget)
	var paths [][]Call
	for i := range 64 {
		names := []string{"A"}
		for bit := range 6 {
			names = append(names, string(rune('B'+bit))+string(rune('0'+i>>bit&1)))
		}
		paths = append(paths, n.path(names...))
	}
	for range 3 {
		for _, p := range paths {
			n.enter(l, p)
		}
	}
	versions := make(map[uint32]bool)
	for _, p := range paths {
		versions[n.enter(l, p).Version] = true
	}
	if len(versions) != 1 {
		t.Errorf("%d contexts have %d versions, with %d log entries", len(paths), len(versions), len(l.Log()))
	}
}

// Recursion without an end: ids are rebased, the log stops at its budget, and what
// does not fit is truncated, not wrong.
func TestLucceBudget(t *testing.T) {
	n := newNamed(t)
	s1, s2 := n.call("f", "f", "1", Static), n.call("f", "f", "2", Static)
	l := NewLucce(n.p, 1<<20, 500)
	path := n.path("f")
	for i := range 2000 {
		path = append(path, [...]Call{s1, s2}[i%2])
	}
	truncated, rebased := 0, 0
	for i, c := range path {
		l.Call(Main, c.Site, c.Func)
		if ctx := l.Capture(Main); ctx.Truncated {
			truncated++
		} else {
			n.decodes(l, ctx, path[:i+1])
		}
	}
	// At the limit, one numbering that leaves numCC alone can still widen an interval.
	again, numCC := 0, make(map[Func]uint64)
	for _, e := range l.Log() {
		switch {
		case e.Kind == LogRebase:
			rebased++
		case e.Kind == LogNumCC && numCC[e.Func] == e.Value:
			again++
		case e.Kind == LogNumCC:
			numCC[e.Func] = e.Value
		}
	}
	if again > 1 {
		t.Errorf("%d numberings changed nothing", again)
	}
	if rebased == 0 || truncated == 0 || truncated == len(path) || l.Stats().Truncated != uint64(truncated) ||
		len(l.Log()) > 500 {
		t.Errorf("%d rebased, %d of %d truncated, %d log entries", rebased, truncated, len(path), len(l.Log()))
	}
}

// A log that was damaged is refused, and contexts that no log leads to are errors.
func TestLucceDamaged(t *testing.T) {
	level.NeedMore(t)
	n := newNamed(t)
	l := NewLucce(n.p, LucceLimit, LucceBudget)
	c := n.enter(l, n.path("A", "B", "C"))
	for i, e := range l.Log() {
		bad := slices.Clone(l.Log())
		e.Value, e.Version, e.Call.Func = e.Value+1, e.Version+1000, 99
		bad[i] = e
		if _, err := NewLucceDecoder(n.p, LucceLimit, bad); err == nil {
			t.Errorf("entry %d: %+v was accepted", i, e)
		}
	}
	// Recursion makes many ids, most of which stand for no path that occurred: here
	// one of as many calls as the first recursive site has ids.
	s1, s2 := n.call("f", "f", "1", Static), n.call("f", "f", "2", Static)
	path := n.path("f")
	for range 30 {
		path = append(path, s1, s2)
		n.enter(l, path)
	}
	huge := n.enter(l, n.path("g", "f"))
	av, end, _ := l.graph.interval(s1, huge.Version)
	if huge.ID = end - 1; end-av < maxPath {
		t.Fatalf("site %d has %d ids, too few for this test", s1.Site, end-av)
	}
	for _, bad := range []Context{{Func: c.Func, ID: c.ID + 1, Version: c.Version}, {Func: c.Func, Version: 1000},
		{Func: 99}, huge} {
		if calls, err := l.Decode(bad); err == nil {
			t.Errorf("%+v decodes to %v", bad, calls)
		}
	}
}
