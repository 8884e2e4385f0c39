package contexts

import (
	"os"
	"path/filepath"
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

// TestStaticNothing builds a program whose functions have nothing to add, and one that measures what is covered.
func TestStaticNothing(t *testing.T) {
	e2e.NeedMore(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module nothing\n",
		"main.go": "package main\n\nvar n int\n\nfunc add() { n++ }\n\nfunc main() { add() }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, flags := range [][]string{{"-engine=pcce"}, {"-engine=pcce", "-cover"}} {
		r := e2e.Run(t, e2e.BuildDir(t, dir, flags...), "GOCOVERDIR="+t.TempDir())
		r.OK(t)
		if p := r.Record(t); p.Processes[0].Engine != "pcce" {
			t.Errorf("%q: engine %s", flags, p.Processes[0].Engine)
		}
	}
}
