package topo

import (
	"math/rand/v2"
	"testing"
)

// reaches is the slow way to report whether there is a path.
func reaches(edges map[[2]int]bool, from, to int) bool {
	seen := map[int]bool{from: true}
	for list := []int{from}; len(list) > 0; list = list[1:] {
		if list[0] == to {
			return true
		}
		for e := range edges {
			if e[0] == list[0] && !seen[e[1]] {
				seen[e[1]] = true
				list = append(list, e[1])
			}
		}
	}
	return false
}

// Edges are refused exactly if they close a cycle, and the order fits the others,
// also when some were taken back.
func TestOrder(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		n := 2 + rnd.IntN(20)
		o := New(rnd.Perm(n))
		edges := make(map[[2]int]bool)
		for range 4 * n {
			from, to := rnd.IntN(n), rnd.IntN(n)
			want := !reaches(edges, to, from)
			if have := o.Add(from, to); have != want {
				t.Fatalf("seed %d: edge %d to %d: have %t, want %t", seed, from, to, have, want)
			}
			if want {
				edges[[2]int{from, to}] = true
			}
			if rnd.IntN(8) == 0 {
				keep := rnd.IntN(len(o.added) + 1)
				for _, e := range o.added[keep:] {
					delete(edges, e)
				}
				o.Undo(keep)
			}
			for e := range edges {
				if o.place[e[0]] >= o.place[e[1]] {
					t.Fatalf("seed %d: %d does not precede %d", seed, e[0], e[1])
				}
			}
		}
		for at, f := range o.nodes {
			if o.place[f] != at {
				t.Fatalf("seed %d: place of %d: have %d, want %d", seed, f, o.place[f], at)
			}
		}
	}
}
