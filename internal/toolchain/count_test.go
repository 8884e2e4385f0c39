package toolchain

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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
		list, err := listed(t.Context(), cmd)().CombinedOutput()
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
	list, err := listed(t.Context(), build("internal/bytealg"))().CombinedOutput()
	if err != nil || compiles(list) != 0 {
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
	script := "#!/bin/sh\nif [ \"$1\" = env ]; then exit; fi\n" +
		"if [ \"$2\" = -n ]; then echo x/compile -o a; echo x/compile -o b >&2; exit; fi\n" +
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

// TestListingSparesCoverage has a profile of coverage that another run of the tests writes: what lists the work of that
// run leaves it alone, wherever the flag stands.
func TestListingSparesCoverage(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module m\n\ngo 1.26\n", "m.go": "package m\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestM(t *testing.T) {}\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	profile := filepath.Join(dir, "c.out")
	for _, test := range []struct {
		goflags string
		args    []string
	}{
		{"", []string{"-coverprofile=" + profile, "."}},
		{"", []string{"--coverprofile", profile, "-v", "."}},
		{"", []string{".", "-test.coverprofile=" + profile, "-args", "-coverprofile=x"}},
		{"-coverprofile=" + profile, []string{"."}},
	} {
		if err := os.WriteFile(profile, []byte("mode: set\nm.go:1.1,2.2 1 1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("go", append([]string{"test"}, test.args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS="+test.goflags)
		if out, err := listed(t.Context(), cmd)().CombinedOutput(); err != nil || compiles(out) == 0 {
			t.Errorf("%q: %v\n%s", test, err, out)
		}
		if have, err := os.ReadFile(profile); err != nil || !strings.Contains(string(have), "m.go:1.1") {
			t.Errorf("%q: the profile is now %q, %v", test, have, err)
		}
	}
}
