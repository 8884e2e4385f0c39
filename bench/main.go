// Bench measures stemma: the tables and figures of the papers behind it, on Go
// programs, and what it costs them.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/bench/internal/chart"
	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/table"
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

// options is what the command line says.
type options struct {
	quick    bool
	rounds   int
	programs []string
	only     []string // experiments; nil for those that always run
	dir      string
	out      string
	stemma   string
	variants []measure.Variant
	timeout  time.Duration
	builds   bool
}

// Variants that are measured if none are given. What limits its rounds is for
// comparison. Quick is what a change must not make worse.
var (
	wholeVariants = []string{
		"cct", "dacce", "lucce", "sample -every=1ms", "sample -every=10ms",
		"none rounds=3", "cct -inlined=off rounds=3", "pcce rounds=3", "pcc rounds=3",
		"sample -every=100us rounds=3", "cct,acct rounds=1",
		"pprof", "fgprof", "memprofile", "race",
	}
	quickVariants = []string{"cct", "dacce", "sample -every=1ms"}
)

// quickPrograms are measured with -quick: an interpreter, closures and reflection,
// and many goroutines.
var quickPrograms = []string{"gopherlua", "site", "nats"}

// parseFlags reads the command line. Its errors are the user's.
func parseFlags(args []string) (*options, error) {
	o := new(options)
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	list := func(to *[]string) func(string) error {
		return func(s string) error {
			*to = strings.Split(s, ",")
			return nil
		}
	}
	fs.BoolVar(&o.quick, "quick", false, "3 rounds, fewer programs, builds and points")
	fs.IntVar(&o.rounds, "rounds", 0, "`rounds` that count, after one that does not (default 7, with -quick 3)")
	fs.StringVar(&o.dir, "dir", "", "measure the programs in the subdirectories of this `directory`, not bench's own")
	fs.StringVar(&o.out, "o", "", "`directory` for what is measured (default bench/results)")
	fs.StringVar(&o.stemma, "stemma", "", "stemma `command` to measure (default: built from the directory above)")
	fs.DurationVar(&o.timeout, "timeout", 10*time.Minute, "longest `duration` of a run")
	fs.BoolVar(&o.builds, "builds", false, "also measure how long builds take")
	fs.Func("programs", "measure only these programs, a `list` with commas", list(&o.programs))
	fs.Func("only", "make only these tables, a `list` with commas: "+strings.Join(experimentNames(), ", "),
		list(&o.only))
	fs.Func("variant",
		"`engine` and flags of stemma build, as in 'cct -inlined=off', or a rival: pprof, fgprof, memprofile, race; "+
			"may be repeated", func(s string) error {
			v, err := measure.ParseVariant(s)
			o.variants = append(o.variants, v)
			return err
		})
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return o, o.setDefaults()
}

// setDefaults checks the options and fills in what the user left open. Names of
// tables are checked here, those of programs only when the programs are known.
func (o *options) setDefaults() error {
	if o.rounds < 0 {
		return fmt.Errorf("-rounds: have %d, want at least 1", o.rounds)
	}
	for _, name := range o.only {
		if !slices.Contains(experimentNames(), name) {
			return fmt.Errorf("-only: no table %q (have %s)", name, strings.Join(experimentNames(), ", "))
		}
	}
	names, rounds := wholeVariants, 7
	if o.quick {
		names, rounds = quickVariants, 3
		if o.programs == nil && o.dir == "" {
			o.programs = quickPrograms
		}
	}
	if o.rounds == 0 {
		o.rounds = rounds
	}
	if o.variants != nil {
		return nil
	}
	for _, s := range names {
		v, err := measure.ParseVariant(s)
		if err != nil {
			return err
		}
		o.variants = append(o.variants, v)
	}
	return nil
}

// session is one run of the benchmark.
type session struct {
	options  *options
	bench    *measure.Bench
	tree     machine.Tree
	machine  machine.Machine
	programs []*program.Program
	problems []string // what a reader must know before reading the tables
	tables   []*table.Table
	figures  []*chart.Figure
	series   []*measure.Series // all that was run
	counts   map[string]count  // by program
	missing  map[string]bool   // variants that this stemma does not have
	apart    []string          // programs whose builds did not take turns

	checksums map[string]string // by program, of the first run
	metrics   []metric
}

// metric is one value that an experiment measured once, for benchstat.
type metric struct {
	name  string // of the benchmark
	value float64
	unit  string
}

// count is what an exact tree says about a program.
type count struct {
	calls uint64
	user  float64 // seconds of the plain program
}

// problem adds to what is said above all tables.
func (s *session) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// experiment makes tables and figures. What it cannot measure it adds to the
// problems; an error ends all.
type experiment struct {
	name     string
	wanted   func(*options) bool // unless -only asks for it
	estimate func(*session) time.Duration
	run      func(*session) error
}

func always(*options) bool { return true }
func never(*options) bool  { return false }

// experiments are in the order of the tables.
func experiments() []experiment {
	return []experiment{
		{"overhead", always, (*session).overheadTime, (*session).overhead},
		{"encoders", always, (*session).encodersTime, (*session).encoders},
		{"events", always, (*session).eventsTime, (*session).events},
		{"requests", always, (*session).requestsTime, (*session).requests},
		{"trees", always, (*session).treesTime, (*session).trees},
		{"replay", always, (*session).replayTime, (*session).replay},
		{"scaling", always, (*session).scalingTime, (*session).scaling},
		{"sampling", always, (*session).samplingTime, (*session).sampling},
		{"flat", always, (*session).flatTime, (*session).flat},
		{"waiting", always, (*session).waitingTime, (*session).waiting},
		{"verify", never, (*session).verifyTime, (*session).verify},
		{"builds", func(o *options) bool { return o.builds }, (*session).buildsTime, (*session).builds},
	}
}

func experimentNames() []string {
	// Not experiments itself, which would make the variables depend on one another.
	return []string{"overhead", "encoders", "events", "requests", "trees", "replay", "scaling", "sampling", "flat",
		"waiting", "verify", "builds"}
}

// chosen returns the experiments that the options ask for.
func (o *options) chosen() []experiment {
	var list []experiment
	for _, e := range experiments() {
		if o.only == nil && e.wanted(o) || slices.Contains(o.only, e.name) {
			list = append(list, e)
		}
	}
	return list
}

// run tells whether there were no problems.
func run(o *options) (ok bool, err error) {
	work, err := os.MkdirTemp("", "stemma-bench-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	endOnInterrupt(work)
	s, err := newSession(o, work)
	if err != nil {
		return false, err
	}
	s.tellEstimate()
	for _, e := range o.chosen() {
		if err := e.run(s); err != nil {
			return false, fmt.Errorf("%s: %w", e.name, err)
		}
		s.save()
	}
	return len(s.problems) == 0, s.write(os.Stdout)
}

// runTime is how long a run of a program takes on two quiet cores, for estimates.
const runTime = 1500 * time.Millisecond

// buildTime is how long a build of a program takes there. The whole has large
// programs, and compiles the standard library for engines seldom built; what
// -quick builds is in the cache, but for the first time.
func (s *session) buildTime() time.Duration {
	if s.options.quick {
		return 4 * time.Second
	}
	return 7 * time.Second
}

// fewPrograms are those of which -quick makes the slower tables.
var fewPrograms = []string{"gopherlua", "site"}

// fewer returns the programs for slower tables: all, but for -quick.
func (s *session) fewer() []*program.Program {
	if !s.options.quick {
		return s.programs
	}
	few := slices.DeleteFunc(slices.Clone(s.programs),
		func(p *program.Program) bool { return !slices.Contains(fewPrograms, p.Name) })
	if len(few) == 0 {
		return s.programs // of a -dir or -programs without them
	}
	return few
}

// tellEstimate tells how long the experiments will take, more or less.
func (s *session) tellEstimate() {
	total := time.Duration(0)
	for _, e := range s.options.chosen() {
		d := e.estimate(s)
		total += d
		tell(fmt.Sprintf("estimate: %s %v", e.name, d.Round(time.Minute/6)))
	}
	tell(fmt.Sprintf("estimate: %v in all on two quiet cores", total.Round(time.Minute/6)))
}

// endOnInterrupt removes the working directory, which may be large, when the user
// gives up, and ends. Programs that run end with bench.
func endOnInterrupt(work string) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-c
		os.RemoveAll(work)
		tell("interrupted; the tables that were complete are in the directory for results")
		os.Exit(130)
	}()
}

// newSession finds the programs and builds stemma. Nothing has been measured then.
func newSession(o *options, work string) (*session, error) {
	tree, err := machine.Find()
	if err != nil {
		return nil, err
	}
	if o.out == "" {
		o.out = filepath.Join(tree.Bench, "results")
	}
	s := &session{options: o, tree: tree, machine: machine.Describe(tree), counts: make(map[string]count),
		missing: make(map[string]bool), checksums: make(map[string]string)}
	if s.programs, err = o.find(tree, work); err != nil {
		return nil, err
	}
	s.bench = &measure.Bench{Work: work, Timeout: o.timeout, Stemma: filepath.Join(work, "stemma")}
	if o.stemma != "" {
		s.bench.Stemma, err = filepath.Abs(o.stemma)
		return s, err
	}
	tell("build stemma")
	return s, tree.BuildStemma(s.bench.Stemma)
}

// find returns the programs that the options ask for.
func (o *options) find(tree machine.Tree, work string) ([]*program.Program, error) {
	dir := o.dir
	if dir == "" {
		dir = filepath.Join(tree.Bench, "programs")
	}
	all, err := program.Find(dir)
	if err != nil {
		return nil, err
	}
	if o.dir == "" {
		all = append(all, program.Std(tree.GOROOT, work)...)
	}
	return program.Select(all, o.programs)
}

// tell reports progress.
func tell(what string) {
	fmt.Fprintf(os.Stderr, "%s bench: %s\n", time.Now().Format("15:04:05"), what)
}
