package onoff

import (
	"math/rand/v2"
	"testing"
)

// TestSwitch has requests and the program start and stop sampling in random order. What the program has started goes on
// until it stops that. While a request lasts that needs it something is sampled, unless the program has stopped it
// since. When there is no request, sampling is on if the program wants it.
func TestSwitch(t *testing.T) {
	if InRuntime != nil {
		t.Skip("the test itself is sampled; run it with go test")
	}
	defer func() { InRuntime = nil }()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		on := false
		s, api := new(Switch), &API{Version: Version, Start: func(int64) { on = true }, Stop: func() { on = false },
			State: func() (bool, int64) { return on, 1 }}
		InRuntime = api
		program, stopped := false, false // whether it wants samples, and whether it has stopped those of requests
		var requests []uint64
		for step := range 60 {
			what := ""
			switch k := r.IntN(4); {
			case k == 0:
				what = "the program starts"
				s.ByProgram(func() { api.Start(1) })
				program, stopped = true, false
			case k == 1:
				what = "the program stops"
				s.ByProgram(api.Stop)
				program, stopped = false, true
			case k == 2:
				what = "a request begins"
				requests = append(requests, s.Begin(1))
				stopped = false
			case len(requests) > 0:
				what = "a request ends"
				i := r.IntN(len(requests))
				s.End(requests[i])
				requests = append(requests[:i], requests[i+1:]...)
			}
			needed := 0 // by requests that must end it
			for _, number := range requests {
				if number != 0 && number == s.mine {
					needed++
				}
			}
			if program && !on || len(requests) == 0 && on != program || needed > 0 && !stopped && !on {
				t.Fatalf("seed %d, step %d, %s: sampling is %v, the program wants %v, requests are %v", seed, step,
					what, on, program, requests)
			}
		}
	}
}
