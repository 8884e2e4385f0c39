// Bench measures stemma: the tables and figures of the papers behind it, on Go
// programs, and what it costs them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/bench/internal/builds"
	"github.com/stemma-go/stemma/bench/internal/encoders"
	"github.com/stemma-go/stemma/bench/internal/events"
	"github.com/stemma-go/stemma/bench/internal/flat"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/overhead"
	"github.com/stemma-go/stemma/bench/internal/requests"
	"github.com/stemma-go/stemma/bench/internal/sampling"
	"github.com/stemma-go/stemma/bench/internal/scaling"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/trees"
	"github.com/stemma-go/stemma/bench/internal/verify"
	"github.com/stemma-go/stemma/bench/internal/waiting"
)

func main() {
	o, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ok, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

// Variants that are measured if none are given. What limits its rounds is for
// comparison; what also costs a build of its own, and is not in a figure of a paper,
// for few programs only. Quick is what a change must not make worse.
var (
	wholeVariants = []string{
		"cct", "dacce", "lucce", "sample -every=1ms", "sample -every=10ms rounds=3",
		"none rounds=3", "pcce rounds=3", "acct rounds=3", "sample -every=100us rounds=3",
		"cct -inlined=off rounds=3 few", "pcc rounds=3 few", "cct+acct rounds=1 few",
		"sample -sampler=jvmti -every=10ms rounds=2", "sample -sampler=sps -every=10ms rounds=2",
		"sample -sampler=jvmti -every=1ms rounds=2", "sample -sampler=sps -every=1ms rounds=2",
		"sample -sampler=jvmti -every=100us rounds=2", "sample -sampler=sps -every=100us rounds=2",
		"pprof", "fgprof few", "memprofile few", "race few",
	}
	quickVariants = []string{"cct", "dacce", "sample -every=1ms"}
)

// wholeRounds are those of a whole run: the fewest whose interval covers the median with 95 %.
const wholeRounds = 6

// parseFlags reads the command line. Its errors are the user's.
func parseFlags(args []string) (*session.Options, error) {
	o := new(session.Options)
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	list := func(to *[]string) func(string) error {
		return func(s string) error {
			*to = strings.Split(s, ",")
			return nil
		}
	}
	fs.BoolVar(&o.Quick, "quick", false, "3 rounds, fewer programs, builds and points")
	fs.IntVar(&o.Rounds, "rounds", 0, "`rounds` that count, after one that does not (default 6, with -quick 3)")
	fs.StringVar(&o.Dir, "dir", "", "measure the programs in the subdirectories of this `directory`, not bench's own")
	fs.StringVar(&o.Out, "o", "", "`directory` for what is measured (default bench/results)")
	fs.StringVar(&o.Stemma, "stemma", "", "stemma `command` to measure (default: built from the directory above)")
	fs.DurationVar(&o.Timeout, "timeout", 10*time.Minute, "longest `duration` of a run")
	fs.BoolVar(&o.Builds, "builds", false, "also measure how long builds take")
	fs.Func("programs", "measure only these programs, a `list` with commas", list(&o.Programs))
	fs.Func("only", "make only these tables, a `list` with commas: "+strings.Join(experimentNames(), ", "),
		list(&o.Only))
	fs.Func("variant",
		"`engine` and flags of stemma build, as in 'cct -inlined=off', or a rival: pprof, fgprof, memprofile, race; "+
			"may be repeated", func(s string) error {
			v, err := measure.ParseVariant(s)
			o.Variants = append(o.Variants, v)
			return err
		})
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return o, setDefaults(o)
}

// setDefaults checks the options and fills in what the user left open. Names of
// tables are checked here, those of programs only when the programs are known.
func setDefaults(o *session.Options) error {
	if o.Rounds < 0 {
		return fmt.Errorf("-rounds: have %d, want at least 1", o.Rounds)
	}
	for _, name := range o.Only {
		if !slices.Contains(experimentNames(), name) {
			return fmt.Errorf("-only: no table %q (have %s)", name, strings.Join(experimentNames(), ", "))
		}
	}
	names, rounds := wholeVariants, wholeRounds
	if o.Quick {
		names, rounds = quickVariants, 3
		if o.Programs == nil && o.Dir == "" {
			o.Programs = session.LandmarkPrograms
		}
	}
	if o.Rounds == 0 {
		o.Rounds = rounds
	}
	if o.Chosen = o.Variants != nil; o.Chosen {
		return nil
	}
	for _, s := range names {
		v, err := measure.ParseVariant(s)
		if err != nil {
			return err
		}
		o.Variants = append(o.Variants, v)
	}
	return nil
}

// experiment makes tables and figures. What it cannot measure it adds to the
// problems; an error ends all.
type experiment struct {
	name     string
	wanted   func(*session.Options) bool // unless -only asks for it
	estimate func(*session.Session) time.Duration
	run      func(*session.Session) error
}

func always(*session.Options) bool { return true }
func never(*session.Options) bool  { return false }

// experiments are in the order of the tables.
func experiments() []experiment {
	return []experiment{
		{"overhead", always, overhead.Time, overhead.Run},
		{"encoders", always, encoders.Time, encoders.Run},
		{"events", always, events.Time, events.Run},
		{"requests", always, requests.Time, requests.Run},
		{"trees", always, trees.Time, trees.Run},
		{"replay", always, encoders.ReplayTime, encoders.Replay},
		{"scaling", always, scaling.Time, scaling.Run},
		{"sampling", always, sampling.Time, sampling.Run},
		{"flat", always, flat.Time, flat.Run},
		{"waiting", always, waiting.Time, waiting.Run},
		{"bias", never, sampling.BiasTime, sampling.Bias},
		{"verify", never, verify.Time, verify.Run},
		{"builds", func(o *session.Options) bool { return o.Builds }, builds.Time, builds.Run},
	}
}

func experimentNames() []string {
	var names []string
	for _, e := range experiments() {
		names = append(names, e.name)
	}
	return names
}

// chosen returns the experiments that the options ask for.
func chosen(o *session.Options) []experiment {
	var list []experiment
	for _, e := range experiments() {
		if o.Only == nil && e.wanted(o) || slices.Contains(o.Only, e.name) {
			list = append(list, e)
		}
	}
	return list
}

// run reports whether there were no problems.
func run(o *session.Options) (ok bool, err error) {
	work, err := os.MkdirTemp("", "stemma-bench-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	endOnInterrupt(work)
	s, err := session.New(o, work)
	if err != nil {
		return false, err
	}
	tellEstimate(s)
	for _, e := range chosen(o) {
		if err := e.run(s); err != nil {
			return false, fmt.Errorf("%s: %w", e.name, err)
		}
		s.Save()
	}
	return len(s.Problems) == 0, s.Write(os.Stdout)
}

// tellEstimate prints how long the experiments will take, more or less.
func tellEstimate(s *session.Session) {
	total := time.Duration(0)
	for _, e := range chosen(s.Options) {
		d := e.estimate(s)
		total += d
		session.Tell(fmt.Sprintf("estimate: %s %v", e.name, d.Round(time.Minute/6)))
	}
	session.Tell(fmt.Sprintf("estimate: %v in all on two quiet cores", total.Round(time.Minute/6)))
}

// endOnInterrupt removes the working directory, which may be large, when the user
// gives up, and ends. Programs that run end with bench.
func endOnInterrupt(work string) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-c
		os.RemoveAll(work)
		session.Tell("interrupted; the tables that were complete are in the directory for results")
		os.Exit(130)
	}()
}
