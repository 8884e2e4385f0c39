package tree

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestMisplaced runs a program with assembly that calls function values, one behind the other: whatever hangs
// below a call of another function is found, and said. What assembly calls by name is not among it.
func TestMisplaced(t *testing.T) {
	for name, want := range map[string]uint64{"asm": 7, "calls": 0, "defers": 0, "cgo": 0} {
		t.Run(name, func(t *testing.T) {
			p := e2e.Run(t, e2e.Build(t, name)).Read(t)
			if have := cct.Misplaced(p); have != want {
				t.Errorf("%d calls are misplaced, want %d", have, want)
			}
			warned := strings.Join(report.Warnings(p), "\n")
			if said := strings.Contains(warned, "7 calls hang below functions that did not"); said != (want > 0) {
				t.Errorf("reports say: %q", warned)
			}
		})
	}
}
