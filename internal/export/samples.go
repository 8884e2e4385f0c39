package export

import (
	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/profile"
)

// places adds a sample for each sampled stack. Unlike in a tree of calls, a frame keeps the
// line at which it was sampled.
func (x *pprofExporter) places(p *profile.Profile, columns []profile.Column) {
	x.out.PeriodType = &pprof.ValueType{Type: "time", Unit: "nanoseconds"}
	if s := p.Processes; len(s) > 0 && s[0].Sampling != nil {
		x.out.Period = int64(s[0].Sampling.Interval)
	}
	locations := x.placeLocations(p)
	for i := range p.Nodes {
		s := &pprof.Sample{Value: make([]int64, len(columns))}
		any := uint64(0)
		for k := range columns {
			s.Value[k] = int64(columns[k].Values[i])
			any |= columns[k].Values[i]
		}
		if any == 0 {
			continue
		}
		for n := p.Nodes[i]; locations[n.Func] != nil; n = p.Nodes[n.Parent] {
			s.Location = append(s.Location, locations[n.Func])
		}
		x.out.Sample = append(x.out.Sample, s)
	}
}

// placeLocations makes a location of each function that is a place.
func (x *pprofExporter) placeLocations(p *profile.Profile) []*pprof.Location {
	list := make([]*pprof.Location, len(p.Funcs))
	for i := range p.Funcs {
		list[i] = x.place(p, uint32(i))
	}
	return list
}

// place returns the location of a function that is a place, nil of another one. It is made the first time.
func (x *pprofExporter) place(p *profile.Profile, i uint32) *pprof.Location {
	fn := p.Funcs[i]
	if fn.Kind != profile.FuncPlace {
		return nil
	}
	if x.placeOf == nil {
		x.placeOf, x.placeFuncs = make(map[uint32]*pprof.Location), make(map[profile.Frame]*pprof.Function)
	}
	if l := x.placeOf[i]; l != nil {
		return l
	}
	l := &pprof.Location{ID: uint64(len(x.out.Location) + 1)}
	for _, f := range fn.Frames {
		key := f
		key.Line = 0
		if x.placeFuncs[key] == nil {
			x.placeFuncs[key] = x.newFunction(p.String(f.Func), p.String(f.File), int(f.Start))
		}
		l.Line = append(l.Line, pprof.Line{Function: x.placeFuncs[key], Line: int64(f.Line)})
	}
	x.placeOf[i] = l
	x.out.Location = append(x.out.Location, l)
	return l
}
