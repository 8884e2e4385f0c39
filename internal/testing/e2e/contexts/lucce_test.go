package contexts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// verifyLucce runs a program with a checker at every entry that is a multiple of every.
// It fails unless all contexts are right, and none is truncated.
func verifyLucce(t *testing.T, name string, every int, env ...string) {
	t.Helper()
	exe := e2e.Build(t, name, "-engine=lucce", "-verify")
	n, truncated := e2e.Run(t, exe, append(env, "STEMMA_CHECK_EVERY="+strconv.Itoa(every))...).Verify(t)
	if truncated != "" {
		t.Error(truncated)
	}
	t.Logf("%s: %d contexts", name, n)
}

// TestLucceVerify compares contexts of programs that use all ways of calling with
// real stacks.
func TestLucceVerify(t *testing.T) {
	e2e.NeedMore(t)
	for _, name := range e2e.Few(4, "calls", "defers", "cgo", "here", "asm", "goroutines", "initorder", "targets") {
		every := 1
		if name == "targets" {
			every = 997 // it makes 60 million calls, from one place
		}
		t.Run(name, func(t *testing.T) { verifyLucce(t, name, every) })
	}
}

// TestLucceDeep goes into a recursion that 63 bits cannot tell apart, with panics, deferred calls and goroutines on the
// way. Where a context is captured, it is right; where none is, nothing is recorded of how often ids began again.
func TestLucceDeep(t *testing.T) {
	e2e.NeedMore(t)
	verifyLucce(t, "paths", 3)
	verifyLucce(t, "paths", 5, "STEMMA_CCSTACK_SIZE=4000") // no room but for a few: the others are interned at once
	r := e2e.Run(t, e2e.Build(t, "paths", "-engine=lucce", "-verify"), noChecks)
	r.OK(t)
	began, started := 0, 0
	for _, n := range r.Record(t).IDs.Interned {
		switch n.Kind {
		case layout.InternSite:
			began++
		case layout.InternGo:
			started++
		}
	}
	t.Logf("%d goroutines, %d entries where ids began again", started, began)
	if most := 150 * (started + 1); began > most {
		t.Errorf("%d entries where ids began again, want at most %d", began, most)
	}
}

// TestLucceParallel lets 64 goroutines build new edges at once.
func TestLucceParallel(t *testing.T) {
	e2e.NeedFull(t)
	for range 3 {
		verifyLucce(t, "edges", 7, "GOMAXPROCS=8")
	}
}

// TestLucceSettles runs a recursive program: once all edges are known, the log does not grow.
func TestLucceSettles(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "edges", "-engine=lucce", "-verify")
	r := e2e.Run(t, exe, "GOMAXPROCS=8", noChecks)
	if r.Err != nil || r.Stdout != "1024000 true\n" {
		t.Fatalf("%v: %s%s", r.Err, r.Stdout, r.Stderr)
	}
	out, err := exec.Command(e2e.Tool(t), "info", r.Dir).CombinedOutput()
	entries := regexp.MustCompile(`(?m)^log +(\d+) entries$`).FindSubmatch(out)
	if err != nil || entries == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// 768 edges, none of which can change more than five times, and what fmt and sync add.
	if n, _ := strconv.Atoi(string(entries[1])); n < 768 || n > 6000 {
		t.Errorf("%d entries in the log", n)
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "log")); err != nil {
		t.Error(err)
	}
}
