// Package cli implements the commands of the stemma tool, one file for each.
//
// # Terminology
//
// A live directory is what an instrumented program records into while it runs; a
// sealed profile is one file, *.stemma, made from live directories. Commands that
// read take both, and add up several. A record, in the commands that start
// programs, is what one run has left: the program's own live directory, and those
// of its children.
//
// # Arguments
//
// There are two kinds of commands. Those that build (build, run, test, verify)
// take the flags of the go command beside their own, and pass them on: see
// parseGoCommand. Those that read parse with parseMixed, which lets flags stand
// between files. Each command declares its flags once, in a function that parsing
// and help text share.
//
// # Output
//
// What was asked for goes to standard output, where nothing else goes, so that it
// can be piped; what is missing from a report is part of it. Errors and summaries
// go to standard error, with "stemma: " in front. A program that is run keeps its
// three streams for itself, its signals and its exit code.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/stemma-go/stemma/internal/toolchain"
)

// Exit codes of the tool. The run and test commands pass on the program's own.
// The codes are part of the interface: scripts depend on them. A usage error is one
// that the same command line would always have.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2

	exitRegression = 3 // of diff: a limit is exceeded
)

// env is what a command gets from the process that it runs in.
// Tests put buffers in; commands use nothing of package os in their place. The
// streams go to children as they are, so that a terminal stays one.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// A command is one verb of the tool.
// run gets the arguments behind the name and parses them itself, because those of
// build, run and test are mostly go's. An error has no "stemma: " in front.
type command struct {
	name  string
	args  string              // usage line after the name
	short string              // one line, lower case
	long  string              // the rest of the help text
	flags func(*flag.FlagSet) // declares the flags, for the help text; may be nil
	pages bool                // its output goes through a pager, see paged
	run   func(e *env, args []string) error
}

// commands returns the verbs in the order in which help lists them.
// It is a function and not a variable, as help would refer to itself.
func commands() []*command {
	return []*command{
		runCommand(),
		buildCommand(),
		testCommand(),
		reportCommand(),
		infoCommand(),
		exportCommand(),
		decodeCommand(),
		eventsCommand(),
		sealCommand(),
		diffCommand(),
		baselineCommand(),
		similarityCommand(),
		cleanCommand(),
		verifyCommand(),
		replayCommand(),
		versionCommand(),
		doctorCommand(),
		completionCommand(),
		helpCommand(),
	}
}

// exitError carries an exit code that is not exitFailure, and no message if err is nil.
type exitError struct {
	code int
	err  error
}

// Error returns what a wrapping error shows; Main does not print it if err is nil.
func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

// Unwrap lets errors.Is see through the exit code.
func (e *exitError) Unwrap() error { return e.err }

// usageError returns an error that makes the tool exit with code 2.
// The message names the command, or the flag, that is wrong.
func usageError(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode returns an error that makes the tool exit with the code of a
// program that it ran, and no message: the program has said what there is to
// say. It is nil for 0.
func exitCode(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// Main runs the tool with the given arguments and returns its exit code.
// An error is printed here and nowhere else, on one line that begins with the
// name of the tool. Main does not call os.Exit; only toolexec and
// warmexec may replace the process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := &env{stdin, stdout, stderr}
	err := dispatch(e, args)
	if err == nil {
		return exitOK
	}
	var x *exitError
	if !errors.As(err, &x) {
		x = &exitError{exitFailure, err}
	}
	if x.err != nil {
		fmt.Fprintf(e.stderr, "stemma: %v\n", err)
	}
	return x.code
}

// dispatch finds the command and runs it. The wish for help comes as a flag or, from
// deep inside a command, as flag.ErrHelp; either way it is no failure.
func dispatch(e *env, args []string) error {
	if len(args) == 0 {
		usage(e.stderr)
		return &exitError{code: exitUsage}
	}
	if args[0] == "toolexec" { // hidden: the go command calls it
		return toolchain.Toolexec(args[1:], e.stdout, e.stderr)
	}
	if args[0] == "warmexec" { // hidden: go test calls it
		return toolchain.RunWarm(args[1:])
	}
	if isHelp(args[0]) {
		usage(e.stdout)
		return nil
	}
	c := findCommand(args[0])
	if c == nil {
		return usageError("%w", unknownCommand(args[0]))
	}
	if len(args) == 2 && isHelp(args[1]) {
		commandHelp(e.stdout, c)
		return nil
	}
	run := c.run
	if c.pages {
		run = func(e *env, args []string) error { return paged(e, c, args) }
	}
	err := run(e, args[1:])
	if errors.Is(err, flag.ErrHelp) {
		commandHelp(e.stdout, c)
		return nil
	}
	return err
}

// isHelp tells whether an argument asks for help in one of the usual spellings.
func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// findCommand returns the command of that name, or nil.
func findCommand(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	return nil
}
