package run

import (
	"errors"
	"flag"
	"strings"

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
	if dir, err := store.RecordDir(); err == nil {
		clean.Warn(e.Stderr, dir, clean.Much)
	}
	if err := Go(e, b, "build", p.Args.Words(), p.Args.Rest()); err != nil || !p.Opts.MakesWarm(p.Args) {
		return err
	}
	exes, err := b.Executables(p.Args, p.Packages())
	if err != nil || len(exes) == 0 {
		return err
	}
	return p.Warm(e, b, p.Packages(), exes...)
}

// DeclareOptions declares the flags that all building commands have in common.
// It sets o to the defaults. verify is hidden, since its records are of use to the
// verify command only.
func DeclareOptions(fs *flag.FlagSet, o *toolchain.Options) {
	*o = toolchain.DefaultOptions
	fs.StringVar(&o.Engine, "engine", o.Engine, "what to record, by `NAME`: "+engine.Help())
	fs.StringVar(&o.Events, "events", "",
		"record events of these `KINDS`, separated by commas: alloc, block, go, panic, error")
	fs.BoolVar(&o.EventLog, "event-log", false,
		"also keep the newest events one by one, with their times, in $STEMMA_EVENTS_SIZE bytes for each P (64 MiB "+
			"if it is not set)")
	fs.StringVar(&o.Metrics, "metrics", "",
		"record these `METRICS` of each context, separated by commas: "+engine.MetricsHelp())
	fs.StringVar(&o.Labels, "labels", "",
		"give what runs with labels of pprof.Do contexts of its own, for the labels with these `KEYS`, separated by "+
			"commas; see stemma report -by=label:KEY")
	fs.StringVar(&o.Warm, "warm", "",
		"start from this call `GRAPH`: static, that of the source (the default where one is always needed), or "+
			"NAME.stemma, that of an earlier run")
	fs.StringVar(&o.Record, "record", "",
		"`calls`: log every function entry, for stemma replay; this is slow, keeps recursion in full, and ends at "+
			"$STEMMA_CALLS_SIZE bytes (256 MiB if it is not set)")
	fs.StringVar(&o.Recursion, "recursion", o.Recursion,
		"`fold|full`: fold recursion, so that what a recursive function calls is shown below its first call, or keep "+
			"every level")
	fs.Var((*base.OnOff)(&o.Inlined), "inlined", "`on|off`: count inlined calls")
	fs.Uint64Var(&o.Nodes, "nodes", 0,
		"record at most `N` contexts, by default about four million; calls in further ones "+
			"are counted by function")
	fs.StringVar(&o.Sample.Sampler, "sampler", o.Sample.Sampler, "`stw|sps|isps`: the sampler")
	fs.StringVar(&o.Sample.Walk, "walk", "", "walk stacks by `WALK`: unwinder, fp, incremental or marker")
	fs.DurationVar(&o.Sample.Every, "every", o.Sample.Every, "`DURATION`: the time between samples")
	fs.Var((*base.OnOff)(&o.Sample.Waiting), "waiting", "`on|off`: also sample goroutines that wait")
	fs.StringVar(&o.Sample.Ask, "ask", o.Sample.Ask,
		"`signal|guard`: sample running goroutines at any instruction, or only in function prologues, which is biased")
	fs.Var((*base.OnOff)(&o.Sample.Start), "start", "`on|off`: start sampling when the program starts")
	fs.StringVar(&o.Acct.Trigger, "trigger", o.Acct.Trigger,
		"sample at each `TRIGGER`: calls:N, one call of N; func:N, one of N of each function; or time:DURATION")
	fs.StringVar(&o.Acct.Weights, "weights", o.Acct.Weights,
		"`last-edge|all-new-edges`: the edges that a sample adds to")
	fs.BoolVar(&o.Verify, "verify", false, "") // hidden: for the verify command
	fs.VisitAll(func(f *flag.Flag) {
		if engines := toolchain.FlagEngines(f.Name); engines != "" && f.Usage != "" {
			name, text, ok := strings.Cut(f.Usage, "`: ") // "`VALUE`: what it does"
			if !ok || f.Usage[0] != '`' {
				name, text = "", f.Usage
			} else {
				name += "`: "
			}
			f.Usage = name + "with -engine=" + engines + ": " + text
		}
	})
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
	if err := p.Opts.Check(); err != nil {
		like := ""
		if engine.Lookup(p.Opts.Engine) == nil {
			like = humanize.DidYouMean("", p.Opts.Engine, engine.Names())
		}
		return nil, base.Usagef("%w%s", err, like)
	}
	return p, nil
}
