// Package command has the list of the commands, each in a folder of its own, and runs them.
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
// There are two kinds of commands. Those that build (build, run, test, env, goroot, verify, costs)
// take the flags of the go command beside their own, and pass them on: see
// run.ParseGoCommand. Those that read parse with base.Parse, which lets flags stand
// between files. Each command declares its flags once, in a function that parsing
// and help text share.
//
// # Output
//
// What was asked for goes to standard output, where nothing else goes, so that it
// can be piped; what is missing from a report is part of it. Errors and summaries
// go to standard error, with "stemma: " in front. A program that is run keeps its
// three streams for itself, its signals and its exit code.
package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/affected"
	"github.com/stemma-go/stemma/internal/command/clean"
	"github.com/stemma-go/stemma/internal/command/decode"
	"github.com/stemma-go/stemma/internal/command/diff"
	"github.com/stemma-go/stemma/internal/command/doctor"
	"github.com/stemma-go/stemma/internal/command/env"
	"github.com/stemma-go/stemma/internal/command/events"
	"github.com/stemma-go/stemma/internal/command/export"
	"github.com/stemma-go/stemma/internal/command/goroot"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/command/replay"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/command/run"
	"github.com/stemma-go/stemma/internal/command/seal"
	"github.com/stemma-go/stemma/internal/command/similarity"
	"github.com/stemma-go/stemma/internal/command/top"
	"github.com/stemma-go/stemma/internal/command/verify"
	"github.com/stemma-go/stemma/internal/command/view"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// commands returns the verbs in the order in which help lists them.
// It is a function and not a variable, as help would refer to itself.
func commands() []*base.Command {
	return append([]*base.Command{
		run.Command(),
		run.BuildCommand(),
		run.TestCommand(),
		env.Command(),
		goroot.Command(),
		report.Command(),
		view.Command(),
		top.Command(),
		report.InfoCommand(),
		export.Command(),
		decode.Command(),
		events.Command(),
		seal.Command(),
		diff.Command(),
		diff.BaselineCommand(),
		affected.Command(),
		similarity.Command(),
		run.CostsCommand(),
		clean.Command(),
		verify.Command(),
		replay.Command(),
		versionCommand(),
		doctor.Command(),
		completionCommand(),
		helpCommand(),
	}, outside.Commands()...)
}

// Main runs the tool with the given arguments and returns its exit code. What has failed is noted, for 'stemma doctor
// -report'; mistakes in a command line are not.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	code, err := Run(args, stdin, stdout, stderr)
	if code == base.ExitFailure && err != nil && findCommand(args[0]) != nil {
		doctor.NoteError(args[0], err, time.Now())
	}
	return code
}

// Run runs the tool with the given arguments and returns its exit code, and the error if there is one to tell.
// An error is printed here and nowhere else, on one line that begins with the
// name of the tool. Run does not call os.Exit; only toolexec and
// warmexec may replace the process.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, err error) {
	e := &base.Env{Stdin: stdin, Stdout: stdout, Stderr: stderr}
	err = dispatch(e, args)
	if err == nil {
		return base.ExitOK, nil
	}
	var x *base.Error
	if !errors.As(err, &x) {
		x = &base.Error{Code: base.ExitFailure, Err: err}
	}
	if x.Err != nil {
		fmt.Fprintf(e.Stderr, "stemma: %v\n", err)
	}
	return x.Code, x.Err
}

// dispatch finds the command and runs it. The wish for help comes as a flag or, from
// deep inside a command, as flag.ErrHelp; either way it is no failure.
func dispatch(e *base.Env, args []string) error {
	if len(args) == 0 {
		usage(e.Stderr)
		return &base.Error{Code: base.ExitUsage}
	}
	if args[0] == "toolexec" { // hidden: the go command calls it
		return toolchain.Toolexec(args[1:], e.Stdout, e.Stderr)
	}
	if args[0] == "benchunits" && len(args) == 2 { // hidden: a test binary calls it
		return run.BenchUnits(e.Stdout, args[1])
	}
	if args[0] == "warmexec" { // hidden: go test calls it
		return toolchain.RunWarm(args[1:])
	}
	if isHelp(args[0]) {
		return printHelp(e)
	}
	if args[0] == "--version" || args[0] == "-version" { // as of most programs
		args = append([]string{versionCommand().Name}, args[1:]...)
	}
	if now := formerCommands[args[0]]; now != "" {
		base.Former(e.Stderr, "stemma "+args[0], "stemma "+now)
		args = append([]string{now}, args[1:]...)
	}
	c := findCommand(args[0])
	if c == nil {
		return base.Usagef("%w", unknownCommand(args[0]))
	}
	if len(args) == 2 && isHelp(args[1]) {
		return printHelp(e, c.Name)
	}
	run := c.Run
	if c.Pages {
		run = func(e *base.Env, args []string) error { return base.Paged(e, c.Name, args, c.Run) }
	}
	err := run(e, args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return printHelp(e, c.Name)
	}
	return err
}

// isHelp reports whether an argument asks for help in one of the usual spellings.
func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// formerCommands are names that commands had, for one release.
var formerCommands = map[string]string{"tests": "affected"}

// findCommand returns the command of that name, or nil.
func findCommand(name string) *base.Command {
	for _, c := range commands() {
		if c.Name == name {
			return c
		}
	}
	return nil
}
