// Package e2e proves on real programs that what stemma records is complete,
// exact and safe.
//
// Each directory in testdata/programs is a program. It says in comments what
// its profile must contain, and may print further expectations when it runs,
// from counters of its own:
//
//	//want:func main.leaf 1000
//	//want:context [main];main.main;**;go main.worker;native runtime.mapaccess1 3
//	//want:context@full **;main.fib;main.fib;main.fib 5
//
// The first counts all invocations of a function, the others those in contexts
// that match a pattern: frames from the root on, ** for any number of frames,
// ~ for any part of a name, a word before the name for how the function was
// entered. The count may begin with >= or <=. A tag limits the expectation to
// one build; a program names its builds in comments
//
//	//stemma:full -recursion=full
//
// and is else built once, without flags, as "default".
package e2e

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

var workDir string // holds stemma and the built programs

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "stemma-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	workDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// needBuilds skips tests that build programs.
func needBuilds(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds instrumented programs; run without -short")
	}
}

// stemma is the tool itself, built once.
var stemma = sync.OnceValues(func() (string, error) {
	exe := filepath.Join(workDir, "stemma")
	out, err := exec.Command("go", "build", "-o", exe, "github.com/stemma-go/stemma/cmd/stemma").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return exe, nil
})

var programs = filepath.Join("testdata", "programs")

// build builds a program with stemma and returns the executable.
func build(t *testing.T, name, tag string, flags ...string) string {
	t.Helper()
	tool, err := stemma()
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(workDir, strings.ReplaceAll(name, "/", "_")+"."+tag)
	if _, err := os.Stat(exe); err == nil {
		return exe
	}
	args := append([]string{"build", "-o", exe}, flags...)
	cmd := exec.Command(tool, append(args, "./"+name)...)
	cmd.Dir = programs
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("stemma %s: %v\n%s", strings.Join(cmd.Args[1:], " "), err, out)
	}
	return exe
}

// A result is one run of an instrumented program.
type result struct {
	stdout, stderr string
	dir            string // the live directory; empty if there is none
	err            error
}

// run runs an instrumented program with its record below a new directory.
func run(t *testing.T, exe string, env ...string) result {
	t.Helper()
	return runIn(t, t.TempDir(), exe, env...)
}

// runIn runs an instrumented program with its record below out.
func runIn(t *testing.T, out, exe string, env ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Dir = t.TempDir()
	cmd.Env = append(append(os.Environ(), "STEMMA_OUT="+out), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r := result{stdout: stdout.String(), stderr: stderr.String(), err: err}
	if cmd.Process != nil {
		dir := filepath.Join(out, fmt.Sprintf("%s.%d", filepath.Base(exe), cmd.Process.Pid))
		if _, err := os.Stat(dir); err == nil {
			r.dir = dir
		}
	}
	return r
}

// ok fails the test unless the program ended well and printed nothing to
// standard error.
func (r result) ok(t *testing.T) {
	t.Helper()
	if r.err != nil {
		t.Fatalf("%v\n%s%s", r.err, tail(r.stdout), tail(r.stderr))
	}
	if r.stderr != "" {
		t.Errorf("standard error:\n%s", tail(r.stderr))
	}
}

func tail(s string) string {
	if len(s) > 4000 {
		return s[:2000] + "\n…\n" + s[len(s)-2000:]
	}
	return s
}

// read reads the live directory.
func (r result) read(t *testing.T) *profile.Profile {
	t.Helper()
	if r.dir == "" {
		t.Fatal("the program left no live directory")
	}
	p, err := profile.ReadLive(os.DirFS(r.dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

// wants returns the expectations that the program printed.
func (r result) wants(t *testing.T) []want {
	t.Helper()
	return scanWants(t, strings.NewReader(r.stdout), "output", "want:")
}

// builds returns the builds that a program asks for: tag and flags.
func builds(t *testing.T, dir string) [][]string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	var list [][]string
	for line := range strings.Lines(string(src)) {
		if rest, ok := strings.CutPrefix(line, "//stemma:"); ok {
			list = append(list, strings.Fields(rest))
		}
	}
	if list == nil {
		list = [][]string{{"default"}}
	}
	return list
}

// prove builds a program in all its ways and runs each with every given
// number of Ps; expectations must hold, and nothing may be lost.
func prove(t *testing.T, name string, procs []int, env ...string) {
	t.Helper()
	needBuilds(t)
	dir := filepath.Join(programs, name)
	wants := sourceWants(t, dir)
	if len(wants) == 0 {
		t.Fatal("the program expects nothing")
	}
	for _, b := range builds(t, dir) {
		tag := b[0]
		exe := build(t, name, tag, b[1:]...)
		for _, n := range procs {
			t.Run(fmt.Sprintf("%s/procs=%d", tag, n), func(t *testing.T) {
				r := run(t, exe, slices.Concat([]string{fmt.Sprint("GOMAXPROCS=", n)}, env)...)
				r.ok(t)
				p := r.read(t)
				noLoss(t, p)
				check(t, cct.New(p), slices.Concat(wants, r.wants(t)), tag)
			})
		}
	}
}
