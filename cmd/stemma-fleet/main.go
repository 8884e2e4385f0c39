// Command stemma-fleet keeps the records of many machines in a bucket.
//
// It is a module of its own: so stemma requires nothing for it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stemma-go/stemma/profile"
)

// A command is a verb of the tool. Flags are parsed by run, into a set that has the name.
type command struct {
	name, args, short string
	run               func(fs *flag.FlagSet, args []string) error
}

// commands are those that help lists.
var commands = []command{
	{"collect", "-store URL [-to SINK] [flags] [DIR...]",
		"upload the records of this machine to a bucket, and push what they count", runCollect},
	{"fetch", "-store URL|-pyroscope URL [flags]",
		"bring records from a bucket, or counts from Pyroscope, and print where they are", runFetch},
	{"parquet", "-o DIR [flags] [RECORD...]", "write records as tables for DuckDB, ClickHouse and Spark", runParquet},
}

func main() {
	os.Exit(run(os.Args[1:], os.Stderr))
}

// errUsage is the error of a command line that would always fail; what is wrong has been printed.
var errUsage = errors.New("usage")

// run runs a command, and returns the exit code: 2 for a command line that means nothing, 1 for what has failed.
func run(args []string, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return 2
	}
	for _, c := range commands {
		if c.name != args[0] {
			continue
		}
		fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
		fs.SetOutput(stderr)
		fs.Usage = func() {
			fmt.Fprintf(stderr, "usage: stemma-fleet %s %s\n\n%s.\n\n", c.name, c.args, c.short)
			fs.PrintDefaults()
		}
		err := c.run(fs, args[1:])
		switch {
		case err == nil || errors.Is(err, flag.ErrHelp):
			return 0
		case errors.Is(err, errUsage):
			return 2
		}
		fmt.Fprintf(stderr, "stemma-fleet: %s\n", printable(err.Error()))
		return 1
	}
	usage(stderr)
	return 2
}

// printable returns a text that may have keys of a bucket in it, as what a terminal prints. It keeps its lines.
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = profile.Printable(line)
	}
	return strings.Join(lines, "\n")
}

func usage(w io.Writer) {
	fmt.Fprintf(w, "stemma-fleet keeps the records of many machines in a bucket.\n\nusage: stemma-fleet <command> "+
		"[arguments]\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "\t%-8s %s\n", c.name, c.short)
	}
	fmt.Fprintf(w, "\nRun 'stemma-fleet <command> -h' for its flags.\n")
}

// parse parses flags, which may stand between the other arguments: it returns those.
func parse(fs *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, errUsage // the flag package has printed it
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		rest, args = append(rest, fs.Arg(0)), fs.Args()[1:]
	}
}

// wrong prints what is wrong with a command line.
func wrong(fs *flag.FlagSet, format string, args ...any) error {
	fmt.Fprintf(fs.Output(), "stemma-fleet: %s: %s\n", fs.Name(), fmt.Sprintf(format, args...))
	return errUsage
}
