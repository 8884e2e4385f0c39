package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/suite"
)

// How it works.
//
// The checker in a build takes at each function entry what the engine says is the context, and beside it what the
// runtime's own stack walk finds. What the test does then is not the question: some end by a signal, and some take
// longer than they may.

// everyEntry has each function entry checked. With dacce such an entry goes through Go, so a second run checks one of
// three, and assembly pushes the others.
const (
	everyEntry = "STEMMA_CHECK_EVERY=1"
	everyThird = "STEMMA_CHECK_EVERY=3"
)

// verify compares the contexts of the tests with stack walks, in each build. It reports whether all are the same, and
// there are some.
func (o options) verify(l *lab.Lab) (ok bool, err error) {
	chosen, err := o.choose(l.Tree)
	if err != nil {
		return false, err
	}
	t := o.tester(l)
	checks := make([][]checked, len(chosen))
	o.each(l, chosen, func(i int, work string) string {
		checks[i] = t.check(chosen[i], work)
		var all suite.Check
		for _, c := range checks[i] {
			all = all.Plus(c.Check)
		}
		return fmt.Sprintf("%d contexts, %d mismatches", all.Contexts, all.Mismatches)
	})
	return reportChecks(chosen, t.builds, checks), nil
}

// checked is what was compared in one build of a test.
type checked struct {
	suite.Check
	failed string // why nothing was compared
}

// check builds a test with the checker, in each of t's builds, runs it and compares.
func (t *tester) check(c *testCase, work string) []checked {
	defer os.RemoveAll(work)
	list := make([]checked, len(t.builds))
	src, exe := filepath.Join(work, "src"), filepath.Join(work, "a.exe")
	if err := os.MkdirAll(src, 0o777); err != nil {
		return failed(list, err.Error())
	}
	dir, pkg, err := c.setUp(src)
	if err != nil {
		return failed(list, err.Error())
	}
	if out, err := t.build(c, dir, pkg, exe, "go", "build"); err != nil {
		return failed(list, "plain Go does not build it: "+firstLine(out))
	}
	for i, b := range t.builds {
		words := slices.Concat([]string{t.stemma, "build", "-verify"}, b.flags)
		if out, err := t.build(c, dir, pkg, exe, words...); err != nil {
			list[i].failed = "it is not built: " + out
			continue
		}
		out := filepath.Join(work, fmt.Sprint("out", i))
		if err := os.Mkdir(out, 0o700); err != nil {
			return failed(list, err.Error())
		}
		runs := []string{everyEntry}
		if strings.HasPrefix(b.name, "dacce") {
			runs = append(runs, everyThird)
		}
		for _, every := range runs {
			t.run(c, exe, dir, slices.Concat(b.env, []string{every, "STEMMA_OUT=" + out}), t.timeout)
		}
		compare := func(out string) (suite.Check, error) { return suite.Compare(t.stemma, out) }
		if strings.HasPrefix(b.name, "sample") {
			compare = suite.CompareSamples
		}
		if list[i].Check, err = compare(out); err != nil {
			list[i].failed = err.Error()
		}
	}
	return list
}

// failed says of all in list why nothing was compared, and returns list.
func failed(list []checked, why string) []checked {
	for i := range list {
		list[i].failed = why
	}
	return list
}

// reportChecks prints what was compared in each build, and reports whether there is something and all of it agrees.
func reportChecks(cases []*testCase, builds []build, checks [][]checked) (ok bool) {
	ok = true
	var all suite.Check
	for i, b := range builds {
		var sum suite.Check
		without := 0
		for j, c := range cases {
			have := checks[j][i]
			if have.failed != "" {
				without++
				fmt.Printf("nothing compared: %s: %s: %s\n", b.name, c.name, have.failed)
			}
			if have.Mismatches > 0 {
				fmt.Printf("DIFFERENT: %s: %s: %d of %d contexts\n", b.name, c.name, have.Mismatches, have.Contexts)
			}
			sum = sum.Plus(have.Check)
		}
		fmt.Printf("%-12s %d tests, %d without a result, %d contexts, %d mismatches\n", b.name, len(cases), without,
			sum.Contexts, sum.Mismatches)
		ok = ok && sum.Contexts > 0 && sum.Mismatches == 0
		all = all.Plus(sum)
	}
	fmt.Printf("checked %d contexts, %d mismatches\n", all.Contexts, all.Mismatches)
	return ok
}
