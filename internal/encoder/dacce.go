package encoder

import (
	"fmt"
	"math"
	"time"
	"unsafe"
)

// A Policy is when [Dacce] re-encodes on its own; section 4 of the paper names
// the three reasons. The zero value never does.
type Policy struct {
	// NewEdges is how many edges that have no addition value yet may be met. It grows
	// to an eighth of the graph, so that large graphs are not numbered too often.
	NewEdges int
	// Check is the number of calls until a look at how they were distributed. If new
	// tables would make them cheaper by a share of Gain, because pushes fall away or
	// hot edges get 0, they come into force. If not, the next look is twice as far
	// away, since it costs what a re-encoding costs.
	Check uint64
	Gain  float64
}

// DefaultPolicy is what replay uses.
var DefaultPolicy = Policy{NewEdges: 10, Check: 10_000, Gain: 0.1}

// What a call costs in the estimate of Policy.Check, in units of an addition.
const (
	costAdd  = 1
	costPush = 10
)

// A Dacce encodes contexts by [Tables], which it replaces as it learns the graph:
// dynamic and adaptive calling context encoding (DACCE, CGO 2014).
//
// What the tables have no addition value for goes to the slow path: it pushes the caller's id, the site and the target
// to the goroutine's ccStack, and the callee begins a new path with id 0. Nothing is popped: the caller's frame has its
// own depth, and a later push overwrites.
//
// Differences from the paper. A capture interns the ccStack: each entry becomes a node with a parent, once, so that a
// context has a fixed size however deep the stack is. That takes the place of the count of repetitions (section 3.3),
// which only [NewDacceCounts] has: a recursion that nobody captures costs one store a level, and one that is captured
// shares its nodes. And ids above maxID, which mark that a path began on the stack, are not needed: a path has no
// cycle, so its first function occurs in it once, and to meet the target of the top entry is to be at the beginning.
// The injected code has ids for loops as well (rt/ids); here each level of a recursion is pushed.
//
// A goroutine begins with an entry that is interned already: the context of the
// go statement (section 5.3). It survives re-encodings as it is.
type Dacce struct {
	name     string
	p        *Program
	number   func(*Graph) Tables
	policy   Policy
	maxDepth uint32
	counts   bool // equal entries on top of each other are one, with a count
	graph    *Graph
	recent   []uint64 // calls of each edge since the last look
	unknown  int      // edges without a value that were met in this epoch
	interval uint64   // calls between looks at the weights, see Policy.Check
	nextLook uint64
	epochs   []Tables
	nodes    []ccNode // nodes[0] is the empty stack
	interned map[ccNode]uint32
	running  map[Goroutine]*dacceStack

	calls, pushes, depths, compares, truncated uint64
	deepest                                    uint32
	logBytes, maxID                            uint64
	encodeTime                                 time.Duration
}

// A dacceStack is one goroutine: its frames, whose state and depth the injected code
// keeps in the machine stack, and its ccStack.
type dacceStack struct {
	frames  []dacceFrame
	root    int // 1 if the first frame is that of Root
	ccStack []ccEntry
}

type dacceFrame struct {
	call  Call
	state uint64
	depth uint32 // entries of the ccStack that belong to this frame
	again uint32 // how often the last one of them is repeated
}

// A ccEntry is a call that is not encoded. The entries below it are those that the
// caller had.
type ccEntry struct {
	call  Call
	id    uint64 // of the caller
	below uint32 // how often the entry below is repeated
	node  uint32 // 0 until a capture needs it
	again uint32 // how often this entry is repeated where node stands for it
}

// A ccNode is an interned ccEntry.
type ccNode struct {
	parent uint32
	epoch  uint32 // of id
	id     uint64
	call   Call
	again  uint32 // how often the entry is repeated
}

// NewDacce returns the encoder with an addition value for each site, as programs have it, but without their ids for
// loops and with other triggers. Ids stay below limit.
func NewDacce(p *Program, policy Policy, limit uint64) *Dacce {
	return newDacce("dacce", p, policy, NewGraph(p), func(g *Graph) Tables { return NumberSites(g, limit) })
}

// NewDacceEdges returns the encoder of the paper, with an addition value for each edge, but for the differences that
// [Dacce] names. Ids stay below limit.
func NewDacceEdges(p *Program, policy Policy, limit uint64) *Dacce {
	return newDacce("dacce-edges", p, policy, NewGraph(p), func(g *Graph) Tables { return NumberEdges(g, limit) })
}

// NewDacceCounts returns [NewDacceEdges] with the paper's compressed recursion: an entry that is equal to the one
// below it, the same call with the same id, is not pushed but counted (section 3.3).
func NewDacceCounts(p *Program, policy Policy, limit uint64) *Dacce {
	d := NewDacceEdges(p, policy, limit)
	d.name, d.counts = "dacce-counts", true
	return d
}

// NewPCCE returns precise calling context encoding (PCCE, ICSE 2010) as the DACCE
// paper describes it in section 2: numbered once from the complete graph, without a profile.
func NewPCCE(p *Program, complete *Graph) *Dacce { return newStatic("pcce", p, complete, NumberStatic) }

// NewPCCEProfile returns PCCE as that paper's section 6.1 measures it: with a profile of the same input, which tells
// the targets of indirect calls, and by its weights which edges are frequent.
func NewPCCEProfile(p *Program, profile *Graph) *Dacce {
	return newStatic("pcce-profile", p, profile, NumberProfiled)
}

// newStatic returns an encoder that is numbered once.
func newStatic(name string, p *Program, known *Graph, number func(g *Graph, limit uint64) *EdgeTables) *Dacce {
	d := newDacce(name, p, Policy{}, known, func(g *Graph) Tables { return number(g, math.MaxInt64) })
	d.number = nil
	return d
}

// newDacce returns an encoder that begins with what is known of the graph.
func newDacce(name string, p *Program, policy Policy, known *Graph, number func(*Graph) Tables) *Dacce {
	d := &Dacce{
		name: name, p: p, number: number, policy: policy, maxDepth: MaxDepth, graph: known,
		recent: make([]uint64, len(known.Edges)),
		nodes:  make([]ccNode, 1), interned: make(map[ccNode]uint32),
		running: make(map[Goroutine]*dacceStack),
	}
	d.Start(Main)
	d.Reencode()
	return d
}

// Name implements [Encoder].
func (d *Dacce) Name() string { return d.name }

// Tables returns the tables that are in force.
func (d *Dacce) Tables() Tables { return d.epochs[len(d.epochs)-1] }

// Epoch returns the number of the tables that are in force.
func (d *Dacce) Epoch() uint32 { return uint32(len(d.epochs) - 1) }

// Word returns the word in the current frame of g. Only [NewDacce] keeps words.
func (d *Dacce) Word(g Goroutine) Word {
	f := d.running[g].top()
	return Word(f.state) | Word(f.depth)
}

func (s *dacceStack) top() dacceFrame { return s.frames[len(s.frames)-1] }

// Call implements [Encoder].
func (d *Dacce) Call(g Goroutine, site Site, callee Func) {
	c := Call{site, callee}
	s := d.running[g]
	d.enter(s, c)
	d.count(s, c)
	if d.number != nil && d.due() {
		d.Reencode()
	}
}

// enter is one call by the tables in force.
func (d *Dacce) enter(s *dacceStack, c Call) {
	from := s.top()
	if state, ok := d.Tables().Enter(from.state, c); ok {
		s.frames = append(s.frames, dacceFrame{c, state, from.depth, from.again})
		return
	}
	id := d.Tables().ID(from.state)
	if d.counts && s.repeats(c, id, from.depth) {
		s.frames = append(s.frames, dacceFrame{c, 0, from.depth, from.again + 1})
		return
	}
	s.push(ccEntry{call: c, id: id, below: from.again}, from.depth, d.maxDepth)
	depth := min(from.depth+1, d.maxDepth)
	s.frames = append(s.frames, dacceFrame{c, 0, depth, 0})
}

// repeats reports whether the last of a frame's entries is that of this call.
func (s *dacceStack) repeats(c Call, id uint64, depth uint32) bool {
	if depth == 0 || int(depth) > len(s.ccStack) {
		return false
	}
	last := s.ccStack[depth-1]
	return last.call == c && last.id == id
}

// push writes an entry behind the caller's. A full ccStack stays as it is: frames
// at the greatest depth have lost their context.
func (s *dacceStack) push(e ccEntry, depth, maxDepth uint32) {
	if depth+1 < maxDepth {
		s.ccStack = append(s.ccStack[:depth], e)
	}
}

// count keeps the figures, and the weights that a re-encoding goes by: it sees every call. The injected code counts
// calls on the slow path and pushes only, see ids.Dacce.Snapshot.
func (d *Dacce) count(s *dacceStack, c Call) {
	from, to := s.frames[len(s.frames)-2], s.top()
	caller, callee := from.depth, to.depth
	d.calls++
	d.depths += uint64(callee)
	d.deepest = max(d.deepest, callee)
	if d.Tables().Compares(c.Site) {
		d.compares++
	}
	if callee == d.maxDepth {
		d.truncated++
	}
	pushed := callee != caller || callee == d.maxDepth || to.again > from.again
	if pushed {
		d.pushes++
	}
	i, isNew := d.graph.Add(c)
	if isNew {
		d.recent = append(d.recent, 0)
	}
	if isNew && pushed {
		d.unknown++
	}
	d.recent[i]++
}

// due reports whether it is time to re-encode.
func (d *Dacce) due() bool {
	if d.policy.NewEdges > 0 && d.unknown >= max(d.policy.NewEdges, len(d.graph.Edges)/8) {
		return true
	}
	if d.policy.Check == 0 || d.calls < d.nextLook {
		return false
	}
	d.mergeWeights()
	now, then := d.cost(d.Tables()), d.cost(d.number(d.graph))
	if float64(then) < float64(now)*(1-d.policy.Gain) {
		return true
	}
	d.interval *= 2
	d.nextLook = d.calls + d.interval
	return false
}

// cost estimates what the calls that the weights stand for cost with some tables.
func (d *Dacce) cost(t Tables) uint64 {
	var sum uint64
	for _, e := range d.graph.Edges {
		state, ok := t.Enter(0, e.Call)
		switch {
		case !ok:
			sum += e.Weight * costPush
		case t.ID(state) != 0:
			sum += e.Weight * costAdd
		}
	}
	return sum
}

// mergeWeights adds what was counted lately to the weights, half of which it
// forgets each time.
func (d *Dacce) mergeWeights() {
	for i, n := range d.recent {
		e := &d.graph.Edges[i]
		e.Weight = e.Weight/2 + n
		d.recent[i] = 0
	}
}

// Reencode implements [Encoder]: it begins an epoch. All frames get the states and
// entries that they would have if they had been entered by the new tables.
// Contexts that were captured before keep their epoch.
func (d *Dacce) Reencode() {
	if d.number == nil {
		return
	}
	begin := time.Now()
	d.mergeWeights()
	t := d.number(d.graph)
	sizes := t.Sizes()
	d.logBytes += sizes.Bytes
	d.maxID = max(d.maxID, sizes.MaxNumCC-1)
	d.epochs = append(d.epochs, t)
	d.unknown, d.interval = 0, d.policy.Check
	d.nextLook = d.calls + d.interval
	for _, s := range d.running {
		d.rewrite(s)
	}
	d.encodeTime += time.Since(begin)
}

// rewrite enters all frames of a goroutine anew. The entry that it begins with is interned and has its own epoch.
func (d *Dacce) rewrite(s *dacceStack) {
	frames := s.frames
	s.frames = frames[:1]
	for _, f := range frames[1:] {
		d.enter(s, f.call)
	}
}

// Unwind implements [Encoder].
func (d *Dacce) Unwind(g Goroutine, depth int) {
	s := d.running[g]
	s.frames = s.frames[:s.root+depth]
}

// Start implements [Encoder].
func (d *Dacce) Start(g Goroutine) {
	d.running[g] = &dacceStack{frames: []dacceFrame{{}}, root: 1}
}

// Go implements [Encoder].
func (d *Dacce) Go(g Goroutine, site Site, entry Func, child Goroutine) {
	c := Call{site, entry}
	at := d.Capture(g)
	s := &dacceStack{frames: []dacceFrame{{c, 0, 1, 0}}}
	if at.Truncated {
		s.frames[0].depth = d.maxDepth
	} else {
		node := d.intern(ccNode{at.Node, at.Version, at.ID, c, 0})
		s.ccStack = []ccEntry{{call: c, id: at.ID, node: node}}
	}
	d.running[child] = s
}

// Exit implements [Encoder].
func (d *Dacce) Exit(g Goroutine) { delete(d.running, g) }

// Capture implements [Encoder]. It interns the entries that have no node yet, from the deepest that has one upwards.
func (d *Dacce) Capture(g Goroutine) Context {
	s := d.running[g]
	f := s.top()
	if f.depth == d.maxDepth {
		return Context{Func: f.call.Func, Truncated: true}
	}
	first := int(f.depth)
	for first > 0 && !s.isInterned(first-1, f) {
		first--
	}
	node := uint32(0)
	if first > 0 {
		node = s.ccStack[first-1].node
	}
	for i := first; i < int(f.depth); i++ {
		e := &s.ccStack[i]
		e.again = s.again(i, f)
		e.node = d.intern(ccNode{node, d.Epoch(), e.id, e.call, e.again})
		node = e.node
	}
	return Context{Func: f.call.Func, Version: d.Epoch(), ID: d.Tables().ID(f.state), Node: node}
}

// again returns how often entry i, one of the frame's, is repeated.
func (s *dacceStack) again(i int, f dacceFrame) uint32 {
	if i == int(f.depth)-1 {
		return f.again
	}
	return s.ccStack[i+1].below
}

// isInterned reports whether the node of entry i stands for it as the frame has it.
func (s *dacceStack) isInterned(i int, f dacceFrame) bool {
	e := s.ccStack[i]
	return e.node != 0 && e.again == s.again(i, f)
}

// intern returns the number of a node.
func (d *Dacce) intern(n ccNode) uint32 {
	i, ok := d.interned[n]
	if !ok {
		i = uint32(len(d.nodes))
		d.nodes = append(d.nodes, n)
		d.interned[n] = i
	}
	return i
}

// Decode implements [Encoder].
func (d *Dacce) Decode(c Context) ([]Call, error) {
	return DecodeDacce(c, d.p, d.epochs, d.node)
}

// node returns an interned entry in the form in which it is logged.
func (d *Dacce) node(n uint32) (e ccLogged, ok bool) {
	if int(n) >= len(d.nodes) {
		return ccLogged{}, false
	}
	i := d.nodes[n]
	caller := Context{Func: d.p.Sites[i.call.Site].Caller, Version: i.epoch, ID: i.id, Node: i.parent}
	return ccLogged{caller, i.call, i.again}, true
}

// A ccLogged is an interned entry as it is logged: the context of the caller, the call, and how often both
// are repeated.
type ccLogged struct {
	parent Context
	call   Call
	again  uint32
}

// DecodeDacce returns the calls that led to a context, outermost first. A path ends at the target of its ccStack's top
// entry, the context of whose caller node tells; the path of the empty stack ends at [Root]. Damaged tables are noticed
// when a path has more calls than there are functions.
func DecodeDacce(c Context, p *Program, epochs []Tables, node func(uint32) (e ccLogged, ok bool)) ([]Call, error) {
	if c.Truncated {
		return nil, &TruncatedError{c.Func}
	}
	var calls []Call
	begin := 0 // of the path, in calls
	repeated := uint32(0)
	for c.Node != 0 || c.Func != Root {
		e, ok := node(c.Node)
		parent, call := e.parent, e.call
		switch {
		case !ok:
			return nil, fmt.Errorf("there is no ccStack entry %d", c.Node)
		case c.Node != 0 && call.Func == c.Func:
			if c.ID != 0 {
				return nil, fmt.Errorf("function %d begins its path, but has id %d", c.Func, c.ID)
			}
			if parent.Node >= c.Node {
				return nil, fmt.Errorf("ccStack entry %d lies above %d", parent.Node, c.Node)
			}
			if begin = len(calls) + 1; repeated < e.again {
				repeated++
				parent.Node = c.Node
			} else {
				repeated = 0
			}
			c = parent
		case len(calls)-begin > p.Funcs:
			return nil, fmt.Errorf("epoch %d: the path to function %d has a cycle", c.Version, c.Func)
		case int(c.Version) >= len(epochs):
			return nil, fmt.Errorf("there is no epoch %d", c.Version)
		default:
			site, id, err := epochs[c.Version].Caller(c.Func, c.ID)
			if err != nil {
				return nil, fmt.Errorf("epoch %d: %w", c.Version, err)
			}
			call = Call{site, c.Func}
			c.Func, c.ID = p.Sites[site].Caller, id
		}
		calls = append(calls, call)
	}
	if c.ID != 0 {
		return nil, fmt.Errorf("id %d is left at the root", c.ID)
	}
	return reversed(calls), nil
}

// Stats implements [Encoder]. The log is the tables of all epochs, and the nodes.
func (d *Dacce) Stats() Stats {
	s := Stats{
		Calls: d.calls, Nodes: d.graph.Nodes(), Edges: len(d.graph.Edges),
		StackOps: d.pushes, StackMax: d.deepest, Compares: d.compares,
		Epochs: len(d.epochs), Interned: len(d.nodes) - 1, Truncated: d.truncated,
	}
	sizes := d.Tables().Sizes()
	s.Encoded, s.LeftOut, s.NumCC, s.MaxID = sizes.Encoded, sizes.LeftOut, sizes.NumCC, d.maxID
	s.EncodeTime = d.encodeTime
	if d.calls > 0 {
		s.StackMean = float64(d.depths) / float64(d.calls)
	}
	node := uint64(unsafe.Sizeof(ccNode{}))
	s.LogEntries = uint64(len(d.epochs) + len(d.nodes) - 1)
	s.LogBytes = d.logBytes + node*uint64(s.Interned)
	s.Bytes = sizes.Bytes + (node+mapEntry(node+4))*uint64(s.Interned) + edgeBytes*uint64(s.Edges)
	return s
}

// edgeBytes is what an edge of a [Graph] takes, with its index and recent calls.
const edgeBytes = uint64(unsafe.Sizeof(Edge{})) + 16 + 8

// mapEntry estimates the bytes that a map takes for an entry of so many bytes.
func mapEntry(bytes uint64) uint64 { return bytes * 8 / 6 }
