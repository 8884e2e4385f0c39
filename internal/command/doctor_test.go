package command

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
)

// TestDoctorExit runs the command where records cannot go anywhere.
func TestDoctorExit(t *testing.T) {
	t.Setenv("TMPDIR", "/dev/null")
	code, stdout, stderr := runMain("doctor")
	if code != base.ExitFailure || !strings.Contains(stdout, "FAIL  temporary") ||
		!strings.Contains(stderr, "stemma: doctor: ") {
		t.Errorf("exit code %d, have %s%s", code, stdout, stderr)
	}
	if code, _, stderr := runMain("doctor", "x"); code != base.ExitUsage {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}
