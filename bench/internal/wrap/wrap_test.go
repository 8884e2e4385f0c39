package wrap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// module makes a module of one program and returns its directory.
func module(t *testing.T, main string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module demo\n\ngo 1.26.0\n", "main.go": main} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWrappedProgramIsProfiled(t *testing.T) {
	dir := module(t, `package main

import (
	"fmt"
	"runtime/pprof"
)

func main() { fmt.Println("profiling:", pprof.StartCPUProfile(nil)) }
`)
	flags, err := Main(dir, t.TempDir(), "pprof")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append(append([]string{"run"}, flags...), ".")...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "already in use") {
		t.Errorf("got %s, %v; want that profiling is already in use", out, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the sources changed: %v, %v", entries, err)
	}
}

// TestProfileFile profiles a program that ends with os.Exit: one in GOROOT, since a hook of the
// runtime ends the profile, and one that returns from main.
func TestProfileFile(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	gofmt := filepath.Join(strings.TrimSpace(string(root)), "src", "cmd", "gofmt")
	returns := module(t, "package main\n\nfunc main() {}\n")
	for profiler, dir := range map[string]string{"pprof-file": returns, "pprof-file-at-exit": gofmt} {
		flags, err := Main(dir, t.TempDir(), profiler)
		if err != nil {
			t.Fatal(err)
		}
		profile := filepath.Join(t.TempDir(), "cpu.pprof")
		cmd := exec.Command("go", append(append([]string{"run"}, flags...), ".")...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), ProfileEnv+"="+profile)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", profiler, err, out)
		}
		if data, err := os.ReadFile(profile); err != nil || len(data) < 2 || data[0] != 0x1f || data[1] != 0x8b {
			t.Errorf("%s: no profile: %v, %d bytes", profiler, err, len(data))
		}
	}
}

func TestWrapErrors(t *testing.T) {
	if _, err := Main(t.TempDir(), t.TempDir(), "gprof"); err == nil {
		t.Error("no error for an unknown profiler")
	}
	if _, err := Main(module(t, "package main\n\nvar x int\n"), t.TempDir(), "pprof"); err == nil {
		t.Error("no error without a function main")
	}
}
