package command

import (
	"flag"

	"github.com/stemma-go/stemma/internal/base"
)

// flagsOf returns the flags of a command, from the declarations that parsing has.
func flagsOf(c *base.Command) (list []base.FlagHelp) {
	if c.Flags == nil {
		return nil
	}
	fs := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	c.Flags(fs)
	list = base.DescribeFlags(fs)
	if c.Pages {
		list = append(list,
			base.FlagHelp{Name: base.NoPager,
				Text: "do not show a long output on a terminal with $STEMMA_PAGER, $PAGER or less"})
	}
	return list
}
