package sampling

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestSwitchedCPU compares the CPU time that a program is said to have used while it was sampled with what it has
// measured itself. It uses seven times as much while sampling is off.
func TestSwitchedCPU(t *testing.T) {
	e2e.NeedMore(t)
	r := e2e.Run(t, e2e.BuildDir(t, "testdata/switched", "-engine=sample", "-start=off"))
	r.OK(t)
	want, err := strconv.ParseUint(strings.TrimSpace(r.Stdout), 10, 64)
	if err != nil || want == 0 {
		t.Fatalf("the program printed %q: %v", r.Stdout, err)
	}
	have := sampling(t, r.Read(t)).Stat("processCPU")
	t.Logf("%d ns of CPU, %d by itself", have, want)
	if have < want/2 || have > want+want/4 {
		t.Errorf("%d ns of CPU while it was sampled, want about %d", have, want)
	}
}
