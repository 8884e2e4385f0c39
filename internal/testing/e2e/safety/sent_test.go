package safety

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestSent sends a program the signal of lost pages, many times: it hears of it, as without stemma, and lives.
func TestSent(t *testing.T) {
	r := e2e.Run(t, e2e.Build(t, "sent"))
	if r.OK(t); r.Stdout != "bus error\n" {
		t.Errorf("have %q", r.Stdout)
	}
	e2e.NoLoss(t, r.Read(t))
}
