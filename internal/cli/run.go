package cli

import (
	"flag"
	"fmt"

	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/launch"
	"github.com/stemma-go/stemma/internal/process"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// runCommand is build, start, seal and report in one.
func runCommand() *command {
	return &command{
		name:  "run",
		args:  "[flags] [go build flags] package [arguments]",
		short: "build a program, run it and report its calling contexts",
		long: `
Run builds one program as stemma build does and runs it with the arguments that
follow the package: a directory, .go files, an import path of this module, a
command of the standard library (cmd/gofmt) or package@version. Standard input,
output and error, signals and the exit code are the program's own.

After that it writes the profile NAME.stemma and prints a summary to standard
error.`,
		flags: func(fs *flag.FlagSet) {
			declareOptions(fs, new(toolchain.Options))
			declareRun(fs, new(string))
		},
		run: runRun,
	}
}

// declareRun declares what run has beside the flags of a build. -o is not that of go
// build: the executable is temporary.
func declareRun(fs *flag.FlagSet, out *string) {
	fs.StringVar(out, "o", "", "write the profile to `FILE` instead of NAME.stemma")
}

// runRun removes the executable when it is done, and the live directory when it is
// sealed; of a record that cannot be sealed it says where it stays.
func runRun(e *process.Env, args []string) error {
	outFile := ""
	p, err := parseGoCommand("run", args, func(fs *flag.FlagSet) { declareRun(fs, &outFile) })
	if err != nil {
		return err
	}
	prog, err := launch.Build(e, p)
	if err != nil {
		return err
	}
	defer prog.Close()
	rec, err := prog.Run(e)
	if err != nil {
		return err
	}
	if outFile == "" {
		outFile = prog.Name + ".stemma"
	}
	rec.Keep = p.Opts.Record != ""
	// The program's exit code counts, whatever comes of its record.
	if err := rec.Seal(e, outFile); err != nil {
		fmt.Fprintf(e.Stderr, "stemma: %v\n", err)
		if rec.Code == exit.OK {
			return &exit.Error{Code: exit.Failure}
		}
	}
	return exit.With(rec.Code)
}
