package profile

import (
	"fmt"
	"slices"
)

// A Metric describes the numbers of a column. Reports, exports and files take everything
// about a metric from here, or, for one of a later version, from the file.
type Metric struct {
	Name  string // what -metric takes: "calls", "cpu"
	Unit  string // "count", "nanoseconds" or "bytes"; any word in a metric of a program's own
	About string // words for what 100 % of it is: "the time on CPU"

	// PerCounter metrics are counted for each counter of a function: its invocations, the
	// calls inlined into it, the natives that it calls. Others are one number for each node.
	PerCounter bool
	// Sampled metrics are estimates, and belong to nodes of kind [FuncPlace]; others
	// are exact, and belong to nodes of all other kinds, but for [ContextCPU].
	Sampled bool
	// Weighted metrics have no numbers of their own: they are computed from the counters of calls, with the
	// weights of the functions.
	Weighted bool
}

// The metrics that there are. What Go's own profiles have is called as it is there: alloc_space and its like as in the
// heap profile, contentions and delay as in the mutex profile.
var (
	Calls        = Metric{Name: "calls", Unit: "count", About: "the calls", PerCounter: true}
	AllocSpace   = Metric{Name: "alloc_space", Unit: "bytes", About: "the bytes allocated"}
	AllocObjects = Metric{Name: "alloc_objects", Unit: "count", About: "the allocations"}
	InuseSpace   = Metric{Name: "inuse_space", Unit: "bytes", About: "the bytes still reachable"}
	InuseObjects = Metric{Name: "inuse_objects", Unit: "count", About: "the objects still reachable"}
	CPU          = Metric{Name: "cpu", Unit: "nanoseconds", About: "the time on CPU", Sampled: true}
	Samples      = Metric{Name: "samples", Unit: "count", About: "the samples", Sampled: true}
	Wait         = Metric{Name: "wait", Unit: "nanoseconds", About: "the time not running"}
	Waits        = Metric{Name: "waits", Unit: "count", About: "the waits"}
	Delay        = Metric{Name: "delay", Unit: "nanoseconds", About: "the time that others waited for locks"}
	Contentions  = Metric{Name: "contentions", Unit: "count", About: "the waits of others for locks"}
	Run          = Metric{Name: "run", Unit: "nanoseconds", About: "the time that goroutines ran"}
	Ops          = Metric{Name: "ops", Unit: "count", About: "the operations", Weighted: true}

	Goroutines = Metric{Name: "goroutines", Unit: "count", About: "the goroutines"}
	Existing   = Metric{Name: "existing", Unit: "count", About: "the goroutines that exist"}
	Idle       = Metric{Name: "idle", Unit: "nanoseconds", About: "the time since goroutines that exist ran last"}

	// ContextCPU is also an estimate, but samples add to the contexts that are there: to nodes of kind [FuncPlace]
	// below those of functions. No profile has CPU as well.
	ContextCPU = Metric{Name: "cpu", Unit: "nanoseconds", About: "the time on CPU"}

	// SampledWait and SampledWaits are a sampler's estimates of Wait and Waits; no profile has both.
	SampledWait  = Metric{Name: "wait", Unit: "nanoseconds", About: "the time spent waiting", Sampled: true}
	SampledWaits = Metric{Name: "waits", Unit: "count", About: "the samples", Sampled: true}

	// Requested is the metric of [Profile.OfRequests], and in no record.
	Requested = Metric{Name: "requests", Unit: "count", About: "the requests", Sampled: true}
)

// Metrics are all metrics, in the order of their columns. A sampled time is an estimate:
// its samples are the only evidence. All numbers are those of the innermost frame, and not
// of what it called.
var Metrics = []Metric{Calls, Ops, AllocSpace, AllocObjects, InuseSpace, InuseObjects, ContextCPU, CPU, Samples, Wait,
	Waits, Delay, Contentions, Run, Goroutines, Existing, Idle, SampledWait, SampledWaits}

// OwnMetric returns a metric that a program has made with stemma.NewMetric.
func OwnMetric(name, unit string) Metric { return Metric{Name: name, Unit: unit, About: name} }

// Counts reports whether t is a number of things: neither bytes nor a time.
func (t Metric) Counts() bool { return t.Unit != AllocSpace.Unit && t.Unit != Wait.Unit }

// Own reports whether t is a metric that a program has made, or the variation of one.
func (t Metric) Own() bool {
	name, _ := t.Varies()
	return !slices.ContainsFunc(Metrics, func(m Metric) bool { return m.Name == name })
}

// A Column is one metric of all nodes.
type Column struct {
	Metric
	Values []uint64 // by node; if PerCounter, by counter, see Node.First; nil if Weighted
}

// InSegments reports whether segments have the metric. What is counted anew each time is in records of a whole run
// only, and in what came behind its last segment.
func (t Metric) InSegments() bool {
	switch t {
	case InuseSpace, InuseObjects, Existing, Idle:
		return false
	}
	return true
}

// Column returns the column of a metric, nil if the profile does not have it. It also takes former names, see
// [CurrentName].
func (p *Profile) Column(name string) *Column {
	for _, name := range []string{name, CurrentName(name)} {
		for i := range p.Columns {
			if p.Columns[i].Name == name {
				return &p.Columns[i]
			}
		}
	}
	return nil
}

// Has reports whether the profile has a metric.
func (p *Profile) Has(t Metric) bool { return p.Column(t.Name) != nil }

// Total returns the sum of a metric over all nodes, 0 if the profile does not have it. The metric must be one
// number for each node.
func (p *Profile) Total(t Metric) (sum uint64) {
	if c := p.Column(t.Name); c != nil {
		for _, v := range c.Values {
			sum += v
		}
	}
	return sum
}

// Value returns the number of node i in a metric that has one for each node, or 0 if the profile does not have it.
func (p *Profile) Value(t Metric, i int) uint64 {
	if c := p.Column(t.Name); c != nil && !c.PerCounter && !c.Weighted {
		return c.Values[i]
	}
	return 0
}

// Sampled reports whether the profile has metrics that were sampled.
func (p *Profile) Sampled() bool {
	return slices.ContainsFunc(p.Columns, func(c Column) bool { return c.Sampled })
}

// NodeCounts returns the counters of node i. They alias the column of calls.
// There are as many as the function has counters; appending to them copies. Without a column
// of calls there are none.
func (p *Profile) NodeCounts(i int) []uint64 {
	c := p.Column(Calls.Name)
	if c == nil {
		return nil
	}
	return c.counters(p, i)
}

// counters returns the values of node i of a column that has them per counter.
func (c *Column) counters(p *Profile, i int) []uint64 {
	n := p.Nodes[i]
	end := uint64(n.First) + uint64(p.Funcs[n.Func].Counters)
	return c.Values[n.First:end:end]
}

// Of returns the values of node i: one, or as many as its function has counters, or none if the metric is
// weighted. They alias the column.
func (c *Column) Of(p *Profile, i int) []uint64 {
	switch {
	case c.Weighted:
		return nil
	case c.PerCounter:
		return c.counters(p, i)
	}
	return c.Values[i : i+1 : i+1]
}

// AddColumn returns the column of a metric, which it adds with zeros if there is none.
// Columns are in the order of Metrics; those that are not among them come last.
func (p *Profile) AddColumn(t Metric) (*Column, error) {
	if c := p.Column(t.Name); c != nil {
		if c.Metric != t {
			return nil, fmt.Errorf("metric %s: %+v in one record, %+v in another", t.Name, c.Metric, t)
		}
		return c, nil
	}
	n := len(p.Nodes)
	switch {
	case t.Weighted:
		n = 0
	case t.PerCounter:
		n = 0
		for _, node := range p.Nodes {
			n += int(p.Funcs[node.Func].Counters)
		}
	}
	place := func(name string) int {
		if i := slices.IndexFunc(Metrics, func(t Metric) bool { return t.Name == name }); i >= 0 {
			return i
		}
		return len(Metrics)
	}
	at := 0
	for at < len(p.Columns) && place(p.Columns[at].Name) <= place(t.Name) {
		at++
	}
	p.Columns = slices.Insert(slices.Clip(p.Columns), at, Column{t, make([]uint64, n)})
	return &p.Columns[at], nil
}

// New returns a profile with no node but the root, and columns for metrics.
func New(types ...Metric) *Profile {
	p := &Profile{
		Strings: []string{""},
		Funcs:   []Func{{Kind: FuncRoot, Cells: rootCells, Counters: 1}},
		Nodes:   make([]Node, 1),
	}
	for _, t := range types {
		_, _ = p.AddColumn(t) // fails only for a metric that is there in another form
	}
	return p
}
