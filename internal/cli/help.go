package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// helpCommand is what usage errors refer to.
func helpCommand() *command {
	return &command{
		name:  "help",
		args:  "[command]",
		short: "describe stemma or one of its commands",
		run:   runHelp,
	}
}

// runHelp prints to standard output: help that was asked for is a result, and can be
// piped into a pager.
func runHelp(e *env, args []string) error {
	switch len(args) {
	case 0:
		usage(e.stdout)
		return nil
	case 1:
		c := findCommand(args[0])
		if c == nil {
			return usageError("help: unknown command %q; run 'stemma help' for the list", args[0])
		}
		commandHelp(e.stdout, c)
		return nil
	}
	return usageError("help: too many arguments (have %d, want at most 1)", len(args))
}

// usage lists the commands.
// It goes to standard error where it stands for an error message.
func usage(w io.Writer) {
	fmt.Fprintf(w, "stemma gives every moment of a Go program its calling context.\n\nusage: stemma <command> [arguments]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "\t%-10s %s\n", c.name, c.short)
	}
	fmt.Fprintf(w, "\nRun 'stemma help <command>' for more about one.\n")
}

// commandHelp prints the usage line, the text and the flags of a command.
// Flags come from the same declarations as parsing. A flag without a text is
// hidden.
func commandHelp(w io.Writer, c *command) {
	fmt.Fprintf(w, "usage: stemma %s\n", strings.TrimSpace(c.name+" "+c.args))
	if c.long != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(c.long))
	}
	if c.flags == nil {
		return
	}
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.flags(fs)
	fmt.Fprintf(w, "\nflags:\n")
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage == "" {
			return // hidden
		}
		value, text := flag.UnquoteUsage(f)
		text = strings.TrimPrefix(text, value+": ") // the whole value stands before it
		switch f.DefValue {
		case "", "0", "false": // nothing, or as the text says
		default:
			text += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(w, "  %s\n\t%s\n", strings.TrimSpace("-"+f.Name+" "+value), text)
	})
}
