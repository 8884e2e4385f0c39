// Package loggertest builds programs that log, for tests.
package loggertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Decoded builds the program in the given folder with an engine that gives IDs, runs it, and returns what it printed,
// as stemma decode turns it into stacks. Before that it checks that a plain build of the program prints no IDs.
func Decoded(t *testing.T, dir, engine string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds programs; run without -short")
	}
	tmp, tool := t.TempDir(), toolOf(t)
	plain, prog := filepath.Join(tmp, "plain"), filepath.Join(tmp, "prog")
	run(t, "", "", "", "go", "build", "-o", plain, dir)
	if have := run(t, tmp, "", "", plain); strings.Contains(have, "stm2") || !strings.Contains(have, "paid") {
		t.Errorf("a plain build prints:\n%s", have)
	}
	run(t, "", "", "", tool, "build", "-engine="+engine, "-o", prog, dir)
	printed := run(t, tmp, "", "", prog)
	if !strings.Contains(printed, "stm2") {
		t.Fatalf("there are no IDs in what the program prints:\n%s", printed)
	}
	return run(t, tmp, printed, "", tool, "decode")
}

// Build builds the program in the given folder with an engine that gives IDs, and returns what runs it with a variable
// of the environment, and returns what it prints.
func Build(t *testing.T, dir, engine string) func(variable string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds programs; run without -short")
	}
	tmp := t.TempDir()
	prog := filepath.Join(tmp, "prog")
	run(t, "", "", "", toolOf(t), "build", "-engine="+engine, "-o", prog, dir)
	return func(variable string) string {
		t.Helper()
		return run(t, tmp, "", variable, prog)
	}
}

// Matches fails the test if a text, of what is named, does not match a regular expression.
func Matches(t *testing.T, name, have, want string) {
	t.Helper()
	if !regexp.MustCompile(want).MatchString(have) {
		t.Errorf("%s: have\n%s\nwant a match of %s", name, have, want)
	}
}

// toolOf builds the command stemma. The test is one of a module in a folder of its own below stemma's.
func toolOf(t *testing.T) string {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "stemma")
	run(t, "..", "", "", "go", "build", "-o", tool, "./cmd/stemma")
	return tool
}

// run runs a command and returns what it printed.
func run(t *testing.T, dir, stdin, variable, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "STEMMA_OUT=", variable)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, &stdout, &stderr)
	}
	return stdout.String()
}
