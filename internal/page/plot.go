package page

import (
	"cmp"
	"container/heap"
	"fmt"
	"hash/fnv"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// A plot is a tree that can be drawn. Its nodes have numbers of their own, by side.
type plot struct {
	key      plotKey
	nodes    []cct.Node // Count is not used; a parent comes before its children
	funcs    []cct.Func
	sites    []cct.Site
	self     [2][]uint64 // the value of each node
	below    [2][]uint64 // with all that is below it
	ends     []uint64    // contexts that end in each node; a merged one has several
	contexts []uint64    // with those below it
	width    []uint64    // what its box is as wide as: below of the new side, or of both
	kids     *cct.Children
	sorted   map[uint32][]uint32 // of nodes with many children
	started  []uint64            // goroutines, by node; nil in other plots, and of other values than calls
	prints   []uint64            // a number for each node that other plots of the record have as well
}

// A plotKey says what a plot is of. Function is the key of a function, for kinds that are of one.
type plotKey struct {
	value, kind, function string
	gone                  bool // what only the base has is as wide as it was there
	selection             selectionKey
}

// Kinds of plots.
const (
	kindContexts   = "contexts"   // all contexts
	kindCallers    = "callers"    // what leads to a function, upside down
	kindCallees    = "callees"    // what a function leads to
	kindGoroutines = "goroutines" // goroutines by what started them
)

// plot returns the plot that is asked for. Some are kept: the page zooms in one.
func (m *model) plot(k plotKey) (*plot, error) {
	for i, p := range m.plots {
		if p.key == k {
			m.plots = slices.Insert(slices.Delete(m.plots, i, i+1), 0, p)
			return p, nil
		}
	}
	s, err := m.set(k.value, k.selection)
	if err != nil {
		return nil, err
	}
	p := &plot{key: k, funcs: s.tree().Funcs, sites: s.tree().Sites, sorted: make(map[uint32][]uint32)}
	switch k.kind {
	case "", kindContexts:
		p.whole(s)
	case kindGoroutines:
		p.goroutines(s)
	case kindCallers, kindCallees:
		fn, err := s.function(k.function)
		if err != nil {
			return nil, err
		}
		if k.kind == kindCallers {
			p.callers(s, fn)
		} else {
			p.callees(s, fn)
		}
	default:
		return nil, fmt.Errorf("no plot %q", k.kind)
	}
	m.doing("adding up", len(p.nodes))
	p.finish()
	const keep = 6
	m.plots = append([]*plot{p}, m.plots[:min(len(m.plots), keep-1)]...)
	return p, nil
}

// whole makes the plot of all contexts.
func (p *plot) whole(s *dataset) {
	p.nodes, p.ends = s.tree().Nodes, s.contexts()
	for side, t := range s.sides {
		p.self[side] = counts(t)
	}
}

func counts(t *cct.Tree) []uint64 {
	list := make([]uint64, len(t.Nodes))
	for i, n := range t.Nodes {
		list[i] = n.Count
	}
	return list
}

// A merger makes a plot from nodes of a dataset. Several nodes may become one.
type merger struct {
	p *plot
	s *dataset
	g *cct.Grower
}

func (p *plot) merge(s *dataset) *merger { return &merger{p, s, cct.NewGrower()} }

// enter returns the node of a plot for a call.
func (x *merger) enter(parent, site, fn uint32) uint32 { return x.g.Enter(parent, site, fn) }

// add adds numbers to a node: by side, and a number of contexts.
func (x *merger) add(at uint32, value func(side int) uint64, contexts uint64) {
	for n := int(at) + 1; len(x.p.ends) < n; {
		x.p.ends = append(x.p.ends, 0)
		for side := range x.s.sides {
			x.p.self[side] = append(x.p.self[side], 0)
		}
	}
	for side := range x.s.sides {
		x.p.self[side][at] += value(side)
	}
	x.p.ends[at] += contexts
}

// done takes the nodes that were made. root is the function of the outermost one.
func (x *merger) done(root uint32) {
	x.p.nodes = x.g.Tree().Nodes
	x.p.nodes[0].Func = root
	x.add(uint32(len(x.p.nodes)-1), func(int) uint64 { return 0 }, 0)
}

// goroutines makes a plot with a node for each kind of goroutine by its ancestry: the go
// statements that led to it, and the root.
func (p *plot) goroutines(s *dataset) {
	x, t, ends := p.merge(s), s.tree(), s.contexts()
	at := make([]uint32, len(t.Nodes))
	var started []uint64
	for i, n := range t.Nodes {
		starts := false
		if i > 0 {
			at[i] = at[n.Parent]
			starts = t.Sites[n.Site].Via == cct.ViaGo
			if n.Parent == 0 || starts {
				at[i] = x.enter(at[i], n.Site, n.Func)
			}
		}
		x.add(at[i], func(side int) uint64 { return s.sides[side].Nodes[i].Count }, ends[i])
		if started = append(started, make([]uint64, len(p.ends)-len(started))...); starts {
			started[at[i]] += n.Count
		}
	}
	x.done(0)
	if s.typ.Name == profile.Calls.Name {
		p.started = started
	}
}

// callees makes the plot of what a function leads to. Where it is on a path several
// times, the plot begins at the outermost.
func (p *plot) callees(s *dataset, fn uint32) {
	x, t, ends := p.merge(s), s.tree(), s.contexts()
	const none = math.MaxUint32
	at := make([]uint32, len(t.Nodes))
	for i, n := range t.Nodes {
		switch {
		case i > 0 && at[n.Parent] != none:
			at[i] = x.enter(at[n.Parent], n.Site, n.Func)
		case i > 0 && n.Func == fn:
			at[i] = 0
		default:
			at[i] = none
			continue
		}
		x.add(at[i], func(side int) uint64 { return s.sides[side].Nodes[i].Count }, ends[i])
	}
	x.done(fn)
}

// callers makes the plot of what leads to a function, upside down: the values of the function
// with all that is below it belong to the outermost function of each path. Where it is on a
// path several times the plot begins at the outermost, so that nothing counts twice.
func (p *plot) callers(s *dataset, fn uint32) {
	whole := &plot{}
	whole.whole(s)
	whole.add()
	x, t := p.merge(s), s.tree()
	within := make([]bool, len(t.Nodes))
	for i, n := range t.Nodes {
		within[i] = i > 0 && (within[n.Parent] || n.Func == fn)
		if !within[i] || within[n.Parent] {
			continue
		}
		at := uint32(0)
		for up := uint32(i); t.Nodes[up].Parent != 0; up = t.Nodes[up].Parent {
			at = x.enter(at, t.Nodes[up].Site, t.Nodes[t.Nodes[up].Parent].Func)
		}
		x.add(at, func(side int) uint64 { return whole.below[side][i] }, whole.contexts[i])
	}
	x.done(fn)
}

// finish makes all that follows from the nodes and their numbers.
func (p *plot) finish() {
	p.add()
	p.width = p.below[sideNew]
	if p.key.gone && p.below[sideBase] != nil {
		own := make([]uint64, len(p.nodes))
		for i := range own {
			own[i] = max(p.self[sideNew][i], p.self[sideBase][i])
		}
		p.width = p.sum(own)
	}
	p.kids = (&cct.Tree{Nodes: p.nodes}).Children()
	p.fingerprint()
}

// add adds up what is below each node.
func (p *plot) add() {
	for side := range p.self {
		if p.self[side] != nil {
			p.below[side] = p.sum(p.self[side])
		}
	}
	p.contexts = p.sum(p.ends)
}

func (p *plot) sum(own []uint64) []uint64 {
	list := slices.Clone(own)
	for i := len(list) - 1; i > 0; i-- {
		list[p.nodes[i].Parent] += list[i]
	}
	return list
}

// fingerprint numbers the nodes by the names and places on their paths, so that a link finds
// its node in what was read again, and in another record of the program. Two calls on one line are
// told apart by their order.
func (p *plot) fingerprint() {
	funcs, sites := make([]uint64, len(p.funcs)), make([]uint64, len(p.sites))
	for i, f := range p.funcs {
		funcs[i] = textPrint(f.Name)
	}
	for i, s := range p.sites {
		sites[i] = textPrint(s.File) + uint64(s.Line)<<3 + uint64(s.Via)
	}
	p.prints = make([]uint64, len(p.nodes))
	taken := make(printSet, 1<<bits.Len(uint(2*len(p.nodes))))
	for i, n := range p.nodes {
		if i == 0 {
			continue
		}
		h := (p.prints[n.Parent]*0x9e3779b97f4a7c15 ^ funcs[n.Func]) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>29 ^ sites[n.Site]) * 0x94d049bb133111eb
		for h == 0 || !taken.add(h) {
			h = h*0x9e3779b97f4a7c15 + 1
		}
		p.prints[i] = h
	}
}

// A printSet is a hash table of numbers that are hashes themselves; 0 is a free slot. Its length
// is a power of 2, and at least half of it stays free.
type printSet []uint64

// add adds a number, which is not 0, and reports whether it is new.
func (s printSet) add(h uint64) bool {
	for at := h >> 7; ; at++ {
		switch slot := &s[at&uint64(len(s)-1)]; *slot {
		case 0:
			*slot = h
			return true
		case h:
			return false
		}
	}
}

func textPrint(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	return h.Sum64()
}

// hex is how keys are written.
func hex(n uint64) string { return strconv.FormatUint(n, 16) }

// functionKey is a number by which a link finds a function.
func functionKey(f cct.Func) string { return hex(textPrint(f.Name + "\x00" + f.File)) }

// function returns the function with this key.
func (s *dataset) function(key string) (uint32, error) {
	for i, f := range s.tree().Funcs {
		if functionKey(f) == key {
			return uint32(i), nil
		}
	}
	return 0, fmt.Errorf("no such function in this record")
}

// node returns the node with this fingerprint, the root for "". The root is another answer
// if there is none: a link may be from another run.
func (p *plot) node(key string) (uint32, bool) {
	if key == "" {
		return 0, true
	}
	want, err := strconv.ParseUint(key, 16, 64)
	if err != nil {
		return 0, false
	}
	i := slices.Index(p.prints, want)
	return uint32(max(i, 0)), i >= 0
}

// children returns the children of a node, the widest first.
func (p *plot) children(n uint32) []uint32 {
	list := p.kids.Of(n)
	if sorted, ok := p.sorted[n]; ok {
		return sorted
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(p.width[b], p.width[a]), cmp.Compare(p.contexts[b], p.contexts[a]), cmp.Compare(a, b))
	})
	if len(list) > 256 {
		p.sorted[n] = list
	}
	return list
}

// A drawn is a node that is drawn. skip is how many of its children, the widest, are left out:
// it stands for the others.
type drawn struct {
	node  uint32
	up    int // index of its parent among those that are drawn
	depth int
	skip  int
	shown int // children that are drawn
	rank  int // order in which it was found
}

// A frontier are nodes that may be drawn, the widest first, and of those as wide those that
// were found first: so what is drawn of a node's children are always the first of them.
type frontier struct {
	p    *plot
	list []drawn
}

func (f *frontier) Len() int      { return len(f.list) }
func (f *frontier) Swap(i, j int) { f.list[i], f.list[j] = f.list[j], f.list[i] }
func (f *frontier) Less(i, j int) bool {
	a, b := f.list[i], f.list[j]
	return cmp.Or(cmp.Compare(f.p.width[b.node], f.p.width[a.node]), cmp.Compare(a.rank, b.rank)) < 0
}
func (f *frontier) Push(d any) { f.list = append(f.list, d.(drawn)) }
func (f *frontier) Pop() any {
	d := f.list[len(f.list)-1]
	f.list = f.list[:len(f.list)-1]
	return d
}

// Bounds of what is drawn at once.
const (
	maxDepth  = 400 // levels below the root
	maxBoxes  = 20000
	leastOpen = 100  // children that are drawn where all are too small to be seen
	openShare = 0.85 // of the width that these get; what is left is for the rest
)

// prune returns what is drawn below root, of whose children the first skip are left out: the
// widest boxes, at most limit, none less than least wide. All that is not drawn is in a rest
// into the node that it is below. If no child of root is wide enough, the first are
// drawn anyway, out of scale: else a million equal ones could not be looked at.
func (p *plot) prune(root uint32, skip int, least float64, limit int) (list []drawn, span uint64, scaled bool) {
	span, scaled = p.spanOf(root, skip), true
	kids := p.children(root)
	open := 0
	if skip < len(kids) && (skip > 0 || float64(p.width[kids[0]]) < least) {
		open, scaled = leastOpen, false
	}
	f := &frontier{p: p}
	rank := 0
	for at := (drawn{node: root, up: -1, skip: skip}); ; at = heap.Pop(f).(drawn) {
		i := len(list)
		list = append(list, at)
		if at.up >= 0 {
			list[at.up].shown++
		}
		for k, kid := range p.children(at.node)[at.skip:] {
			small := float64(p.width[kid]) < least || p.width[kid] == 0
			if at.depth >= maxDepth || small && !(i == 0 && k < open) || k >= limit {
				break
			}
			rank++
			heap.Push(f, drawn{node: kid, up: i, depth: at.depth + 1, rank: rank})
		}
		if f.Len() == 0 || len(list) >= limit {
			break
		}
	}
	if !scaled {
		shown := uint64(0)
		for _, kid := range kids[skip : skip+list[0].shown] {
			shown += p.width[kid]
		}
		if wide := uint64(math.Ceil(float64(shown) / openShare)); wide < span {
			span = wide
		}
	}
	return list, span, scaled
}

// spanOf returns the width of a node without the first skip children.
func (p *plot) spanOf(root uint32, skip int) uint64 {
	if skip == 0 {
		return p.width[root]
	}
	sum := uint64(0)
	for _, kid := range p.children(root)[skip:] {
		sum += p.width[kid]
	}
	return sum
}
