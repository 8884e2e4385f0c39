package profile

// A NodeIndex finds the nodes of a profile by parent, cell and function. It is
// a hash table of 4 bytes a slot, since a map of ten million nodes would be
// several times as large as the nodes.
type NodeIndex struct {
	p     *Profile
	slots []uint32 // index of the node + 1, 0 if free
	used  int

	counters uint64 // of all nodes
}

// nearSlots is how many places there are for a node close to those of its parent's other children.
const nearSlots = 8

// slotsFor returns how many slots a table has for some nodes: at least a third of them is free.
func slotsFor(nodes int) int { return nodes + nodes/2 + 1 }

// NewNodeIndex returns an index of the nodes of p, with room for as many as
// nodes before it has to grow.
// The nodes of p must be distinct. Whoever appends to them afterwards does it
// through the index.
func NewNodeIndex(p *Profile, nodes int) *NodeIndex {
	x := &NodeIndex{p: p, slots: make([]uint32, slotsFor(max(nodes, len(p.Nodes), nearSlots)))}
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
// The first slots that it looks at follow from the parent: who walks a tree in order also walks the table in order,
// which is several times as fast as a walk all over memory. Nodes with many children have the rest anywhere.
func (x *NodeIndex) find(n Node) int {
	h := hashNode(n)
	near := slotsFor(int(n.Parent)) % len(x.slots)
	for i := range uint64(nearSlots) {
		s := near + int((h+i)%nearSlots)
		if s >= len(x.slots) {
			s -= len(x.slots)
		}
		if x.isOrFree(s, n) {
			return s
		}
	}
	for s := int(h >> 32 * uint64(len(x.slots)) >> 32); ; s++ {
		if s == len(x.slots) {
			s = 0
		}
		if x.isOrFree(s, n) {
			return s
		}
	}
}

// isOrFree reports whether a slot is that of the node that equals n, or free.
func (x *NodeIndex) isOrFree(s int, n Node) bool {
	i := x.slots[s]
	if i == 0 {
		return true
	}
	m := &x.p.Nodes[i-1]
	return m.Parent == n.Parent && m.Cell == n.Cell && m.Func == n.Func
}

// insert adds node i, which must not be in the index.
func (x *NodeIndex) insert(i uint32) {
	x.used++
	if slotsFor(x.used) > len(x.slots) {
		x.grow()
	}
	x.slots[x.find(x.p.Nodes[i])] = i + 1
}

// grow makes the table half as large again, so that at least a third of its slots are free and a
// search is short.
func (x *NodeIndex) grow() {
	old := x.slots
	x.slots = make([]uint32, len(old)+len(old)/2)
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
	if slotsFor(x.used+1) > len(x.slots) {
		x.insert(i)
		return i
	}
	x.slots[s] = i + 1
	x.used++
	return i
}
