// Package callgraph finds the static call graph of an instrumented program, from which encoding
// can start.
//
// # Terminology
//
// A [Binary] is what the metadata in an executable says: its instrumented
// functions and their call sites. A [Source] is the call graph of the source, by
// variable type analysis (VTA). Functions have other names in one than in the
// other, so the two are put together by [Place]. A [Call] is a site of the binary
// with the functions that it may call, and a [Graph] all of them.
//
// The program numbers the graph itself, with the code that it has for re-encoding.
// What is left to do before the run is to find the edges, and to take out those
// that close cycles, see [Graph.Acyclic].
package callgraph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// A Place is a line of source.
type Place struct {
	File string
	Line int
}

// A Call is a call site and the functions that it may call, as indexes into the
// functions of a binary.
type Call struct {
	Caller  int
	Cell    uint32
	Dynamic bool // the compiler does not know its one callee
	Targets []int
	Weight  uint32 // an estimate of how often it is executed, at least 1
}

// A Graph is the call graph of a binary.
type Graph struct {
	Binary *Binary
	Calls  []Call
	Source uint32 // layout.SourceStatic or layout.SourceRun
}

// Edges returns the number of pairs of a site and a function that it may call.
func (g *Graph) Edges() (n int) {
	for i := range g.Calls {
		n += len(g.Calls[i].Targets)
	}
	return n
}

// Match puts the call graph of the source and the sites of the binary together.
// A site that nothing is known about is left out. C may call everything that is
// exported to it.
func Match(b *Binary, s *Source) *Graph {
	g := &Graph{Binary: b, Source: layout.SourceStatic}
	byPlace := make(map[Place][]int)
	byName := make(map[string]int)
	var exported []int // to C
	for i := range b.Funcs {
		f := &b.Funcs[i]
		byPlace[f.Place] = append(byPlace[f.Place], i)
		byName[f.Name] = i
		if strings.HasPrefix(f.Name, "_cgoexp_") {
			exported = append(exported, i)
		}
	}
	for i := range b.Funcs {
		for _, site := range b.Funcs[i].Sites {
			if site.Cell == 0 {
				continue
			}
			c := Call{Caller: i, Cell: uint32(site.Cell - 1), Dynamic: site.dynamic(), Weight: s.weight(site.Place)}
			if target, ok := byName[site.Callee]; ok && site.Callee != "" {
				c.Targets = []int{target}
			} else if site.callsC() {
				c.Dynamic, c.Targets = true, exported
			} else if c.Dynamic {
				c.Targets = s.targets(&b.Funcs[i], &site, byPlace)
			}
			if len(c.Targets) > 0 {
				g.Calls = append(g.Calls, c)
			}
		}
	}
	return g
}

// targets returns the functions of the binary that a dynamic site of f may call.
func (s *Source) targets(f *Func, site *Site, byPlace map[Place][]int) (list []int) {
	var places map[Place]bool
	switch site.Kind {
	case layout.SiteCall:
		places = s.calls[site.Place]
	case layout.SiteDefer, layout.SiteDeferReturn:
		places = s.deferred[f.Place]
	}
	for p := range places {
		list = append(list, byPlace[p]...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// maxWeight is the weight of calls in the innermost of many loops.
const maxWeight = 1e4

// weight estimates how often a call at p is executed when its function is: ten
// times in each loop around it.
func (s *Source) weight(p Place) uint32 {
	w := uint32(1)
	for range s.loops[p] {
		w = min(10*w, maxWeight)
	}
	return w
}

// byWeight sorts calls, those first that are worth most for what they make
// impossible: a site with many callees closes many cycles.
func byWeight(a, b *Call) int {
	return cmp.Or(
		cmp.Compare(uint64(b.Weight)*uint64(len(a.Targets)), uint64(a.Weight)*uint64(len(b.Targets))),
		cmp.Compare(len(a.Targets), len(b.Targets)),
		cmp.Compare(a.Caller, b.Caller),
		cmp.Compare(a.Cell, b.Cell),
	)
}
