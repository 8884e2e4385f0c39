package verify

import (
	"bufio"
	"flag"
	"fmt"
	"io"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/run"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// Command proves, on a program of the user, that what is recorded is right.
func Command() *base.Command {
	return &base.Command{
		Name:  "verify",
		Args:  "[flags] [go build flags] package [arguments] | -live LIVEDIR...",
		Short: "compare recorded contexts with real stack walks",
		Long: `Verify builds a program with the checker, runs it as stemma run does, and
compares the contexts that it recorded with stack walks made at the same
moments: function, file, line and inlining of every frame, and the
context in which the goroutine was started. Where calls are counted, verify also
counts each inlined call separately, and compares the counts. Where samples are
taken the trace of each is compared with a walk. With -live it runs nothing, and
compares what programs have left in live directories that were built with
'stemma build -verify'.

It prints "checked N contexts, M mismatches", and the number of each kind. If M
is not 0, it exits 1 and keeps the records. Otherwise the exit code is the
program's own.
`,
		Flags: func(fs *flag.FlagSet) {
			run.DeclareOptions(fs, new(toolchain.Options))
			declareVerify(fs, new(verifyFlags))
		},
		Run: runVerify,
	}
}

// verifyFlags are the flags of verify beside those of a build.
type verifyFlags struct {
	Options
	live bool
}

func declareVerify(fs *flag.FlagSet, o *verifyFlags) {
	fs.BoolVar(&o.live, "live", false, "compare what is in live directories, and run nothing")
	fs.BoolVar(&o.Verbose, "v", false, "print mismatches in full")
	fs.IntVar(&o.Show, "show", 5, "with -v, print the first `N` mismatches")
}

// checkVerify refuses flags that do nothing: -live builds nothing, and what is not printed has
// no first mismatches.
func checkVerify(o *verifyFlags, p *run.GoArgs) error {
	for _, flag := range p.Opts.Given {
		switch {
		case flag == "show" && !o.Verbose:
			return base.Usagef("verify: -show does nothing without -v, which prints mismatches")
		case o.live && flag != "live" && flag != "v" && flag != "show":
			return base.Usagef("verify: -%s does nothing with -live, which builds no program; it has -v, -show", flag)
		}
	}
	return nil
}

// runVerify parses the flags as run does: go's own are passed on, but for -v.
func runVerify(e *base.Env, args []string) error {
	var o verifyFlags
	p, err := run.ParseGoCommand("verify", args, func(fs *flag.FlagSet) { declareVerify(fs, &o) })
	if err != nil {
		return err
	}
	if err := checkVerify(&o, p); err != nil {
		return err
	}
	w := bufio.NewWriter(e.Stdout)
	err = verifyWith(e, w, p, &o)
	if flushed := w.Flush(); err == nil {
		err = flushed
	}
	return err
}

// verifyWith verifies a program, or live directories.
func verifyWith(e *base.Env, w io.Writer, p *run.GoArgs, o *verifyFlags) error {
	if !o.live {
		return verifyProgram(e, w, p, &o.Options)
	}
	if len(p.Args.Rest()) == 0 {
		return base.Usagef("verify: -live: no live directory given; name those of a program built with 'stemma " +
			"build -verify'")
	}
	return compare(e, w, p.Args.Rest(), &o.Options)
}

// compare compares what live directories hold, and shows how far it is.
func compare(e *base.Env, w io.Writer, dirs []string, o *Options) error {
	work := progress.Begin(e.Stderr, "verify")
	defer work.End()
	return Dirs(work.Output(w), dirs, o)
}

// verifyProgram builds and runs a program and compares what it and its
// instrumented children have recorded.
// A mismatch wins over the exit code of the program. The records stay for -live
// after it, and are removed otherwise.
func verifyProgram(e *base.Env, w io.Writer, p *run.GoArgs, o *Options) error {
	p.Opts.Verify, o.Built = true, true
	p.Opts.Given = append(p.Opts.Given, "verify")
	if err := p.Opts.Check(); err != nil {
		return base.Usagef("verify: %w", err)
	}
	defer base.WithoutPipe()()
	prog, err := run.Build(e, p)
	if err != nil {
		return err
	}
	defer prog.Close()
	rec, err := prog.Run(e)
	if err != nil {
		return err
	}
	if err := compare(e, w, []string{rec.Base}, o); err != nil {
		if rec.RemoveEmpty() { // nothing was recorded: the program has perhaps said why
			return fmt.Errorf("%w; the program ended with exit code %d", err, rec.Code)
		}
		fmt.Fprintf(e.Stderr, "stemma: the records stay in %s\n", rec.Base)
		return err
	}
	if err := rec.Remove(); err != nil {
		return err
	}
	return base.ExitWith(rec.Code)
}
