package cct

import (
	"github.com/stemma-go/stemma/profile"
)

// Values are all exact values of a profile, or all sampled ones, on one tree.
type Values struct {
	*Tree  // its nodes have the values of the first type
	Types  []profile.Metric
	Counts [][]uint64 // by type and node
}

// ValuesOf expands the nodes of p, which must be valid, with its exact values or with its
// sampled ones. Contexts of the two differ: samples know neither natives nor goroutines'
// ancestors. If there is no such value, it returns a tree of a root, without types.
func ValuesOf(p *profile.Profile, sampled bool) *Values {
	t := &Tree{Sites: make([]Site, 1)}
	v := &Values{Tree: t}
	var add func(*profile.Column)
	if sampled {
		x := newSampleExpander(t, p)
		add = func(c *profile.Column) { x.expand(p, c) }
	} else {
		add = newExpander(t, p).expand
	}
	for i := range p.Columns {
		if c := &p.Columns[i]; c.Sampled == sampled {
			add(c)
			v.take(c.Metric)
		}
	}
	for k, counts := range v.Counts {
		v.Counts[k] = append(counts, make([]uint64, len(t.Nodes)-len(counts))...)
	}
	if len(v.Types) > 0 {
		t.Type = v.Types[0]
		for i, count := range v.Counts[0] {
			t.Nodes[i].Count = count
		}
	}
	return v
}

// take moves what the tree counts to a list of its own. Values behind it may add nodes.
func (v *Values) take(t profile.Metric) {
	counts := make([]uint64, len(v.Nodes))
	for i := range v.Nodes {
		counts[i], v.Nodes[i].Count = v.Nodes[i].Count, 0
	}
	v.Types, v.Counts = append(v.Types, t), append(v.Counts, counts)
}
