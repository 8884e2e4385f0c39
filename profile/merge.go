package profile

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/sealed"
)

// Merge returns the sum of several valid profiles, in a canonical order of its
// functions and nodes that depends neither on the order of the profiles nor on
// that in which the programs created their nodes. Functions are the same if
// their records are. So processes of one binary merge node by node, and processes
// of different builds do where the functions did not change. Mixing profiles with
// folded and with full recursion is an error, because their sums mean nothing. If
// there are several records of one run, Merge adds one of them, see [Snapshots].
// The profiles are not changed. The result shares the lists of their processes,
// losses and notes, but no table. Counters add up modulo 2^64.
func Merge(profiles ...*Profile) (*Profile, error) {
	profiles, err := Snapshots(profiles...)
	if err != nil {
		return nil, err
	}
	return MergeParts(func(yield func(*Profile, error) bool) {
		for _, p := range profiles {
			if !yield(p, nil) {
				return
			}
		}
	})
}

// MergeParts is Merge for profiles that come one after the other. It keeps none of them, so that all need not be in
// memory at once. They must be what [KeepSnapshots] has kept. The first error ends it.
func MergeParts(profiles iter.Seq2[*Profile, error]) (*Profile, error) {
	m, full := newMerger(), false
	for p, err := range profiles {
		if err != nil {
			return nil, err
		}
		if m.index == nil {
			full = p.Full()
		}
		if p.Full() != full {
			return nil, fmt.Errorf("profiles with folded and with full recursion cannot be merged")
		}
		if err := m.add(p); err != nil {
			return nil, err
		}
	}
	if m.index == nil {
		return nil, fmt.Errorf("no profiles to merge")
	}
	m.p.sortProcesses()
	m.sortFuncs()
	m.p.sortNodes()
	return m.p, nil
}

// A merger adds profiles to p.
// Functions are found by key and nodes by index, in which the numbers are those of p.
type merger struct {
	p       *Profile
	strings map[string]uint32
	funcs   map[string]uint32 // by key
	keys    []string          // of the functions of p
	index   *NodeIndex
}

func newMerger() *merger {
	return &merger{
		p:       &Profile{Strings: []string{""}},
		strings: map[string]uint32{"": 0},
		funcs:   make(map[string]uint32),
	}
}

// add adds p to m.p. Parents come first in p, so each node's parent has its
// place in m.p already.
func (m *merger) add(p *Profile) error {
	m.p.Processes = append(m.p.Processes, p.Processes...)
	funcs := make([]uint32, len(p.Funcs))
	for i := range p.Funcs {
		funcs[i] = m.function(p, &p.Funcs[i])
	}
	if m.index == nil {
		m.p.Nodes = make([]Node, 1, len(p.Nodes))
		m.index = NewNodeIndex(m.p, len(p.Nodes))
	}
	columns := make([]string, len(p.Columns))
	for k, c := range p.Columns {
		to, err := m.p.AddColumn(c.Metric)
		if err != nil {
			return err
		}
		if len(m.p.Nodes) == 1 { // the first profile: the sum is about as large
			to.Values = slices.Grow(to.Values, len(c.Values))
		}
		columns[k] = c.Name
	}
	nodes := make([]uint32, len(p.Nodes))
	for i, n := range p.Nodes {
		if i > 0 {
			nodes[i] = m.index.Node(nodes[n.Parent], n.Cell, funcs[n.Func])
		}
	}
	for k := range p.Columns {
		from, to := &p.Columns[k], m.p.Column(columns[k])
		for i, n := range nodes {
			sum := to.Of(m.p, int(n))
			for c, v := range from.Of(p, i) {
				sum[c] += v
			}
		}
	}
	for _, r := range p.Requests {
		r.Node = nodes[r.Node]
		m.p.Requests = append(m.p.Requests, r)
	}
	if m.index.counters > math.MaxUint32 {
		return fmt.Errorf("%d counters, want less than %d; merge fewer profiles", m.index.counters, uint64(1)<<32)
	}
	return nil
}

// function returns the function of m.p that equals f, a function of p.
// Lists are copied, since their strings get other numbers.
func (m *merger) function(p *Profile, f *Func) uint32 {
	key := p.funcKey(f)
	if i, ok := m.funcs[key]; ok {
		return i
	}
	c := *f
	c.Inlined, c.Sites, c.Frames = slices.Clone(f.Inlined), slices.Clone(f.Sites), slices.Clone(f.Frames)
	c.Weights, c.Placed = slices.Clone(f.Weights), slices.Clone(f.Placed)
	c.eachString(func(s *uint32) { *s = m.intern(p.String(*s)) })
	i := uint32(len(m.p.Funcs))
	m.p.Funcs = append(m.p.Funcs, c)
	m.funcs[key] = i
	m.keys = append(m.keys, key)
	return i
}

// intern returns the index of s in m.p.Strings, and adds it if it is new.
func (m *merger) intern(s string) uint32 {
	i, ok := m.strings[s]
	if !ok {
		i = uint32(len(m.p.Strings))
		m.strings[s] = i
		m.p.Strings = append(m.p.Strings, s)
	}
	return i
}

// eachString calls visit for each string index in f.
func (f *Func) eachString(visit func(*uint32)) {
	visit(&f.Name)
	visit(&f.File)
	for i := range f.Inlined {
		visit(&f.Inlined[i].Callee)
		visit(&f.Inlined[i].File)
		visit(&f.Inlined[i].CalleeFile)
	}
	for i := range f.Sites {
		visit(&f.Sites[i].Callee)
		visit(&f.Sites[i].File)
	}
	for i := range f.Frames {
		visit(&f.Frames[i].Func)
		visit(&f.Frames[i].File)
	}
}

// funcKey returns a string that is the same for the same function in any
// profile, and sorts by name; places, by their outermost frames, come last. Several roots
// or overflow functions are the same whatever they are called.
func (p *Profile) funcKey(f *Func) string {
	var e sealed.Encoder
	switch f.Kind {
	case FuncRoot, FuncOverflow:
	case FuncPlace:
		return p.placeKey(f)
	default:
		e = append(e, p.String(f.Name)...)
		e = append(e, 0)
		f.eachString(func(s *uint32) { e.String(p.String(*s)) })
	}
	f.appendNumbers(&e)
	return string(e)
}

// placeKey is funcKey for a place. No other key begins like it: names are text.
func (p *Profile) placeKey(f *Func) string {
	key := []byte{0xff, 0xff}
	for _, fr := range slices.Backward(f.Frames) {
		key = fmt.Appendf(key, "%s\x00%s\x00%08d %08d\x00", p.String(fr.Func), p.String(fr.File), fr.Line, fr.Start)
	}
	return string(key)
}

// appendNumbers appends all of f but its strings. Different functions give different bytes.
func (f *Func) appendNumbers(e *sealed.Encoder) {
	e.Uint(uint64(f.Kind))
	e.Uint(uint64(f.Flags))
	e.U32(f.Line, f.Cells, f.Counters)
	e.U32(uint32(len(f.Inlined)), uint32(len(f.Sites)), uint32(len(f.Weights)), uint32(len(f.Frames)))
	for _, in := range f.Inlined {
		e.Index(in.Parent)
		e.Index(in.Counter)
		e.U32(in.Line, in.CalleeLine)
	}
	for _, s := range f.Sites {
		e.Uint(uint64(s.Kind))
		e.Index(s.Inlined)
		e.U32(s.Line)
		e.Index(s.Cell)
		e.Index(s.Counter)
	}
	for _, w := range f.Weights {
		e.U32(w.Counter, w.Class, uint32(w.N))
		e.Index(w.Inlined)
	}
	e.U32(uint32(len(f.Placed)))
	for _, c := range f.Placed {
		e.Index(c)
	}
	for _, fr := range f.Frames {
		e.U32(fr.Line, fr.Start)
	}
}

// sortFuncs brings functions and strings into an order of their own: the root,
// then by name.
func (m *merger) sortFuncs() {
	order := make([]int, len(m.p.Funcs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order[1:], func(a, b int) int { return cmp.Compare(m.keys[a], m.keys[b]) })
	funcs, place := make([]Func, len(order)), make([]uint32, len(order))
	old := m.p.Strings
	m.p.Strings, m.strings = []string{""}, map[string]uint32{"": 0}
	for to, from := range order {
		funcs[to], place[from] = m.p.Funcs[from], uint32(to)
		funcs[to].eachString(func(s *uint32) { *s = m.intern(old[*s]) })
	}
	for i := range m.p.Nodes {
		m.p.Nodes[i].Func = place[m.p.Nodes[i].Func]
	}
	m.p.Funcs = funcs
}

// sortProcesses orders processes by their start, and those that started at the
// same time by everything else.
func (p *Profile) sortProcesses() {
	key := func(a Process) string { return fmt.Sprintf("%q %v", a.Args, a) }
	segment := func(a Process) uint64 {
		if a.Segment == nil {
			return 0
		}
		return a.Segment.Number
	}
	slices.SortStableFunc(p.Processes, func(a, b Process) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Run, b.Run),
			cmp.Compare(segment(a), segment(b)), strings.Compare(key(a), key(b)))
	})
}

// sortNodes brings the nodes into depth-first order, children by cell and
// function, and with them the values that are one for each node, and the requests. Counters stay
// where they are.
func (p *Profile) sortNodes() {
	byParent := make([]uint32, len(p.Nodes))
	for i := range byParent {
		byParent[i] = uint32(i)
	}
	slices.SortFunc(byParent[1:], func(a, b uint32) int {
		x, y := p.Nodes[a], p.Nodes[b]
		return cmp.Or(cmp.Compare(x.Parent, y.Parent), cmp.Compare(x.Cell, y.Cell), cmp.Compare(x.Func, y.Func))
	})
	first := make([]uint32, len(p.Nodes)+1) // where the children of a node begin in byParent
	for i := len(byParent) - 1; i > 0; i-- {
		first[p.Nodes[byParent[i]].Parent] = uint32(i)
	}
	type visit struct{ from, parent uint32 } // a node's old index and its parent's new one
	sorted := make([]Node, 0, len(p.Nodes))
	order := make([]uint32, 0, len(p.Nodes)) // the old index of each node
	stack := []visit{{0, 0}}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		at := uint32(len(sorted))
		n := p.Nodes[v.from]
		n.Parent = v.parent
		sorted, order = append(sorted, n), append(order, v.from)
		if first[v.from] == 0 {
			continue
		}
		begin, end := first[v.from], first[v.from]
		for int(end) < len(byParent) && p.Nodes[byParent[end]].Parent == v.from {
			end++
		}
		for i := end; i > begin; i-- {
			stack = append(stack, visit{byParent[i-1], at})
		}
	}
	p.Nodes = sorted
	place := make([]uint32, len(order))
	for to, from := range order {
		place[from] = uint32(to)
	}
	for i := range p.Requests {
		p.Requests[i].Node = place[p.Requests[i].Node]
	}
	p.sortRequests()
	for k := range p.Columns {
		if c := &p.Columns[k]; !c.PerCounter && !c.Weighted {
			values := make([]uint64, len(order))
			for to, from := range order {
				values[to] = c.Values[from]
			}
			c.Values = values
		}
	}
}
