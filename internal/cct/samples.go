package cct

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/profile"
)

// Of expands the nodes of p that have a metric, called name; "" stands for calls if p
// has any, else for the first metric that it has.
func Of(p *profile.Profile, name string) (*Tree, error) {
	c, err := Column(p, name)
	if err != nil {
		return nil, err
	}
	return expand(p, c), nil
}

// Column returns the column of p that [Of] expands.
func Column(p *profile.Profile, name string) (*profile.Column, error) {
	if name = profile.CurrentName(name); name == "" {
		name = Usual(p).Name
	}
	if c := p.Column(name); c != nil {
		return c, nil
	}
	if len(p.Processes) > 0 && p.Processes[0].Engine == engine.Costs {
		return nil, fmt.Errorf("no counts: a file of 'stemma costs', which 'stemma report -cost' takes beside a record")
	}
	if len(p.Columns) == 0 {
		return nil, fmt.Errorf("no metrics: a record of context IDs has no counts")
	}
	var names, have []string
	for _, c := range p.Columns {
		have = append(have, c.Name)
	}
	for _, t := range profile.Metrics {
		if t.Name == name && isPart(p) && !t.InSegments() {
			return nil, fmt.Errorf("no %s in segments, since it does not add up; name the live directory, which has "+
				"the whole run", name)
		}
		if t.Name == name {
			return nil, fmt.Errorf("no %s in this profile (have %s); %s", name, strings.Join(have, ", "),
				remedy(p, name))
		}
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	for _, h := range have {
		if !slices.Contains(names, h) { // of the program's own
			names = append(names, h)
		}
	}
	return nil, fmt.Errorf("unknown metric %q (want %s)", name, strings.Join(names, ", "))
}

// isPart reports whether p has segments of runs, or what came behind them.
func isPart(p *profile.Profile) bool {
	return slices.ContainsFunc(p.Processes, func(proc profile.Process) bool {
		return proc.Segment != nil && proc.Segment.Number > 0
	})
}

// remedy returns what p notes of a metric that its program was built for, and has not counted yet, or else how to build
// one that counts it.
func remedy(p *profile.Profile, name string) string {
	asked := engine.MetricFor(name)
	for _, proc := range p.Processes {
		for _, note := range proc.Notes {
			if asked != nil && strings.HasPrefix(note, asked.Name+": ") {
				return note
			}
		}
	}
	return "build with " + buildFor(name)
}

// buildFor returns the flags of a build that gives a metric.
func buildFor(name string) string {
	sampled := slices.ContainsFunc(profile.Metrics, func(m profile.Metric) bool { return m.Name == name && m.Sampled })
	asked := engine.MetricFor(name)
	switch {
	case asked == nil && sampled:
		return engine.Giving(engine.Samples)
	case asked == nil || asked.Name == profile.Calls.Name:
		return engine.Giving(engine.Counts)
	case sampled:
		return asked.Flag() + " or " + engine.Giving(engine.Samples)
	}
	return asked.Flag()
}

// Costs say what operations take.
type Costs struct {
	Classes [layout.NumOpClasses]float64 // of each class
	// Known has, by function of the profile, what counters stand for instead, whatever the class.
	Known map[uint32][]profile.Weight
}

// OfCosts expands the nodes of p with its operations, each of which counts for what it costs. The value gets the given
// name.
func OfCosts(p *profile.Profile, costs *Costs, value profile.Metric) (*Tree, error) {
	c := p.Column(profile.Ops.Name)
	if c == nil {
		return nil, fmt.Errorf("no %s in this profile; build with -metrics=calls,%[1]s", profile.Ops.Name)
	}
	t := &Tree{Sites: make([]Site, 1), Type: value}
	x := newExpander(t, p)
	x.costs = costs
	x.expand(c)
	return t, nil
}

// Usual returns the value that a report is about if nobody says which.
func Usual(p *profile.Profile) profile.Metric {
	for _, c := range p.Columns {
		if c.Sampled || called(p) {
			return c.Metric
		}
	}
	return profile.Calls
}

// called reports whether any node of p is one of a call.
func called(p *profile.Profile) bool {
	for _, n := range p.Nodes[1:] {
		if p.Funcs[n.Func].Kind != profile.FuncPlace {
			return true
		}
	}
	return false
}

// New expands the calls of p, which must be valid.
func New(p *profile.Profile) *Tree {
	c := p.Column(profile.Calls.Name)
	if c == nil {
		p = profile.New(profile.Calls)
		c = p.Column(profile.Calls.Name)
	}
	return expand(p, c)
}

// expand expands the nodes that a column of p belongs to.
func expand(p *profile.Profile, c *profile.Column) *Tree {
	t := &Tree{Sites: make([]Site, 1), Type: c.Metric}
	if c.Sampled {
		expandPlaces(t, p, c)
	} else {
		expandFuncs(t, p, c)
	}
	return t
}

// OfLines is Of; but in a tree of samples each line of a function is a function of its
// own, by the same name, and Func.Line is that line. A tree of calls has its lines in its sites.
func OfLines(p *profile.Profile, name string) (*Tree, error) {
	if name == "" {
		name = Usual(p).Name
	}
	c := p.Column(name)
	if c == nil || !c.Sampled {
		return Of(p, name)
	}
	t := &Tree{Sites: make([]Site, 1), Type: c.Metric, lines: true}
	expandPlaces(t, p, c)
	return t, nil
}

// expandPlaces expands the nodes of sampled places. Frames of one function that were sampled
// at several places are one node, as in a tree of calls, unless t is one of lines.
func expandPlaces(t *Tree, p *profile.Profile, c *profile.Column) {
	newSampleExpander(t, p).expand(p, c)
}

func newSampleExpander(t *Tree, p *profile.Profile) *sampleExpander {
	x := &sampleExpander{builder: newBuilder(t, 0), str: p.String, funcs: make(map[Func]uint32),
		sites: make(map[Site]uint32), folds: OfCalls(p) && !p.Full()}
	x.function(profile.Frame{}, "[root]")
	return x
}

// expand adds the values of a column to the tree.
func (x *sampleExpander) expand(p *profile.Profile, c *profile.Column) {
	at := make([]uint32, len(p.Nodes))
	sites := make([]uint32, len(p.Nodes)) // where a node calls what is below it
	for i, n := range p.Nodes {
		f := &p.Funcs[n.Func]
		if i > 0 && f.Kind != profile.FuncPlace {
			continue
		}
		if i > 0 {
			at[i], sites[i] = x.place(at[n.Parent], sites[n.Parent], f.Frames)
		}
		x.t.Nodes[at[i]].Count += c.Values[i]
	}
}

// A sampleExpander is the state of expandPlaces.
type sampleExpander struct {
	*builder
	str   func(uint32) string
	funcs map[Func]uint32 // by what tells them apart
	sites map[Site]uint32
	folds bool // recursion was folded while the samples were taken
	path  []calledAt
}

// A calledAt is where a function is called.
type calledAt struct {
	fn           uint32 // its name
	parent, site uint32
}

// OfCalls reports whether the samples of p are of calls, and not of time.
func OfCalls(p *profile.Profile) bool {
	some := false
	for _, proc := range p.Processes {
		if proc.Sampling != nil {
			if some = true; proc.Sampling.Sampler != layout.SamplerNames[layout.SamplerACCT] {
				return false
			}
		}
	}
	return some
}

// place returns the node of the innermost of some frames, which the node parent called at
// site, and the site where that frame was. Wrappers, which contexts do not show, vanish:
// what they call is called at the site of theirs. Where recursion is folded, a call of a function that is inlined into
// that function leads to where the function is called first, as in a tree of calls. Adapters are not known here.
func (x *sampleExpander) place(parent, site uint32, frames []profile.Frame) (node, at uint32) {
	real := false
	x.path = x.path[:0]
	for i, f := range slices.Backward(frames) {
		if x.str(f.File) == "<autogenerated>" {
			if s := x.t.Sites[site]; i > 0 && s.Via == ViaCall {
				site = x.siteOf(s.File, s.Line, ViaInlined)
			}
			continue
		}
		if x.folds {
			for _, outer := range slices.Backward(x.path) {
				if outer.fn == f.Func {
					parent, site = outer.parent, outer.site
					break
				}
			}
			x.path = append(x.path, calledAt{f.Func, parent, site})
		}
		parent = x.node(parent, site, x.function(f, DisplayName(x.str(f.Func))))
		site, real = x.site(f, ViaInlined), true
	}
	if real {
		site = x.site(frames[0], ViaCall)
	}
	return parent, site
}

// site returns the site at the place where f was.
func (x *sampleExpander) site(f profile.Frame, via Via) uint32 {
	return x.siteOf(x.str(f.File), int(f.Line), via)
}

// siteOf returns the site at a place.
func (x *sampleExpander) siteOf(file string, line int, via Via) uint32 {
	s := Site{File: file, Line: line, Via: via}
	i, ok := x.sites[s]
	if !ok {
		i = uint32(len(x.t.Sites))
		x.t.Sites = append(x.t.Sites, s)
		x.sites[s] = i
	}
	return i
}

// function returns the function of f, by its display name, and by its line if lines count.
func (x *sampleExpander) function(f profile.Frame, name string) uint32 {
	key, line := Func{Name: name}, f.Start
	if x.t.lines {
		line = f.Line
		key.File, key.Line = x.str(f.File), int(line)
	}
	i, ok := x.funcs[key]
	if !ok {
		i = uint32(len(x.t.Funcs))
		x.t.Funcs = append(x.t.Funcs,
			Func{Name: name, File: x.str(f.File), Line: int(line), Pseudo: strings.HasPrefix(name, "[")})
		x.funcs[key] = i
	}
	return i
}
