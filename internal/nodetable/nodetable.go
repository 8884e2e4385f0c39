// Package nodetable finds the nodes of a tree by parent, place and function.
//
// It is a hash table of 4 bytes a slot, which keeps children near their parents. A map of ten million nodes would be
// several times as large as the nodes. The nodes are the user's: the table has their numbers only, and who searches
// compares.
package nodetable

// A Key identifies a node.
type Key struct {
	Parent uint32 // the number of the parent
	Place  uint32 // where in the parent the call is: a call site, or a cell
	Func   uint32
}

// A Table has the numbers of nodes. It is made by [New].
type Table struct {
	slots []uint32 // the number of a node + 1, 0 if free
	used  int
}

// groupSlots is how many slots that lie together a search looks at.
const groupSlots = 8

// minNodes is how many nodes a table has room for at least: more than a group.
const minNodes = 64

// New returns a table with room for some nodes before it has to grow.
func New(nodes int) Table { return Table{slots: make([]uint32, slotsFor(max(nodes, minNodes)))} }

// slotsFor returns how many slots a table has for some nodes: at least a third of them is free, so that a search is
// short.
func slotsFor(nodes int) int { return nodes + nodes/2 + 1 }

// hash mixes all three parts: siblings differ in place or function only, and there may be thousands.
func (k Key) hash() uint64 {
	h := (uint64(k.Parent)<<32 | uint64(k.Func)) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29 ^ uint64(k.Place)) * 0xbf58476d1ce4e5b9
	return h ^ h>>32
}

// A Search goes through the slots that a node may have, in groups: first that near its siblings, then others.
//
// The first group follows from the parent: who walks a tree in order also walks the table in order, which is several
// times as fast as a walk all over memory. Where parents have many children all is full for a long way; so the other
// groups lie anywhere.
type Search struct {
	slots int // of the table
	group int // where the group begins
	tried uint64
	hash  uint64
}

// Search begins to look for a node.
func (t *Table) Search(k Key) Search {
	near := slotsFor(int(k.Parent))
	if near >= len(t.slots) {
		near %= len(t.slots) // the parent comes after what the table has room for
	}
	return Search{slots: len(t.slots), group: near, hash: k.hash()}
}

// Next returns the slot to look at. A free one ends the search: the node is not there, and belongs there.
func (s *Search) Next() int {
	if s.tried == groupSlots {
		s.hash = s.hash*0x5851f42d4c957f2d + 0x14057b7ef767814f // all 64-bit numbers, before one comes again
		s.group, s.tried = int(s.hash>>32*uint64(s.slots)>>32), 0
	}
	slot := s.group + int((s.hash+s.tried)%groupSlots)
	s.tried++
	if slot >= s.slots {
		slot -= s.slots
	}
	return slot
}

// Node returns the number of the node in a slot, and whether there is one.
func (t *Table) Node(slot int) (uint32, bool) {
	n := t.slots[slot]
	return n - 1, n != 0
}

// Put gives a free slot to a node.
func (t *Table) Put(slot int, node uint32) {
	t.slots[slot] = node + 1
	t.used++
}

// Bytes returns the memory that the table takes.
func (t *Table) Bytes() int { return 4 * len(t.slots) }

// Full reports whether the table must grow before another node is put into it.
func (t *Table) Full() bool { return slotsFor(t.used+1) > len(t.slots) }

// Grow makes the table half as large again. It asks for the keys of the nodes in it.
func (t *Table) Grow(key func(node uint32) Key) { t.resize(len(t.slots)+len(t.slots)/2, key) }

// Reserve makes room for some nodes in all. It asks for the keys of the nodes in the table.
func (t *Table) Reserve(nodes int, key func(node uint32) Key) {
	if size := slotsFor(nodes); size > len(t.slots) {
		t.resize(size, key)
	}
}

func (t *Table) resize(slots int, key func(node uint32) Key) {
	old := t.slots
	t.slots = make([]uint32, slots)
	for _, n := range old {
		if n == 0 {
			continue
		}
		s := t.Search(key(n - 1))
		slot := s.Next()
		for t.slots[slot] != 0 {
			slot = s.Next()
		}
		t.slots[slot] = n
	}
}
