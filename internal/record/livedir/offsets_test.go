package livedir

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOffsets compares random sets of offsets with sorted lists.
func TestOffsets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		var o offsets
		var list []uint32
		for off := uint32(r.IntN(5000)) * unit; len(list) < round; off += unit * uint32(1+r.IntN(1+r.IntN(300))) {
			o.add(off)
			list = append(list, off)
		}
		i := 0
		for k, off := range o.all() {
			if k != i || list[i] != off {
				t.Fatalf("round %d: offset %d is %d, want %d of %d", round, k, off, i, list[i])
			}
			i++
		}
		if i != len(list) || o.n != len(list) {
			t.Fatalf("round %d: %d and %d offsets, want %d", round, i, o.n, len(list))
		}
		for range 300 {
			off := uint32(r.IntN(60000))
			if k := r.IntN(1 + 2*len(list)); k < len(list) {
				off = list[k] + uint32(r.IntN(3)) - 1
			}
			want, ok := slices.BinarySearch(list, off)
			if n, is := o.rank(off); n != want || is != ok {
				t.Fatalf("round %d: rank of %d: have %d %v, want %d %v", round, off, n, is, want, ok)
			}
			if want > 0 && o.last(off) != list[want-1] {
				t.Fatalf("round %d: last before %d: have %d, want %d", round, off, o.last(off), list[want-1])
			}
		}
	}
}
