package encoder

import (
	"math"
	"unsafe"
)

// A Lucce encodes contexts lazily and without a stack (Lucce, Salnikov-Tarnovski and Vojdani). A context
// is an id and a version of the call graph. The graph is numbered while it is
// found out: entering a function by a new edge gives the edge the ids behind those
// that the function has. Every change is logged, and a version is a place in the
// log, so that an old context is decoded by the graph of its time.
//
// # Versions
//
// Algorithm 1 stores the version v of the caller's frame as lv(p) at each call.
// Taken literally, two frames that take turns change lv(p) for ever, and the log
// never ends. Here lv(p) belongs to one version only: the one that the callee gets,
// v'. So a pair (edge, v) has one v', which it keeps: it is looked up, not logged,
// when the call is repeated. And no version is needed where v itself will do: if
//
//   - v has the edge,
//   - the caller's id is in the edge's interval in v, and
//   - v is not the version whose lv is that of the caller (recursion),
//
// then the callee gets v. Decoding goes from callee to caller within one version
// until it comes to the function whose lv the version has, and there goes to the
// older one.
//
// The callee is numbered anew only when the caller's id needs it, and its in-edges
// keep their values until then, so that ids are always below numCC. Algorithm 1
// takes the values of the newest version, where an edge that stands behind a
// recursive one can get an id that another edge has.
//
// A version in which an edge was missed that a newer one has is stale: the calls
// that lead to it get a new version when they are repeated. So after all edges
// were found, versions settle.
//
// # Limits
//
// In recursion numCC can double with each level. An id that would reach the limit
// begins again at 0, in a version of its own that shows where it came from. And
// a log that has reached its budget takes no more versions: frames that need
// one are truncated, with all that they call.
type Lucce struct {
	p       *Program
	graph   *versionedGraph
	budget  int
	steps   map[stepKey]step
	rebased map[rebaseKey]uint32
	stale   map[uint32]bool
	lucceStacks

	calls, truncated uint64
	numCC, maxID     uint64
}

// lucceStacks are the frames of all goroutines.
type lucceStacks map[Goroutine]*lucceStack

// Unwind implements [Encoder].
func (l lucceStacks) Unwind(g Goroutine, depth int) { l[g].frames = l[g].frames[:l[g].root+depth] }

// Start implements [Encoder]. At Root both values are 0.
func (l lucceStacks) Start(g Goroutine) { l[g] = &lucceStack{make([]lucceFrame, 1), 1} }

// Exit implements [Encoder].
func (l lucceStacks) Exit(g Goroutine) { delete(l, g) }

// Reencode implements [Encoder]: there are no epochs.
func (l lucceStacks) Reencode() {}

// Capture implements [Encoder].
func (l lucceStacks) Capture(g Goroutine) Context {
	f := l[g].frames[len(l[g].frames)-1]
	if f.lost {
		return Context{Func: f.f, Truncated: true}
	}
	return Context{Func: f.f, Version: f.v, ID: f.id}
}

type lucceStack struct {
	frames []lucceFrame
	root   int // 1 if the first frame is that of Root
}

// The frame's two values (section 4). A lost frame has no context.
type lucceFrame struct {
	f    Func
	id   uint64
	v    uint32
	lost bool
}

// A stepKey is an edge and the version of the caller's frame.
type stepKey struct {
	call Call
	v    uint32
}

// A step is what a call adds, the end of the edge's interval, and the version of
// the callee's frame.
type step struct {
	av, end uint64
	v       uint32
}

type rebaseKey struct {
	stepKey
	id uint64
}

// Defaults of Lucce: ids have 63 bits, the log a million entries.
const (
	LucceLimit  = math.MaxInt64
	LucceBudget = 1 << 20
)

// NewLucce returns the encoder. Ids stay below limit, the log within budget.
func NewLucce(p *Program, limit uint64, budget int) *Lucce {
	l := &Lucce{
		p: p, graph: newVersionedGraph(p, limit), budget: budget,
		steps: make(map[stepKey]step), rebased: make(map[rebaseKey]uint32), stale: make(map[uint32]bool),
		lucceStacks: make(lucceStacks), numCC: 1,
	}
	l.Start(Main)
	return l
}

// Name implements [Encoder].
func (l *Lucce) Name() string { return "lucce-versions" }

// Call implements [Encoder].
func (l *Lucce) Call(g Goroutine, site Site, callee Func) {
	s := l.lucceStacks[g]
	s.frames = append(s.frames, l.enter(s, Call{site, callee}))
}

// Go implements [Encoder]. A go statement is an edge like any other.
func (l *Lucce) Go(g Goroutine, site Site, entry Func, child Goroutine) {
	l.lucceStacks[child] = &lucceStack{[]lucceFrame{l.enter(l.lucceStacks[g], Call{site, entry})}, 0}
}

// enter returns the callee's frame.
func (l *Lucce) enter(s *lucceStack, c Call) lucceFrame {
	from := s.frames[len(s.frames)-1]
	to := lucceFrame{f: c.Func, lost: true}
	if !from.lost {
		to = l.update(from, c)
	}
	l.calls++
	l.maxID = max(l.maxID, to.id)
	if to.lost {
		l.truncated++
	}
	return to
}

// update is Algorithm 1, behind a look at the steps that are known.
func (l *Lucce) update(from lucceFrame, c Call) lucceFrame {
	l.graph.grow()
	key := stepKey{c, from.v}
	s, ok := l.steps[key]
	if !ok || from.id >= s.end-s.av || l.stale[s.v] && s.v != from.v {
		if s, ok = l.stay(from, c); !ok {
			s, ok = l.change(from, c)
		}
		if !ok {
			return l.rebase(from, c)
		}
		l.steps[key] = s
	}
	return lucceFrame{f: c.Func, id: from.id + s.av, v: s.v}
}

// stay returns the step that leaves the callee in the caller's version, if that
// can be decoded.
func (l *Lucce) stay(from lucceFrame, c Call) (step, bool) {
	if from.v == 0 {
		return step{}, false
	}
	last := l.graph.log[from.v-1]
	av, end, ok := l.graph.interval(c, from.v)
	if !ok || last.Kind == LogCaller && last.Func == from.f || l.graph.begins(from.v, c.Func, from.id+av) {
		return step{}, false
	}
	return step{av, end, from.v}, from.id < end-av
}

// change brings the graph up to date and returns the step to a version of its
// own, unless the id would reach the limit or the log is full.
func (l *Lucce) change(from lucceFrame, c Call) (step, bool) {
	if !l.room() {
		return step{}, false
	}
	known := l.addEdge(c)
	av, end, ok := l.graph.interval(c, l.graph.version())
	grow := !ok || from.id >= end-av
	if grow {
		// The new interval holds the id, unless it is cut at the limit: the caller's id
		// is below the caller's numCC.
		if av, end = l.graph.next(c); from.id >= end-av {
			return step{}, false
		}
		l.renumber(c.Func)
	}
	if !known || !grow && !l.fits(from, c) {
		l.stale[from.v] = true
	}
	l.record(LogEntry{Kind: LogCaller, Func: from.f, Version: from.v})
	return step{av, end, l.graph.version()}, true
}

// fits reports whether the callee has an id in the caller's version.
func (l *Lucce) fits(from lucceFrame, c Call) bool {
	av, end, ok := l.graph.interval(c, from.v)
	return ok && from.id < end-av
}

// addEdge adds an edge to the newest version, and reports whether it was there.
func (l *Lucce) addEdge(c Call) bool {
	_, known := l.graph.edge(c)
	if !known {
		l.record(LogEntry{Kind: LogEdge, Call: c})
	}
	return known
}

// rebase gives the callee id 0 in a version of its own. The frame is lost if the
// log is full.
func (l *Lucce) rebase(from lucceFrame, c Call) lucceFrame {
	key := rebaseKey{stepKey{c, from.v}, from.id}
	v, ok := l.rebased[key]
	if !ok {
		if !l.room() {
			return lucceFrame{f: c.Func, lost: true}
		}
		l.addEdge(c)
		if l.graph.numCC(c.Func, l.graph.version()) == 0 {
			l.renumber(c.Func)
		}
		l.record(LogEntry{Kind: LogRebase, Call: c, Value: from.id, Version: from.v})
		v = l.graph.version()
		l.rebased[key] = v
	}
	return lucceFrame{f: c.Func, v: v}
}

// renumber numbers the in-edges of a function anew.
func (l *Lucce) renumber(f Func) {
	old, value := l.graph.numCC(f, l.graph.version()), l.graph.sum(f)
	l.record(LogEntry{Kind: LogNumCC, Func: f, Value: value})
	l.numCC = addCapped(l.numCC, value-old)
}

// room reports whether the log takes the entries of one more update.
func (l *Lucce) room() bool { return len(l.graph.log)+3 <= l.budget }

// record appends to the log. That an entry is refused would be a mistake here.
func (l *Lucce) record(e LogEntry) {
	if err := l.graph.record(e); err != nil {
		panic(err)
	}
}

// Decode implements [Encoder].
func (l *Lucce) Decode(c Context) ([]Call, error) { return decodeLucce(l.graph, c) }

func decodeLucce(g *versionedGraph, c Context) ([]Call, error) {
	if c.Truncated {
		return nil, &TruncatedError{c.Func}
	}
	return g.decode(c.Func, c.ID, c.Version)
}

// Stats implements [Encoder].
func (l *Lucce) Stats() Stats {
	nodes := 1
	for _, h := range l.graph.funcs {
		nodes += min(1, len(h.in))
	}
	const perStep = uint64(unsafe.Sizeof(stepKey{}) + unsafe.Sizeof(step{}))
	return Stats{
		Calls: l.calls, Nodes: nodes, Edges: l.graph.edges, Encoded: l.graph.edges, NumCC: l.numCC, MaxID: l.maxID,
		Epochs: len(l.graph.log), LogEntries: uint64(len(l.graph.log)), LogBytes: l.graph.bytes,
		Bytes:     l.graph.memory() + mapEntry(perStep)*uint64(len(l.steps)) + mapEntry(28)*uint64(len(l.rebased)),
		Truncated: l.truncated,
	}
}
