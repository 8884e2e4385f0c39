package cct

import "slices"

// A Pattern matches names of functions, as a *regexp.Regexp does. Programs that import package stemma link this
// package, and need no regular expressions for it.
type Pattern interface{ MatchString(name string) bool }

// A Selection says which contexts a report is about, in the words of pprof. Patterns that are nil say nothing.
type Selection struct {
	Focus  Pattern // only contexts that have a function that matches
	Ignore Pattern // no contexts that have a function that matches
	Hide   Pattern // functions to leave out of contexts; what they have counts at their callers
}

// All reports whether s leaves everything as it is.
func (s Selection) All() bool { return s.Focus == nil && s.Ignore == nil && s.Hide == nil }

// Select returns the part of t that s is about. It has no node that neither has a value
// nor leads to one. Pseudo-functions are not hidden: a context keeps its root.
func (t *Tree) Select(s Selection) *Tree { return SelectSides(s, t)[0] }

// SelectSides selects from trees that differ in nothing but their counts; so do those that it returns.
// They have the nodes that one of them has a value for.
func SelectSides(s Selection, sides ...*Tree) []*Tree {
	if s.All() {
		return sides
	}
	t := sides[0]
	x := &selector{t: t, sides: sides,
		out:   &Tree{Funcs: t.Funcs, Sites: t.Sites[:len(t.Sites):len(t.Sites)], Type: t.Type, lines: t.lines},
		sites: make(map[Site]uint32)}
	x.classify(s)
	return x.build()
}

// A selector is the state of Select.
type selector struct {
	t, out *Tree
	sides  []*Tree
	hide   []bool // by function
	chosen []bool // by node of t: its value was selected
	needed []bool // it, or what is below it, has a value that was selected
	sites  map[Site]uint32
}

// classify finds out which nodes keep their values.
func (x *selector) classify(s Selection) {
	t := x.t
	focus, ignore := t.matching(s.Focus), t.matching(s.Ignore)
	x.hide = t.matching(s.Hide)
	in, out := make([]bool, len(t.Nodes)), make([]bool, len(t.Nodes))
	x.chosen, x.needed = make([]bool, len(t.Nodes)), make([]bool, len(t.Nodes))
	for i, n := range t.Nodes {
		in[i] = s.Focus == nil || in[n.Parent] || focus[n.Func]
		out[i] = out[n.Parent] || ignore[n.Func]
		x.chosen[i] = in[i] && !out[i]
	}
	for i := len(t.Nodes) - 1; i > 0; i-- {
		for _, side := range x.sides {
			x.needed[i] = x.needed[i] || x.chosen[i] && side.Nodes[i].Count > 0
		}
		x.needed[t.Nodes[i].Parent] = x.needed[t.Nodes[i].Parent] || x.needed[i]
	}
}

// matching tells for each function whether it matches; the root does not.
func (t *Tree) matching(re Pattern) []bool {
	list := make([]bool, len(t.Funcs))
	for i, f := range t.Funcs {
		list[i] = re != nil && i > 0 && re.MatchString(f.Name)
	}
	return list
}

// build makes the new trees. A hidden node is its parent's, and what it calls is called at
// the site where it was called itself.
func (x *selector) build() []*Tree {
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
	}
	list := make([]*Tree, len(x.sides))
	for k, side := range x.sides {
		out := *x.out
		out.Nodes, out.Type = slices.Clone(x.out.Nodes), side.Type
		for i, n := range side.Nodes {
			if i > 0 && x.chosen[i] && x.needed[i] {
				out.Nodes[to[i]].Count += n.Count
			}
		}
		list[k] = &out
	}
	return list
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
