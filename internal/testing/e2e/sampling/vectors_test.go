package sampling

import (
	"os"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestVectors intercepts returns of functions whose results are vectors, in registers that are wider than those of
// floating point.
func TestVectors(t *testing.T) {
	e2e.NeedFull(t) // it builds Go's library with an experiment
	e2e.OnlyHost(t, "vectors are those of one architecture")
	if cpu, err := os.ReadFile("/proc/cpuinfo"); err != nil || !strings.Contains(string(cpu), " avx ") {
		t.Skip("the processor has no AVX; run on one that has")
	}
	t.Setenv("GOEXPERIMENT", "simd")
	exe := e2e.Build(t, "vectors", "-engine=sample")
	for _, walk := range []string{"incremental", "marker"} {
		r := e2e.Run(t, exe, "STEMMA_TRACE_EVERY=slow", "STEMMA_SAMPLING=walk="+walk)
		if r.OK(t); r.Stdout != "changed 0\n" {
			t.Errorf("walk=%s: have\n%s", walk, r.Stdout)
		}
	}
}
