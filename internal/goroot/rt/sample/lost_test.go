package sample

import (
	"math/rand/v2"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory/memorytest"
)

// TestLostSamples zeros pages of a tree of samples, the header's among them, while
// samples are recorded and the sampler describes places.
func TestLostSamples(t *testing.T) {
	memorytest.MustEnd(t, func() {
		for seed := range uint64(20) {
			loseSamples(t, seed)
		}
	})
}

func loseSamples(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 13))
	const nodes = 1 << 13
	s, mem := newSamplesIn(nodes)
	handed := map[uint32]bool{}
	for step := range 30_000 {
		if step%1000 == 999 {
			memorytest.LosePage(mem, r.IntN(len(mem)*8/memorytest.LostPage))
		}
		pcs := make([]uintptr, 1+r.IntN(8))
		for i := range pcs {
			pcs[i] = uintptr(layout.NumPseudo + r.IntN(40))
		}
		used := s.used
		n := s.Stack(0, pcs)
		for ; used < s.used; used++ {
			if handed[uint32(used)] {
				t.Fatalf("seed %d: node %d is handed out twice", seed, used)
			}
			handed[uint32(used)] = true
		}
		for depth := 0; n != 0; n, _ = s.Frame(n) {
			if depth++; depth > nodes {
				t.Fatalf("seed %d: the way to the root does not end", seed)
			}
		}
		if pc, ok := s.NextPlace(); ok {
			w := s.BeginPlace(pc)
			w.Frame("f", "f.go", 1, 1, false)
			w.End()
		}
	}
}
