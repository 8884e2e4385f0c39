package profile

import "github.com/stemma-go/stemma/internal/nodetable"

// A NodeIndex finds the nodes of a profile by parent, cell and function.
type NodeIndex struct {
	p        *Profile
	table    nodetable.Table
	counters uint64 // of all nodes
}

// NewNodeIndex returns an index of the nodes of p, with room for as many as nodes before it has to grow. The nodes of p
// must be distinct. Whoever appends to them afterwards does it through the index.
func NewNodeIndex(p *Profile, nodes int) *NodeIndex {
	x := &NodeIndex{p: p, table: nodetable.New(max(nodes, len(p.Nodes)))}
	for i, n := range p.Nodes {
		slot, _, _ := x.find(x.key(uint32(i)))
		x.put(slot, uint32(i))
		x.counters += uint64(p.Funcs[n.Func].Counters)
	}
	return x
}

// key returns the key of a node.
func (x *NodeIndex) key(i uint32) nodetable.Key {
	n := &x.p.Nodes[i]
	return nodetable.Key{Parent: n.Parent, Place: n.Cell, Func: n.Func}
}

// find returns the slot of the node with a key, and the node; or the free slot where it belongs.
func (x *NodeIndex) find(k nodetable.Key) (slot int, node uint32, ok bool) {
	for s := x.table.Search(k); ; {
		slot = s.Next()
		if node, ok = x.table.Node(slot); !ok || x.key(node) == k {
			return slot, node, ok
		}
	}
}

// put gives a free slot to node i.
func (x *NodeIndex) put(slot int, i uint32) {
	if x.table.Put(slot, i); x.table.Full() {
		x.table.Grow(x.key)
	}
}

// Node returns the index of the node with this parent, cell and function, and appends one, with zeros in all columns,
// if there is none.
func (x *NodeIndex) Node(parent, cell, fn uint32) uint32 {
	slot, i, ok := x.find(nodetable.Key{Parent: parent, Place: cell, Func: fn})
	if ok {
		return i
	}
	i = uint32(len(x.p.Nodes))
	x.p.Nodes = append(x.p.Nodes, Node{Func: fn, Parent: parent, Cell: cell, First: uint32(x.counters)})
	counters := x.p.Funcs[fn].Counters
	x.counters += uint64(counters)
	for k := range x.p.Columns {
		switch c := &x.p.Columns[k]; {
		case c.Weighted:
		case c.PerCounter:
			c.Values = append(c.Values, make([]uint64, counters)...)
		default:
			c.Values = append(c.Values, 0)
		}
	}
	x.put(slot, i)
	return i
}
