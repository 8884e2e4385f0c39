package export

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// writePGO writes a profile for go build -pgo: a sample for each pair of a call's place and its
// callee, with how often the call was made. The compiler adds up the edges of each stack; with
// whole stacks an outer call would count once more for each call below it. The sample
// type is the one that the compiler looks for. There is no time and no command line in the
// file, and everything is sorted: equal counts make equal files.
//
// Calls that the compiler had inlined are there like others, so that a build with the file gives the
// same one. What it can neither inline nor make a direct call of is left out: natives, go statements,
// deferred calls.
func writePGO(w io.Writer, _ *profile.Profile, t *cct.Tree) error {
	if t.Type.Name != profile.Calls.Name {
		return fmt.Errorf("format pgo has counts of calls, not %s; of samples, go build -pgo reads the format pprof",
			t.Type.Name)
	}
	calls := make(map[pgoCall]uint64)
	for _, n := range t.Nodes {
		caller, site := t.Funcs[t.Nodes[n.Parent].Func], t.Sites[n.Site]
		if n.Count == 0 || caller.Pseudo || caller.Line == 0 {
			continue
		}
		if site.Via != cct.ViaCall && site.Via != cct.ViaInlined {
			continue
		}
		calls[pgoCall{caller.Name, site.Line, t.Funcs[n.Func].Name, caller.Line, caller.File}] += n.Count
	}
	x := &pprofExporter{out: &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}},
		PeriodType: &pprof.ValueType{Type: "calls", Unit: "count"}, Period: 1,
		Mapping: []*pprof.Mapping{{ID: 1, HasFunctions: true, HasFilenames: true, HasLineNumbers: true}},
	}, locations: make(map[string]*pprof.Location)}
	funcs := make(map[string]*pprof.Function)
	function := func(name, file string, line int) *pprof.Function {
		if funcs[name] == nil {
			funcs[name] = x.newFunction(name, file, line)
		}
		return funcs[name]
	}
	order := slices.SortedFunc(maps.Keys(calls), pgoCall.compare)
	for _, c := range order { // callers first: they have lines
		function(c.caller, c.file, c.start)
	}
	for _, c := range order {
		caller, callee := function(c.caller, c.file, c.start), function(c.callee, "", 0)
		x.out.Sample = append(x.out.Sample, &pprof.Sample{
			Value: []int64{int64(calls[c])},
			Location: []*pprof.Location{
				x.location([]pprof.Line{{Function: callee, Line: callee.StartLine}}),
				x.location([]pprof.Line{{Function: caller, Line: int64(c.line)}}),
			},
		})
	}
	return x.out.Write(w)
}

// A pgoCall is a place of a call, with its callee. The compiler knows a place by its distance from start, the
// line of the caller's func keyword.
type pgoCall struct {
	caller string
	line   int
	callee string
	start  int
	file   string
}

func (c pgoCall) compare(d pgoCall) int {
	return cmp.Or(cmp.Compare(c.caller, d.caller), cmp.Compare(c.line, d.line), cmp.Compare(c.callee, d.callee))
}
