package cli

import (
	"flag"
	"io"
	"os"

	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/process"
	"github.com/stemma-go/stemma/internal/terminal"
)

// A command is one verb of the tool.
// run gets the arguments behind the name and parses them itself, because those of
// build, run and test are mostly go's. An error has no "stemma: " in front.
type command struct {
	name  string
	args  string              // usage line after the name
	short string              // one line, lower case
	long  string              // the rest of the help text
	flags func(*flag.FlagSet) // declares the flags, for the help text; may be nil
	pages bool                // its output goes through a pager, see process.Paged
	run   func(e *process.Env, args []string) error
}

// refuseTerminal returns an error if w is a terminal, which binary data would spoil.
func refuseTerminal(w io.Writer, what string) error {
	if f, ok := w.(*os.File); ok && terminal.Is(f) {
		return exit.Usagef("%s is binary, and standard output is a terminal; name a file with -o, or redirect "+
			"standard output", what)
	}
	return nil
}
