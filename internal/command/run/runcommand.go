package run

import (
	"flag"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// Command is build, start, seal and report in one.
func Command() *base.Command {
	return &base.Command{
		Name:  "run",
		Args:  "[flags] [go build flags] package [arguments]",
		Short: "build a program, run it and report its calling contexts",
		Long: `
Run builds one program as stemma build does and runs it with the arguments that
follow the package: a directory, .go files, an import path of this module, a
command of the standard library (cmd/gofmt) or package@version. Standard input,
output and error, signals and the exit code are the program's own.

After that it writes the profile NAME.stemma and prints a summary to standard
error. The profile includes the processes that the program has started, such as
workers, if they are instrumented and have ended. The records of others stay in
NAME.live-NNN, and run names them.

With -stable it runs the program several times, and lists the contexts that do not
have the same counts in all runs; 'stemma diff' does not compare these. Each run
reads the same standard input if that is a file.`,
		Flags: func(fs *flag.FlagSet) {
			DeclareOptions(fs, new(toolchain.Options))
			new(runOptions).declare(fs)
		},
		Run: runRun,
	}
}

// runOptions are what run and test have beside the flags of a build. -o is not that of go
// build: the executable is temporary.
type runOptions struct {
	out           string
	deterministic base.Deterministic
	runs          base.Repeats
}

func (o *runOptions) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.out, "o", "", "write the profile to `FILE` instead of NAME.stemma")
	o.declareRepeats(fs)
}

// declareRepeats declares what run and test have in common.
func (o *runOptions) declareRepeats(fs *flag.FlagSet) {
	fs.Var(&o.deterministic, "deterministic",
		"make runs repeat: fixed seeds, one P, collections at fixed points; with `MODE` clock the program's clock "+
			"also goes by what it does; STEMMA_DETERMINISTIC=1 or =clock does the same for a program that stemma built")
	fs.Var(&o.runs, "stable",
		"run twice, or with -stable=`N` as often, and find the contexts that vary from run to run")
}

// runRun removes the executable when it is done, and the live directory when it is
// sealed; of a record that cannot be sealed it says where it stays.
func runRun(e *base.Env, args []string) error {
	var o runOptions
	p, err := ParseGoCommand("run", args, o.declare)
	if err != nil {
		return err
	}
	if err := CheckStable(p, int(o.runs)); err != nil {
		return err
	}
	env, err := DeterministicEnv(p, string(o.deterministic))
	if err != nil {
		return err
	}
	if o.out != "" {
		if err := checkOut(o.out); err != nil {
			return err
		}
	}
	defer base.WithoutPipe()()
	prog, err := Build(e, p)
	if err != nil {
		return err
	}
	defer prog.Close()
	prog.Env, prog.Keep = env, p.Opts.Record != ""
	if o.out == "" {
		if o.out = prog.Name + ".stemma"; checkOut(o.out) != nil {
			return checkOut(o.out)
		}
	}
	if o.runs > 0 {
		return End(e.Stderr)(prog.Repeat(e, int(o.runs), o.out))
	}
	rec, err := prog.Run(e)
	if err != nil {
		return err
	}
	rec.Keep = prog.Keep
	return End(e.Stderr)(rec.Code, rec.Seal(e, o.out))
}
