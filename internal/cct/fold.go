package cct

// Fold returns t with recursion folded as Ammons, Ball and Larus do it
// (PLDI'97, section 4.1): a call of a function that is already on the path
// counts at the function's first node. Paths end at go statements: a goroutine
// that starts another of its own kind is no recursion of calls.
func (t *Tree) Fold() *Tree {
	return t.rebuild(func(b *builder, parent uint32, n Node) uint32 {
		if t.Sites[n.Site].Via == ViaGo {
			return b.node(parent, n.Site, n.Func)
		}
		for up := parent; up != 0; up = b.t.Nodes[up].Parent {
			if b.t.Nodes[up].Func == n.Func {
				return up
			}
			if t.Sites[b.t.Nodes[up].Site].Via == ViaGo {
				break
			}
		}
		return b.node(parent, n.Site, n.Func)
	})
}

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
