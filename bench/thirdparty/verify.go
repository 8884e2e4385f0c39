package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/suite"
)

// How it works.
//
// The tests of a module are built with the checker in them, which takes at regular distances what the
// engine says is the context, and beside it what the runtime's own stack walk finds. Whether the tests
// pass is not the question here: what walks stacks all the time changes what they measure.

// verify compares the contexts of the modules with stack walks, for each engine. It reports whether all are the
// same, and there are some.
func (o *options) verify(modules []*module, work string) (ok bool, err error) {
	total := make(map[string]suite.Check)
	ok = true
	for i, m := range modules {
		dir := filepath.Join(work, fmt.Sprint("module", i), m.path)
		if err := lab.FetchModule(m.path, m.version, dir); err != nil {
			return false, fmt.Errorf("%s: %w", m.name(), err)
		}
		for _, engine := range o.engines {
			c, err := o.checkModule(m, engine, dir, filepath.Join(work, fmt.Sprint("out", i, engine)))
			fmt.Printf("%-7s %-45s %10d contexts, %d mismatches", engine, m.name()+"@"+m.version, c.Contexts,
				c.Mismatches)
			if err != nil {
				fmt.Printf(": %v", err)
			}
			fmt.Println()
			ok = ok && err == nil && c.Mismatches == 0
			total[engine] = total[engine].Plus(c)
		}
	}
	var all suite.Check
	for _, engine := range o.engines {
		c := total[engine]
		fmt.Printf("%-7s %-45s %10d contexts, %d mismatches\n", engine, "all", c.Contexts, c.Mismatches)
		all = all.Plus(c)
	}
	fmt.Printf("checked %d contexts, %d mismatches\n", all.Contexts, all.Mismatches)
	return ok, nil
}

// checkModule runs the tests of a module with an engine, with records in out, and compares.
func (o *options) checkModule(m *module, engine, dir, out string) (c suite.Check, err error) {
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
		c, err = suite.CompareSamples(out)
	} else {
		c, err = suite.Compare(o.stemma, out)
	}
	if err == nil && c.Contexts == 0 {
		err = errors.New("nothing was compared")
	}
	if err != nil && ran != nil {
		err = fmt.Errorf("%w; the tests: %w\n%s", err, ran, text[max(0, len(text)-2000):])
	}
	return c, err
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
