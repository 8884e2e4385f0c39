package export

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"maps"
	"math/bits"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
)

// # Millions of samples
//
// Package pprof keeps each sample in memory, with a list of pointers: of ten million contexts these are ten gigabytes.
// A stream writes each sample at once. In the format a profile is a message whose parts may come in any order, so that
// the functions, locations and strings that samples refer to follow behind them.

// MostFrames is how many frames the samples of a file in the format pprof may have in all, so that go tool pprof opens
// it: with a file of all frames of a large record it had 4 GB after minutes.
const MostFrames = 32 << 20

// Openable returns the least power of two by which t has to be trimmed, so that its contexts have no more than some
// frames; 1 if they have not.
func Openable(t *cct.Tree, most uint64) uint64 {
	below, depth := t.Inclusive(), make([]uint32, len(t.Nodes))
	var frames [65]uint64 // of contexts by the length of what is below them, in bits
	all := uint64(0)
	for i, n := range t.Nodes {
		if i == 0 {
			continue
		}
		if depth[i] = depth[n.Parent] + 1; n.Count > 0 {
			frames[bits.Len64(below[i])] += uint64(depth[i])
			all += uint64(depth[i])
		}
	}
	least := 0
	for all > most {
		least++
		all -= frames[least]
	}
	return 1 << least
}

// A message is one of protocol buffers.
type message []byte

// number appends a field with a number. Where there is none a reader takes 0.
func (m *message) number(field int, v uint64) {
	if v != 0 {
		*m = binary.AppendUvarint(binary.AppendUvarint(*m, uint64(field)<<3), v)
	}
}

// bytes appends a field with bytes: of a string, of numbers, or of a message.
func (m *message) bytes(field int, b []byte) {
	*m = binary.AppendUvarint(binary.AppendUvarint(*m, uint64(field)<<3|2), uint64(len(b)))
	*m = append(*m, b...)
}

// flag appends a field that is true or false.
func (m *message) flag(field int, v bool) {
	if v {
		m.number(field, 1)
	}
}

// A chain is a frame with those that it is inlined into, which is a location of pprof.
type chain struct {
	outer uint32 // the chain that it is inlined into, 0 for none
	fn    uint32 // an index into functions
	line  int
}

// A function is what a frame is of.
type function struct {
	name, file string
	line       int
}

// An interner numbers what is new, from 0 on.
type interner[T comparable] struct {
	list  []T
	index map[T]uint32
}

func (x *interner[T]) of(v T) uint32 {
	i, ok := x.index[v]
	if !ok {
		if x.index == nil {
			x.index = make(map[T]uint32)
		}
		i = uint32(len(x.list))
		x.index[v] = i
		x.list = append(x.list, v)
	}
	return i
}

// A stream writes the samples of trees. Functions and locations get their numbers, from 1 on, when a sample first needs
// them.
type stream struct {
	zw        *gzip.Writer
	err       error
	strings   interner[string]
	functions interner[function]
	chains    interner[chain]

	functionIDs, locationIDs []uint64 // numbers, 0 where there is none yet
	usedFunctions, usedChain []uint32 // in the order of their numbers

	sample, packed, all message // what is being put together
}

// newStream returns a stream to w. What two samples have in common is most of both, and any compression finds it: the
// fastest does.
func newStream(w io.Writer) *stream {
	zw, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	s := &stream{zw: zw, err: err}
	s.strings.of("")
	s.chains.of(chain{line: -1}) // none
	return s
}

// text returns the number of a string.
func (s *stream) text(v string) uint64 { return uint64(s.strings.of(v)) }

// location returns the number of the location that a chain is.
func (s *stream) location(c uint32) uint64 {
	if int(c) < len(s.locationIDs) && s.locationIDs[c] != 0 {
		return s.locationIDs[c]
	}
	s.locationIDs = append(s.locationIDs, make([]uint64, len(s.chains.list)-len(s.locationIDs))...)
	s.functionIDs = append(s.functionIDs, make([]uint64, len(s.functions.list)-len(s.functionIDs))...)
	s.usedChain = append(s.usedChain, c)
	id := uint64(len(s.usedChain))
	s.locationIDs[c] = id
	for ; c != 0; c = s.chains.list[c].outer {
		if fn := s.chains.list[c].fn; s.functionIDs[fn] == 0 {
			s.usedFunctions = append(s.usedFunctions, fn)
			s.functionIDs[fn] = uint64(len(s.usedFunctions))
		}
	}
	return id
}

// write appends a field of the profile.
func (s *stream) write(field int, m message) {
	s.all = s.all[:0]
	s.all.bytes(field, m)
	if s.err == nil {
		_, s.err = s.zw.Write(s.all)
	}
}

// tree writes a sample for each context of t with a value, which is value k of n.
func (s *stream) tree(t *cct.Tree, k, n int) {
	x := &stackWalk{walk: newWalk(t), s: s, functions: make([]uint32, len(t.Funcs)), frames: []openFrame{{}}}
	x.goStart = s.chains.of(chain{fn: s.functions.of(function{name: GoStart})})
	for i, f := range t.Funcs {
		x.functions[i] = s.functions.of(function{f.Name, f.File, f.Line})
		x.marked = x.marked || f.Label.Key != ""
	}
	x.marked = x.marked || slices.ContainsFunc(t.Nodes, func(n cct.Node) bool { return n.Fold != 0 })
	for i := range t.Nodes {
		if t.Nodes[i].Count == 0 {
			continue
		}
		x.enter(uint32(i))
		s.sample, s.packed = s.sample[:0], s.packed[:0]
		s.packed = binary.AppendUvarint(s.packed, s.location(x.innermost(uint32(i))))
		for _, c := range slices.Backward(x.outer) {
			s.packed = binary.AppendUvarint(s.packed, s.location(c))
		}
		s.sample.bytes(1, s.packed)
		s.packed = s.packed[:0]
		for at := range n {
			v := uint64(0)
			if at == k {
				v = t.Nodes[i].Count
			}
			s.packed = binary.AppendUvarint(s.packed, v)
		}
		s.sample.bytes(2, s.packed)
		if x.marked {
			s.labels(x.labels(uint32(i)))
		}
		s.write(2, s.sample)
	}
}

// labels appends the labels of a sample.
func (s *stream) labels(of map[string][]string) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		for _, v := range of[key] {
			var m message
			m.number(1, s.text(key))
			m.number(2, s.text(v))
			s.sample.bytes(3, m)
		}
	}
}

// A stackWalk is a walk that has the locations of the path.
type stackWalk struct {
	*walk
	s         *stream
	functions []uint32 // of the stream, for those of the tree
	goStart   uint32   // a chain
	frames    []openFrame
	outer     []uint32 // chains outside of the innermost node, outermost first
	marked    bool     // there are labels, or nodes where recursion was folded
}

// An openFrame is what a node of the path lies in.
type openFrame struct {
	chain uint32 // what it is inlined into
	outer int    // how many chains are outside of that
}

// enter makes the path that of context n.
func (x *stackWalk) enter(n uint32) {
	kept := x.to(n)
	x.frames = x.frames[:kept]
	x.outer = x.outer[:x.frames[kept-1].outer]
	for k := kept; k < len(x.path); k++ {
		site, f := x.t.Sites[x.t.Nodes[x.path[k]].Site], x.frames[k-1]
		c := uint32(0)
		if up := x.path[k-1]; up != 0 {
			c = x.s.chains.of(chain{f.chain, x.functions[x.t.Nodes[up].Func], site.Line})
		}
		if site.Via == cct.ViaInlined {
			x.frames = append(x.frames, openFrame{c, f.outer})
			continue
		}
		if c != 0 {
			x.outer = append(x.outer, c)
		}
		if site.Via == cct.ViaGo {
			x.outer = append(x.outer, x.goStart)
		}
		x.frames = append(x.frames, openFrame{0, len(x.outer)})
	}
}

// innermost returns the chain of context n, at its function's beginning.
func (x *stackWalk) innermost(n uint32) uint32 {
	fn := x.t.Nodes[n].Func
	return x.s.chains.of(chain{x.frames[len(x.frames)-1].chain, x.functions[fn], x.t.Funcs[fn].Line})
}

// labels returns the labels of context n, and where on its path recursion was folded.
func (x *stackWalk) labels(n uint32) map[string][]string {
	s := new(pprof.Sample)
	for key, value := range x.t.LabelsOf(n) {
		setLabel(s, key, value)
	}
	for _, at := range slices.Backward(x.path) {
		if node := x.t.Nodes[at]; node.Fold != 0 {
			mark(s, node.Fold, x.t.Funcs[node.Func].Name)
		}
	}
	return s.Label
}

// end writes what samples refer to, and what head has but samples, locations and functions.
func (s *stream) end(head *pprof.Profile) error {
	types := func(t *pprof.ValueType) (m message) {
		m.number(1, s.text(t.Type))
		m.number(2, s.text(t.Unit))
		return m
	}
	for _, t := range head.SampleType {
		s.write(1, types(t))
	}
	for _, f := range head.Mapping {
		var m message
		m.number(1, f.ID)
		m.number(5, s.text(f.File))
		m.flag(7, f.HasFunctions)
		m.flag(8, f.HasFilenames)
		m.flag(9, f.HasLineNumbers)
		m.flag(10, f.HasInlineFrames)
		s.write(3, m)
	}
	for i, c := range s.usedChain {
		var m message
		m.number(1, uint64(i+1))
		for ; c != 0; c = s.chains.list[c].outer {
			var line message
			line.number(1, s.functionIDs[s.chains.list[c].fn])
			line.number(2, uint64(s.chains.list[c].line))
			m.bytes(4, line)
		}
		s.write(4, m)
	}
	x := pprofExporter{out: new(pprof.Profile)}
	for _, i := range s.usedFunctions {
		f := x.newFunction(s.functions.list[i].name, s.functions.list[i].file, s.functions.list[i].line)
		var m message
		m.number(1, f.ID)
		m.number(2, s.text(f.Name))
		m.number(3, s.text(f.SystemName))
		m.number(4, s.text(f.Filename))
		m.number(5, uint64(f.StartLine))
		s.write(5, m)
	}
	var rest message
	rest.number(9, uint64(head.TimeNanos))
	rest.number(10, uint64(head.DurationNanos))
	rest.bytes(11, types(head.PeriodType))
	rest.number(12, uint64(head.Period))
	for _, c := range head.Comments {
		rest.number(13, s.text(c))
	}
	rest.number(14, s.text(head.DefaultSampleType))
	for _, v := range s.strings.list {
		rest.bytes(6, []byte(v))
	}
	if s.err == nil {
		_, s.err = s.zw.Write(rest)
	}
	if s.err != nil {
		return s.err
	}
	return s.zw.Close()
}
