package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// TestStatic checks contexts that a static call graph has encoded against walks of
// the stack: calls of all kinds, defers and panics, goroutines.
func TestStatic(t *testing.T) {
	needBuilds(t)
	tool, err := stemma()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"calls", "defers", "goroutines"} {
		t.Run(name, func(t *testing.T) {
			exe := build(t, name, "pcce", "-engine=pcce", "-verify")
			r := run(t, exe, "STEMMA_CHECK_EVERY=7")
			if r.err != nil {
				t.Fatalf("%v\n%s", r.err, tail(r.stderr))
			}
			out, err := exec.Command(tool, "verify", "-live", r.dir).CombinedOutput()
			if err != nil || !strings.Contains(string(out), ", 0 mismatches") || strings.Contains(string(out), "checked 0 ") {
				t.Errorf("verify: %v\n%s", err, tail(string(out)))
			}
			if p := r.read(t); p.Processes[0].Engine != "pcce" || p.Contexts.Stats.Encoded < 50 {
				t.Errorf("engine %s with %d edges", p.Processes[0].Engine, p.Contexts.Stats.Encoded)
			}
		})
	}
}
