package toolchain

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// A build counts the packages that it compiles. What it lists beforehand is as many, and leaves out what the
// cache has.
func TestCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a few packages; run without -short")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	build := func(pkg string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-toolexec="+self+" -plain", pkg)
		cmd.Env = append(os.Environ(), toolexecEnv+"=1", "GOCACHE="+cache, "GOFLAGS=")
		return cmd
	}
	left := 0
	for _, pkg := range []string{"internal/cpu", "unicode/utf8", "internal/bytealg"} {
		cmd := build(pkg)
		list, err := listed(t.Context(), cmd).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, list)
		}
		count, _, end := counted(cmd, time.Second)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		done, _ := count()
		if have := compiles(list); int64(have) != done || done == 0 {
			t.Errorf("%s: %d compiled, and %d listed", pkg, done, have)
		}
		end()
		left += int(done)
	}
	if list, err := listed(t.Context(), build("internal/bytealg")).CombinedOutput(); err != nil || compiles(list) != 0 {
		t.Errorf("%v: listed again:\n%s", err, list)
	}
	if left < 3 || left > 40 {
		t.Errorf("%d compiled in all", left)
	}
}

// The list is made while the build goes on, and what had been compiled by then counts as well. What is told is the
// package that has been compiled for longest.
func TestCountedTotal(t *testing.T) {
	fake := t.TempDir() + "/go"
	script := "#!/bin/sh\nif [ \"$2\" = -n ]; then echo x/compile -o a; echo x/compile -o b >&2; exit; fi\n" +
		"for p in 999999999 $$ $PPID; do echo $p pkg/$p; done >>\"$" + countEnv + "\"; exec sleep 60\n"
	if err := os.WriteFile(fake, []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(fake, "build", "pkg")
	cmd.Env = os.Environ()
	count, doing, end := counted(cmd, time.Second)
	defer end()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for deadline := time.Now().Add(50 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		done, total := count()
		if done == 3 && total == 5 {
			if want := "pkg/" + strconv.Itoa(cmd.Process.Pid); doing() != want {
				t.Errorf("now %q, want the first whose process is there, %q", doing(), want)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("have %d of %d, want 3 of 5", done, total)
		}
	}
}
