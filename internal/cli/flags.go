package cli

import (
	"flag"

	"github.com/stemma-go/stemma/internal/flags"
	"github.com/stemma-go/stemma/internal/manual"
	"github.com/stemma-go/stemma/internal/process"
)

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
