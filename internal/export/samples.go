package export

import (
	"io"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/profile"
)

// writeSamplesPprof writes sampled stacks with their four weights. Unlike a
// tree of calls, a frame keeps the line at which it was sampled.
func writeSamplesPprof(w io.Writer, p *profile.Profile) error {
	x := &pprofExporter{out: &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}, {Type: "samples", Unit: "count"},
			{Type: "wait", Unit: "nanoseconds"}, {Type: "waits", Unit: "count"}},
		DefaultSampleType: "cpu",
		PeriodType:        &pprof.ValueType{Type: "time", Unit: "nanoseconds"},
	}}
	x.mapping(p)
	if s := p.Processes; len(s) > 0 && s[0].Sampling != nil {
		x.out.Period = int64(s[0].Sampling.Interval)
	}
	locations := x.places(p)
	for _, n := range p.Samples.Nodes {
		if n.Weight == [profile.NumWeights]uint64{} {
			continue
		}
		s := &pprof.Sample{Value: make([]int64, len(n.Weight))}
		for i, v := range n.Weight {
			s.Value[i] = int64(v)
		}
		for ; n.Place != 0; n = p.Samples.Nodes[n.Parent] {
			s.Location = append(s.Location, locations[n.Place])
		}
		x.out.Sample = append(x.out.Sample, s)
	}
	return x.out.Write(w)
}

// places makes a location of each place.
func (x *pprofExporter) places(p *profile.Profile) []*pprof.Location {
	funcs := make(map[profile.PlaceFrame]*pprof.Function)
	list := make([]*pprof.Location, len(p.Samples.Places))
	for i, pl := range p.Samples.Places {
		if i == 0 {
			continue
		}
		l := &pprof.Location{ID: uint64(i)}
		for _, f := range pl.Frames {
			key := f
			key.Line = 0
			if funcs[key] == nil {
				funcs[key] = x.newFunction(p.String(f.Func), p.String(f.File), int(f.Start))
			}
			l.Line = append(l.Line, pprof.Line{Function: funcs[key], Line: int64(f.Line)})
		}
		list[i] = l
		x.out.Location = append(x.out.Location, l)
	}
	return list
}
