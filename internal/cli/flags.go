package cli

import (
	"errors"
	"flag"

	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/flags"
	"github.com/stemma-go/stemma/internal/manual"
	"github.com/stemma-go/stemma/internal/process"
)

// parse is flags.Parse, and prints the help that is asked for.
func parse(e *process.Env, fs *flag.FlagSet, args []string) ([]string, error) {
	rest, err := flags.Parse(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		commandHelp(e.Stdout, findCommand(fs.Name()))
		return nil, &exit.Error{Code: exit.OK}
	}
	return rest, err
}

// flagsOf returns the flags of a command, from the declarations that parsing has.
func flagsOf(c *command) (list []manual.Flag) {
	if c.flags == nil {
		return nil
	}
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.flags(fs)
	list = flags.Describe(fs, func(name, value string) []string { return flagValues(c.name, name, value) })
	if c.pages {
		list = append(list,
			manual.Flag{Name: process.NoPager,
				Text: "do not show a long output on a terminal with $STEMMA_PAGER, $PAGER or less"})
	}
	return list
}
