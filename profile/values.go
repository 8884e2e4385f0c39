package profile

import (
	"fmt"
	"slices"
)

// A ValueType describes the numbers of a column. Reports, exports and files take everything
// about a value from here, or, for a value of a later version, from the file.
type ValueType struct {
	Name  string // what -metric takes: "calls", "cpu"
	Unit  string // "count", "nanoseconds" or "bytes"
	About string // words for what 100 % of it is: "the time on CPU"

	// PerCounter values are counted for each counter of a function: its invocations, the
	// calls inlined into it, the natives that it calls. Others are one number for each node.
	PerCounter bool
	// Sampled values are estimates, and belong to nodes of kind [FuncPlace]; others
	// are exact, and belong to nodes of all other kinds, but for [ContextCPU].
	Sampled bool
	// Weighted values have no numbers of their own: they are computed from the counters of calls, with the
	// weights of the functions.
	Weighted bool
}

// The values that there are.
var (
	Calls   = ValueType{Name: "calls", Unit: "count", About: "the calls", PerCounter: true}
	Alloc   = ValueType{Name: "alloc", Unit: "bytes", About: "the bytes allocated"}
	Allocs  = ValueType{Name: "allocs", Unit: "count", About: "the allocations"}
	Live    = ValueType{Name: "live", Unit: "bytes", About: "the bytes still reachable"}
	Objects = ValueType{Name: "objects", Unit: "count", About: "the objects still reachable"}
	CPU     = ValueType{Name: "cpu", Unit: "nanoseconds", About: "the time on CPU", Sampled: true}
	Samples = ValueType{Name: "samples", Unit: "count", About: "the samples", Sampled: true}
	Wait    = ValueType{Name: "wait", Unit: "nanoseconds", About: "the time not running"}
	Waits   = ValueType{Name: "waits", Unit: "count", About: "the waits"}
	Held    = ValueType{Name: "held", Unit: "nanoseconds", About: "the time that others waited for locks"}
	Holds   = ValueType{Name: "holds", Unit: "count", About: "the waits of others for locks"}
	Run     = ValueType{Name: "run", Unit: "nanoseconds", About: "the time that goroutines ran"}
	Ops     = ValueType{Name: "ops", Unit: "count", About: "the operations", Weighted: true}

	Goroutines = ValueType{Name: "goroutines", Unit: "count", About: "the goroutines"}

	// ContextCPU is also an estimate, but samples add to the contexts that are there: to nodes of kind [FuncPlace]
	// below those of functions. No profile has CPU as well.
	ContextCPU = ValueType{Name: "cpu", Unit: "nanoseconds", About: "the time on CPU"}

	// SampledWait and SampledWaits are a sampler's estimates of Wait and Waits; no profile has both.
	SampledWait  = ValueType{Name: "wait", Unit: "nanoseconds", About: "the time spent waiting", Sampled: true}
	SampledWaits = ValueType{Name: "waits", Unit: "count", About: "the samples", Sampled: true}

	// Requested is the value of [Profile.OfRequests], and in no record.
	Requested = ValueType{Name: "requests", Unit: "count", About: "the requests", Sampled: true}
)

// ValueTypes are all values, in the order of their columns. A sampled time is an estimate:
// its samples are the only evidence. All values are those of the innermost frame, and not
// of what it called.
var ValueTypes = []ValueType{Calls, Ops, Alloc, Allocs, Live, Objects, ContextCPU, CPU, Samples, Wait, Waits,
	Held, Holds, Run, Goroutines, SampledWait, SampledWaits}

// A Column is one value of all nodes.
type Column struct {
	ValueType
	Values []uint64 // by node; if PerCounter, by counter, see Node.First; nil if Weighted
}

// Column returns the column of a value, nil if the profile does not have it.
func (p *Profile) Column(name string) *Column {
	for i := range p.Columns {
		if p.Columns[i].Name == name {
			return &p.Columns[i]
		}
	}
	return nil
}

// Has reports whether the profile has a value.
func (p *Profile) Has(t ValueType) bool { return p.Column(t.Name) != nil }

// Total returns the sum of a value over all nodes, 0 if the profile does not have it. The value must be one
// number for each node.
func (p *Profile) Total(t ValueType) (sum uint64) {
	if c := p.Column(t.Name); c != nil {
		for _, v := range c.Values {
			sum += v
		}
	}
	return sum
}

// Value returns the value of node i, which is one number, or 0 if the profile does not have it.
func (p *Profile) Value(t ValueType, i int) uint64 {
	if c := p.Column(t.Name); c != nil && !c.PerCounter && !c.Weighted {
		return c.Values[i]
	}
	return 0
}

// Sampled reports whether the profile has values that were sampled.
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

// Of returns the values of node i: one, or as many as its function has counters, or none if the value is
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

// AddColumn returns the column of a value, which it adds with zeros if there is none.
// Columns are in the order of ValueTypes; those that are not among them come last.
func (p *Profile) AddColumn(t ValueType) (*Column, error) {
	if c := p.Column(t.Name); c != nil {
		if c.ValueType != t {
			return nil, fmt.Errorf("value %s: %+v in one record, %+v in another", t.Name, c.ValueType, t)
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
		if i := slices.IndexFunc(ValueTypes, func(t ValueType) bool { return t.Name == name }); i >= 0 {
			return i
		}
		return len(ValueTypes)
	}
	at := 0
	for at < len(p.Columns) && place(p.Columns[at].Name) <= place(t.Name) {
		at++
	}
	p.Columns = slices.Insert(slices.Clip(p.Columns), at, Column{t, make([]uint64, n)})
	return &p.Columns[at], nil
}

// New returns a profile with no node but the root, and columns for values.
func New(types ...ValueType) *Profile {
	p := &Profile{
		Strings: []string{""},
		Funcs:   []Func{{Kind: FuncRoot, Cells: rootCells, Counters: 1}},
		Nodes:   make([]Node, 1),
	}
	for _, t := range types {
		_, _ = p.AddColumn(t) // fails only for a value that is there in another form
	}
	return p
}
