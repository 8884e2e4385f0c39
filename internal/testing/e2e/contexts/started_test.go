package contexts

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestStarted starts 15,000 goroutines: few of them take the slow path under the lock of all encoders, at
// which many that start at once would wait for each other.
func TestStarted(t *testing.T) {
	e2e.NeedMore(t)
	for _, engine := range e2e.Few(1, "dacce", "lucce", "pcce") {
		t.Run(engine, func(t *testing.T) {
			r := e2e.Run(t, e2e.Build(t, "started", "-engine="+engine))
			r.OK(t)
			if strings.TrimSpace(r.Stdout) != "30000" {
				t.Errorf("the program printed %s", r.Stdout)
			}
			// With dacce other entries are slow as well, until the next re-encoding, whenever that is.
			if s := r.Record(t).IDs.Stats; s.Slow > 2000 && engine != "dacce" {
				t.Errorf("%d entries through the slow path", s.Slow)
			} else {
				t.Logf("%d entries through the slow path", s.Slow)
			}
			r = e2e.Run(t, e2e.Build(t, "started", "-engine="+engine, "-verify"), "STEMMA_CHECK_EVERY=13")
			n, _ := r.Verify(t)
			t.Logf("%d contexts", n)
		})
	}
}
