package contexts

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestTimers has goroutines that timers start, in g0: each knows what started it, also where an encoding has made the
// word of g0 void.
func TestTimers(t *testing.T) {
	e2e.NeedMore(t)
	for _, engine := range e2e.Few(1, "dacce", "lucce") {
		t.Run(engine, func(t *testing.T) {
			exe := e2e.BuildDir(t, "testdata/timers", "-engine="+engine)
			for range 3 {
				r := e2e.Run(t, exe, "GOMAXPROCS=4")
				r.OK(t)
				if r.Stdout != "10000 0\n" {
					t.Errorf("known and unknown contexts: have %s, want 10000 0", e2e.Tail(r.Stdout))
				}
			}
		})
	}
}
