package contexts

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestCallbacks calls back from one call of C while epochs pass: a callback after a re-encoding walks the
// stack, and those that follow it do not.
func TestCallbacks(t *testing.T) {
	e2e.NeedMore(t)
	exe := buildEncoded(t, "callbacks")
	r := e2e.Run(t, exe, "STEMMA_REENCODE_US=1000", noChecks)
	r.OK(t)
	if strings.TrimSpace(r.Stdout) != "500000" {
		t.Errorf("the program printed %s", r.Stdout)
	}
	s := r.Record(t).IDs.Stats
	t.Logf("%d entries through the slow path, %d re-encodings, %d goroutines rewritten", s.Slow, s.Reencodings,
		s.Rewrites)
	if s.Slow > 250_000 {
		t.Errorf("%d entries through the slow path in a million callbacks", s.Slow)
	}
	if s.Reencodings < 3 || s.Rewrites < 3 {
		t.Errorf("%d re-encodings, %d goroutines rewritten: too few to show anything", s.Reencodings, s.Rewrites)
	}
	n, _ := e2e.Run(t, exe, "STEMMA_REENCODE_US=1000", "STEMMA_CHECK_EVERY=97").Verify(t)
	t.Logf("%d contexts", n)
}
