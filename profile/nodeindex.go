package profile

// A NodeIndex finds the nodes of a profile by parent, cell and function. It is
// a hash table of 4 bytes a slot, since a map of ten million nodes would be
// several times as large as the nodes.
type NodeIndex struct {
	p     *Profile
	slots []uint32 // index of the node + 1, 0 if free; the length is a power of 2
	used  int

	counters uint64 // of all nodes
}

// NewNodeIndex returns an index of the nodes of p, with room for as many as
// nodes before it has to grow.
// The nodes of p must be distinct. Whoever appends to them afterwards does it
// through the index.
func NewNodeIndex(p *Profile, nodes int) *NodeIndex {
	size := 16
	for size < 2*nodes {
		size *= 2
	}
	x := &NodeIndex{p: p, slots: make([]uint32, size)}
	for i, n := range p.Nodes {
		x.insert(uint32(i))
		x.counters += uint64(p.Funcs[n.Func].Counters)
	}
	return x
}

// hashNode mixes all three parts of a node's identity: siblings differ in cell
// or function only, and there may be thousands.
func hashNode(n Node) uint64 {
	h := (uint64(n.Parent)<<32 | uint64(n.Func)) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29 ^ uint64(n.Cell)) * 0xbf58476d1ce4e5b9
	return h ^ h>>32
}

// find returns the slot of the node that equals n but for its counters, or the
// free slot where it belongs.
func (x *NodeIndex) find(n Node) int {
	mask := len(x.slots) - 1
	for s := int(hashNode(n)) & mask; ; s = (s + 1) & mask {
		if x.slots[s] == 0 {
			return s
		}
		m := x.p.Nodes[x.slots[s]-1]
		if m.Parent == n.Parent && m.Cell == n.Cell && m.Func == n.Func {
			return s
		}
	}
}

// insert adds node i, which must not be in the index.
func (x *NodeIndex) insert(i uint32) {
	if 2*x.used >= len(x.slots) {
		x.grow()
	}
	x.slots[x.find(x.p.Nodes[i])] = i + 1
	x.used++
}

// grow doubles the table, so that at least half of its slots are free and a
// search is short.
func (x *NodeIndex) grow() {
	old := x.slots
	x.slots = make([]uint32, 2*len(old))
	for _, i := range old {
		if i != 0 {
			x.slots[x.find(x.p.Nodes[i-1])] = i
		}
	}
}

// Node returns the index of the node with this parent, cell and function, and
// appends one, with zeros in all columns, if there is none.
func (x *NodeIndex) Node(parent, cell, fn uint32) uint32 {
	n := Node{Func: fn, Parent: parent, Cell: cell, First: uint32(x.counters)}
	s := x.find(n)
	if i := x.slots[s]; i != 0 {
		return i - 1
	}
	i := uint32(len(x.p.Nodes))
	x.p.Nodes = append(x.p.Nodes, n)
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
	if 2*x.used >= len(x.slots) {
		x.insert(i)
		return i
	}
	x.slots[s] = i + 1
	x.used++
	return i
}
