package cli

import (
	"flag"
	"fmt"

	"github.com/stemma-go/stemma/internal/clean"
	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/launch"
	"github.com/stemma-go/stemma/internal/process"
	"github.com/stemma-go/stemma/internal/store"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// testCommand is go test with our compiler.
func testCommand() *command {
	return &command{
		name:  "test",
		args:  "[flags] [go test flags] [packages]",
		short: "run tests that record their calling contexts",
		long: `
Test does what go test does, with stemma's compiler and runtime. Each test binary
records into $STEMMA_OUT, or stemma.out in the current directory. It does
not use go's cache of test results, which would leave no record, unless -count is
given. It does not vet packages; run go vet for that.

With -o FILE it writes the sum of what they recorded to one profile instead. With
-stable it runs the tests several times, and says which contexts do not have the same
counts in all runs; 'stemma diff' does not compare these. The profile is tests.stemma
if -o does not name another.

With -c it makes the test binaries and runs none. Each records where it is run, and -o
names the binary.`,
		flags: func(fs *flag.FlagSet) {
			declareOptions(fs, new(toolchain.Options))
			new(runOptions).declareRepeats(fs)
		},
		run: runTest,
	}
}

// runTest tells which records are new by comparing the directory before and after:
// the go command does not say which binaries it ran. Others that record into the
// same directory meanwhile are listed, too.
func runTest(e *process.Env, args []string) error {
	var o runOptions
	p, err := parseGoCommand("test", args, o.declareRepeats)
	if err != nil {
		return err
	}
	env, err := launch.DeterministicEnv(p, o.deterministic)
	if err != nil {
		return err
	}
	out, err := store.RecordDir()
	if err != nil {
		return err
	}
	if err := o.checkStable(p); err != nil {
		return err
	}
	flags, err := p.TestFlags(o.deterministic)
	if err != nil {
		return err
	}
	compiled := launch.CompiledBy(p.Args)
	if err := o.profile(p, compiled); err != nil {
		return err
	}
	var tests *launch.Tests
	if o.out != "" {
		if tests, err = launch.NewTests(int(o.runs), o.out); err != nil {
			return err
		}
		defer tests.Close()
		tests.Keep, out = p.Opts.Record != "", tests.Base
	}
	p.Opts.Out, p.Opts.Symbols = out, p.Opts.IsWarm()
	if compiled != nil {
		p.Opts.Out = "" // it is run later, perhaps elsewhere
	}
	b, err := p.NewBuild(e)
	if err != nil {
		return err
	}
	defer b.Close()
	if flags, err = p.WarmFlags(b, flags); err != nil {
		return err
	}
	run := func() (int, error) {
		cmd := b.Command("test", append(append(flags, p.Args.Words()...), p.Args.Rest()...)...)
		cmd.Env = append(append(cmd.Env, "STEMMA_OUT="+out), env...)
		code, err := process.Run(e, cmd)
		if err != nil {
			return code, fmt.Errorf("go test: %w", err)
		}
		return code, nil
	}
	if tests != nil {
		return launch.End(e.Stderr)(tests.Run(e, run))
	}
	before := store.LiveDirs(out)
	code, err := run()
	if err != nil {
		return err
	}
	switch {
	case compiled == nil:
		launch.TellNew(e.Stderr, before, store.LiveDirs(out))
	case code == exit.OK:
		compiled.Tell(e.Stderr)
	}
	clean.Warn(e.Stderr, out, clean.Much)
	return exit.With(code)
}

// profile sets where the sum of the records is to go, "" if they stay apart. It takes -o, which without -c is
// of no use to go test, out of the arguments.
func (o *runOptions) profile(p *launch.GoArgs, compiled *launch.Compiled) error {
	if compiled != nil {
		if o.runs > 0 {
			return exit.Usagef("test: -stable runs the tests, and -c does not; leave one of them out")
		}
		return nil
	}
	o.out, _ = p.Args.Flag("o")
	p.Args.Remove("o")
	if o.out == "" && o.runs > 0 {
		o.out = "tests" + store.SealedSuffix
	}
	return nil
}
