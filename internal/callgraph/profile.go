package callgraph

import (
	"cmp"
	"math"
	"path"
	"slices"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/profile"
)

// FromProfile returns the edges that a profile with exact counts has, with the number of calls on each: the
// profile of the same input that PCCE has in the DACCE paper (section 6.1). Functions are the same if they have the
// same name; their sites, if they are alike and in the same order, since other sites have cells there.
func FromProfile(b *Binary, p *profile.Profile) *Graph {
	g := &Graph{Binary: b, Source: layout.SourceRun}
	byName := make(map[string]int)
	for i := range b.Funcs {
		byName[b.Funcs[i].Name] = i
	}
	type site struct{ caller, site int } // in the binary
	weights := make(map[site]map[int]uint64)
	sites := make(map[uint32][]int) // of a function of the profile: the site in the binary by cell, or -1
	for i, n := range p.Nodes {
		from, to := p.Nodes[n.Parent].Func, n.Func
		caller, ok := byName[p.String(p.Funcs[from].Name)]
		callee, known := byName[p.String(p.Funcs[to].Name)]
		if i == 0 || !ok || !known || p.Funcs[from].Kind != profile.FuncOrdinary ||
			p.Funcs[to].Kind != profile.FuncOrdinary {
			continue
		}
		if sites[from] == nil {
			sites[from] = sitesOf(&b.Funcs[caller], p, from)
		}
		k := sites[from][n.Cell]
		if k < 0 {
			continue
		}
		at := site{caller, k}
		if weights[at] == nil {
			weights[at] = make(map[int]uint64)
		}
		weights[at][callee] += p.NodeCounts(i)[0]
	}
	for at, callees := range weights {
		s := &b.Funcs[at.caller].Sites[at.site]
		c := Call{Caller: at.caller, Cell: uint32(s.Cell - 1), Dynamic: s.dynamic()}
		sum := uint64(0)
		for callee, calls := range callees {
			c.Targets = append(c.Targets, callee)
			sum += calls
		}
		slices.SortFunc(c.Targets, func(x, y int) int {
			return cmp.Or(cmp.Compare(callees[y], callees[x]), cmp.Compare(x, y))
		})
		c.Weight = uint32(max(1, min(sum, math.MaxUint32)))
		g.Calls = append(g.Calls, c)
	}
	slices.SortFunc(g.Calls, func(x, y Call) int {
		return cmp.Or(cmp.Compare(x.Caller, y.Caller), cmp.Compare(x.Cell, y.Cell))
	})
	return g
}

// sitesOf returns, for each cell of a function of the profile, the site of f that is the same, or -1.
func sitesOf(f *Func, p *profile.Profile, fn uint32) []int {
	type kind struct {
		site   int
		place  Place
		callee string
	}
	alike := make(map[kind][]int)
	for k, s := range f.Sites {
		if s.Cell != 0 {
			at := kind{s.Kind, Place{path.Base(s.Place.File), s.Place.Line}, s.Callee}
			alike[at] = append(alike[at], k)
		}
	}
	list := slices.Repeat([]int{-1}, int(p.Funcs[fn].Cells))
	for _, s := range p.Funcs[fn].Sites {
		at := kind{int(s.Kind), Place{path.Base(p.String(s.File)), int(s.Line)}, p.String(s.Callee)}
		if s.Cell >= 0 && len(alike[at]) > 0 {
			list[s.Cell], alike[at] = alike[at][0], alike[at][1:]
		}
	}
	return list
}
