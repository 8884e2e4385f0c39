package profile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// Samples is what a sampling engine recorded: a calling context tree whose
// nodes are physical stack frames, with the time that was spent in each.
type Samples struct {
	Places []Place      // Places[0] is the root's, without frames
	Nodes  []SampleNode // Nodes[0] is the root; a parent comes before its children
}

// A Place describes an address in the program: the function, and the calls
// that are inlined there. Frames are innermost first.
type Place struct{ Frames []PlaceFrame }

// A PlaceFrame is one of the functions at a place. All but Line and Start are
// indexes into Strings. The name of a pseudo-place is in brackets, as [truncated].
type PlaceFrame struct {
	Func, File uint32
	Line       uint32 // where execution was, or where the next frame is called
	Start      uint32 // of the func keyword, 0 if not known
}

// A SampleNode is one stack frame in one context.
type SampleNode struct {
	Parent uint32 // the frame that called it; less than the node's own index, the root's is 0
	Place  uint32
	Weight [NumWeights]uint64
}

// Weights of a node, of itself and not of what it called. Times are in
// nanoseconds; a sample stands for as much time as it is the only witness of.
const (
	WeightCPU   = iota // time on CPU
	WeightCPUs         // samples on CPU
	WeightWait         // time of waiting goroutines
	WeightWaits        // samples of waiting goroutines
	NumWeights
)

// Sampling tells how a process was sampled.
type Sampling struct {
	Sampler  string // "stw", "sps" or "isps"
	Walk     string // "unwinder", "fp", "incremental" or "marker"
	Ask      string // "signal": at any instruction; "guard": in function prologues
	Interval time.Duration
	Stats    []Loss   // what the sampler counted, without zero entries
	Latency  []Bucket // samples by the time from request to end, ascending
}

// A Bucket counts samples with at least a latency, and less than the next bucket's.
type Bucket struct {
	Floor time.Duration
	Count uint64
}

// Values of Sampling.Ask.
const (
	AskSignal = "signal"
	AskGuard  = "guard"
)

// guardBias is a note on every process that was sampled in function prologues.
const guardBias = "samples are biased: they were taken in function prologues (-ask=guard), so that time in loops, assembly, the runtime and system calls is charged to the function that is called next"

// Stat returns a counter of the sampler by its name, 0 if it has none.
func (s *Sampling) Stat(name string) uint64 {
	for _, st := range s.Stats {
		if st.Kind == name {
			return st.Count
		}
	}
	return 0
}

// Quantile returns the latency that a share q of the samples did not exceed,
// as exactly as the buckets tell: the floor of the bucket.
func (s *Sampling) Quantile(q float64) time.Duration {
	var all, sum uint64
	for _, b := range s.Latency {
		all += b.Count
	}
	for _, b := range s.Latency {
		if sum += b.Count; float64(sum) >= q*float64(all) {
			return b.Floor
		}
	}
	return 0
}

// Total returns the sum of a weight over all nodes.
func (s *Samples) Total(weight int) uint64 {
	var sum uint64
	for i := range s.Nodes {
		sum += s.Nodes[i].Weight[weight]
	}
	return sum
}

// check returns the first rule that s breaks.
func (s *Samples) check(strings int) error {
	if len(s.Places) == 0 || len(s.Places[0].Frames) != 0 || len(s.Nodes) == 0 {
		return fmt.Errorf("samples: no root")
	}
	for i, pl := range s.Places {
		if i > 0 && len(pl.Frames) == 0 {
			return fmt.Errorf("samples: place %d has no frames", i)
		}
		for _, f := range pl.Frames {
			if uint64(f.Func) >= uint64(strings) || uint64(f.File) >= uint64(strings) {
				return fmt.Errorf("samples: place %d: function %d or file %d is not one of %d strings", i, f.Func, f.File, strings)
			}
		}
	}
	for i, n := range s.Nodes {
		switch {
		case uint64(n.Place) >= uint64(len(s.Places)) || (n.Place == 0) != (i == 0):
			return fmt.Errorf("samples: node %d: place %d is not one of %d", i, n.Place, len(s.Places))
		case i > 0 && int64(n.Parent) >= int64(i) || i == 0 && n.Parent != 0:
			return fmt.Errorf("samples: node %d: parent %d does not come before it", i, n.Parent)
		}
	}
	return nil
}

// Sections of the sealed file: samples are a section of their own, which only
// profiles with samples have.
const secSamples = 7

// encodeSamples appends the section: how each process was sampled, then places and
// nodes.
func (p *Profile) encodeSamples(e *encoder) {
	for _, proc := range p.Processes {
		s := proc.Sampling
		if s == nil {
			e.uint(0)
			continue
		}
		e.uint(1)
		e.string(s.Sampler)
		e.string(s.Walk)
		e.string(s.Ask)
		e.uint(uint64(s.Interval))
		e.uint(uint64(len(s.Stats)))
		for _, st := range s.Stats {
			e.string(st.Kind)
			e.uint(st.Count)
		}
		e.uint(uint64(len(s.Latency)))
		for _, b := range s.Latency {
			e.uint(uint64(b.Floor))
			e.uint(b.Count)
		}
	}
	e.uint(uint64(len(p.Samples.Places)))
	for i := range p.Samples.Places {
		p.Samples.Places[i].encode(e)
	}
	e.uint(uint64(len(p.Samples.Nodes)))
	for i, n := range p.Samples.Nodes {
		e.u32(n.Place, uint32(i)-n.Parent)
		for _, w := range n.Weight {
			e.uint(w)
		}
	}
}

func (pl *Place) encode(e *encoder) {
	e.uint(uint64(len(pl.Frames)))
	for _, f := range pl.Frames {
		e.u32(f.Func, f.File, f.Line, f.Start)
	}
}

// decodeSamples is the inverse of encodeSamples.
func (p *Profile) decodeSamples(d *decoder) {
	for i := range p.Processes {
		if d.upTo(1, "sampling") == 0 {
			continue
		}
		s := &Sampling{Sampler: d.string("sampler"), Walk: d.string("walk"), Ask: d.string("ask")}
		s.Interval = time.Duration(d.upTo(1<<63-1, "interval"))
		for range d.count(2, "stats") {
			s.Stats = append(s.Stats, Loss{d.string("stat"), d.uint()})
		}
		for range d.count(2, "latencies") {
			s.Latency = append(s.Latency, Bucket{time.Duration(d.upTo(1<<63-1, "latency")), d.uint()})
		}
		p.Processes[i].Sampling = s
	}
	s := &Samples{Places: make([]Place, 0, d.count(1, "places"))}
	for range cap(s.Places) {
		var pl Place
		for range d.count(4, "frames") {
			pl.Frames = append(pl.Frames, PlaceFrame{d.u32("function"), d.u32("file"), d.u32("line"), d.u32("start line")})
		}
		s.Places = append(s.Places, pl)
	}
	n := d.count(2+NumWeights, "nodes")
	s.Nodes = make([]SampleNode, 0, n)
	for i := 0; i < n && d.err == nil; i++ {
		node := SampleNode{Place: d.u32("place")}
		node.Parent = uint32(i) - uint32(d.upTo(uint64(i), "distance to the parent"))
		for w := range node.Weight {
			node.Weight[w] = d.uint()
		}
		s.Nodes = append(s.Nodes, node)
	}
	p.Samples = s
}

// A sampleIndex finds nodes by parent and place, and adds them.
type sampleIndex struct {
	s     *Samples
	nodes map[[2]uint32]uint32
}

// node returns the node of place below parent.
func (x *sampleIndex) node(parent, place uint32) uint32 {
	key := [2]uint32{parent, place}
	n, ok := x.nodes[key]
	if !ok {
		n = uint32(len(x.s.Nodes))
		x.s.Nodes = append(x.s.Nodes, SampleNode{Parent: parent, Place: place})
		x.nodes[key] = n
	}
	return n
}

// A sampleMerger adds the samples of several profiles. Places are the same if they read
// the same.
type sampleMerger struct {
	sampleIndex
	places map[string]uint32
}

func newSampleMerger() *sampleMerger {
	s := &Samples{Places: make([]Place, 1), Nodes: make([]SampleNode, 1)}
	return &sampleMerger{sampleIndex{s, make(map[[2]uint32]uint32)}, map[string]uint32{"": 0}}
}

// add adds the samples of p; intern returns a string's index in the sum.
func (m *sampleMerger) add(p *Profile, intern func(string) uint32) {
	places := make([]uint32, len(p.Samples.Places))
	for i, pl := range p.Samples.Places {
		c := Place{slices.Clone(pl.Frames)}
		for k := range c.Frames {
			f := &c.Frames[k]
			f.Func, f.File = intern(p.String(f.Func)), intern(p.String(f.File))
		}
		if i > 0 {
			places[i] = m.place(c)
		}
	}
	nodes := make([]uint32, len(p.Samples.Nodes))
	for i, n := range p.Samples.Nodes {
		if i > 0 {
			nodes[i] = m.node(nodes[n.Parent], places[n.Place])
		}
		for w, v := range n.Weight {
			m.s.Nodes[nodes[i]].Weight[w] += v
		}
	}
}

// place returns the index of a place, by its contents.
func (m *sampleMerger) place(pl Place) uint32 {
	var e encoder
	pl.encode(&e)
	i, ok := m.places[string(e)]
	if !ok {
		i = uint32(len(m.s.Places))
		m.s.Places = append(m.s.Places, pl)
		m.places[string(e)] = i
	}
	return i
}

// remap replaces the strings of all places, by index.
func (s *Samples) remap(to func(uint32) uint32) {
	for i := range s.Places {
		for k := range s.Places[i].Frames {
			f := &s.Places[i].Frames[k]
			f.Func, f.File = to(f.Func), to(f.File)
		}
	}
}

// sort brings places into the order of their texts, and nodes into depth-first order,
// children by place.
func (s *Samples) sort(str func(uint32) string) {
	keys := make([]string, len(s.Places))
	for i, pl := range s.Places {
		for k := len(pl.Frames) - 1; k >= 0; k-- {
			f := pl.Frames[k]
			keys[i] += fmt.Sprintf("%s\x00%s\x00%08d %08d\x00", str(f.Func), str(f.File), f.Line, f.Start)
		}
	}
	order := ascending(len(s.Places))
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(keys[a], keys[b]) })
	places, place := make([]Place, len(order)), make([]uint32, len(order))
	for to, from := range order {
		places[to], place[from] = s.Places[from], uint32(to)
	}
	s.Places = places
	for i := range s.Nodes {
		s.Nodes[i].Place = place[s.Nodes[i].Place]
	}
	children := make([][]uint32, len(s.Nodes))
	for i, n := range s.Nodes[1:] {
		children[n.Parent] = append(children[n.Parent], uint32(i+1))
	}
	nodes := make([]SampleNode, 0, len(s.Nodes))
	type visit struct{ from, parent uint32 }
	for stack := []visit{{}}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		to := uint32(len(nodes))
		n := s.Nodes[v.from]
		n.Parent = v.parent
		nodes = append(nodes, n)
		kids := children[v.from]
		slices.SortFunc(kids, func(a, b uint32) int { return cmp.Compare(s.Nodes[b].Place, s.Nodes[a].Place) })
		for _, k := range kids {
			stack = append(stack, visit{k, to})
		}
	}
	s.Nodes = nodes
}

// ascending returns the numbers below n.
func ascending(n int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = uint32(i)
	}
	return list
}

// statLosses are the counters of the sampler that mean that something is missing, and the kinds
// of loss that they are.
var statLosses = map[int]string{
	rt.StatNodes:      LossSampleNodes,
	rt.StatPlaces:     LossPlaces,
	rt.StatFailed:     LossTruncated,
	rt.StatLostStacks: LossTraces,
	rt.StatPending:    LossPending,
	rt.StatMismatches: LossMismatches,
}

// Subtract takes the samples of an earlier reading of the same live directory
// away from p, so that what is left are those in between. Calls and counters of the sampler
// stay as they are.
func (p *Profile) Subtract(earlier *Profile) {
	if p.Samples == nil || earlier.Samples == nil {
		return
	}
	m := newSampleMerger()
	strs := make(map[string]uint32)
	for i, s := range p.Strings {
		strs[s] = uint32(i)
	}
	intern := func(s string) uint32 {
		i, ok := strs[s]
		if !ok {
			i = uint32(len(p.Strings))
			p.Strings = append(p.Strings, s)
			strs[s] = i
		}
		return i
	}
	m.add(p, intern)
	minus := &Samples{Places: earlier.Samples.Places, Nodes: slices.Clone(earlier.Samples.Nodes)}
	for i := range minus.Nodes {
		for w := range minus.Nodes[i].Weight {
			minus.Nodes[i].Weight[w] = -minus.Nodes[i].Weight[w]
		}
	}
	m.add(&Profile{Strings: earlier.Strings, Samples: minus}, intern)
	p.Samples = m.s
}
