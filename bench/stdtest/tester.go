package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tester tests packages.
type tester struct {
	options *options
	known   exceptions
	work    string
	stemma  string
}

// result is what came out of the tests of one package. Names of tests are
// those of top-level tests; the name "" stands for the package itself, which
// can fail without a test that fails.
type result struct {
	pkg     string
	notRun  bool              // listed as a whole
	listed  []string          // failed, as exceptions.txt says
	unknown []string          // failed, and should not
	plain   []string          // failed, in plain Go too
	flaky   []string          // failed, but passed when run again
	stale   []string          // listed, but passed
	output  map[string]string // of failed tests
}

// passes is how often a package is tested, each time without the tests that
// have failed before: a test that crashes hides those after it.
const passes = 6

// test tests one package.
func (t *tester) test(pkg string) *result {
	r := &result{pkg: pkg, output: make(map[string]string)}
	if t.known[pkg] != "" && !t.options.all {
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
	r.stale = t.stale(pkg, passed)
	t.classify(r, failed)
	return r
}

// leftOut returns the tests of pkg that are not run in this build, since they might
// never end.
func (t *tester) leftOut(pkg string) []string {
	var tests []string
	for name, reason := range t.known {
		test, ok := strings.CutPrefix(name, pkg+".Test")
		flag, _, _ := strings.Cut(reason, ": ")
		if ok && !t.options.all && slices.Contains(t.options.build, flag) {
			tests = append(tests, "Test"+test)
		}
	}
	slices.Sort(tests)
	return tests
}

// stale returns the tests of pkg that are listed, for all builds, but passed.
func (t *tester) stale(pkg string, passed map[string]bool) []string {
	var tests []string
	for test := range passed {
		if reason := t.known[pkg+"."+test]; reason != "" && reason[0] != '-' {
			tests = append(tests, test)
		}
	}
	slices.Sort(tests)
	return tests
}

// classify finds out for each failure whether it was an accident, is known,
// or is stemma's fault. An accident passes when the whole package is tested
// again: some tests fail only after others.
func (t *tester) classify(r *result, failed []string) {
	if len(failed) == 0 {
		return
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
}

// passesPlain tells whether a test, or all of the package, passes in plain Go.
func (t *tester) passesPlain(pkg, test string) bool {
	args := []string{"go", "test", "-vet=off", "-count=1"}
	if test != "" {
		args = append(args, "-run="+anyOf([]string{test}))
	}
	return t.run(append(args, t.testFlags(nil)...), pkg).passed
}

// reason returns why a test of a package is listed.
func (t *tester) reason(pkg, test string) string {
	if reason := t.known[pkg]; reason != "" || test == "" {
		return reason
	}
	return t.known[pkg+"."+test]
}

// anyOf returns the regular expression that matches just these top-level tests.
func anyOf(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

// instrumented tests pkg without the tests in skip and those that are left out.
func (t *tester) instrumented(pkg string, skip ...string) *outcome {
	out, err := os.MkdirTemp(t.work, filepath.Base(pkg)+"-")
	if err != nil {
		return failedOutcome(err.Error())
	}
	defer os.RemoveAll(out)
	var flags []string
	if skip = append(t.leftOut(pkg), skip...); len(skip) > 0 {
		flags = []string{"-skip=" + anyOf(skip)}
	}
	args := append([]string{t.stemma, "test"}, t.options.build...)
	return t.run(append(args, t.testFlags(flags)...), pkg, "STEMMA_OUT="+out)
}

func (t *tester) testFlags(flags []string) []string {
	all := append([]string{"-json", "-timeout=" + t.options.timeout.String()}, flags...)
	if t.options.short {
		all = append(all, "-short")
	}
	return all
}

func (t *tester) run(args []string, pkg string, env ...string) *outcome {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(args[0], append(args[1:], pkg)...)
	cmd.Env = append(os.Environ(), env...)
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
