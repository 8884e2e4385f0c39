package stemma

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// A handing plays a runtime with goroutines that a measurement has started. They hand on what they do: one starts the
// next one, in a place of the list that is free, and ends. That may happen between any two places that are looked at.
type handing struct {
	r       *rand.Rand
	exists  []bool // by place; one of them, or none any more
	begun   bool   // it runs, and has counted that
	counted uint64
}

// step may have the goroutine begin to run, and then start the next one and end.
func (h *handing) step() {
	at := slices.Index(h.exists, true)
	if at < 0 || h.r.IntN(2) == 0 {
		return
	}
	if !h.begun {
		h.begun = true
		h.counted++
	}
	if h.r.IntN(2) == 0 {
		h.exists[at], h.begun = false, false
		h.exists[(at+1+h.r.IntN(len(h.exists)-1))%len(h.exists)] = true
	}
}

func (h *handing) started(uint32) bool {
	for i := range h.exists {
		if h.exists[i] {
			return true
		}
		h.step()
	}
	return false
}

// TestLaneOfChain borrows lanes while goroutines of the last measurement hand on what they do. Nobody gets the lane
// before the last of them has ended. Then it is used again.
func TestLaneOfChain(t *testing.T) {
	if measureRuntime != nil {
		t.Skip("the test itself is measured; run it with go test")
	}
	defer func() { measureRuntime = nil }()
	missed := 0
	for seed := range uint64(2000) {
		h := &handing{r: rand.New(rand.NewPCG(seed, 1)), exists: make([]bool, 5)}
		h.exists[h.r.IntN(5)] = true
		measureRuntime = &measureAPI{
			Below:   func(uint32, uint64, []layout.Measured) (int, uint64) { return 0, 0 },
			Count:   func(_ []layout.Measured, sum []uint64) { sum[0] = h.counted },
			Started: h.started,
		}
		l := &lane{now: &place{node: 1, inner: []layout.Measured{{Size: layout.CounterSize}}}}
		for range 20 {
			if !l.runs() {
				t.Fatalf("seed %d: a lane is given away in which a goroutine runs", seed)
			}
			if !h.started(1) {
				missed++
			}
		}
		clear(h.exists)
		if l.runs() {
			t.Fatalf("seed %d: a lane in which nothing runs is not used again", seed)
		}
	}
	if missed < 1000 {
		t.Errorf("one look has missed the goroutine %d times: the test tests little", missed)
	}
}
