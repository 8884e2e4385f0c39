package command

import (
	"io"
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

// TestDoctorError has Main note what failed, and not what was mistyped.
func TestDoctorError(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("STEMMA_CACHE", t.TempDir())
	for _, args := range [][]string{{"report", "nothing.stemma"}, {"report", "-nonsense"}, {"nonsense"}} {
		if code := Main(args, strings.NewReader(""), io.Discard, io.Discard); code == base.ExitOK {
			t.Errorf("%v: exit code 0", args)
		}
	}
	code, stdout, stderr := runMain("doctor", "-report")
	if code != base.ExitOK || !strings.Contains(stdout, ": stemma report: ") ||
		!strings.Contains(stdout, "nothing.stemma") {
		t.Errorf("exit code %d, have %s%s", code, stdout, stderr)
	}
}
