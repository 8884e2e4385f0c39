package suite

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Tester tests packages. Dir is where the go command runs, and Env what its environment
// has beside that of this process. Flags are those of go test, Build those of stemma test.
type Tester struct {
	Stemma  string // the command
	Work    string // a directory for records
	Dir     string
	Env     []string
	Flags   []string
	Build   []string
	Release string // "go1.27": of the Go that runs the tests
	Known   Exceptions
	Timeout time.Duration
	Short   bool
	All     bool // also what is listed as not to be run
	Compare bool // also fail tests that pass in plain Go, and do not end here

	plain map[string]*outcome // of packages that were tested in plain Go
}

// Result is what came out of the tests of one package. Names of tests are
// those of top-level tests; the name "" stands for the package itself, which
// can fail without a test that fails.
type Result struct {
	pkg     string
	notRun  bool              // listed as a whole
	listed  []string          // failed, as exceptions.txt says
	unknown []string          // failed, and should not
	plain   []string          // failed, in plain Go as well
	flaky   []string          // failed, but passed when run again
	stale   []string          // listed, but passed
	output  map[string]string // of failed tests
	passed  int               // tests
}

// passes is how often a package is tested, each time without the tests that
// have failed before: a test that crashes hides those after it.
const passes = 6

// Test tests one package.
func (t *Tester) Test(pkg string) *Result {
	r := &Result{pkg: pkg, output: make(map[string]string)}
	if t.isLeftOut(t.Known[pkg]) {
		r.notRun = true
		return r
	}
	passed := make(map[string]bool)
	r.listed = t.leftOut(pkg)
	var failed []string
	for range passes {
		o := t.instrumented(pkg, failed...)
		maps.Copy(passed, o.ok)
		if o.passed {
			break
		}
		maps.Copy(r.output, o.failed)
		found := slices.DeleteFunc(names(o.failed), func(n string) bool { return slices.Contains(failed, n) })
		failed = append(failed, found...)
		if len(found) == 0 || slices.Contains(found, "") {
			break // nothing new to skip by
		}
	}
	r.stale = t.stale(pkg, passed) // before what passes when it is run again: that needs its exception
	maps.Copy(passed, t.classify(r, failed))
	r.passed = topLevel(passed)
	if t.Compare && !slices.Contains(failed, "") {
		t.findMissing(r, passed, failed)
	}
	return r
}

// findMissing finds tests that pass in plain Go, and have neither passed nor failed here: a
// program that ends too early, or skips them, fails nothing.
func (t *Tester) findMissing(r *Result, passed map[string]bool, failed []string) {
	if t.plain[r.pkg] == nil {
		if t.plain == nil {
			t.plain = make(map[string]*outcome)
		}
		t.plain[r.pkg] = t.inPlainGo(r.pkg)
	}
	left := t.leftOut(r.pkg)
	for _, test := range slices.Sorted(maps.Keys(t.plain[r.pkg].ok)) {
		if !strings.Contains(test, "/") && !passed[test] && !slices.Contains(failed, test) &&
			!slices.Contains(left, test) {
			r.unknown = append(r.unknown, test)
			r.output[test] = "passes in plain Go, and did not run here, or was skipped"
		}
	}
}

// topLevel counts tests, without their subtests.
func topLevel(tests map[string]bool) (n int) {
	for test := range tests {
		if !strings.Contains(test, "/") {
			n++
		}
	}
	return n
}

// leftOut returns the tests of pkg that are not run in this build, since they might
// never end.
func (t *Tester) leftOut(pkg string) []string {
	var tests []string
	for name, reason := range t.Known {
		test, ok := strings.CutPrefix(name, pkg+".Test")
		if ok && reason[0] == '-' && t.isLeftOut(reason) {
			tests = append(tests, "Test"+test)
		}
	}
	slices.Sort(tests)
	return tests
}

// stale returns the tests of pkg that are listed, for all builds, but passed.
func (t *Tester) stale(pkg string, passed map[string]bool) []string {
	var tests []string
	for test := range passed {
		if reason := t.Known[pkg+"."+test]; reason != "" && reason[0] != '-' && t.applies(reason) {
			tests = append(tests, test)
		}
	}
	slices.Sort(tests)
	return tests
}

// classify finds out for each failure whether it was an accident, is known,
// or is stemma's fault. An accident passes when the whole package is tested
// again: some tests fail only after others. classify returns what passes that time.
func (t *Tester) classify(r *Result, failed []string) map[string]bool {
	if len(failed) == 0 {
		return nil
	}
	again := t.instrumented(r.pkg)
	for _, name := range failed {
		switch {
		case again.ok[name] || name == "" && again.passed:
			r.flaky = append(r.flaky, name)
		case !t.passesPlain(r.pkg, name):
			r.plain = append(r.plain, name)
		case t.reason(r.pkg, name) != "":
			r.listed = append(r.listed, name)
		default:
			r.unknown = append(r.unknown, name)
		}
	}
	return again.ok
}

// passesPlain reports whether a test, or all of the package, passes in plain Go.
func (t *Tester) passesPlain(pkg, test string) bool {
	if test != "" {
		return t.inPlainGo(pkg, "-run="+anyOf([]string{test})).passed
	}
	return t.inPlainGo(pkg).passed
}

// inPlainGo tests pkg with the go command.
func (t *Tester) inPlainGo(pkg string, flags ...string) *outcome {
	return t.run(append([]string{"go", "test", "-vet=off", "-count=1"}, t.testFlags(flags)...), pkg)
}

// reason returns why a test of a package is listed.
func (t *Tester) reason(pkg, test string) string {
	reason := t.Known[pkg]
	if reason == "" && test != "" {
		reason = t.Known[pkg+"."+test]
	}
	if !t.applies(reason) {
		return ""
	}
	return reason
}

// isLeftOut reports whether what is listed for a reason, if any, is not run: in builds with
// the flag that the reason begins with, or in all.
func (t *Tester) isLeftOut(reason string) bool {
	flag, _, ok := strings.Cut(reason, ": ")
	if ok && flag[0] == '-' {
		return !t.All && slices.Contains(t.Build, flag)
	}
	return reason != "" && !t.All && t.applies(reason)
}

// applies reports whether a reason is good for the Go that runs the tests. One that begins
// with a release is good for that one only.
func (t *Tester) applies(reason string) bool {
	release, _, ok := strings.Cut(reason, ": ")
	return !ok || !strings.HasPrefix(release, "go1.") || release == t.Release
}

// anyOf returns the regular expression that matches just these top-level tests.
func anyOf(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

// instrumented tests pkg without the tests in skip and those that are left out.
func (t *Tester) instrumented(pkg string, skip ...string) *outcome {
	out, err := os.MkdirTemp(t.Work, filepath.Base(pkg)+"-")
	if err != nil {
		return failedOutcome(err.Error())
	}
	defer os.RemoveAll(out)
	var flags []string
	if skip = append(t.leftOut(pkg), skip...); len(skip) > 0 {
		flags = []string{"-skip=" + anyOf(skip)}
	}
	args := append([]string{t.Stemma, "test"}, t.Build...)
	return t.run(append(args, t.testFlags(flags)...), pkg, "STEMMA_OUT="+out)
}

func (t *Tester) testFlags(flags []string) []string {
	all := append([]string{"-json", "-timeout=" + t.Timeout.String()}, flags...)
	if t.Short {
		all = append(all, "-short")
	}
	return append(all, t.Flags...)
}

func (t *Tester) run(args []string, pkg string, env ...string) *outcome {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(args[0], append(args[1:], pkg)...)
	cmd.Dir = t.Dir
	cmd.Env = slices.Concat(os.Environ(), t.Env, env)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	o := parseEvents(stdout.Bytes())
	if err != nil && o.passed {
		return failedOutcome(err.Error() + "\n" + stderr.String())
	}
	if !o.passed && stderr.Len() > 0 {
		o.note(stderr.String())
	}
	return o
}

// List returns those of the packages that have tests. The go command runs in dir, with
// what env has beside the environment of this process.
func List(dir string, env, patterns []string) ([]string, error) {
	args := append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}, patterns...)
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	packages := strings.Fields(string(out))
	if len(packages) == 0 {
		return nil, fmt.Errorf("no tests in %s", strings.Join(patterns, " "))
	}
	return packages, nil
}
