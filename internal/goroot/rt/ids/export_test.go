package ids

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
)

// NewDacce returns an encoder that records in head, funcs, epochs and nodes, and its recorder.
func NewDacce(head, known, funcs, epochs, nodes, pcs, mem []byte, text uint64) (*Dacce, *recorder.Recorder) {
	d, c, r, p := new(Dacce), new(Contexts), new(recorder.Recorder),
		func(b []byte) unsafe.Pointer { return unsafe.Pointer(&b[0]) }
	r.Init(p(head), p(known), p(funcs), layout.ContextsSize, uint64(len(funcs)))
	c.Init(r, p(head), p(nodes), p(pcs), p(mem), text, 0)
	d.Init(c, p(epochs), 0)
	return d, r
}

// Limit makes the encoder's limits smaller: of ids, of ids from which on rare edges
// are left out, and of keys. 0 leaves a limit alone.
func (c *Dacce) Limit(ids, soft uint64, keys uint32) {
	set := func(p *uint64, v uint64) {
		if v != 0 {
			*p = v
		}
	}
	set(&c.plan.maxNum, ids)
	set(&c.plan.softNum, soft)
	if keys != 0 {
		c.plan.numKeys = keys
	}
}

// LimitFuncs leaves room for n functions, LimitSites for n sites.
func (c *Dacce) LimitFuncs(n uint32) { c.max.funcs = n + 1 }
func (c *Dacce) LimitSites(n uint32) { c.max.sites = n }

// LimitSteps leaves room for so many steps of a walk.
func (n *DacceNext) LimitSteps(steps int) {
	for i := range n.walks {
		n.walks[i].steps = n.walks[i].steps[:steps]
	}
}

// Exhaust leaves n bytes of the encoder's memory.
func (c *Dacce) Exhaust(n uintptr) {
	c.mem.Limit(uint64(n))
}

// PlanSlowly is Plan, and lets others run between its parts.
func (c *Dacce) PlanSlowly(others func()) {
	c.Plan(others)
}

// A PlannedFunc and a PlannedSite are what the published encoding says. Caller and
// Target are indexes of functions; for a dynamic site Target is a key. First is a
// function that the site called, and Add may be NoAddition.
type (
	PlannedFunc struct{ Key, NumCC uint32 }
	PlannedSite struct {
		Caller, Add, Target, First uint32
		Dynamic                    bool
	}
	// A SeenEdge is an edge that was seen.
	SeenEdge struct{ Site, Target uint32 }
)

// Encoding returns the published encoding. Function 0 does not exist.
func (c *Dacce) Encoding() (funcs []PlannedFunc, sites []PlannedSite, edges []SeenEdge) {
	for _, f := range c.codes[:c.numFuncs] {
		funcs = append(funcs, PlannedFunc{f.key, f.num})
	}
	for i, s := range c.calls[:c.numSites] {
		sites = append(sites, PlannedSite{c.sites[i].caller, s.add, s.target, s.first, s.dynamic})
	}
	for _, e := range c.edges[1 : c.numEdges+1] {
		edges = append(edges, SeenEdge{e.Site, e.Target})
	}
	return funcs, sites, edges
}

// Planned returns how many functions and edges the last plan was made for.
func (c *Dacce) Planned() (funcs, edges uint32) { return c.plan.numFuncs, c.plan.numSeen }

// Count does what the assembly does at the return address pc: it counts a call of the function target, the nth of them.
// target is 0 where it counts nothing.
func (c *Dacce) Count(pc uintptr) (target, n uint64) {
	e := c.learnt(pc)
	if e == nil || e.Edge == 0 {
		return 0, 0
	}
	seen := (*layout.SeenEdge)(unsafe.Add(unsafe.Pointer(nil), uintptr(e.Edge)))
	seen.Hits++
	return uint64(seen.Target), seen.Hits
}

// Hit makes an edge that was seen as frequent as is wanted.
func (c *Dacce) Hit(i int, hits uint64) { c.edges[i+1].Hits = c.edges[i+1].Planned + hits }

// A PlannedEdge is an edge that a plan has, with the places of its ends in the order.
type PlannedEdge struct {
	Site, From, To uint32
	Taken, Loop    bool
}

// PlannedEdges returns the edges that the plan has, which need not be published.
func (c *Dacce) PlannedEdges() (edges []PlannedEdge) {
	p := &c.plan
	for _, e := range p.edges[:p.numEdges] {
		edges = append(edges, PlannedEdge{e.site, p.place[e.from], p.place[e.to], e.taken, e.loop})
	}
	return edges
}

// Replan makes plans of what was seen by a time, one each interval, and returns how many calls a second the last one
// pushes. Anew looks at all settings instead of those next to what the plan has.
func (c *Dacce) Replan(clock *uint64, interval uint64, plans int, anew bool) (cost uint64) {
	for range plans {
		if anew {
			c.plan.level, c.plan.price = -1, 0
		}
		*clock += interval
		c.Snapshot(*clock)
		c.Plan(func() {})
	}
	return c.plan.Cost
}

// Unrefine makes the next plan begin with the settings that leave nothing out but what has no room.
func (c *Dacce) Unrefine() { c.plan.level, c.plan.price = 0, 0 }

// PlanAnew makes the plan once more, as if it were the first one.
func (c *Dacce) PlanAnew() {
	c.plan.ordered, c.plan.numOrdered, c.plan.level = 0, 0, -1
	c.Plan(func() {})
}
