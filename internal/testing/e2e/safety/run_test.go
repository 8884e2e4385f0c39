package safety

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestRunNumber starts programs several times: every start has a run number of its
// own, in the record of every kind.
func TestRunNumber(t *testing.T) {
	e2e.NeedMore(t)
	runs := map[uint64]string{0: "no run"}
	for _, engine := range recordingEngines() {
		exe := e2e.Build(t, "chdir", "-engine="+engine)
		for range 3 {
			r := e2e.Run(t, exe)
			r.OK(t)
			n := r.Read(t).Processes[0].Run
			if other, ok := runs[n]; ok {
				t.Errorf("engine %s: run %016x is that of %s, too", engine, n, other)
			}
			runs[n] = "engine " + engine
		}
	}
}
