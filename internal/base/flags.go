package base

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/humanize"
)

// OnlyFlags returns an error of usage if a flag was given that does nothing for what.
func OnlyFlags(fs *flag.FlagSet, what string, useful ...string) (err error) {
	fs.Visit(func(f *flag.Flag) {
		if err == nil && !slices.Contains(useful, f.Name) {
			err = Usagef("%s: -%s does nothing for %s; it has -%s", fs.Name(), f.Name, what,
				strings.Join(useful, ", -"))
		}
	})
	return err
}

// Parse parses flags that may stand before, between and after the other arguments, which it
// returns. A "--" ends the flags. fs must be named after its command, for the messages; its
// own output is discarded. Mistakes are errors of usage; the wish for help is flag.ErrHelp, as it is.
func Parse(fs *flag.FlagSet, args []string) ([]string, error) {
	fs.SetOutput(io.Discard)
	var rest []string
	for {
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		if err != nil {
			like := ""
			if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
				like = humanize.DidYouMean("-", name, FlagNames(fs))
			}
			return nil, Usagef("%s: %w%s; run 'stemma help %s'", fs.Name(), wanted(fs, "", err), like, fs.Name())
		}
		// Parse stops at the first argument that is no flag, or behind "--". It takes
		// the "--" away, so what stands before the rest shows which it was.
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

// refused is what package flag says of a value that a flag does not take, and nothing of what it takes. The flag's name
// is there only if it parsed an argument.
var refused = regexp.MustCompile(`(?:^|for (?:flag )?-(\S+): )(?:parse error|value out of range)$`)

// wanted adds to an error of package flag what the flag takes. name is that of the flag if the error does not have it.
func wanted(fs *flag.FlagSet, name string, err error) error {
	match := refused.FindStringSubmatch(err.Error())
	if match == nil {
		return err
	}
	if match[1] != "" {
		name = match[1]
	}
	value, ok := fs.Lookup(name).Value.(flag.Getter)
	if !ok {
		return err
	}
	what := ""
	switch value.Get().(type) {
	case bool:
		what = "true or false"
	case int, int64:
		what = "a whole number"
	case uint, uint64:
		what = "a whole number that is not negative"
	case float64:
		what = "a number"
	case time.Duration:
		what = "a duration, as 1.5s or 2m"
	default:
		return err
	}
	if text, ok := strings.CutSuffix(err.Error(), "parse error"); ok {
		return errors.New(text + "want " + what)
	}
	return fmt.Errorf("%w; want %s", err, what)
}

// FlagNames returns the flags that help shows.
func FlagNames(fs *flag.FlagSet) (names []string) {
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage != "" {
			names = append(names, f.Name)
		}
	})
	return names
}

// DescribeFlags lists the flags of fs for the texts about a command. A flag without a text is hidden.
func DescribeFlags(fs *flag.FlagSet) (list []FlagHelp) {
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
		help := FlagHelp{Name: f.Name, Value: value, Text: text}
		if v, ok := f.Value.(interface{ IsBoolFlag() bool }); ok {
			help.Optional = v.IsBoolFlag()
		}
		if v, ok := f.Value.(interface{ Choices() []string }); ok {
			help.Values = v.Choices()
		}
		list = append(list, help)
	})
	return list
}
