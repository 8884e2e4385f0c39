package cct

import (
	"github.com/stemma-go/stemma/profile"
)

// A Recounter expands the calls of a profile whose counts change, and nothing else: it knows
// where in the tree each counter counts. Its tree has a node for whatever may be counted, and
// its nodes stay where they are when a profile that has grown at its end is expanded.
type Recounter struct {
	Tree *Tree

	p        *profile.Profile
	moves    []move
	unknown  []recountedSite
	unknowns map[siteOfNode]int // index in unknown
}

// A move takes the value of a counter, an index in the column of calls, to a node.
type move struct{ counter, node uint32 }

// A recountedSite is an unknown site, with the counters of the calls that it made, and of those
// that the callees counted themselves. What is left of the former are calls of a native.
type recountedSite struct {
	made, counted []uint32
	node          uint32
}

// NewRecounter expands the calls of p, which must be valid.
func NewRecounter(p *profile.Profile) *Recounter {
	c := p.Column(profile.Calls.Name)
	if c == nil {
		p = profile.New(profile.Calls)
		c = p.Column(profile.Calls.Name)
	}
	t := &Tree{Sites: make([]Site, 1), Type: c.Metric}
	r := &Recounter{Tree: t, p: p, unknowns: make(map[siteOfNode]int)}
	x := newExpander(t, p)
	x.recounter = r
	ones := profile.Column{Metric: c.Metric, Values: make([]uint64, len(c.Values))}
	for i := range ones.Values {
		ones.Values[i] = 1
	}
	x.expand(&ones)
	r.Recount()
	return r
}

// Recount gives the nodes of the tree what the profile has for them now.
func (r *Recounter) Recount() {
	for i := range r.Tree.Nodes {
		r.Tree.Nodes[i].Count = 0
	}
	values := r.p.Column(profile.Calls.Name).Values
	for _, m := range r.moves {
		r.Tree.Nodes[m.node].Count += values[m.counter]
	}
	for _, u := range r.unknown {
		var made, counted uint64
		for _, c := range u.made {
			made += values[c]
		}
		for _, c := range u.counted {
			counted += values[c]
		}
		if made > counted {
			r.Tree.Nodes[u.node].Count += made - counted
		}
	}
}

// site returns the entry of an unknown site.
func (r *Recounter) site(at siteOfNode) *recountedSite {
	i, ok := r.unknowns[at]
	if !ok {
		i = len(r.unknown)
		r.unknowns[at] = i
		r.unknown = append(r.unknown, recountedSite{})
	}
	return &r.unknown[i]
}
