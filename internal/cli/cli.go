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
// parseGoCommand. Those that read parse with parse, which lets flags stand
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

	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/process"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// commands returns the verbs in the order in which help lists them.
// It is a function and not a variable, as help would refer to itself.
func commands() []*command {
	return []*command{
		runCommand(),
		buildCommand(),
		testCommand(),
		reportCommand(),
		viewCommand(),
		topCommand(),
		infoCommand(),
		exportCommand(),
		decodeCommand(),
		eventsCommand(),
		sealCommand(),
		diffCommand(),
		baselineCommand(),
		testsCommand(),
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

// Main runs the tool with the given arguments and returns its exit code.
// An error is printed here and nowhere else, on one line that begins with the
// name of the tool. Main does not call os.Exit; only toolexec and
// warmexec may replace the process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	e := &process.Env{Stdin: stdin, Stdout: stdout, Stderr: stderr}
	err := dispatch(e, args)
	if err == nil {
		return exit.OK
	}
	var x *exit.Error
	if !errors.As(err, &x) {
		x = &exit.Error{Code: exit.Failure, Err: err}
	}
	if x.Err != nil {
		fmt.Fprintf(e.Stderr, "stemma: %v\n", err)
	}
	return x.Code
}

// dispatch finds the command and runs it. The wish for help comes as a flag or, from
// deep inside a command, as flag.ErrHelp; either way it is no failure.
func dispatch(e *process.Env, args []string) error {
	if len(args) == 0 {
		usage(e.Stderr)
		return &exit.Error{Code: exit.Usage}
	}
	if args[0] == "toolexec" { // hidden: the go command calls it
		return toolchain.Toolexec(args[1:], e.Stdout, e.Stderr)
	}
	if args[0] == "warmexec" { // hidden: go test calls it
		return toolchain.RunWarm(args[1:])
	}
	if isHelp(args[0]) {
		usage(e.Stdout)
		return nil
	}
	if args[0] == "--version" || args[0] == "-version" { // as of most programs
		args = append([]string{versionCommand().name}, args[1:]...)
	}
	c := findCommand(args[0])
	if c == nil {
		return exit.Usagef("%w", unknownCommand(args[0]))
	}
	if len(args) == 2 && isHelp(args[1]) {
		commandHelp(e.Stdout, c)
		return nil
	}
	run := c.run
	if c.pages {
		run = func(e *process.Env, args []string) error { return process.Paged(e, c.name, args, c.run) }
	}
	err := run(e, args[1:])
	if errors.Is(err, flag.ErrHelp) {
		commandHelp(e.Stdout, c)
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
