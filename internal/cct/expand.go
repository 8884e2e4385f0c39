package cct

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/profile"
)

// expandFuncs expands the nodes of functions with the values of a column. Values that are
// one number for each node belong to the function itself; the counters of calls also tell
// what it inlined, and which natives it called.
func expandFuncs(t *Tree, p *profile.Profile, c *profile.Column) {
	newExpander(t, p).expand(c)
}

// expand adds the values of a column to the tree. When it has no room left it makes some for all nodes of the profile,
// if they become as many as those before them: to grow step by step takes much longer.
func (x *expander) expand(c *profile.Column) {
	x.column = c
	clear(x.unknown)
	for i := range x.p.Nodes {
		if i > 0 && cap(x.t.Nodes)-len(x.t.Nodes) < 64 {
			x.reserve(int(1.03*float64(len(x.t.Nodes))*float64(len(x.p.Nodes))/float64(i)) + 64)
		}
		x.node(i)
	}
	x.unknownCalls()
}

// An expander is the state of expandFuncs.
type expander struct {
	*builder
	p      *profile.Profile
	column *profile.Column
	funcs  []uint32 // for each string of p the Func + 1, 0 if it has none yet
	names  map[string]uint32
	sites  []uint32  // for each function of p the first of its sites in t.Sites
	cells  [][]int32 // for each function of p the site of each cell
	place  []place   // for each node of p
	homes  []uint32  // for each node of p where its callees hang
	// originals has, for functions that calls of their own are inlined into, what
	// originalCalls returns.
	originals map[uint32][]int32
	outers    map[uint32][]int32 // of these functions, what outersOf returns
	// folds has, by their names, what the functions that only pass calls on are to recursion.
	folds map[uint32]fold.Kind
	// native is, for each unknown site of t.Sites, the same place as it enters
	// a native. The two differ in Via: some calls of one site may reach a
	// function that counts itself, and others a native. So it is for a plain call
	// that a wrapper passes on to a native. inlinedBy is the same for one of a
	// wrapper that has inlined what it calls, and helpers for one of a function of package reflect that Go marks as
	// a wrapper.
	native, inlinedBy, helpers map[uint32]uint32
	// unknown has an entry for each unknown site of each home.
	unknown map[siteOfNode]unknownSite

	frameSites map[Site]uint32  // of places that were sampled
	sampledIn  map[uint32]int32 // for physical nodes of such places in functions, the inlined call, or None

	sums  map[int32]float64 // of weigh, by inlined call
	costs *Costs            // nil if operations cost one, and nothing else does

	recounter *Recounter // takes note of what counts where; nil if nobody asks
}

// An unknownSite counts the calls that a site made, and those of them that the
// callees counted themselves.
type unknownSite struct{ made, counted uint64 }

// A siteOfNode is a call site of a physical node: an index into Profile.Nodes
// and one into the Sites of the node's function.
type siteOfNode struct{ node, site int }

// A place is where the calls of a function hang: below its node, or, if it is
// a wrapper, below its caller's node, as if the caller had made them at site.
type place struct {
	node   uint32
	site   uint32
	elided bool
}

// newExpander fills the tables of functions and sites; the tree has its root.
func newExpander(t *Tree, p *profile.Profile) *expander {
	x := &expander{
		builder:   newBuilder(t, len(p.Nodes)),
		p:         p,
		funcs:     make([]uint32, len(p.Strings)),
		names:     make(map[string]uint32),
		sites:     make([]uint32, len(p.Funcs)),
		cells:     make([][]int32, len(p.Funcs)),
		place:     make([]place, len(p.Nodes)),
		homes:     p.Homes(),
		originals: make(map[uint32][]int32),
		outers:    make(map[uint32][]int32),
		folds:     make(map[uint32]fold.Kind),
		native:    make(map[uint32]uint32),
		inlinedBy: make(map[uint32]uint32),
		helpers:   make(map[uint32]uint32),
		sums:      make(map[int32]float64),
		unknown:   make(map[siteOfNode]unknownSite),

		frameSites: make(map[Site]uint32),
		sampledIn:  make(map[uint32]int32),
	}
	x.pseudo("root")
	for i := range p.Funcs {
		if f := &p.Funcs[i]; f.Flags&profile.FuncAdapter != 0 {
			x.folds[f.Name] = fold.KindOf(true, f.Flags&profile.FuncNew != 0)
		}
	}
	for i := range p.Funcs {
		if kind := p.Funcs[i].Kind; kind != profile.FuncPlace && kind != profile.FuncLabels {
			x.function(i)
		}
	}
	return x
}

// function enters what a function's record says into the tables of the tree.
// The sites of a function are its inlined calls, its call sites and, for a
// fault, the places of the frames.
func (x *expander) function(i int) {
	f := &x.p.Funcs[i]
	x.sites[i] = uint32(len(x.t.Sites))
	x.cells[i] = f.CellSites()
	s := x.p.String
	if !x.p.Full() {
		x.originalsOf(uint32(i))
	}
	for k, in := range f.Inlined {
		via := x.viaInlined(uint32(i), int32(k))
		x.t.Sites = append(x.t.Sites, Site{File: s(in.File), Line: int(in.Line), Via: via})
	}
	for _, c := range f.Sites {
		x.t.Sites = append(x.t.Sites, Site{File: s(c.File), Line: int(c.Line), Via: viaOf(c.Kind)})
	}
	for k, fr := range f.Frames {
		via := ViaInlined
		if k == 0 {
			via = ViaFault
		}
		x.t.Sites = append(x.t.Sites, Site{File: s(fr.File), Line: int(fr.Line), Via: via})
	}
	for k, c := range f.Sites {
		if c.Kind == profile.SiteUnknown {
			x.native[x.sites[i]+uint32(len(f.Inlined)+k)] = uint32(len(x.t.Sites))
			x.t.Sites = append(x.t.Sites, Site{File: s(c.File), Line: int(c.Line), Via: ViaNative})
		}
	}
	if f.Kind == profile.FuncOrdinary && f.Flags&profile.FuncWrapper == 0 {
		x.begins(f.Name, f.File, f.Line)
		fn := &x.t.Funcs[x.funcOf(f.Name)]
		fn.adapter = fn.adapter || f.Flags&profile.FuncAdapter != 0
		fn.Asm = fn.Asm || f.Flags&profile.FuncAsm != 0
	}
}

// begins says where the function with the symbol name that is string name of p begins.
func (x *expander) begins(name, file, line uint32) {
	if fn := &x.t.Funcs[x.funcOf(name)]; fn.File == "" {
		fn.File, fn.Line = x.p.String(file), int(line)
	}
}

// funcOf returns the function with the symbol name that is string s of p.
func (x *expander) funcOf(s uint32) uint32 {
	if x.funcs[s] == 0 {
		name := DisplayName(x.p.String(s))
		if name == "" {
			name = "(unknown)"
		}
		x.funcs[s] = x.named(name, false) + 1
	}
	return x.funcs[s] - 1
}

// typeOf returns the function that stands for the allocations of a type, the waits for a reason, what runs or what
// exists, which is the name of f. Memory without a type is what Go has for strings and for slices without pointers
// that grow.
func (x *expander) typeOf(f *profile.Func) uint32 {
	form, name := "new(%s)", cmp.Or(x.p.String(f.Name), "bytes")
	switch f.Kind {
	case profile.FuncWait:
		form = "wait(%s)"
	case profile.FuncDelay:
		form = "delay(%s)"
	case profile.FuncRun:
		form = "run(%s)"
	case profile.FuncExisting:
		form = existingPrefix + "%s)"
	}
	fn := x.named(fmt.Sprintf(form, name), false)
	x.t.Funcs[fn].Type = true
	return fn
}

// pseudo returns the pseudo-function of that name.
func (x *expander) pseudo(name string) uint32 { return x.named(pseudo(name), true) }

// named returns the function with that display name, and adds it if it is new.
func (x *expander) named(name string, pseudo bool) uint32 {
	fn, ok := x.names[name]
	if !ok {
		fn = uint32(len(x.t.Funcs))
		x.names[name] = fn
		x.t.Funcs = append(x.t.Funcs, Func{Name: name, Pseudo: pseudo})
	}
	return fn
}

// node expands physical node i. One of a back edge is a context of its own: so
// it shows where the recursive calls come from. What they call is shown where
// recursion began, whatever edge they came through.
func (x *expander) node(i int) {
	f := &x.p.Funcs[x.p.Nodes[i].Func]
	switch {
	case f.Kind == profile.FuncPlace:
		if x.column.Metric != profile.ContextCPU {
			return
		}
		x.place[i] = x.sampledPlace(i)
	case f.Kind == profile.FuncMetric:
		if of, _ := x.column.Varies(); of == x.p.String(f.Name) {
			x.t.Nodes[x.adder(i)].Count += x.column.Values[i]
		}
		return
	case f.Kind.Amount():
		if x.column.PerCounter || x.column.Weighted {
			return // they are no calls
		}
		x.place[i] = place{node: x.call(x.entry(i), 0, x.typeOf(f))}
	case i == 0:
	case f.Kind == profile.FuncOverflow:
		x.place[i] = place{node: x.entry(i).node}
	case f.Kind == profile.FuncFault:
		x.place[i] = place{node: x.fault(i)}
	case f.Kind == profile.FuncLabels:
		if x.place[i] = x.labels(i); x.homes[i] != uint32(i) && !x.place[i].elided {
			x.folded(x.place[i], x.place[x.homes[i]])
		}
	case f.Flags&profile.FuncWrapper != 0:
		at := x.entry(i)
		x.place[i] = place{at.node, at.site, true}
	default:
		x.place[i] = place{node: x.call(x.entry(i), 0, x.funcOf(f.Name))}
		if home := x.homes[i]; home != uint32(i) {
			x.folded(x.place[i], x.place[home])
		}
	}
	values := x.values(i)
	if !x.column.PerCounter && !x.column.Weighted {
		x.t.Nodes[x.place[i].node].Count += values[0]
		x.place[i] = x.place[x.homes[i]]
		return
	}
	if i == 0 || f.Kind == profile.FuncOverflow {
		return // nobody calls them
	}
	if x.column.Weighted {
		x.weigh(i, values)
		if f.Flags&profile.FuncWrapper == 0 {
			x.place[i] = x.place[x.homes[i]]
		}
		return
	}
	if f.Flags&profile.FuncWrapper == 0 {
		if f.Kind != profile.FuncLabels || !x.place[i].elided {
			x.tally(x.place[i].node, i, 0, values)
		}
		x.place[i] = x.place[x.homes[i]]
	}
	x.counted(i, values)
}

// folded marks the call of a function that is on the path already, and that function's place there.
func (x *expander) folded(call, home place) {
	x.t.Nodes[call.node].Fold |= FoldAway
	x.t.Nodes[home.node].Fold |= FoldHere
}

// values returns the values of node i: of a weighted column, its counters, or by how much they vary.
func (x *expander) values(i int) []uint64 {
	counters := x.column
	if x.column.Weighted {
		counters = x.p.Column(profile.Calls.Name)
		if _, varies := x.column.Varies(); varies {
			counters = x.p.Column(profile.Calls.Varying().Name)
		}
	}
	if counters == nil {
		return []uint64{0}
	}
	return counters.Of(x.p, i)
}

// weigh adds what the counters of node i say of its operations, and of those of the calls that are inlined into its
// function. They are 0 or more, though weights may be negative, if all counters are of one moment.
func (x *expander) weigh(i int, counts []uint64) {
	fn := &x.p.Funcs[x.p.Nodes[i].Func]
	weights, known := fn.Weights, false
	if x.costs != nil {
		if list, ok := x.costs.Known[x.p.Nodes[i].Func]; ok {
			weights, known = list, true
		}
	}
	_, varies := x.column.Varies()
	// counter 0 may not be, in a part of a run that began in the function
	counted := func(n uint64) bool { return n > 0 }
	if len(weights) == 0 || !slices.ContainsFunc(counts, counted) {
		return
	}
	clear(x.sums)
	class := fn.CountedClass()
	for _, w := range weights {
		cost := 0.0
		if known {
			cost = 1
		} else if x.costs != nil {
			cost = x.costs.Classes[w.Class]
		} else if w.Class == class || class == profile.AnyClass && profile.IsOperation(w.Class) {
			cost = 1
		}
		if varies && w.N < 0 {
			cost = -cost // what varies adds up, whatever it stands for
		}
		x.sums[w.Inlined] += cost * float64(w.N) * float64(counts[w.Counter])
	}
	for _, inlined := range slices.Sorted(maps.Keys(x.sums)) {
		if sum := x.sums[inlined]; sum > 0 {
			x.t.Nodes[x.within(i, inlined).node].Count += uint64(math.Round(sum))
		}
	}
}

// call returns the node of a call of fn at a place, at the given site.
func (x *expander) call(at place, site, fn uint32) uint32 {
	if at.elided {
		site = at.site
	}
	return x.builder.node(at.node, site, fn)
}

// entry returns the place where physical node i was entered; its site is set.
// What a native called back hangs below the native, at no site: the native's
// own call sites are not known.
func (x *expander) entry(i int) place {
	n := x.p.Nodes[i]
	parent := &x.p.Funcs[x.p.Nodes[n.Parent].Func]
	switch parent.Kind {
	case profile.FuncRoot:
		return place{x.builder.node(0, 0, x.pseudo(layout.RootNames[n.Cell])), 0, true}
	case profile.FuncOverflow, profile.FuncFault:
		return place{x.place[n.Parent].node, 0, true}
	case profile.FuncLabels:
		at := x.place[n.Parent]
		return place{at.node, at.site, true}
	}
	k := x.cells[x.p.Nodes[n.Parent].Func][n.Cell]
	s := &parent.Sites[k]
	at := x.within(int(n.Parent), s.Inlined)
	site := x.callSite(int(n.Parent), int(k))
	switch {
	case standsFor(parent, s):
		return place{at.node, 0, true}
	case x.p.Funcs[n.Func].Kind == profile.FuncLabels: // they are no call
	case s.Kind == profile.SiteUnknown && x.isCallee(s, n.Func):
		x.count(int(n.Parent), int(k), unknownSite{counted: x.invocations(i)})
		if x.recounter != nil {
			u := x.recounter.site(x.siteAt(int(n.Parent), int(k)))
			u.counted = append(u.counted, n.First)
		}
	case s.Kind == profile.SiteUnknown:
		return place{x.nativeCall(at, x.native[site], s.Callee), 0, true}
	case (s.Kind == profile.SitePanic || s.Kind == profile.SiteNative) && s.Callee != 0:
		return place{x.nativeCall(at, site, s.Callee), 0, true}
	}
	if at.elided {
		site = at.site
	} else if s.Kind == profile.SiteGo && x.creators(i) {
		site = x.siteAtFrame(profile.Frame{File: s.File, Line: s.Line}, ViaCall)
	}
	if x.p.Funcs[n.Func].Flags&profile.FuncAsm != 0 {
		site = x.plainVia(site, x.native, Site{Via: ViaNative}) // the wrapper by which function values lead to assembly
	}
	return place{at.node, site, true}
}

// addName is the function of package stemma that adds to a metric.
const addName = "github.com/stemma-go/stemma.(*Metric).Add"

// adder returns the context that adds to a metric of the program's own where node i is: that which calls Add, whether
// Add is inlined there or not.
func (x *expander) adder(i int) uint32 {
	n := x.entry(i).node
	if node := x.t.Nodes[n]; x.t.Funcs[node.Func].Name == addName {
		return node.Parent
	}
	return n
}

// creators reports whether node i, at a go statement, is of what happened to the goroutine that executes it.
func (x *expander) creators(i int) bool {
	f := &x.p.Funcs[x.p.Nodes[i].Func]
	return f.Kind.Amount() && f.Kind != profile.FuncRun && f.Kind != profile.FuncExisting &&
		!(f.Kind == profile.FuncWait && x.p.String(f.Name) == layout.WhyStart)
}

// invocations returns how often node i was entered, if the column tells.
func (x *expander) invocations(i int) uint64 {
	if !x.column.PerCounter {
		return 0
	}
	return x.column.Of(x.p, i)[0]
}

// standsFor reports whether s is the one call of the compiler's wrapper f for a
// function in assembly: calls of the wrapper are contexts of that function,
// so that the wrapper's own call is none.
func standsFor(f *profile.Func, s *profile.Site) bool {
	return s.Kind == profile.SiteUnknown && f.Flags&profile.FuncAsm != 0 && s.Callee == f.Name
}

// isCallee reports whether function fn, entered through unknown site s, is the
// function that s calls, rather than one that the callee called back. The
// names to compare are the linker's: linkname gives declaration and definition
// the same one. A site that does not name its callee may call anything.
func (x *expander) isCallee(s *profile.Site, fn uint32) bool {
	return s.Callee == 0 || x.p.String(s.Callee) == x.p.String(x.p.Funcs[fn].Name)
}

// siteOf returns the site of the tree that is call k of function f: its inlined calls
// come first, its call sites behind them.
func (x *expander) siteOf(f uint32, k int) uint32 {
	if o := x.originals[f]; o != nil {
		k = int(o[k])
	}
	return x.sites[f] + uint32(k)
}

// callSite returns the site of the tree that is call site k of node i's function.
func (x *expander) callSite(i, k int) uint32 {
	f := x.p.Nodes[i].Func
	return x.siteOf(f, len(x.p.Funcs[f].Inlined)+k)
}

// within returns the place where the calls of inlined call k of node i hang, or
// those of the function itself if k is None. Where recursion is folded and the call is
// one of a function that it is inlined into, as Go inlines small and hot ones, they
// hang where that function begins, as below a back edge.
func (x *expander) within(i int, k int32) place {
	if k == profile.None {
		return x.place[i]
	}
	if outer, ok := x.recurs(x.p.Nodes[i].Func, k); ok {
		return x.within(i, outer)
	}
	return place{node: x.inlined(i, k)}
}

// inlined returns the node of inlined call k of node i.
func (x *expander) inlined(i int, k int32) uint32 {
	f := x.p.Nodes[i].Func
	in := &x.p.Funcs[f].Inlined[k]
	up := x.within(i, in.Parent)
	x.begins(in.Callee, in.CalleeFile, in.CalleeLine)
	switch name := x.p.Strings[x.p.Funcs[f].Name]; {
	case !up.elided:
	case name == "reflect.callReflect" || name == "reflect.callMethod":
		// Go marks these as wrappers, but what they inline are helpers of theirs, and not what they wrap.
		up.site = x.plainVia(up.site, x.helpers, Site{Via: ViaInlined})
	default:
		up.site = x.plainVia(up.site, x.inlinedBy, Site{Via: ViaInlined, Entered: true})
	}
	n := x.call(up, x.siteOf(f, int(k)), x.funcOf(in.Callee))
	if outer, ok := x.recurs(f, k); ok {
		x.folded(place{node: n}, x.within(i, outer))
	}
	return n
}

// counted adds the inlined calls and natives of node i that were executed.
func (x *expander) counted(i int, counts []uint64) {
	f := &x.p.Funcs[x.p.Nodes[i].Func]
	for k, in := range f.Inlined {
		if in.Counter != profile.None && counts[in.Counter] > 0 {
			n := x.inlined(i, int32(k))
			x.tally(n, i, in.Counter, counts)
			if _, ok := x.recurs(x.p.Nodes[i].Func, int32(k)); ok && x.recounter == nil {
				if x.t.inlinedAway == nil {
					x.t.inlinedAway = make(map[uint32]uint64)
				}
				x.t.inlinedAway[n] += counts[in.Counter]
			}
		}
	}
	for k, s := range f.Sites {
		if s.Counter == profile.None || counts[s.Counter] == 0 {
			continue
		}
		switch s.Kind {
		case profile.SiteNative, profile.SitePanic:
			x.tally(x.nativeNode(i, k, x.callSite(i, k)), i, s.Counter, counts)
		case profile.SiteUnknown:
			if !standsFor(f, &s) {
				x.count(i, k, unknownSite{made: counts[s.Counter]})
				x.recountMade(i, k, s.Counter)
			}
		}
	}
}

// count adds calls of unknown site k in node i.
func (x *expander) count(i, k int, calls unknownSite) {
	at := x.siteAt(i, k)
	sum := x.unknown[at]
	x.unknown[at] = unknownSite{sum.made + calls.made, sum.counted + calls.counted}
}

// siteAt returns the unknown site that site k of node i counts as.
func (x *expander) siteAt(i, k int) siteOfNode { return siteOfNode{int(x.homes[i]), k} }

// tally counts at a node of the tree what counter c of physical node i has.
func (x *expander) tally(node uint32, i int, c int32, counts []uint64) {
	x.t.Nodes[node].Count += counts[c]
	if x.recounter != nil {
		x.recounter.moves = append(x.recounter.moves, move{x.p.Nodes[i].First + uint32(c), node})
	}
}

// recountMade takes note that counter c of node i has calls that unknown site k made. The node of
// the native is made at once, so that it stays where it is if there are more nodes later.
func (x *expander) recountMade(i, k int, c int32) {
	if x.recounter == nil {
		return
	}
	at := x.siteAt(i, k)
	u := x.recounter.site(at)
	u.made = append(u.made, x.p.Nodes[i].First+uint32(c))
	u.node = x.nativeNode(at.node, k, x.native[x.callSite(at.node, k)])
}

// nativeNode returns the node of the native that call site k of node i calls; site is where it
// hangs in the tree.
func (x *expander) nativeNode(i, k int, site uint32) uint32 {
	s := &x.p.Funcs[x.p.Nodes[i].Func].Sites[k]
	return x.nativeCall(x.within(i, s.Inlined), site, s.Callee)
}

// nativeCall returns the node of a call of the native with the symbol name that is string callee of p, at a
// place, at the given site.
func (x *expander) nativeCall(at place, site, callee uint32) uint32 {
	if at.elided {
		at.site = x.plainVia(at.site, x.native, Site{Via: ViaNative})
	}
	return x.call(at, site, x.funcOf(callee))
}

// plainVia returns the site at the same place as a plain call that enters its callee in another way. Known has those
// that there are. What is no plain call stays what it is. Of way, Via and Entered count.
func (x *expander) plainVia(site uint32, known map[uint32]uint32, way Site) uint32 {
	if x.t.Sites[site].Via != ViaCall {
		return site
	}
	if known[site] == 0 {
		known[site] = uint32(len(x.t.Sites))
		x.t.Sites = append(x.t.Sites, x.t.Sites[site])
		x.t.Sites[known[site]].Via, x.t.Sites[known[site]].Entered = way.Via, way.Entered
	}
	return known[site]
}

// unknownCalls counts as native what unknown sites called and no callee
// counted. It comes after all nodes, since it takes the sum over a site's
// children; it goes in the order of the profile, so that the tree does not
// depend on that of a map.
func (x *expander) unknownCalls() {
	order := slices.SortedFunc(maps.Keys(x.unknown), func(a, b siteOfNode) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.site, b.site))
	})
	for _, at := range order {
		if calls := x.unknown[at]; calls.made > calls.counted {
			n := x.nativeNode(at.node, at.site, x.native[x.callSite(at.node, at.site)])
			x.t.Nodes[n].Count += calls.made - calls.counted
		}
	}
}

// fault returns the node of the runtime function that handles the fault of
// physical node i: it hangs at the place where the error rose, inside the
// inlined calls that led there.
func (x *expander) fault(i int) uint32 {
	n := x.p.Nodes[i]
	f := &x.p.Funcs[n.Func]
	at, _ := x.inside(n.Parent, f.Frames, func(k int) uint32 { return x.sites[n.Func] + uint32(k) })
	site := uint32(0)
	if len(f.Frames) > 0 {
		site = x.sites[n.Func]
	}
	return x.call(at, site, x.funcOf(f.Name))
}

// inlinedAt returns the inlined call of callee inside inlined call up of
// function fn, made where frame fr stands.
func (x *expander) inlinedAt(fn uint32, up int32, fr profile.Frame, callee uint32) (int32, bool) {
	for k, in := range x.p.Funcs[fn].Inlined {
		if in.Parent == up && in.Line == fr.Line && in.File == fr.File && x.funcOf(in.Callee) == x.funcOf(callee) {
			return int32(k), true
		}
	}
	return profile.None, false
}
