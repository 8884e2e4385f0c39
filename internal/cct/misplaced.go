package cct

import (
	"github.com/stemma-go/stemma/profile"
)

// Misplaced returns how many calls of p hang below a call of another function, by its name, which counts its own
// calls: that one cannot have made them. Assembly made them, which called back into Go before and
// did not put its context back. Where the call before was dynamic it cannot be told.
func Misplaced(p *profile.Profile) (calls uint64) {
	column := p.Column(profile.Calls.Name)
	if column == nil {
		return 0
	}
	counts := countsItself(p)
	cells := make([][]int32, len(p.Funcs))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		fn, caller := &p.Funcs[n.Func], &p.Funcs[p.Nodes[n.Parent].Func]
		if i == 0 || fn.Kind != profile.FuncOrdinary || caller.Kind != profile.FuncOrdinary {
			continue
		}
		of := p.Nodes[n.Parent].Func
		if cells[of] == nil {
			cells[of] = caller.CellSites()
		}
		s := &caller.Sites[cells[of][n.Cell]]
		if s.Kind == profile.SiteCall && s.Callee != 0 && s.Callee != fn.Name && counts[p.Strings[s.Callee]] &&
			p.Strings[s.Callee] != p.Strings[fn.Name] {
			calls += column.Of(p, i)[0]
		}
	}
	return calls
}

// countsItself returns the names of functions that count themselves and are no wrappers.
func countsItself(p *profile.Profile) map[string]bool {
	names := make(map[string]bool)
	for i := range p.Funcs {
		if f := &p.Funcs[i]; f.Kind == profile.FuncOrdinary && f.Flags&profile.FuncWrapper == 0 {
			names[p.Strings[f.Name]] = true
		}
	}
	return names
}
