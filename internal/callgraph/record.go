package callgraph

import (
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
)

// FromRecord returns the edges that the last epoch of an earlier run has encoded,
// as far as the binary has their sites. Functions are the same if they have the same
// name and number of cells.
func FromRecord(b *Binary, p *record.Record) *Graph {
	g := &Graph{Binary: b, Source: layout.SourceRun}
	byName := make(map[string]int)
	for i := range b.Funcs {
		byName[b.Funcs[i].Name] = i
	}
	here := func(fn uint32) (int, bool) {
		i, ok := byName[p.String(p.Funcs[fn].Name)]
		return i, ok && b.Funcs[i].Cells == p.Funcs[fn].Cells
	}
	type cell struct{ caller, cell int }
	calls := make(map[cell]int) // index into g.Calls
	last := uint32(len(p.IDs.Dict.Epochs) - 1)
	for fn := range p.Funcs {
		callee, ok := here(uint32(fn))
		if !ok {
			continue
		}
		for _, e := range p.IDs.Dict.InEdges(last, uint32(fn)) {
			caller, ok := here(e.Caller)
			if !ok || e.Site < 0 || p.Funcs[e.Caller].Sites[e.Site].Cell < 0 {
				continue
			}
			at := cell{caller, int(p.Funcs[e.Caller].Sites[e.Site].Cell)}
			i, ok := calls[at]
			if !ok {
				i = len(g.Calls)
				calls[at] = i
				g.Calls = append(g.Calls,
					Call{Caller: caller, Cell: uint32(at.cell), Dynamic: isDynamic(&b.Funcs[caller], at.cell),
						Weight: maxWeight})
			}
			g.Calls[i].Targets = append(g.Calls[i].Targets, callee)
		}
	}
	return g
}

// isDynamic returns what the metadata says about the site of a cell.
func isDynamic(f *Func, cell int) bool {
	for i := range f.Sites {
		if f.Sites[i].Cell == uint64(cell)+1 {
			return f.Sites[i].dynamic()
		}
	}
	return true
}
