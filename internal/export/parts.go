package export

import (
	"iter"
	"math/bits"
	"path"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// Limits are what a server takes at once.
type Limits struct {
	Samples int // samples of a profile
	Bytes   int // of a protocol buffer without compression, about: a profile ends with the sample that passes it
	Depth   int // locations of a stack, at least 3
}

// TooDeep is the frame that stands for those in the middle of a stack that has more than [Limits.Depth].
const TooDeep = "[too deep]"

// Parts yields the exact values of p, or its sampled ones, as profiles that keep the limits and add up to p. Equal
// profiles have equal parts. A context is one sample with all values, without labels, since servers take each set of
// labels for a series: those of goroutines are frames of their stacks. The parts have nothing of the command line, and
// no times.
func Parts(p *profile.Profile, sampled bool, l Limits) iter.Seq[*pprof.Profile] {
	return func(yield func(*pprof.Profile) bool) {
		s := &splitter{p: p, limits: l, sampled: sampled, v: &cct.Values{Tree: new(cct.Tree)}}
		n := len(p.Nodes)
		if sampled {
			for i := range p.Columns {
				if c := &p.Columns[i]; c.Sampled {
					s.v.Types, s.v.Counts = append(s.v.Types, c.Metric), append(s.v.Counts, c.Values)
				}
			}
		} else {
			s.v = cct.ValuesOf(p, false)
			n = len(s.v.Nodes)
		}
		if len(s.v.Types) == 0 {
			return
		}
		s.begin()
		for i := range n {
			s.add(i)
			if s.full() {
				if !yield(s.x.out) {
					return
				}
				s.begin()
			}
		}
		if len(s.x.out.Sample) > 0 {
			yield(s.x.out)
		}
	}
}

// A splitter makes the parts of a profile.
type splitter struct {
	p       *profile.Profile
	v       *cct.Values
	sampled bool
	limits  Limits

	x     *pprofExporter // of this part
	deep  *pprof.Location
	bytes int             // of what it has, rather too many than too few
	files map[string]bool // that are in bytes
	// How many functions and locations are in bytes.
	functions, locations int
}

// begin begins a part.
func (s *splitter) begin() {
	s.x = &pprofExporter{t: s.v.Tree, out: &pprof.Profile{Period: 1}, locations: make(map[string]*pprof.Location)}
	s.x.funcs = make([]*pprof.Function, len(s.v.Funcs))
	m := &pprof.Mapping{ID: 1, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
	if len(s.p.Processes) > 0 && len(s.p.Processes[0].Args) > 0 {
		m.File = path.Base(s.p.Processes[0].Args[0])
	}
	s.x.out.Mapping = []*pprof.Mapping{m}
	for _, t := range s.v.Types {
		s.x.out.SampleType = append(s.x.out.SampleType, &pprof.ValueType{Type: t.Name, Unit: t.Unit})
	}
	s.deep, s.bytes, s.files, s.functions, s.locations = nil, 256, make(map[string]bool), 0, 0
}

// add adds the sample of node i, if it has one.
func (s *splitter) add(i int) {
	values := valuesAt(s.v, i)
	if values == nil {
		return
	}
	one := &pprof.Sample{Value: values}
	if s.sampled {
		for n := s.p.Nodes[i]; ; n = s.p.Nodes[n.Parent] {
			l := s.x.place(s.p, n.Func)
			if l == nil {
				break
			}
			one.Location = append(one.Location, l)
		}
		s.x.out.Sample = append(s.x.out.Sample, one)
	} else {
		s.x.sample(one, uint32(i))
		one.Label = nil
	}
	if most := s.limits.Depth - 1; len(one.Location) > most+1 {
		inner := most / 2
		outer := one.Location[len(one.Location)-(most-inner):]
		one.Location = slices.Concat(one.Location[:inner], []*pprof.Location{s.tooDeep()}, outer)
	}
	s.count(one)
}

// tooDeep returns the location that stands for frames in the middle.
func (s *splitter) tooDeep() *pprof.Location {
	if s.deep == nil {
		s.deep = s.x.location([]pprof.Line{{Function: s.x.newFunction(TooDeep, "", 0)}})
	}
	return s.deep
}

// count adds the bytes of a sample, and of what came with it.
func (s *splitter) count(one *pprof.Sample) {
	const varint = 4 // bytes of an identifier and its tag, or of a line
	s.bytes += 3*varint + varint*len(one.Location)
	for _, v := range one.Value {
		s.bytes += 1 + bits.Len64(uint64(v))/7
	}
	for ; s.functions < len(s.x.out.Function); s.functions++ {
		f := s.x.out.Function[s.functions]
		s.bytes += 7*varint + len(f.Name)
		if !s.files[f.Filename] {
			s.files[f.Filename] = true
			s.bytes += varint + len(f.Filename)
		}
	}
	for ; s.locations < len(s.x.out.Location); s.locations++ {
		s.bytes += 3*varint + 3*varint*len(s.x.out.Location[s.locations].Line)
	}
}

// full reports whether the part must end.
func (s *splitter) full() bool {
	return len(s.x.out.Sample) >= s.limits.Samples || s.bytes >= s.limits.Bytes
}
