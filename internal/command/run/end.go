package run

import (
	"fmt"
	"io"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
)

// DeterministicEnv returns what tells a program to be deterministic, if that is asked for, as value of the variable.
// Only programs that have contexts have the hooks.
func DeterministicEnv(p *GoArgs, how string) ([]string, error) {
	if how == "" {
		return nil, nil
	}
	if p.Opts.Chosen().Parts&engine.Contexts == 0 {
		return nil, base.Usagef("%s: -deterministic: engine %s has samples, which differ from run to run; use %s",
			p.Verb, p.Opts.Engine, engine.Giving(engine.Counts))
	}
	return []string{"STEMMA_DETERMINISTIC=" + how}, nil
}

// CheckStable returns an error if the engine counts nothing that could be the same in two of several runs.
func CheckStable(p *GoArgs, runs int) error {
	if runs == 0 || p.Opts.Chosen().Gives&engine.Counts != 0 {
		return nil
	}
	return base.Usagef("%s: -stable: engine %s has no exact counts to compare; use %s", p.Verb, p.Opts.Engine,
		engine.Giving(engine.Counts))
}

// End returns what makes an exit code of a program and an error of its record one: the
// program's counts, whatever comes of its record.
func End(notes io.Writer) func(code int, err error) error {
	return func(code int, err error) error {
		if err != nil {
			fmt.Fprintf(notes, "stemma: %v\n", err)
			if code == base.ExitOK {
				return &base.Error{Code: base.ExitFailure}
			}
		}
		return base.ExitWith(code)
	}
}

// tellNew reports which live directories are there that were not before.
func tellNew(notes io.Writer, before, after []string, code int) {
	old := make(map[string]bool)
	for _, dir := range before {
		old[dir] = true
	}
	var added []string
	for _, dir := range after {
		if !old[dir] {
			added = append(added, dir)
		}
	}
	switch {
	case len(added) == 0 && code != base.ExitOK:
		return // the go command has said why nothing ran
	case len(added) == 0:
		fmt.Fprintf(notes,
			"stemma: no record: no test binary ran, or none could write where records go; set STEMMA_OUT to a "+
				"directory that can be written\n")
		return
	}
	fmt.Fprintf(notes, "stemma: %s:\n", humanize.Plural(len(added), "record"))
	store.ListDirs(notes, added)
}
