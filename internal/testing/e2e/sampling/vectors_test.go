package sampling

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestVectors intercepts returns of functions whose results are vectors, in registers that are wider than those of
// floating point.
func TestVectors(t *testing.T) {
	e2e.NeedFull(t) // it builds Go's library with an experiment
	if e2e.Target("") != "" && strings.HasPrefix(runtime.Version(), "go1.26") {
		t.Skip("Go 1.26 has vectors on amd64 only; run with GOTOOLCHAIN=go1.27.4")
	}
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if e2e.Target("") == "" && (err != nil || !strings.Contains(string(cpu), " avx ")) {
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
