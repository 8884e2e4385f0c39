package cct

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/profile"
)

// A Metric is what the Count of a node counts.
type Metric struct {
	Name string // "calls", "cpu", "wait", "samples" or "waits"
	Unit string // "calls", "ns" or "samples"
}

// Metrics of a profile, by name. All but calls need samples.
var metrics = []struct {
	Metric
	weight int // index into SampleNode.Weight, -1 for calls
}{
	{Metric{"calls", "calls"}, -1},
	{Metric{"cpu", "ns"}, profile.WeightCPU},
	{Metric{"wait", "ns"}, profile.WeightWait},
	{Metric{"samples", "samples"}, profile.WeightCPUs},
	{Metric{"waits", "samples"}, profile.WeightWaits},
}

// Of expands the part of p that the metric called name is about; "" stands
// for calls if p counted any, else for cpu.
func Of(p *profile.Profile, name string) (*Tree, error) {
	if name == "" {
		if name = "calls"; p.Samples != nil && len(p.Nodes) <= 1 {
			name = "cpu"
		}
	}
	var names []string
	for _, m := range metrics {
		if m.Name == name && m.weight < 0 {
			return New(p), nil
		}
		if m.Name == name && p.Samples != nil {
			t := NewSamples(p.Samples, p.String, m.weight)
			t.Metric = m.Metric
			return t, nil
		}
		if m.Name == name {
			return nil, fmt.Errorf("no %s: the profile has no samples", name)
		}
		names = append(names, m.Name)
	}
	return nil, fmt.Errorf("unknown metric %q (want %s)", name, strings.Join(names, ", "))
}

// NewSamples expands the frames of s, with one of its weights as the count.
// Frames of one function that were sampled at several places are one node, as
// in a tree of calls; str returns a string of the profile.
func NewSamples(s *profile.Samples, str func(uint32) string, weight int) *Tree {
	t := &Tree{Sites: make([]Site, 1)}
	x := &sampleExpander{builder: newBuilder(t, len(s.Nodes)), str: str, funcs: make(map[string]uint32), sites: make(map[Site]uint32)}
	x.function(profile.PlaceFrame{}, "[root]")
	at := make([]uint32, len(s.Nodes))
	for i, n := range s.Nodes {
		if i > 0 {
			at[i] = x.place(at[n.Parent], s.Places[s.Nodes[n.Parent].Place], s.Places[n.Place])
		}
		t.Nodes[at[i]].Count += n.Weight[weight]
	}
	return t
}

// A sampleExpander is the state of NewSamples.
type sampleExpander struct {
	*builder
	str   func(uint32) string
	funcs map[string]uint32
	sites map[Site]uint32
}

// place returns the node of the innermost frame of pl, which caller, whose
// innermost frame has the node parent, called.
func (x *sampleExpander) place(parent uint32, caller, pl profile.Place) uint32 {
	var site uint32
	if len(caller.Frames) > 0 {
		site = x.site(caller.Frames[0], ViaCall)
	}
	for _, f := range slices.Backward(pl.Frames) {
		parent = x.node(parent, site, x.function(f, DisplayName(x.str(f.Func))))
		site = x.site(f, ViaInlined)
	}
	return parent
}

// site returns the site at the place where f was.
func (x *sampleExpander) site(f profile.PlaceFrame, via Via) uint32 {
	s := Site{x.str(f.File), int(f.Line), via}
	i, ok := x.sites[s]
	if !ok {
		i = uint32(len(x.t.Sites))
		x.t.Sites = append(x.t.Sites, s)
		x.sites[s] = i
	}
	return i
}

// function returns the function of f, by its display name.
func (x *sampleExpander) function(f profile.PlaceFrame, name string) uint32 {
	i, ok := x.funcs[name]
	if !ok {
		i = uint32(len(x.t.Funcs))
		x.t.Funcs = append(x.t.Funcs, Func{name, x.str(f.File), int(f.Start), strings.HasPrefix(name, "[")})
		x.funcs[name] = i
	}
	return i
}

// InclusiveByFunction returns for each function the counts of all contexts
// that it is in, each once, however often it is in one.
func (t *Tree) InclusiveByFunction() []uint64 {
	sum := make([]uint64, len(t.Funcs))
	below, kids := t.Inclusive(), t.Children()
	active := make([]int, len(t.Funcs)) // how often it is on the path to here
	type visit struct {
		node uint32
		done bool
	}
	for stack := []visit{{0, false}}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		f := t.Nodes[v.node].Func
		if v.done {
			active[f]--
			continue
		}
		if active[f]++; active[f] == 1 && v.node != 0 {
			sum[f] += below[v.node]
		}
		stack = append(stack, visit{v.node, true})
		for _, k := range kids.Of(v.node) {
			stack = append(stack, visit{k, false})
		}
	}
	return sum
}
