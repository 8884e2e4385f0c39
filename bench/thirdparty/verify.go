package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/internal/record"
)

// How it works.
//
// The tests of a module are built with the checker in them, which takes at regular distances what the
// engine says is the context, and beside it what the runtime's own stack walk finds. Whether the tests
// pass is not the question here: what walks stacks all the time changes what they measure.

// A check is what was compared in the tests of one module.
type check struct{ contexts, mismatches uint64 }

// verify compares the contexts of the modules with stack walks, for each engine. It reports whether all are the
// same, and there are some.
func (o *options) verify(modules []*module, work string) (ok bool, err error) {
	total := make(map[string]check)
	ok = true
	for i, m := range modules {
		dir := filepath.Join(work, fmt.Sprint("module", i), m.path)
		if err := lab.FetchModule(m.path, m.version, dir); err != nil {
			return false, fmt.Errorf("%s: %w", m.name(), err)
		}
		for _, engine := range o.engines {
			c, err := o.checkModule(m, engine, dir, filepath.Join(work, fmt.Sprint("out", i, engine)))
			fmt.Printf("%-7s %-45s %10d contexts, %d mismatches", engine, m.name()+"@"+m.version, c.contexts,
				c.mismatches)
			if err != nil {
				fmt.Printf(": %v", err)
			}
			fmt.Println()
			ok = ok && err == nil && c.mismatches == 0
			sum := total[engine]
			total[engine] = check{sum.contexts + c.contexts, sum.mismatches + c.mismatches}
		}
	}
	var all check
	for _, engine := range o.engines {
		c := total[engine]
		fmt.Printf("%-7s %-45s %10d contexts, %d mismatches\n", engine, "all", c.contexts, c.mismatches)
		all = check{all.contexts + c.contexts, all.mismatches + c.mismatches}
	}
	fmt.Printf("checked %d contexts, %d mismatches\n", all.contexts, all.mismatches)
	return ok, nil
}

// checkModule runs the tests of a module with an engine, with records in out, and compares.
func (o *options) checkModule(m *module, engine, dir, out string) (c check, err error) {
	if err := os.MkdirAll(out, 0o700); err != nil {
		return c, err
	}
	if !o.keep {
		defer os.RemoveAll(out)
	}
	args := []string{"test", "-engine=" + engine, "-verify", "-timeout=" + o.timeout.String()}
	if engine == "sample" {
		args = append(args, "-every=100us", "-count=20") // some tests take less than a millisecond
	}
	if !o.long {
		args = append(args, "-short")
	}
	cmd := exec.Command(o.stemma, slices.Concat(args, m.flags, m.packages)...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), []string{"GOFLAGS=-mod=mod", "GOWORK=off", "STEMMA_OUT=" + out}, m.env)
	text, ran := cmd.CombinedOutput()
	if engine == "sample" {
		c, err = comparedSamples(out)
	} else {
		c, err = o.compared(out)
	}
	if err == nil && c.contexts == 0 {
		err = errors.New("nothing was compared")
	}
	if err != nil && ran != nil {
		err = fmt.Errorf("%w; the tests: %w\n%s", err, ran, text[max(0, len(text)-2000):])
	}
	return c, err
}

// verifyResult is the first line that stemma verify prints.
var verifyResult = regexp.MustCompile(`(?m)^checked (\d+) contexts?, (\d+) mismatch(?:es)?$`)

// compared lets stemma verify compare what checkers have left in out. That it exits 1 where
// contexts differ is a result, and the first of them are printed.
func (o *options) compared(out string) (c check, err error) {
	text, err := exec.Command(o.stemma, "verify", "-live", "-v", "-show=3", out).Output()
	m := verifyResult.FindSubmatch(text)
	if m == nil {
		return c, fmt.Errorf("stemma verify: no result (%w)", err)
	}
	for i, n := range []*uint64{&c.contexts, &c.mismatches} {
		if *n, err = strconv.ParseUint(string(m[i+1]), 10, 64); err != nil {
			return check{}, err
		}
	}
	if c.mismatches > 0 {
		fmt.Printf("%s\n", bytes.TrimSpace(text))
	}
	return c, nil
}

// comparedSamples adds up what the programs that have left records in out say of their own samples: an entry
// whose frame had gone unnoticed counts as a trace that differs as well.
func comparedSamples(out string) (c check, err error) {
	dirs, err := filepath.Glob(filepath.Join(out, "*.*-*"))
	if err != nil {
		return c, err
	}
	for _, dir := range dirs {
		r, err := record.Open(os.DirFS(dir))
		if err != nil {
			return c, fmt.Errorf("%s: %w", dir, err)
		}
		for _, proc := range r.Processes {
			if s := proc.Sampling; s != nil {
				c.contexts += s.Stat("checked")
				c.mismatches += s.Stat("mismatches") + s.Stat("dead")
			}
		}
	}
	return c, nil
}

// verified returns the modules that are marked, each for what the others do not have, or those that were named.
func (o *options) verified(modules []*module) []*module {
	if len(o.names) > 0 {
		return modules
	}
	return slices.DeleteFunc(slices.Clone(modules), func(m *module) bool { return !m.verify })
}

// verifyMark marks a module in modules.txt.
const verifyMark = "+verify"
