package encoder_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stemma-go/stemma/internal/encoder"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// TestStableLucce drives the encoder and that of the runtime with the same calls: their pairs are the same, also in
// recursion, where functions have groups of ids.
func TestStableLucce(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { comparePairs(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func comparePairs(t *testing.T, r *rand.Rand) {
	const sites = 3
	n := 2 + r.IntN(12)
	p, injected := encoder.NewProgram(), recordtest.NewLucce(t, 0)
	injected.Once = true
	funcs := make([]*recordtest.LucceFunc, n+1)
	root := p.AddSite(encoder.Root, encoder.Dynamic)
	for i := range n {
		f := p.AddFunc()
		for range sites {
			p.AddSite(f, encoder.Dynamic)
		}
		funcs[f] = injected.Func(fmt.Sprint("main.f", i), sites)
	}
	e := encoder.NewStableLucce(p, encoder.LucceLimit, encoder.StableBudget)
	var stack []recordtest.LucceFrame
	callees := []encoder.Func{encoder.Root}
	deepest, largest := 0, uint64(0)
	for range 20000 {
		if len(stack) > 0 && r.IntN(9) < 4 || len(stack) == 60 {
			depth := len(stack) - 1 - r.IntN(min(len(stack), 4))
			stack, callees = stack[:depth], callees[:depth+1]
			e.Unwind(encoder.Main, depth)
			continue
		}
		callee, site, k := encoder.Func(1+r.IntN(n)), root, 0
		if len(stack) == 0 {
			stack = append(stack, injected.Root(funcs[callee], 0))
		} else {
			k = r.IntN(sites)
			site = root + 1 + encoder.Site(sites*(int(callees[len(stack)])-1)+k)
			stack = append(stack, injected.Call(stack[len(stack)-1], k, funcs[callee]))
		}
		callees = append(callees, callee)
		e.Call(encoder.Main, site, callee)
		have, want := e.Capture(encoder.Main), stack[len(stack)-1]
		if have.ID != want.C || uint64(have.Version) != want.V {
			t.Fatalf("%d calls deep: id %#x behind entry %d, the runtime's are %#x, %d", len(stack), have.ID,
				have.Version, want.C, want.V)
		}
		deepest, largest = max(deepest, len(stack)), max(largest, have.ID)
	}
	if deepest < 20 || largest < 1<<40 {
		t.Errorf("%d calls deep, ids up to %#x: the test tries too little", deepest, largest)
	}
}
