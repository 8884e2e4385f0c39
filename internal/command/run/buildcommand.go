package run

import (
	"errors"
	"flag"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/clean"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// BuildCommand is go build with our compiler: it passes on what it does not know.
func BuildCommand() *base.Command {
	return &base.Command{
		Name:  "build",
		Args:  "[flags] [go build flags] [packages]",
		Short: "build a program that records its calling contexts",
		Long: `
Build does what go build does, with stemma's compiler and runtime. The first
build makes these from your own Go, which takes about a minute. Build passes on
all flags of go build, and refuses those that cannot work: -msan, -asan,
-linkshared and the build modes c-archive, c-shared and shared.

Each start of the program records into a new directory, NAME.PID-XXXXXX in
$STEMMA_OUT, or in stemma.out where it is started. If that directory cannot be
made, the program records into stemma-UID in $TMPDIR or /tmp, which only its user
can read, and prints one line on standard error. It also prints a line if it can
record nowhere. STEMMA_QUIET=1 leaves these lines out.`,
		Flags: func(fs *flag.FlagSet) { DeclareOptions(fs, new(toolchain.Options)) },
		Run:   runBuild,
	}
}

// runBuild leaves everything behind the making of the compiler to the go command:
// its messages and its exit code are the command's.
func runBuild(e *base.Env, args []string) error {
	p, err := ParseGoCommand("build", args, nil)
	if err != nil {
		return err
	}
	if err := p.Opts.CheckWarm(p.Args, p.Args.Rest()); err != nil {
		return base.Usagef("build: %w", err)
	}
	b, err := p.NewBuild(e)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := p.checkModule(b, p.Packages(), false); err != nil {
		return err
	}
	if dir, err := store.RecordDir(); err == nil {
		clean.Warn(e.Stderr, dir, clean.Much)
	}
	if err := Go(e, b, "build", p.Args.Words(), p.Args.Rest()); err != nil || !b.MakesWarm(&p.Opts, p.Args) {
		return err
	}
	exes, err := b.Executables(p.Args, p.Packages())
	if err != nil || len(exes) == 0 {
		return err
	}
	return p.Warm(e, b, p.Packages(), exes...)
}

// DeclareOptions declares the flags that all building commands have in common, and their former names, which are
// hidden. It sets o to the defaults.
func DeclareOptions(fs *flag.FlagSet, o *toolchain.Options) {
	*o = toolchain.DefaultOptions
	for _, f := range engine.Flags {
		declare(fs, f.Name, f.Usage(), f, o)
		if f.Former != "" {
			declare(fs, f.Former, "", f, o)
		}
	}
}

// declare declares one flag by one of its names.
func declare(fs *flag.FlagSet, name, usage string, f *engine.Flag, o *toolchain.Options) {
	switch in := f.In(&o.Options).(type) {
	case *bool:
		if f.Choices() == nil {
			fs.BoolVar(in, name, *in, usage)
		} else {
			fs.Var((*base.OnOff)(in), name, usage)
		}
	case *string:
		base.ChoiceVar(fs, in, name, *in, usage, f.Choices)
	case *uint64:
		fs.Uint64Var(in, name, *in, usage)
	case *time.Duration:
		fs.DurationVar(in, name, *in, usage)
	case *engine.Module:
		fs.Var((*moduleFile)(o), name, usage)
	}
}

// ParseGoCommand parses the arguments of such a command. declare, which may be
// nil, adds flags of its own to the common ones.
// Mistakes are usage errors that begin with the verb; the wish for help is
// flag.ErrHelp, as it is.
func ParseGoCommand(verb string, args []string, declare func(*flag.FlagSet)) (*GoArgs, error) {
	p := &GoArgs{Verb: verb}
	fs := flag.NewFlagSet(verb, flag.ContinueOnError)
	DeclareOptions(fs, &p.Opts)
	if declare != nil {
		declare(fs)
	}
	var err error
	// What go would refuse is left to go; here it is only taken apart.
	if p.Args, err = toolchain.ParseArgs(verb, args, base.FlagSet{FlagSet: fs}); errors.Is(err, flag.ErrHelp) {
		return nil, err
	} else if err != nil {
		return nil, base.Usagef("%s: %w", verb, err)
	}
	fs.Visit(func(f *flag.Flag) { p.Opts.Given = append(p.Opts.Given, f.Name) })
	likeOurs := func(name string) bool { return humanize.Nearest(name, base.FlagNames(fs)) != "" }
	if name := p.Args.Unknown(likeOurs); name != "" {
		return nil, base.Usagef("%s: -%s: no such flag%s; run 'stemma help %s'", verb, name,
			humanize.DidYouMean("-", name, base.FlagNames(fs)), verb)
	}
	p.former = p.Opts.Replaced()
	if err := p.Opts.Check(); err != nil {
		like := ""
		if choice := new(engine.ChoiceError); errors.As(err, &choice) {
			like = humanize.DidYouMean("", choice.Value, choice.Choices)
		}
		return nil, base.Usagef("%w%s", err, like)
	}
	return p, nil
}
