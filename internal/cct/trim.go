package cct

// Trim returns t without the subtrees that have fewer than min calls. What
// they had counts at the nodes of a pseudo-function [trimmed] in their place,
// so that the sum of all calls stays what it was.
func (t *Tree) Trim(min uint64) *Tree {
	sum := t.Inclusive()
	trimmed := uint32(len(t.Funcs))
	i := 0
	out := t.rebuild(func(b *builder, parent uint32, n Node) uint32 {
		i++
		switch {
		case b.t.Nodes[parent].Func == trimmed && parent != 0:
			return parent
		case sum[i] < min:
			return b.node(parent, 0, trimmed)
		}
		return b.node(parent, n.Site, n.Func)
	})
	out.Funcs = append(out.Funcs[:trimmed:trimmed], Func{Name: pseudo("trimmed"), Pseudo: true})
	return out
}

// rebuild returns a tree to which each node of t, parents first, adds its
// count at the node that place returns; parent is where the parent went.
func (t *Tree) rebuild(place func(b *builder, parent uint32, n Node) uint32) *Tree {
	out := &Tree{Funcs: t.Funcs, Sites: t.Sites, Type: t.Type, lines: t.lines}
	b := newBuilder(out, 0)
	to := make([]uint32, len(t.Nodes))
	for i, n := range t.Nodes {
		if i == 0 {
			continue
		}
		to[i] = place(b, to[n.Parent], n)
		at := &out.Nodes[to[i]]
		at.Count += n.Count
		if at.Func == n.Func {
			at.Fold |= n.Fold
		}
	}
	return out
}
