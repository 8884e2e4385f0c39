package command

import (
	"cmp"
	"flag"
	"fmt"
	"io"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/humanize"
)

// helpCommand is what usage errors refer to.
func helpCommand() *base.Command {
	return &base.Command{
		Name:  "help",
		Args:  "[-man] [command]",
		Short: "describe stemma or one of its commands",
		Flags: func(fs *flag.FlagSet) { helpFlags(fs) },
		Run:   base.Printed(runHelp),
	}
}

// helpFlags declares the flags, for parsing and for the help text.
func helpFlags(fs *flag.FlagSet) *bool {
	return fs.Bool("man", false, "print the manual page of all commands, for man -l")
}

// runHelp prints to standard output: help that was asked for is a result, and can be
// piped into a pager.
func runHelp(e *base.Env, args []string) error {
	fs := flag.NewFlagSet("help", flag.ContinueOnError)
	man := helpFlags(fs)
	args, err := base.Parse(fs, args)
	switch {
	case err != nil:
		return err
	case *man && len(args) == 0:
		return base.ManualPage(e.Stdout, base.Version(), described())
	case *man:
		return base.Usagef("help: -man is about all commands; leave %q out", args[0])
	case len(args) == 0:
		usage(e.Stdout)
		return nil
	case len(args) > 1:
		return base.Usagef("help: too many arguments (have %d, want at most 1)", len(args))
	}
	c := findCommand(cmp.Or(formerCommands[args[0]], args[0]))
	if c == nil {
		return base.Usagef("help: %w", unknownCommand(args[0]))
	}
	commandHelp(e.Stdout, c)
	return nil
}

// printHelp is command help where it is asked for in another way.
func printHelp(e *base.Env, args ...string) error { return base.Printed(runHelp)(e, args) }

// unknownCommand is the error for a command that there is not.
func unknownCommand(name string) error {
	return fmt.Errorf("unknown command %q%s; run 'stemma help' for the list", name,
		humanize.DidYouMean("", name, commandNames()))
}

// usage lists the commands.
// It goes to standard error where it stands for an error message.
func usage(w io.Writer) {
	fmt.Fprintf(w, "stemma gives every moment of a Go program its calling context.\n\nusage: stemma <command> "+
		"[arguments]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "\t%-10s %s\n", c.Name, c.Short)
	}
	fmt.Fprintf(w, "\nRun 'stemma help <command>' for more about one.\n")
}

// commandHelp prints the usage line, the text and the flags of a command.
// Flags come from the same declarations as parsing.
func commandHelp(w io.Writer, c *base.Command) {
	d := describe(c)
	d.Help(w)
}

// commandNames returns the names of the commands.
func commandNames() (names []string) {
	for _, c := range commands() {
		names = append(names, c.Name)
	}
	return names
}
