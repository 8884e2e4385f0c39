package diff

import (
	"github.com/stemma-go/stemma/internal/cct"
)

// Union returns one tree with the contexts of both sides, and what v has in each of its
// nodes in the base and in the new one. What both have is named as in the new one. The
// tree has no counts of its own.
func (d *Diff) Union(v Value) (t *cct.Tree, counts [2][]uint64) {
	g := v.group
	// A context is numbered when it is first met, behind its caller.
	rows := [2][]uint32{g.match.Contexts(0), g.match.Contexts(1)}
	n := uint32(1)
	for _, side := range rows {
		for _, row := range side {
			n = max(n, row+1)
		}
	}
	base, new := g.trees[0], g.trees[1]
	funcs, all := g.newNames()
	sites, places := g.newSites()
	t = &cct.Tree{Nodes: make([]cct.Node, n), Funcs: all, Sites: places, Type: v.Metric}
	for i, node := range base.Nodes {
		if row := rows[0][i]; row != 0 {
			t.Nodes[row] = cct.Node{Parent: rows[0][node.Parent], Func: funcs[node.Func], Site: sites[node.Site]}
		}
	}
	for i, node := range new.Nodes {
		if row := rows[1][i]; row != 0 {
			t.Nodes[row] = cct.Node{Parent: rows[1][node.Parent], Func: node.Func, Site: node.Site}
		}
	}
	for side := range counts {
		counts[side] = make([]uint64, n)
		for i, row := range rows[side] {
			counts[side][row] += g.counts[v.index][side][i]
		}
	}
	return t, counts
}

// newNames returns the functions of the new side and behind them those that only the base has,
// and where among them those of the base are.
func (g *group) newNames() (of []uint32, all []cct.Func) {
	base, new := g.trees[0].Funcs, g.trees[1].Funcs
	at := make(map[uint32]uint32)
	for i, row := range g.match.Functions(1) {
		if _, ok := at[row]; !ok {
			at[row] = uint32(i)
		}
	}
	of, all = make([]uint32, len(base)), new[:len(new):len(new)]
	for i, row := range g.match.Functions(0) {
		k, ok := at[row]
		if !ok {
			k = uint32(len(all))
			all, at[row] = append(all, base[i]), k
		}
		of[i] = k
	}
	return of, all
}

// newSites is newNames for the places of calls.
func (g *group) newSites() (of []uint32, all []cct.Site) {
	base, new := g.trees[0].Sites, g.trees[1].Sites
	at := make(map[cct.Site]uint32, len(new))
	for i, s := range new {
		at[s] = uint32(i)
	}
	of, all = make([]uint32, len(base)), new[:len(new):len(new)]
	for i, s := range base {
		k, ok := at[s]
		if !ok {
			k = uint32(len(all))
			all, at[s] = append(all, s), k
		}
		of[i] = k
	}
	return of, all
}
