// Package e2e builds and runs real programs, to prove that what stemma records
// is complete, exact and safe. Its subdirectories are those
// tests, a package for each kind of record. Plainly they take a few minutes, and try what each kind of record is for.
// With -more they try all engines, and sampling at all. With -full they take all combinations of engines and flags, and
// longer runs. CI does all three. What must run for hours to mean something is in the module bench.
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
// and is else built once, without flags, as "default". Builds that say //stemma-full: are made with -full only.
//
// Without -full tests build with few combinations of options, since each needs a standard library of its own: a build
// needs one of libraries, with -more one of moreLibraries, or -full. A test that asks for one metric of those that
// change compiled code gets all of them, see shareable. Tests of context IDs build with -verify, and leave the checker
// alone where they do not need it. What needs net/http has its tag, nethttp, with -full only. Of engines, settings and
// programs each is tried with -more, but not all combinations: Few and Covers choose.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/profile"
)

// A Result is one run of an instrumented program.
type Result struct {
	Stdout, Stderr string
	Dir            string // the live directory; empty if there is none
	Err            error
	CPU            time.Duration // that the kernel counted, user and system
	Memory         int64         // the most that was resident, in bytes
	late           bool          // it was ended, since it took too long
}

// More reports whether tests may take longer than people like to wait.
func More() bool { return level.More() }

// NeedMore skips tests that people do not wait for while they work.
func NeedMore(t *testing.T) { t.Helper(); level.NeedMore(t) }

// Full reports whether tests may take minutes.
func Full() bool { return level.Full() }

// NeedFull skips tests for which the standard library is built once more, or that run long.
func NeedFull(t *testing.T) { t.Helper(); level.NeedFull(t) }

// Few returns the first n of a test's cases, and all of them with -full. What differs most comes first.
func Few[T any](n int, cases ...T) []T {
	if Full() {
		return cases
	}
	return cases[:n]
}

// Covers reports whether case i of n is tried with case j of m: with -full all are, else each of both once or more.
func Covers(i, n, j, m int) bool {
	if n > m {
		i, n, j = j, m, i
	}
	return Full() || j%n == i
}

// Run runs an instrumented program with its record below a new directory.
func Run(t *testing.T, exe string, env ...string) Result {
	t.Helper()
	return RunIn(t, t.TempDir(), exe, env...)
}

// RunIn runs an instrumented program with its record below out. It is ended
// when the machine would have had to be a hundred times slower than usual, or when the time of the test is nearly over:
// then it hangs, and the log says where.
func RunIn(t *testing.T, out, exe string, env ...string) Result {
	t.Helper()
	limit := 5 * time.Minute
	if end, ok := t.Deadline(); ok {
		limit = time.Until(end) - 30*time.Second
	}
	r := runWithin(t, max(limit, time.Second), out, exe, env)
	if r.late {
		t.Logf("it did not end:\n%.100000s", r.Stderr)
	}
	return r
}

// RunBroken runs a program that lacks a part of the runtime, and may hang for want of it.
func RunBroken(t *testing.T, exe string, env ...string) Result {
	t.Helper()
	return runWithin(t, time.Minute, t.TempDir(), exe, env)
}

func runWithin(t *testing.T, limit time.Duration, out, exe string, env []string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := command(ctx, t, out, exe, env)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // the runtime prints its goroutines
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	r := Result{Stdout: stdout.String(), Stderr: stderr.String(), Err: err, late: ctx.Err() != nil}
	if cmd.Process != nil {
		r.Dir = LiveDir(out, cmd)
	}
	if s := cmd.ProcessState; s != nil {
		r.CPU = s.UserTime() + s.SystemTime()
		r.Memory = s.SysUsage().(*syscall.Rusage).Maxrss << 10
	}
	return r
}

// Command returns a command for an instrumented program with its record below out,
// for tests that start and end it themselves. What it prints to standard error is logged if the test fails.
func Command(t *testing.T, out, exe string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := command(context.Background(), t, out, exe, env)
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = stderr // no pipe: a child of the program may outlive it
	t.Cleanup(func() {
		defer stderr.Close()
		if text, err := os.ReadFile(stderr.Name()); t.Failed() && (err != nil || len(text) > 0) {
			t.Logf("%s, standard error: %v\n%s", filepath.Base(exe), err, Tail(string(text)))
		}
	})
	return cmd
}

// Ready starts a program that prints "ready" when it is, and waits for that. It returns what the program has printed
// before, and its standard input: many programs end when that is closed.
func Ready(t *testing.T, cmd *exec.Cmd) (printed string, in io.Closer) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); printed += lines.Text() + "\n" {
		if lines.Text() == "ready" {
			return printed, in
		}
	}
	t.Errorf("the program was never ready:\n%s", Tail(printed))
	return printed, in
}

func command(ctx context.Context, t *testing.T, out, exe string, env []string) *exec.Cmd {
	cmd := targetCommand(ctx, exe)
	cmd.Dir = t.TempDir()
	cmd.Env = slices.Concat(os.Environ(), targetLibraries(), []string{"STEMMA_OUT=" + out}, env)
	return cmd
}

// LiveDir returns the live directory below out of a program that was started, or
// "" if it has none.
func LiveDir(out string, cmd *exec.Cmd) string {
	dirs, _ := filepath.Glob(filepath.Join(out, fmt.Sprintf("%s.%d-*", filepath.Base(programOf(cmd)), cmd.Process.Pid)))
	if len(dirs) == 0 {
		return ""
	}
	return dirs[0]
}

// OK fails the test unless the program ended well and printed nothing to
// standard error.
func (r Result) OK(t *testing.T) {
	t.Helper()
	if r.Err != nil {
		t.Fatalf("%v\n%s%s", r.Err, Tail(r.Stdout), Tail(r.Stderr))
	}
	if r.Stderr != "" {
		t.Errorf("standard error:\n%s", Tail(r.Stderr))
	}
}

// Retry runs what measures up to three times, and fails if it never holds: a machine that others use
// disturbs a run now and then, a fault disturbs all.
func Retry(t *testing.T, run func() error) {
	t.Helper()
	var errs []error
	for len(errs) < 3 {
		err := run()
		if err == nil {
			return
		}
		errs = append(errs, err)
	}
	t.Error(errors.Join(errs...))
}

// Tail returns the beginning and the end of what a program printed.
func Tail(s string) string {
	if len(s) > 4000 {
		return s[:2000] + "\n…\n" + s[len(s)-2000:]
	}
	return s
}

// Read reads the profile of the live directory.
func (r Result) Read(t *testing.T) *profile.Profile {
	t.Helper()
	return r.Record(t).Profile
}

// Record reads the live directory.
func (r Result) Record(t *testing.T) *record.Record {
	t.Helper()
	if r.Dir == "" {
		t.Fatal("the program left no live directory")
	}
	p, err := record.Open(os.DirFS(r.Dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

// NoLoss fails the test if p says that something is missing.
func NoLoss(t *testing.T, p *profile.Profile) {
	t.Helper()
	for _, l := range p.Lost() {
		t.Errorf("lost %d %s", l.Count, l.Kind)
	}
	for _, proc := range p.Processes {
		for _, n := range proc.Notes {
			t.Errorf("note: %s", n)
		}
	}
}

// checkedLine is the result of stemma verify.
var checkedLine = regexp.MustCompile(`(?m)^checked (\d+) contexts?, (\d+) mismatch(?:es)?$`)

// truncatedLine is there if contexts were cut.
var truncatedLine = regexp.MustCompile(`(?m)^.*truncated.*$`)

// Verify lets stemma verify compare the contexts that a build with -verify has taken with
// the stacks that it has walked. It fails unless there are some, and all are right;
// truncated is what it says of those that were cut, or "".
func (r Result) Verify(t *testing.T) (contexts int, truncated string) {
	t.Helper()
	if r.Err != nil {
		t.Fatalf("%v\n%s", r.Err, Tail(r.Stderr))
	}
	out, err := exec.Command(Tool(t), "verify", "-v", "-live", r.Dir).CombinedOutput()
	m := checkedLine.FindSubmatch(out)
	if err != nil || m == nil || string(m[2]) != "0" {
		t.Fatalf("verify: %v\n%s", err, Tail(string(out)))
	}
	if contexts, _ = strconv.Atoi(string(m[1])); contexts == 0 {
		t.Fatal("nothing was checked")
	}
	return contexts, string(truncatedLine.Find(out))
}

// Builds returns the builds that a program asks for: tag and flags.
func Builds(t *testing.T, name string) [][]string {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(Program(name), "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	prefixes := []string{"//stemma:"}
	if Full() {
		prefixes = append(prefixes, "//stemma-full:")
	}
	var list [][]string
	for line := range strings.Lines(string(src)) {
		for _, prefix := range prefixes {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				list = append(list, strings.Fields(rest))
			}
		}
	}
	if list == nil {
		list = [][]string{{"default"}}
	}
	return list
}

// Prove builds a program in all its ways and runs each with every given number of Ps, without -full with the first
// and the last; expectations must hold, and nothing may be lost.
func Prove(t *testing.T, name string, procs []int, env ...string) {
	t.Helper()
	wants := SourceWants(t, name)
	if len(wants) == 0 {
		t.Fatal("the program expects nothing")
	}
	if len(procs) > 2 && !Full() {
		procs = []int{procs[0], procs[len(procs)-1]}
	}
	for _, b := range Builds(t, name) {
		tag := b[0]
		exe := Build(t, name, b[1:]...)
		for _, n := range procs {
			t.Run(fmt.Sprintf("%s/procs=%d", tag, n), func(t *testing.T) {
				r := Run(t, exe, slices.Concat([]string{fmt.Sprint("GOMAXPROCS=", n)}, env)...)
				r.OK(t)
				p := r.Read(t)
				NoLoss(t, p)
				Check(t, cct.New(p), slices.Concat(wants, r.Wants(t)), tag)
			})
		}
	}
}
