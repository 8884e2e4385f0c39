package sampling

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestSecret looks for what was computed within secret.Do in the memory of a program that is sampled: where the
// trampoline saves registers nothing of it may be left.
func TestSecret(t *testing.T) {
	e2e.NeedFull(t) // it builds Go's library with an experiment
	t.Setenv("GOEXPERIMENT", "runtimesecret")
	exe := e2e.Build(t, "secret", "-engine=sample")
	for _, every := range []string{"", "slow", "fast"} {
		for _, walk := range []string{"incremental", "marker"} {
			r := e2e.Run(t, exe, "STEMMA_TRACE_EVERY="+every, "STEMMA_SAMPLING=walk="+walk)
			if r.OK(t); r.Stdout != "found 0\n" {
				t.Errorf("every=%s, walk=%s: have\n%s", every, walk, r.Stdout)
			}
		}
	}
}
