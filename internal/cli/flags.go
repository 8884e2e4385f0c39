package cli

import (
	"errors"
	"flag"
	"io"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/process"
	"github.com/stemma-go/stemma/internal/words"
)

// onlyFlags returns an error of usage if a flag was given that does nothing for what.
func onlyFlags(fs *flag.FlagSet, what string, useful ...string) (err error) {
	fs.Visit(func(f *flag.Flag) {
		if err == nil && !slices.Contains(useful, f.Name) {
			err = exit.Usagef("%s: -%s does nothing for %s; it has -%s", fs.Name(), f.Name, what,
				strings.Join(useful, ", -"))
		}
	})
	return err
}

// parseMixed parses flags that may stand before, between and after the other
// arguments, which it returns.
// A "--" ends the flags. fs must be named after its command, for the messages; its
// own output is discarded, as errors are printed by Main alone.
func parseMixed(e *process.Env, fs *flag.FlagSet, args []string) ([]string, error) {
	fs.SetOutput(io.Discard)
	var rest []string
	for {
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			commandHelp(e.Stdout, findCommand(fs.Name()))
			return nil, &exit.Error{Code: exit.OK}
		}
		if err != nil {
			like := ""
			if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
				like = words.DidYouMean("-", name, flagNames(fs))
			}
			return nil, exit.Usagef("%s: %w%s; run 'stemma help %s'", fs.Name(), err, like, fs.Name())
		}
		// Parse stops at the first argument that is no flag, or behind "--". It takes
		// the "--" away, so what stands before the rest tells which it was.
		done := len(args) - fs.NArg()
		if done > 0 && args[done-1] == "--" {
			return append(rest, fs.Args()...), nil
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

// flagNames returns the flags that help shows.
func flagNames(fs *flag.FlagSet) (names []string) {
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage != "" {
			names = append(names, f.Name)
		}
	})
	return names
}
