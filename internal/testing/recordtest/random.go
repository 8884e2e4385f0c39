package recordtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// Random returns a live directory with random functions and about nodes nodes.
// Two directories of the same seed have the same functions.
func Random(seed uint64, nodes int, counts *rand.Rand) *Dir {
	r := rand.New(rand.NewPCG(seed, 1))
	d := New(3, fmt.Sprint("prog", seed))
	g := &generator{d: d, r: r}
	for range 2 + r.IntN(12) {
		g.function()
	}
	fault := d.Fault("runtime.sigpanic", Frame{Func: g.funcs[0].Name, File: "/src/f0.go", Line: 3})
	type node struct{ off, fn int }
	all := []node{{Root, -1}}
	for range nodes {
		up := all[counts.IntN(len(all))]
		fn := counts.IntN(len(g.funcs))
		switch {
		case up.fn < 0:
			all = append(all, node{d.Node(Root, counts.IntN(layout.RootOverflow), g.ids[fn]), fn})
		case counts.IntN(20) == 0:
			d.Count(0, d.Node(up.off, layout.NoCell, fault), 0, 1)
		case g.cells[up.fn] > 0:
			all = append(all, node{d.Node(up.off, counts.IntN(g.cells[up.fn]), g.ids[fn]), fn})
		}
	}
	for _, n := range all[1:] {
		for range 1 + counts.IntN(4) {
			d.Count(counts.IntN(3), n.off, counts.IntN(g.counters[n.fn]), counts.Uint64N(1000))
		}
	}
	d.Count(0, d.Node(Overflow, 0, g.ids[0]), 0, 5)
	return d
}

// A generator makes random functions.
type generator struct {
	d               *Dir
	r               *rand.Rand
	funcs           []Func
	ids             []uint64
	cells, counters []int
}

func (g *generator) function() {
	k := len(g.funcs)
	f := Func{Name: fmt.Sprintf("main.f%d", k), Line: 10 * k,
		Files: []string{fmt.Sprintf("/src/f%d.go", k), "/src/shared.go"}}
	if g.r.IntN(5) == 0 {
		f.Flags = layout.MetaFlagWrapper
	} else if k%4 == 3 {
		f.Flags = layout.MetaFlagAdapter
	}
	if f.Flags != 0 && k%3 == 0 {
		f.Flags |= layout.MetaFlagNew
	}
	if g.r.IntN(5) == 0 {
		f.Name += "[go.shape.int]"
	}
	cells, counters := 0, 1
	for i := range g.r.IntN(4) {
		in := Inlined{In: g.r.IntN(i + 1), Callee: fmt.Sprint("main.in", g.r.IntN(3)), File: g.r.IntN(2),
			Line: g.r.IntN(5)}
		in.CalleeFile, in.CalleeLine = g.r.IntN(3), g.r.IntN(9)
		if g.r.IntN(3) > 0 {
			counters++
			in.Counter = counters
		}
		f.Inlined = append(f.Inlined, in)
	}
	for range g.r.IntN(6) {
		s := Site{Kind: byte(1 + g.r.IntN(7)), In: g.r.IntN(len(f.Inlined) + 1), File: g.r.IntN(2), Line: g.r.IntN(100)}
		if g.r.IntN(2) == 0 {
			s.Callee = fmt.Sprint("runtime.n", g.r.IntN(3))
		}
		if s.Kind != layout.SiteNative {
			cells++
			s.Cell = cells
		}
		if s.Kind == layout.SiteNative || s.Kind == layout.SitePanic || s.Kind == layout.SiteUnknown {
			counters++
			s.Counter = counters
		}
		f.Sites = append(f.Sites, s)
	}
	for range g.r.IntN(3) {
		n := 1 + g.r.IntN(9)
		f.Weights = append(f.Weights, Weight{counters, g.r.IntN(len(f.Inlined) + 1), g.r.IntN(3), n - 10*g.r.IntN(2)})
		f.Placed = append(f.Placed, g.r.IntN(counters+2))
		counters++
	}
	for _, c := range f.Placed {
		counters = max(counters, c)
	}
	g.funcs = append(g.funcs, f)
	g.ids = append(g.ids, g.d.Func(f))
	g.cells, g.counters = append(g.cells, cells), append(g.counters, counters)
}
