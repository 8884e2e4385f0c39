package nodetable

import (
	"math/rand/v2"
	"testing"
)

// TestTable compares a table with a map: trees that are deep, wide and both, parents that come after their children,
// and tables that grow or are made larger.
func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		var nodes []Key
		key := func(node uint32) Key { return nodes[node] }
		table, want := New(r.IntN(500)), make(map[Key]uint32)
		parents := uint32(1) << (round + 1) // as many as a million: most are not there yet
		for range 10000 {
			k := Key{r.Uint32N(parents), r.Uint32N(4), r.Uint32N(30)}
			node, ok := uint32(0), false
			slot := 0
			for s := table.Search(k); ; {
				slot = s.Next()
				if node, ok = table.Node(slot); !ok || nodes[node] == k {
					break
				}
			}
			if w, known := want[k]; known != ok || ok && w != node {
				t.Fatalf("%d parents: %v is node %d, %t; want %d, %t", parents, k, node, ok, w, known)
			}
			if ok {
				continue
			}
			if table.Full() {
				t.Fatalf("%d nodes fill a table of %d bytes", len(nodes), table.Bytes())
			}
			want[k] = uint32(len(nodes))
			nodes = append(nodes, k)
			if table.Put(slot, want[k]); table.Full() {
				table.Grow(key)
			}
			if r.IntN(5000) == 0 {
				table.Reserve(2*len(nodes), key)
			}
		}
		if most := 4*3*len(nodes)*2 + 4*slotsFor(500); table.Bytes() > most {
			t.Errorf("%d bytes for %d nodes", table.Bytes(), len(nodes))
		}
	}
}

// TestShort bounds the slots that are looked at in trees whose first nodes have most of the children, and fill all that
// is near them: those who are not near may not walk along what is full.
func TestShort(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, first := range []int{0, 1000, 300000} {
		nodes := []Key{{}}
		key := func(node uint32) Key { return nodes[node] }
		table := New(first)
		looked, most := 0, 0
		const searches = 300000
		for range searches {
			k := Key{r.Uint32N(1 + r.Uint32N(uint32(len(nodes)))), r.Uint32N(4), 1}
			before, found := looked, false
			s := table.Search(k)
			slot := 0
			for ; ; looked++ {
				slot = s.Next()
				node, taken := table.Node(slot)
				if found = taken && nodes[node] == k; found || !taken {
					break
				}
			}
			most = max(most, looked-before)
			if found {
				continue
			}
			nodes = append(nodes, k)
			if table.Put(slot, uint32(len(nodes)-1)); table.Full() {
				table.Grow(key)
			}
		}
		t.Logf("%d nodes: %.1f more slots a search, %d at most", len(nodes), float64(looked)/searches, most)
		if looked > 10*searches || most > 500 {
			t.Errorf("%d nodes: %d more slots looked at in %d searches, %d at most", len(nodes), looked, searches, most)
		}
	}
}
