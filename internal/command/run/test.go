package run

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/clean"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// TestOptions are what stemma test has beside the flags of a build and of go test.
type TestOptions struct {
	Deterministic string // how, as STEMMA_DETERMINISTIC says it; "" is not at all
	Runs          int    // that are compared, if it is not 0
}

// Test runs go test, and reports what it has left. The go command does not say which binaries it ran: what is new in
// the directory of records is theirs, and that of others that record into it meanwhile.
func Test(e *base.Env, p *GoArgs, o TestOptions) error {
	env, err := DeterministicEnv(p, o.Deterministic)
	if err != nil {
		return err
	}
	out, err := store.RecordDir()
	if err != nil {
		return err
	}
	if err := CheckStable(p, o.Runs); err != nil {
		return err
	}
	flags, err := p.testFlags(o.Deterministic != "")
	if err != nil {
		return err
	}
	compiled := CompiledBy(p.Args)
	sum, err := p.sumFile(compiled, o.Runs)
	if err != nil {
		return err
	}
	var tests *Tests
	if sum != "" {
		if tests, err = NewTests(o.Runs, sum); err != nil {
			return err
		}
		defer base.WithoutPipe()()
		defer tests.Close()
		tests.Keep, out = p.Opts.Record != "", tests.Base
	}
	p.Opts.Out, p.Opts.Symbols = out, p.Opts.IsWarm()
	if compiled != nil {
		p.Opts.Out = "" // it is run later, perhaps elsewhere
	}
	bench, err := p.benchEnv()
	if err != nil {
		return err
	}
	env = append(env, bench...)
	b, err := p.NewBuild(e)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := p.checkModule(b, p.Args.Tested(), true); err != nil {
		return err
	}
	if flags, err = p.warmFlags(b, flags); err != nil {
		return err
	}
	run := func() (int, error) {
		cmd := b.Command("test", append(append(flags, p.Args.Words()...), p.Args.Rest()...)...)
		cmd.Env = append(append(cmd.Env, "STEMMA_OUT="+out), env...)
		work := progress.BeginLines(e.Stderr, "building the tests")
		defer work.End()
		defer toolchain.Follow(cmd, "")()
		code, err := base.Run(e, cmd)
		if err != nil {
			return code, fmt.Errorf("go test: %w", err)
		}
		return code, nil
	}
	if tests != nil {
		return End(e.Stderr)(tests.Run(e, run))
	}
	return tellTests(e, out, compiled, run)
}

// tellTests runs the tests, and reports what is new in out, or which binaries were made.
func tellTests(e *base.Env, out string, compiled *Compiled, run func() (int, error)) error {
	before := store.LiveDirs(out)
	code, err := run()
	if err != nil {
		return err
	}
	switch {
	case compiled == nil:
		tellNew(e.Stderr, before, store.LiveDirs(out), code)
	case code == base.ExitOK:
		compiled.Tell(e.Stderr)
	}
	clean.Warn(e.Stderr, out, clean.Much)
	return base.ExitWith(code)
}

// sumFile returns where the sum of the records is to go, "" if they stay apart. It takes -o, which without -c is
// of no use to go test, out of the arguments.
func (p *GoArgs) sumFile(compiled *Compiled, runs int) (string, error) {
	if compiled != nil {
		if runs > 0 {
			return "", base.Usagef("test: -stable runs the tests, and -c does not; leave one of them out")
		}
		return "", nil
	}
	file, _ := p.Args.Flag("o")
	p.Args.Remove("o")
	if file == "" && runs > 0 {
		file = "tests" + store.SealedSuffix
	}
	return file, nil
}

// fixedBenchtime is how often a benchmark runs that is to do the same work each time.
const fixedBenchtime = "100x"

// testFlags checks the arguments, and returns the flags that go test gets beside them.
func (p *GoArgs) testFlags(deterministic bool) ([]string, error) {
	if vet, ok := p.Args.Flag("vet"); ok && vet != "off" {
		return nil, base.Usagef("test: -vet=%s: go vet cannot look at stemma's runtime, which is not on disk; run go "+
			"vet separately", vet)
	}
	// The go command runs vet for each package, imported ones as well, in the
	// package's directory, and that of the runtime's half is in the overlay only.
	flags := []string{"-vet=off"}
	if _, ok := p.Args.Flag("count"); !ok {
		flags = append(flags, "-count=1")
	}
	if _, ok := p.Args.Flag("benchtime"); !ok && deterministic {
		flags = append(flags, "-benchtime="+fixedBenchtime) // b.N would depend on time
	}
	return flags, nil
}

// benchEnv returns what makes test binaries print what their benchmarks count, if there are any.
func (p *GoArgs) benchEnv() ([]string, error) {
	if _, ok := p.Args.Flag("bench"); !ok {
		return nil, nil
	}
	return p.BenchEnv()
}

// BenchEnv returns what makes test binaries print what their benchmarks count.
func (p *GoArgs) BenchEnv() ([]string, error) {
	if p.Opts.Chosen().Gives&engine.Counts == 0 {
		return nil, nil
	}
	tool, err := os.Executable()
	if err != nil {
		return nil, err
	}
	counted := []string{"calls"}
	for _, m := range p.Opts.Asked() {
		counted = append(counted, m.Name)
	}
	var exact []string
	for _, u := range benchUnits() {
		if u.exact && slices.Contains(counted, u.metric) {
			exact = append(exact, u.name)
		}
	}
	return []string{"STEMMA_BENCH=" + tool, "STEMMA_BENCH_UNITS=" + strings.Join(exact, ",")}, nil
}

// warmFlags returns flags with what makes the warm file of a test binary when it starts, if that is asked for.
func (p *GoArgs) warmFlags(b *toolchain.Build, flags []string) ([]string, error) {
	if !p.Opts.IsWarm() {
		return flags, nil
	}
	if _, ok := p.Args.Flag("c"); ok {
		return nil, base.Usagef("test: -c: the call graph of a test is made when it runs; leave -c out, or use %s "+
			"without -warm", engine.Giving(engine.IDs))
	}
	exec, err := b.WarmExec(p.Opts, p.Args)
	if err != nil {
		return nil, err
	}
	p.Args.Remove("exec")
	return append(flags, "-exec="+exec), nil
}
