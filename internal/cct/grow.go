package cct

import "unsafe"

// A Grower makes a tree call by call, for those who have events and no profile.
// It knows functions and sites by number only.
type Grower struct{ b *builder }

// NewGrower returns a grower whose tree has nothing but the root, node 0.
func NewGrower() *Grower { return &Grower{newBuilder(new(Tree), 0)} }

// Enter counts a call of fn from a site of parent's function, and returns its node.
func (g *Grower) Enter(parent, site, fn uint32) uint32 {
	n := g.b.node(parent, site, fn)
	g.b.t.Nodes[n].Count++
	return n
}

// Tree returns the tree as it is. It has neither names nor positions.
func (g *Grower) Tree() *Tree { return g.b.t }

// Bytes returns the memory that the tree takes while it grows.
func (g *Grower) Bytes() uint64 {
	return uint64(len(g.b.t.Nodes))*uint64(unsafe.Sizeof(Node{})) + uint64(g.b.table.Bytes())
}
