package stemma

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	_ "unsafe" // for go:linkname

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/profile"
)

// # Measuring one call
//
// What a measurement counts lies below a node of its own in the tree, in a lane that one measurement has at a time
// (see rt/tree/measure.go). So what the counters below that node have grown by, when it ends, is what it counted.
// Which nodes lie there is looked at once for each: the tree only grows.

// ErrNotMeasured is the error of [Counts] where calls are not counted: in a build without engine cct, with -verify or
// -record=calls, within [Bypass], where there is no more room for contexts, and if more than a thousand measurements
// run at once, or more than fifteen inside each other.
var ErrNotMeasured = errors.New("stemma: the call was not measured: calls are counted by stemma build -engine=cct, " +
	"without -verify and -record=calls, outside of stemma.Bypass, while there is room for contexts, in at most 1,000 " +
	"measurements at once, 15 inside each other")

// Measure calls f with ctx and returns what this one call has counted: all that f calls, allocates or waits for, and
// all that the goroutines do which it starts, until f returns. Nothing else counts, whatever runs at the same time.
// Several measurements may run at once, and inside each other; what the inner one counts is counted by the outer one
// as well.
//
// The counts are exact for what f has waited for. Of a goroutine that still runs when f returns they have what it had
// done by then, or a little less. What is called by a timer, a finalizer or a cleanup is not f's.
//
// What is measured is recorded as it is otherwise, in contexts of its own: below a frame [stemma.Measure=1], or 2 for a
// measurement inside of another one. With others running at the same time there are more of them in memory, but reports
// show one. Besides f, Measure takes time in proportion to the contexts below it, and to the number of goroutines: a
// fraction of a millisecond for a thousand contexts. So measure one request in a hundred, rather than each.
//
// In a normal build Measure calls f, and the counts are zero: their Err is [ErrNotBuilt]. If f panics or ends the
// goroutine, so does Measure; after a thousand of these nothing is measured any more.
func Measure(ctx context.Context, f func(ctx context.Context)) *Counts {
	if measureRuntime == nil {
		f(ctx)
		if recordingRuntime != nil {
			return &Counts{err: ErrNotMeasured}
		}
		return &Counts{err: ErrNotBuilt}
	}
	var l *lane
	Bypass(func() { l = borrowLane() })
	if l == nil {
		f(ctx)
		return &Counts{err: ErrNotMeasured}
	}
	node := measureRuntime.Begin(l.number) // here, where the context is that of the caller
	if node == 0 {
		Bypass(l.giveBack)
		f(ctx)
		return &Counts{err: ErrNotMeasured}
	}
	Bypass(func() { l.begin(node) })
	// After a panic, and in Goexit, deferred functions further out run in the lane. So nobody else may have it.
	measureRuntime.Run(node, f, ctx)
	var c *Counts
	Bypass(func() {
		c = l.end()
		l.giveBack()
	})
	return c
}

// Counts are what one call has counted, see [Measure]. The zero value has counted nothing. Numbers are computed when
// they are asked for first, in time that is in proportion to the number of contexts: some milliseconds for a
// thousand. That may be done later, and elsewhere, but needs the live directory: if that is missing, Err reports it.
// What it takes is not recorded. The methods may be called by several goroutines at once.
type Counts struct {
	err    error
	before [len(layout.Header{}.Lost)]uint64
	after  [len(layout.Header{}.Lost)]uint64
	nodes  []layout.Measured // with those further out, which have counted nothing; ascending
	counts [][]uint64        // for each node; nil for none

	once    sync.Once
	profile *profile.Profile
	calls   uint64
	objects uint64
	bytes   uint64
}

// Err returns nil if the counts are exact: otherwise [ErrNotBuilt], [ErrNotMeasured], or what was lost.
func (c *Counts) Err() error {
	c.compute()
	return c.err
}

// Calls returns the number of calls: of functions, inlined ones and those of assembly included, as stemma report counts
// them. The call of f is one.
func (c *Counts) Calls() uint64 {
	c.compute()
	return c.calls
}

// Allocs returns the number of objects that were allocated on the heap. The program must be built with
// -metrics=calls,alloc; otherwise it is 0.
func (c *Counts) Allocs() uint64 {
	c.compute()
	return c.objects
}

// Bytes returns how many bytes of the heap the objects take. The program must be built with -metrics=calls,alloc;
// otherwise it is 0.
func (c *Counts) Bytes() uint64 {
	c.compute()
	return c.bytes
}

// Profile returns all that was counted, by context, with the metrics that are counted at calls: not cpu, inuse_space,
// inuse_objects, existing or idle. It is nil if nothing was measured, or it cannot be read; look at Err first.
// [Contexts] iterates over it, and its method Write makes a file that stemma report reads. It belongs to the caller of
// Measure, who may change it.
func (c *Counts) Profile() *profile.Profile {
	c.compute()
	return c.profile
}

// compute makes the numbers of the nodes.
func (c *Counts) compute() {
	c.once.Do(func() {
		if c.err != nil || c.nodes == nil {
			return
		}
		Bypass(func() {
			if err := c.read(); err != nil {
				c.err = fmt.Errorf("stemma: what was measured cannot be read: %w", err)
			}
		})
	})
}

// read makes the profile, and the sums.
func (c *Counts) read() error {
	p, err := readMeasured(c)
	if err != nil {
		return err
	}
	for _, sum := range []struct {
		metric profile.Metric
		to     *uint64
	}{{profile.Calls, &c.calls}, {profile.AllocObjects, &c.objects}, {profile.AllocSpace, &c.bytes}} {
		if !p.Has(sum.metric) {
			continue
		}
		t, err := cct.Of(p, sum.metric.Name)
		if err != nil {
			return err
		}
		for _, n := range t.Nodes {
			*sum.to += n.Count
		}
	}
	c.profile = p
	for _, loss := range p.Lost() {
		if loss.Spoils(profile.Calls) {
			c.err = fmt.Errorf("stemma: what was measured is not exact: the record lacks %s (%d)", loss.Kind,
				loss.Count)
		}
	}
	return nil
}

// A measureAPI is what the runtime of a program provides that counts calls.
type measureAPI struct {
	Begin   func(lane uint32) (node uint32)
	Run     func(node uint32, f func(ctx context.Context), ctx context.Context)
	Below   func(top uint32, from uint64, list []layout.Measured) (n int, next uint64)
	Node    func(offset uint32) layout.Measured
	Count   func(list []layout.Measured, sum []uint64)
	Started func(top uint32) bool
	Lost    func() [len(layout.Header{}.Lost)]uint64
}

// measureRuntime is nil where calls are not counted, for the reason that runtimeAPI gives.
//
//go:linkname measureRuntime runtime.stemmaMeasureAPI1
var measureRuntime *measureAPI

// maxLanes is how many measurements can run at once. Of lanes in which goroutines were left, fewLanes are looked at for
// one measurement: each look is at all goroutines.
const (
	maxLanes = 1000
	fewLanes = 2
)

// A lane is what one measurement has at a time.
type lane struct {
	number uint32
	places map[uint32]*place // by the nodes where measurements began in it
	now    *place            // of the one that runs

	old    []uint64 // counters when it began, and when it ended
	counts []uint64
	lost   [len(layout.Header{}.Lost)]uint64
}

// A place is a node where measurements begin in a lane.
type place struct {
	node  uint32
	outer []layout.Measured // the nodes further out, from the root on
	inner []layout.Measured // those below, and the node itself
	next  uint64            // where nodes of the tree have not been looked at
}

// lanes that nobody has. Of those that were used last the next one is taken, so that contexts come again. Where
// goroutines still run, which the measurement has started, another one would count them.
var lanes struct {
	sync.Mutex
	made         uint32
	idle, waited []*lane // waited for goroutines when they were looked at
}

// borrowLane returns a lane in which nothing runs, nil if there is none.
func borrowLane() *lane {
	lanes.Lock()
	defer lanes.Unlock()
	for n := len(lanes.idle); n > 0; n = len(lanes.idle) {
		l := lanes.idle[n-1]
		lanes.idle = lanes.idle[:n-1]
		if !l.runs() {
			return l
		}
		lanes.waited = append(lanes.waited, l)
	}
	for range min(len(lanes.waited), fewLanes) {
		l := lanes.waited[0]
		lanes.waited = lanes.waited[1:]
		if !l.runs() {
			return l
		}
		lanes.waited = append(lanes.waited, l)
	}
	if lanes.made < maxLanes {
		lanes.made++
		return &lane{number: lanes.made, places: make(map[uint32]*place)}
	}
	return nil
}

// runs reports whether goroutines exist that the last measurement of the lane has started. A look at all goroutines
// misses one that is started behind it, by one that ends before it comes to that. Two looks miss them only if the first
// of these has begun to run, and ended, meanwhile: then it has counted that.
func (l *lane) runs() bool {
	p := l.now
	if p == nil {
		return false
	}
	p.look()
	l.old = p.count(l.old)
	for range 2 {
		if measureRuntime.Started(p.node) {
			return true
		}
	}
	p.look()
	l.counts = p.count(l.counts)
	return !slices.Equal(l.old, l.counts)
}

func (l *lane) giveBack() {
	lanes.Lock()
	defer lanes.Unlock()
	lanes.idle = append(lanes.idle, l)
}

// begin notes what the nodes below node have counted.
func (l *lane) begin(node uint32) {
	p := l.places[node]
	if p == nil {
		p = &place{node: node}
		for n := measureRuntime.Node(node); n.Parent != n.Offset; p.outer = append(p.outer, n) {
			n = measureRuntime.Node(n.Parent)
		}
		for i, j := 0, len(p.outer)-1; i < j; i, j = i+1, j-1 {
			p.outer[i], p.outer[j] = p.outer[j], p.outer[i]
		}
		l.places[node] = p
	}
	l.now, l.lost = p, measureRuntime.Lost()
	p.look()
	l.old = p.count(l.old)
}

// end returns what the nodes have counted since. A node that is newer had counted nothing.
func (l *lane) end() *Counts {
	p := l.now
	p.look()
	l.counts = p.count(l.counts)
	for i, n := range l.old {
		l.counts[i] -= n
	}
	c := &Counts{before: l.lost, after: measureRuntime.Lost()}
	c.nodes = append(make([]layout.Measured, 0, len(p.outer)+len(p.inner)), p.outer...)
	c.counts = make([][]uint64, len(p.outer), len(p.outer)+len(p.inner))
	c.nodes = append(c.nodes, p.inner...)
	rest := append([]uint64(nil), l.counts...)
	for _, n := range p.inner {
		words := int(n.Size / layout.CounterSize)
		c.counts = append(c.counts, rest[:words:words])
		rest = rest[words:]
	}
	return c
}

// look finds the nodes that have come.
func (p *place) look() {
	for {
		var buf [64]layout.Measured
		n, next := measureRuntime.Below(p.node, p.next, buf[:])
		p.inner, p.next = append(p.inner, buf[:n]...), next
		if n < len(buf) {
			return
		}
	}
}

// count returns the counters of all nodes below, one for each eight bytes of each. It uses sum if that is long enough.
func (p *place) count(sum []uint64) []uint64 {
	words := 0
	for _, n := range p.inner {
		words += int(n.Size / layout.CounterSize)
	}
	if cap(sum) < words {
		sum = make([]uint64, words, words+words/2)
	}
	sum = sum[:words]
	measureRuntime.Count(p.inner, sum)
	return sum
}
