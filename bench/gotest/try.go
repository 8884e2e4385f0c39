package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A tester builds and runs tests.
type tester struct {
	stemma  string
	builds  []build
	timeout time.Duration
}

// A result is what came out of one test.
type result struct {
	name      string
	unusable  string            // why it cannot be compared: plain Go does not build it, or it does not end
	different map[string]string // how, by builds
	endless   map[string]bool   // builds in which it does not end, as it does not in plain Go with the same flags
}

// outcome returns a few words on r.
func (r *result) outcome() string {
	switch {
	case r.unusable != "":
		return "left out"
	case len(r.different) > 0:
		return "different with " + strings.Join(slices.Sorted(maps.Keys(r.different)), ", ")
	case len(r.endless) > 0:
		return "does not end with " + strings.Join(slices.Sorted(maps.Keys(r.endless)), ", ") + ", nor plainly"
	}
	return "the same"
}

// An outcome is what can be seen of a run.
type outcome struct {
	code int // noEnd if it did not end in time
	text string
}

// noEnd is the code of a program that was ended.
const noEnd = -2

// slower is how many times longer than plainly a test may run instrumented, if that is more than the limit: some start
// the go command a hundred times, on a machine that is busy at one moment and idle at the next.
const slower = 10

// tries is how often builds are compared before they are said to differ: some tests print what depends on time.
const tries = 3

// try compares all builds of a test in a directory that is made, and removed.
func (t *tester) try(c *testCase, work string) *result {
	r := &result{name: c.name, different: map[string]string{}, endless: map[string]bool{}}
	defer os.RemoveAll(work)
	src := filepath.Join(work, "src")
	if err := os.MkdirAll(src, 0o777); err != nil {
		r.unusable = err.Error()
		return r
	}
	dir, pkg, err := c.setUp(src)
	if err != nil {
		r.unusable = err.Error()
		return r
	}
	exe := filepath.Join(work, "a.exe")
	if out, err := t.build(c, dir, pkg, exe, "go", "build"); err != nil {
		r.unusable = "plain Go does not build it: " + firstLine(out)
		return r
	}
	began := time.Now()
	plain := []outcome{t.run(c, exe, dir, nil, t.timeout)}
	most := t.limit(time.Since(began))
	if plain[0].code == noEnd {
		r.unusable = "it does not end in plain Go"
		return r
	}
	for _, b := range t.builds {
		instrumented := filepath.Join(work, "instrumented.exe")
		words := slices.Concat([]string{t.stemma, "build"}, b.flags)
		if out, err := t.build(c, dir, pkg, instrumented, words...); err != nil {
			r.different[b.name] = "it is not built: " + out
			continue
		}
		how, have := "", outcome{}
		run := func(most time.Duration) outcome {
			return t.run(c, instrumented, dir, append(b.env, "STEMMA_OUT="+filepath.Join(work, "out")), most)
		}
		for try := range tries {
			if try > 0 {
				plain = append(plain, t.run(c, exe, dir, nil, most))
			}
			have = run(most)
			if how = have.differs(plain); how == "" || have.code == noEnd {
				break
			}
		}
		if how != "" && len(b.ofGo()) > 0 {
			how = t.beside(c, dir, pkg, exe+".flags", b.ofGo(), most, run, have, how)
		}
		switch how {
		case "":
		case endless:
			r.endless[b.name] = true
		default:
			r.different[b.name] = how
		}
	}
	return r
}

// endless is how a test is different that does not end in plain Go with the same flags either.
const endless = "it does not end, nor does it in plain Go with the same flags"

// ofGo returns those flags of a build that plain Go has as well.
func (b build) ofGo() (flags []string) {
	for _, f := range b.flags {
		if strings.HasPrefix(f, "-gcflags=") {
			flags = append(flags, f)
		}
	}
	return flags
}

// beside compares what is different from plain Go with plain Go of the same flags: where each function moves the stack
// or yields, some tests take a hundred times as long, or see that their stacks are larger. It returns how it is
// different from that, "" or endless.
func (t *tester) beside(c *testCase, dir string, pkg []string, exe string, flags []string, most time.Duration,
	again func(most time.Duration) outcome, have outcome, how string) string {
	if out, err := t.build(c, dir, pkg, exe, slices.Concat([]string{"go", "build"}, flags)...); err != nil {
		return how + "; plain Go does not build it with the same flags: " + firstLine(out)
	}
	var plain []outcome
	for range tries {
		began := time.Now()
		plain = append(plain, t.run(c, exe, dir, nil, most))
		switch ends := plain[len(plain)-1].code != noEnd; {
		case !ends && have.code == noEnd:
			return endless
		case !ends:
			return how
		case have.code == noEnd: // it may take as many times longer than that
			have = again(t.limit(time.Since(began)))
		}
		if how = have.differs(plain); how == "" || have.code == noEnd {
			break
		}
	}
	return how
}

// limit returns how long a test may run that takes so long plainly.
func (t *tester) limit(plain time.Duration) time.Duration { return max(t.timeout, slower*plain) }

// differs returns how o is another outcome than all of plain, or returns "".
func (o outcome) differs(plain []outcome) string {
	if slices.Contains(plain, o) {
		return ""
	}
	first := plain[0]
	if o.code == noEnd {
		return fmt.Sprintf("it does not end; then it prints\n%.1000s", o.text)
	}
	if o.code != first.code {
		return fmt.Sprintf("exit code %d, want %d\n%.1000s", o.code, first.code, o.text)
	}
	return fmt.Sprintf("it prints\n%.1000s\nwant\n%.1000s", o.text, first.text)
}

// build builds pkg.
func (t *tester) build(c *testCase, dir string, pkg []string, exe string, words ...string) (out string, err error) {
	cmd := exec.Command(words[0], slices.Concat(words[1:], c.flags, []string{"-o", exe}, pkg)...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS="), c.env...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// numbers are what differs in stacks: addresses, goroutines, process IDs.
var numbers = regexp.MustCompile(`\b(0x[0-9a-f]+|[0-9]+)\b`)

// run runs a program of the test, for as long as most.
func (t *tester) run(c *testCase, exe, dir string, env []string, most time.Duration) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, c.args...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	if c.action == "run" {
		cmd.Dir = filepath.Join(c.dir, filepath.Dir(c.name)) // some read what lies beside them
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.Env = slices.Concat(os.Environ(), []string{"GOFLAGS="}, c.env, env)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return outcome{noEnd, string(out)}
	}
	if err != nil && cmd.ProcessState == nil {
		return outcome{-3, err.Error()}
	}
	return outcome{cmd.ProcessState.ExitCode(), numbers.ReplaceAllString(string(out), "N")}
}

// firstLine returns what a build has to say.
func firstLine(out string) string {
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "#") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
