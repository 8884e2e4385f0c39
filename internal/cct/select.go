package cct

import "regexp"

// A Selection says which contexts a report is about, in the words of pprof. Regular
// expressions are matched with the names of functions; nil ones say nothing.
type Selection struct {
	Focus  *regexp.Regexp // only contexts that have a function that matches
	Ignore *regexp.Regexp // no contexts that have a function that matches
	Hide   *regexp.Regexp // functions to leave out of contexts; what they have counts at their callers
}

// All tells whether s leaves everything as it is.
func (s Selection) All() bool { return s.Focus == nil && s.Ignore == nil && s.Hide == nil }

// Select returns the part of t that s is about. It has no node that neither has a value
// nor leads to one. Pseudo-functions are not hidden: a context keeps its root.
func (t *Tree) Select(s Selection) *Tree {
	if s.All() {
		return t
	}
	x := &selector{t: t,
		out:   &Tree{Funcs: t.Funcs, Sites: t.Sites[:len(t.Sites):len(t.Sites)], Type: t.Type, lines: t.lines},
		sites: make(map[Site]uint32)}
	x.classify(s)
	x.build()
	return x.out
}

// A selector is the state of Select.
type selector struct {
	t, out *Tree
	hide   []bool // by function
	counts []uint64
	needed []bool // by node of t: it, or what is below it, has a value that was selected
	sites  map[Site]uint32
}

// classify finds out what each node keeps of its value.
func (x *selector) classify(s Selection) {
	t := x.t
	focus, ignore := t.matching(s.Focus), t.matching(s.Ignore)
	x.hide = t.matching(s.Hide)
	in, out := make([]bool, len(t.Nodes)), make([]bool, len(t.Nodes))
	x.counts, x.needed = make([]uint64, len(t.Nodes)), make([]bool, len(t.Nodes))
	for i, n := range t.Nodes {
		in[i] = s.Focus == nil || in[n.Parent] || focus[n.Func]
		out[i] = out[n.Parent] || ignore[n.Func]
		if in[i] && !out[i] {
			x.counts[i] = n.Count
		}
	}
	for i := len(t.Nodes) - 1; i > 0; i-- {
		x.needed[i] = x.needed[i] || x.counts[i] > 0
		x.needed[t.Nodes[i].Parent] = x.needed[t.Nodes[i].Parent] || x.needed[i]
	}
}

// matching tells for each function whether it matches; the root does not.
func (t *Tree) matching(re *regexp.Regexp) []bool {
	list := make([]bool, len(t.Funcs))
	for i, f := range t.Funcs {
		list[i] = re != nil && i > 0 && re.MatchString(f.Name)
	}
	return list
}

// build makes the new tree. A hidden node is its parent's, and what it calls is called at
// the site where it was called itself.
func (x *selector) build() {
	t := x.t
	b := newBuilder(x.out, 0)
	to := make([]uint32, len(t.Nodes))
	via := make([]uint32, len(t.Nodes)) // the site of the outermost hidden node on the way from to[i], or 0
	for i, n := range t.Nodes {
		if i == 0 || !x.needed[i] {
			continue
		}
		parent, site := to[n.Parent], n.Site
		if via[n.Parent] != 0 {
			site = x.through(via[n.Parent], n.Site)
		}
		if f := t.Funcs[n.Func]; x.hide[n.Func] && !f.Pseudo {
			to[i], via[i] = parent, site
		} else {
			to[i] = b.node(parent, site, n.Func)
			x.out.Nodes[to[i]].Fold |= n.Fold
		}
		x.out.Nodes[to[i]].Count += x.counts[i]
	}
}

// through returns the site of a call that hidden functions lie on: at the place of the
// first call, and entered like the last one, unless a go statement was in between.
func (x *selector) through(first, last uint32) uint32 {
	s := x.out.Sites[first]
	if s.Via != ViaGo {
		s.Via = x.out.Sites[last].Via
	}
	i, ok := x.sites[s]
	if !ok {
		i = uint32(len(x.out.Sites))
		x.out.Sites = append(x.out.Sites, s)
		x.sites[s] = i
	}
	return i
}
