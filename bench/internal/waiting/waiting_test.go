package waiting

import (
	"strings"
	"testing"
)

func TestWaitingCells(t *testing.T) {
	var base, r waitingRuns
	for _, units := range []float64{100, 200} { // the machine was twice as fast in the second round
		base.add(&waitingRun{figures: map[string]float64{"units": units, "cpu": 1000, "late": 5000, "latest": 9000}})
		r.add(&waitingRun{figures: map[string]float64{"units": units / 2, "cpu": 1000, "late": 7000, "latest": 8000},
			latency: [2]string{"2µs", "9µs"}})
	}
	r.add(nil)
	if got, want := strings.Join(r.cells(&base), "|"), "2.000|2.000..2.000|0.500|7|8|2µs|9µs"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
