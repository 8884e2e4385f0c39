package tree

import (
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestRaceEnds counts waits beside the race detector, which ends the program in C: what waits then is counted before,
// and so is what is reachable.
func TestRaceEnds(t *testing.T) {
	e2e.NeedFull(t) // it builds Go's library with the race detector
	e2e.OnlyHost(t, "the race detector does not start in an emulator")
	exe := e2e.Build(t, "left", "-metrics=calls,wait,inuse", "-race")
	for _, env := range []string{"EXIT=", "EXIT=1"} {
		r := e2e.Run(t, exe, env)
		r.OK(t)
		p := r.Read(t)
		e2e.NoLoss(t, p)
		tree, err := cct.Of(p, profile.Wait.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, n := waits(tree, "main.forever", "wait(chan receive)"); n < 19e6 {
			t.Errorf("%s: a goroutine that the end of the program met has waited for %d ns", env, n)
		}
		if n := p.Total(profile.InuseObjects); n == 0 {
			t.Errorf("%s: nothing is reachable", env)
		}
	}
}
