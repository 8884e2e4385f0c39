package sampling

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestBeside: a profiler that walks stacks by frame pointers finds the trampoline
// instead of a caller of a goroutine that is sampled incrementally, and the others; of one
// that is sampled without patches, all callers and nothing else.
func TestBeside(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "unpatched", "-engine=sample")
	for settings, patched := range map[string]bool{
		"":                    true,
		"sampler=sps,walk=fp": false,
		"sampler=sps":         false,
		"sampler=stw,walk=fp": false,
		"start=off":           false,
	} {
		t.Run(settings, func(t *testing.T) {
			for range 20 { // on a machine that others use a program is seldom seen to run
				r := e2e.Run(t, exe, "STEMMA_SAMPLING="+settings)
				r.OK(t)
				for _, name := range []string{"main.work", "main.main", "runtime.main"} {
					if !strings.Contains(r.Stdout, name+"\n") {
						t.Fatalf("no %s in\n%s", name, r.Stdout)
					}
				}
				if found := strings.Contains(r.Stdout, "stemmaTrampoline"); found && !patched {
					t.Fatalf("a patched stack:\n%s", r.Stdout)
				} else if found || !patched {
					return
				}
			}
			t.Error("no patched stack was seen")
		})
	}
}
