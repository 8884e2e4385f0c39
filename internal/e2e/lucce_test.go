package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

var checkedLine = regexp.MustCompile(`(?m)^checked (\d+) contexts, 0 mismatches$`)

// verify runs a program with a checker at every entry that is a multiple of every, and returns
// what stemma verify says. It fails unless all contexts are right, and none is truncated.
func verify(t *testing.T, name, engine string, every int, env ...string) {
	t.Helper()
	exe := build(t, name, engine+".verify", "-engine="+engine, "-verify")
	r := run(t, exe, append(env, "STEMMA_CHECK_EVERY="+strconv.Itoa(every))...)
	if r.err != nil {
		t.Fatalf("%v\n%s", r.err, r.stderr)
	}
	tool, err := stemma()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "verify", "-live", "-v", "-show", "1", r.dir).CombinedOutput()
	checked := checkedLine.FindSubmatch(out)
	if err != nil || checked == nil || bytes.Contains(out, []byte("truncated")) {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	t.Logf("%s: %s contexts", name, checked[1])
}

// TestLucceVerify compares every context of programs that use all ways of calling with
// real stacks.
func TestLucceVerify(t *testing.T) {
	needBuilds(t)
	for _, name := range []string{"calls", "defers", "goroutines", "cgo", "initorder", "targets", "asm", "here"} {
		verify(t, name, "lucce", 1)
	}
}

// TestLucceParallel lets 64 goroutines build new edges at once.
func TestLucceParallel(t *testing.T) {
	needBuilds(t)
	for range 3 {
		verify(t, "edges", "lucce", 7, "GOMAXPROCS=8")
	}
}

// TestLucceSettles runs a recursive program: once all edges are known, the log does not grow.
func TestLucceSettles(t *testing.T) {
	needBuilds(t)
	exe := build(t, "edges", "lucce", "-engine=lucce")
	r := run(t, exe, "GOMAXPROCS=8")
	if r.err != nil || r.stdout != "1024000 true\n" {
		t.Fatalf("%v: %s%s", r.err, r.stdout, r.stderr)
	}
	tool, err := stemma()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "info", r.dir).CombinedOutput()
	entries := regexp.MustCompile(`(?m)^log +(\d+) entries$`).FindSubmatch(out)
	if err != nil || entries == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// 768 edges, none of which can change more than five times, and what fmt and sync add.
	if n, _ := strconv.Atoi(string(entries[1])); n < 768 || n > 6000 {
		t.Errorf("%d entries in the log", n)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "log")); err != nil {
		t.Error(err)
	}
}
