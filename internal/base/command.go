// Package base has what every command has: exit codes, flags, help, a pager, the streams of its process, children.
package base

import (
	"flag"
	"io"
	"os"

	"github.com/stemma-go/stemma/internal/terminal"
)

// A Command is one verb of the tool.
// run gets the arguments behind the name and parses them itself, because those of
// build, run and test are mostly go's. An error has no "stemma: " in front.
type Command struct {
	Name  string
	Args  string              // usage line after the name
	Short string              // one line, lower case
	Long  string              // the rest of the help text
	Flags func(*flag.FlagSet) // declares the flags, for the help text; may be nil
	Pages bool                // its output goes through a pager, see process.Paged
	Run   func(e *Env, args []string) error
}

// RefuseTerminal returns an error if w is a terminal, which binary data would spoil.
func RefuseTerminal(w io.Writer, what string) error {
	if f, ok := w.(*os.File); ok && terminal.Is(f) {
		return Usagef("%s is binary, and standard output is a terminal; name a file with -o, or redirect "+
			"standard output", what)
	}
	return nil
}
