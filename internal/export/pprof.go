package export

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// writePprof writes the gzipped protocol buffer of github.com/google/pprof, with all
// values that were recorded in the way that the tree's was: exactly, or sampled.
// Locations have no address, and so no mapping: pprof would look the addresses that
// it makes up for them up in the program, if that is still there, and end in a panic.
// Counts above the largest int64 would wrap, which takes centuries of calls.
func writePprof(w io.Writer, p *profile.Profile, t *cct.Tree) error {
	x := &pprofExporter{out: &pprof.Profile{Period: 1}, locations: make(map[string]*pprof.Location)}
	var columns []profile.Column
	for _, c := range p.Columns {
		if c.Sampled == t.Type.Sampled {
			columns = append(columns, c)
			x.out.SampleType = append(x.out.SampleType, &pprof.ValueType{Type: c.Name, Unit: c.Unit})
		}
	}
	if len(columns) == 0 {
		return fmt.Errorf("the profile has no metrics")
	}
	x.mapping(p)
	x.out.DefaultSampleType = columns[0].Name
	x.out.PeriodType = &pprof.ValueType{Type: columns[0].Name, Unit: columns[0].Unit}
	if t.Type.Sampled {
		x.places(p, columns)
		return x.out.Write(w)
	}
	// A sample for each context and column. t is that of its own column, and may be trimmed or folded. Inlined frames
	// share a location with the function that they are inlined into.
	s := newStream(w)
	for k, c := range columns {
		of := t
		if c.Name != t.Type.Name {
			of, _ = cct.Of(p, c.Name) // p has it
		}
		s.tree(of, k, len(columns))
	}
	return s.end(x.out)
}

// A pprofExporter collects the parts of the pprof profile. Functions and
// locations are made when a sample first needs them.
type pprofExporter struct {
	t         *cct.Tree
	out       *pprof.Profile
	funcs     []*pprof.Function          // by Func
	locations map[string]*pprof.Location // by the functions and lines in them
	start     *pprof.Function            // of a goroutine

	placeOf    map[uint32]*pprof.Location        // by Func of the profile
	placeFuncs map[profile.Frame]*pprof.Function // by frame, but for the line
}

// mapping names the program, which reports show. Nothing is left to look up in it.
func (x *pprofExporter) mapping(p *profile.Profile) {
	m := &pprof.Mapping{ID: 1, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
	if len(p.Processes) > 0 {
		if args := p.Processes[0].Args; len(args) > 0 {
			m.File = args[0]
		}
		if start := p.Processes[0].Start; !start.IsZero() {
			x.out.TimeNanos = start.UnixNano()
		}
		x.out.Comments = append([]string{command(p)}, p.Processes[0].Notes...)
	}
	x.out.Mapping = []*pprof.Mapping{m}
}

// function returns the pprof function for a function of the tree.
// It is made the first time, so that the file holds only functions with samples.
func (x *pprofExporter) function(i uint32) *pprof.Function {
	if x.funcs[i] == nil {
		f := x.t.Funcs[i]
		x.funcs[i] = x.newFunction(f.Name, f.File, f.Line)
	}
	return x.funcs[i]
}

// newFunction appends a function. IDs begin at 1: pprof takes 0 for none.
func (x *pprofExporter) newFunction(name, file string, line int) *pprof.Function {
	f := &pprof.Function{ID: uint64(len(x.out.Function) + 1), Name: name, SystemName: name, Filename: file,
		StartLine: int64(line)}
	if strings.ContainsAny(name, "[<") && strings.Contains(name, "(") {
		// go tool pprof takes brackets and parentheses for C++ without parameters, and would print new([]int) as new.
		// It leaves names alone that are not the system's.
		f.SystemName = ""
	}
	x.out.Function = append(x.out.Function, f)
	return f
}

// sample adds the sample of context n. Its innermost frame stands at the function's
// beginning, the others where they call the next one.
func (x *pprofExporter) sample(s *pprof.Sample, n uint32) {
	line := int64(x.t.Funcs[x.t.Nodes[n].Func].Line)
	var lines []pprof.Line // of the location that is being put together
	for n != 0 {
		node := x.t.Nodes[n]
		site := x.t.Sites[node.Site]
		if node.Fold != 0 {
			mark(s, node.Fold, x.t.Funcs[node.Func].Name)
		}
		lines = append(lines, pprof.Line{Function: x.function(node.Func), Line: line})
		if site.Via != cct.ViaInlined {
			s.Location = append(s.Location, x.location(lines))
			lines = lines[:0]
		}
		if site.Via == cct.ViaGo {
			s.Location = append(s.Location, x.goStart())
		}
		line, n = int64(site.Line), node.Parent
	}
	x.out.Sample = append(x.out.Sample, s)
}

// mark labels a sample with a function on its stack at which recursion was folded: under "recursive", levels further
// in are not on the stack; under "folded", what this call calls is in other samples.
func mark(s *pprof.Sample, fold cct.Fold, name string) {
	for _, f := range []cct.Fold{cct.FoldHere, cct.FoldAway} {
		if fold&f != 0 && !slices.Contains(s.Label[f.String()], name) {
			setLabel(s, f.String(), name)
		}
	}
}

// setLabel adds a label to a sample.
func setLabel(s *pprof.Sample, key, value string) {
	if s.Label == nil {
		s.Label = make(map[string][]string)
	}
	s.Label[key] = append(s.Label[key], value)
}

// goStart returns the location that marks the start of a goroutine.
func (x *pprofExporter) goStart() *pprof.Location {
	if x.start == nil {
		x.start = x.newFunction(GoStart, "", 0)
	}
	return x.location([]pprof.Line{{Function: x.start}})
}

// location returns the location with these lines, innermost first.
// Locations are shared by samples: a file of a million contexts has few of them.
// lines is copied; the caller may reuse it.
func (x *pprofExporter) location(lines []pprof.Line) *pprof.Location {
	var key []byte
	for _, l := range lines {
		key = binary.AppendUvarint(key, l.Function.ID)
		key = binary.AppendVarint(key, l.Line)
	}
	l := x.locations[string(key)]
	if l == nil {
		l = &pprof.Location{ID: uint64(len(x.out.Location) + 1), Line: append([]pprof.Line(nil), lines...)}
		x.locations[string(key)] = l
		x.out.Location = append(x.out.Location, l)
	}
	return l
}
