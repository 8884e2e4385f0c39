package e2e

import "testing"

// TestRunNumber starts programs several times: every start has a run number of its
// own, in the record of every kind.
func TestRunNumber(t *testing.T) {
	needBuilds(t)
	runs := map[uint64]string{0: "no run"}
	for _, engine := range []string{"cct", "dacce", "lucce", "sample"} {
		exe := build(t, "chdir", engine, "-engine="+engine)
		for range 3 {
			r := run(t, exe)
			r.ok(t)
			n := r.read(t).Processes[0].Run
			if other, ok := runs[n]; ok {
				t.Errorf("engine %s: run %016x is that of %s, too", engine, n, other)
			}
			runs[n] = "engine " + engine
		}
	}
}
