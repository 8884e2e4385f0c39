package cli

import (
	"flag"
	"fmt"

	"github.com/stemma-go/stemma/internal/engine"
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
			declareDeterministic(fs, new(bool))
		},
		run: runRun,
	}
}

// declareRun declares what run has beside the flags of a build. -o is not that of go
// build: the executable is temporary.
func declareRun(fs *flag.FlagSet, out *string) {
	fs.StringVar(out, "o", "", "write the profile to `FILE` instead of NAME.stemma")
}

// declareDeterministic declares what run and test have in common beside the flags of a build.
func declareDeterministic(fs *flag.FlagSet, on *bool) {
	fs.BoolVar(on, "deterministic", false,
		"make runs repeat: fixed seeds, one P, collections at fixed points; "+
			"STEMMA_DETERMINISTIC=1 does the same for a program that stemma built")
}

// deterministicEnv returns what tells a program to be deterministic, if that is asked for. Only
// programs that have contexts have the hooks.
func deterministicEnv(p *launch.GoArgs, on bool) ([]string, error) {
	if !on {
		return nil, nil
	}
	if engine.Lookup(p.Opts.Engine).Parts&engine.Contexts == 0 {
		return nil, exit.Usagef("%s: -deterministic: engine %s takes samples, which depend on time; use %s",
			p.Verb, p.Opts.Engine, engine.Giving(engine.Counts))
	}
	return []string{"STEMMA_DETERMINISTIC=1"}, nil
}

// runRun removes the executable when it is done, and the live directory when it is
// sealed; of a record that cannot be sealed it says where it stays.
func runRun(e *process.Env, args []string) error {
	outFile, deterministic := "", false
	p, err := parseGoCommand("run", args, func(fs *flag.FlagSet) {
		declareRun(fs, &outFile)
		declareDeterministic(fs, &deterministic)
	})
	if err != nil {
		return err
	}
	env, err := deterministicEnv(p, deterministic)
	if err != nil {
		return err
	}
	prog, err := launch.Build(e, p)
	if err != nil {
		return err
	}
	defer prog.Close()
	prog.Env = env
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
