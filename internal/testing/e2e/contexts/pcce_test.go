package contexts

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestStatic checks contexts that a static call graph has encoded against walks of
// the stack: calls of all kinds, defers and panics, goroutines.
func TestStatic(t *testing.T) {
	e2e.NeedMore(t)
	for _, name := range e2e.Few(1, "calls", "defers", "goroutines") {
		t.Run(name, func(t *testing.T) {
			r := e2e.Run(t, e2e.Build(t, name, "-engine=pcce", "-verify"), "STEMMA_CHECK_EVERY=7")
			r.Verify(t)
			if p := r.Record(t); p.Processes[0].Engine != "pcce" || p.IDs.Stats.Encoded < 50 {
				t.Errorf("engine %s with %d edges", p.Processes[0].Engine, p.IDs.Stats.Encoded)
			}
		})
	}
}
