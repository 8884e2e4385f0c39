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
	v := &Values{Tree: &Tree{Sites: make([]Site, 1)}}
	expand := v.expander(p, sampled)
	for i := range p.Columns {
		if c := &p.Columns[i]; c.Sampled == sampled {
			expand(p, c)
			v.take(c.Metric)
		}
	}
	v.complete()
	return v
}

// Growth is [ValuesOf] for what metrics have grown by from one reading of a record to another one. The readings are
// aligned ([profile.Align]) and have the metrics, all exact or all sampled. If earlier is nil, all has grown from 0.
// Contexts are expanded before they are subtracted. So growths add up to the last reading, to the unit, whatever was
// half counted at one in between. What has become less has a negative number, in two's complement.
func Growth(earlier, later *profile.Profile, metrics []string) *Values {
	v := &Values{Tree: &Tree{Sites: make([]Site, 1)}}
	expand := v.expander(later, later.Column(metrics[0]).Sampled)
	var before [][]uint64
	for _, name := range metrics {
		c := later.Column(name)
		expand(later, c)
		v.take(c.Metric)
		if earlier != nil {
			expand(earlier, earlier.Column(name))
			before = append(before, v.counts())
		}
	}
	v.complete()
	for k, counts := range before {
		for i, n := range counts {
			v.Counts[k][i] -= n
		}
	}
	v.first()
	return v
}

// expander returns a function that adds the values of a column to the tree: one of p, or of a profile that is aligned
// with it.
func (v *Values) expander(p *profile.Profile, sampled bool) func(*profile.Profile, *profile.Column) {
	if sampled {
		return newSampleExpander(v.Tree, p).expand
	}
	x := newExpander(v.Tree, p)
	return func(p *profile.Profile, c *profile.Column) {
		x.p = p
		x.expand(c)
	}
}

// complete gives each value a number for all nodes, and the tree those of the first.
func (v *Values) complete() {
	for k, counts := range v.Counts {
		v.Counts[k] = append(counts, make([]uint64, len(v.Nodes)-len(counts))...)
	}
	v.first()
}

// first gives the tree the numbers of the first value.
func (v *Values) first() {
	if len(v.Types) > 0 {
		v.Type = v.Types[0]
		for i, count := range v.Counts[0] {
			v.Nodes[i].Count = count
		}
	}
}

// take moves what the tree counts to a list of its own. Values behind it may add nodes.
func (v *Values) take(t profile.Metric) {
	v.Types, v.Counts = append(v.Types, t), append(v.Counts, v.counts())
}

// counts returns what the tree counts, and sets it to 0.
func (v *Values) counts() []uint64 {
	counts := make([]uint64, len(v.Nodes))
	for i := range v.Nodes {
		counts[i], v.Nodes[i].Count = v.Nodes[i].Count, 0
	}
	return counts
}
