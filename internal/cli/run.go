package cli

import (
	"flag"
	"fmt"
	"strconv"

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
error. With -stable it runs the program several times, and says which contexts do not
have the same counts in all runs; 'stemma diff' does not compare these. Each run reads
the same standard input if that is a file.`,
		flags: func(fs *flag.FlagSet) {
			declareOptions(fs, new(toolchain.Options))
			new(runOptions).declare(fs)
		},
		run: runRun,
	}
}

// runOptions are what run and test have beside the flags of a build. -o is not that of go
// build: the executable is temporary.
type runOptions struct {
	out           string
	deterministic bool
	runs          repeated
}

func (o *runOptions) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.out, "o", "", "write the profile to `FILE` instead of NAME.stemma")
	o.declareRepeats(fs)
}

// declareRepeats declares what run and test have in common.
func (o *runOptions) declareRepeats(fs *flag.FlagSet) {
	fs.BoolVar(&o.deterministic, "deterministic", false,
		"make runs repeat: fixed seeds, one P, collections at fixed points; "+
			"STEMMA_DETERMINISTIC=1 does the same for a program that stemma built")
	fs.Var(&o.runs, "stable",
		"run twice, or with -stable=`N` as often, and find the contexts that vary from run to run")
}

// repeated is the value of -stable: how often to run, 0 if the flag is not given.
type repeated int

// maxRepeats is more runs than anybody waits for.
const maxRepeats = 1000

func (r *repeated) String() string {
	if *r == 0 {
		return ""
	}
	return strconv.Itoa(int(*r))
}

func (r *repeated) Set(s string) error {
	if s == "true" {
		s = "2"
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 2 || n > maxRepeats {
		return fmt.Errorf("want the number of runs to compare, 2 to %d", maxRepeats)
	}
	*r = repeated(n)
	return nil
}

// IsBoolFlag lets the value be left out.
func (r *repeated) IsBoolFlag() bool { return true }

// check returns an error if the engine counts nothing that could be the same in two runs.
func (r repeated) check(p *launch.GoArgs) error {
	if r == 0 || engine.Lookup(p.Opts.Engine).Gives&engine.Counts != 0 {
		return nil
	}
	return exit.Usagef("%s: -stable: engine %s has no exact counts to compare; use %s", p.Verb, p.Opts.Engine,
		engine.Giving(engine.Counts))
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
	var o runOptions
	p, err := parseGoCommand("run", args, o.declare)
	if err != nil {
		return err
	}
	if err := o.runs.check(p); err != nil {
		return err
	}
	env, err := deterministicEnv(p, o.deterministic)
	if err != nil {
		return err
	}
	prog, err := launch.Build(e, p)
	if err != nil {
		return err
	}
	defer prog.Close()
	prog.Env = env
	if o.out == "" {
		o.out = prog.Name + ".stemma"
	}
	if o.runs > 0 {
		return programsEnd(e)(prog.Repeat(e, int(o.runs), o.out))
	}
	rec, err := prog.Run(e)
	if err != nil {
		return err
	}
	rec.Keep = p.Opts.Record != ""
	return programsEnd(e)(rec.Code, rec.Seal(e, o.out))
}

// programsEnd returns what makes an exit code of a program and an error of its record one: the
// program's counts, whatever comes of its record.
func programsEnd(e *process.Env) func(code int, err error) error {
	return func(code int, err error) error {
		if err != nil {
			fmt.Fprintf(e.Stderr, "stemma: %v\n", err)
			if code == exit.OK {
				return &exit.Error{Code: exit.Failure}
			}
		}
		return exit.With(code)
	}
}
