package diff

import (
	"cmp"
	"slices"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// Contexts that vary.
//
// A side that was run several times knows which contexts vary (see profile.Repeats). What varies
// on its own says nothing about a change, so it is not compared: a context that varies on
// either side is left out on both, with all that it calls, be that known on the other side or not.

// takeVarying takes the values that tell the variation of others from the exact ones.
func (s *Side) takeVarying() {
	v := s.Exact
	for i := 0; i < len(v.Types); {
		of, ok := v.Types[i].Varies()
		if !ok {
			i++
			continue
		}
		if s.Varying == nil {
			s.Varying = make(map[string][]uint64)
		}
		s.Varying[of] = v.Counts[i]
		v.Types, v.Counts = slices.Delete(v.Types, i, i+1), slices.Delete(v.Counts, i, i+1)
	}
}

// outermost tells for each node of t whether it varies and no caller of it does, and whether it
// lies there or below.
func outermost(t *cct.Tree, by []uint64) (first, out []bool) {
	first, out = make([]bool, len(t.Nodes)), make([]bool, len(t.Nodes))
	for i := 1; i < len(t.Nodes); i++ {
		above := out[t.Nodes[i].Parent]
		first[i] = by[i] > 0 && !above
		out[i] = above || by[i] > 0
	}
	return first, out
}

// A varying is a context that varies, by a node of one side.
type varying struct {
	side int
	node uint32
	by   uint64
}

// withoutVarying sets to 0 what lies in contexts that vary, and returns the outermost of these, those that
// vary most first.
func (d *Diff) withoutVarying(g *group, t profile.Metric, counts *[2][]uint64) []varying {
	by := [2][]uint64{d.Sides[0].Varying[t.Name], d.Sides[1].Varying[t.Name]}
	if by[0] == nil && by[1] == nil || t.Sampled {
		return nil
	}
	rows := [2][]uint32{g.match.Contexts(0), g.match.Contexts(1)}
	rowBy := make([]uint64, 1+max(slices.Max(rows[0]), slices.Max(rows[1])))
	for side := range by {
		for i, n := range by[side] {
			rowBy[rows[side][i]] = max(rowBy[rows[side][i]], n)
		}
	}
	var list []varying
	listed := make([]bool, len(rowBy))
	for side, tree := range g.trees {
		of := make([]uint64, len(tree.Nodes))
		for i, row := range rows[side] {
			of[i] = rowBy[row]
		}
		first, out := outermost(tree, of)
		counts[side] = slices.Clone(counts[side])
		for i := range tree.Nodes {
			if out[i] {
				counts[side][i] = 0
			}
			if row := rows[side][i]; first[i] && !listed[row] {
				listed[row] = true
				list = append(list, varying{side, uint32(i), of[i]})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b varying) int { return cmp.Compare(b.by, a.by) })
	return list
}

// A VaryingContext is the outermost of contexts that vary.
type VaryingContext struct {
	By    uint64 // the largest difference of two runs; 0 if a baseline says only that it varies
	Func  string
	Stack []cct.Frame // innermost first
}

// VaryingContexts returns what is not compared because it varies, what varies most first.
func (d *Diff) VaryingContexts(v Value) (list []VaryingContext) {
	for _, x := range v.group.varies[v.index] {
		t := v.group.trees[x.side]
		if d.Sides[x.side].Baseline {
			x.by = 0
		}
		list = append(list, VaryingContext{x.by, t.Funcs[t.Nodes[x.node].Func].Name, t.Stack(x.node)})
	}
	return list
}
