// Bench measures what stemma costs the programs that it instruments.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

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
	dir      string
	out      string
	stemma   string
	variants []measure.Variant
	timeout  time.Duration
	builds   bool
}

func parseFlags(args []string) (*options, error) {
	o := new(options)
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.BoolVar(&o.quick, "quick", false, "3 rounds, and the first variant only")
	fs.IntVar(&o.rounds, "rounds", 0, "`rounds` that count, after one that does not (default 7, with -quick 3)")
	fs.StringVar(&o.dir, "dir", "", "measure the programs in the subdirectories of this `directory`, not bench's own")
	fs.StringVar(&o.out, "o", "", "`directory` for what is measured (default bench/results)")
	fs.StringVar(&o.stemma, "stemma", "", "stemma `command` to measure (default: built from the directory above)")
	fs.DurationVar(&o.timeout, "timeout", 10*time.Minute, "longest `duration` of a run")
	fs.BoolVar(&o.builds, "builds", false, "also measure how long builds take")
	fs.Func("programs", "measure only these programs, a `list` with commas", func(s string) error {
		o.programs = strings.Split(s, ",")
		return nil
	})
	fs.Func("variant", "`engine` and flags of stemma build, as in 'cct -inlined=off'; may be repeated (default cct and that)", func(s string) error {
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

func (o *options) setDefaults() error {
	if o.rounds < 0 {
		return fmt.Errorf("-rounds: have %d, want at least 1", o.rounds)
	}
	if len(o.variants) == 0 {
		for _, s := range []string{"cct", "cct -inlined=off"} {
			v, err := measure.ParseVariant(s)
			if err != nil {
				return err
			}
			o.variants = append(o.variants, v)
		}
	}
	if o.quick {
		o.variants = o.variants[:1]
	}
	if o.rounds == 0 {
		o.rounds = 7
		if o.quick {
			o.rounds = 3
		}
	}
	return nil
}

// session is one run of the benchmark.
type session struct {
	options  *options
	bench    *measure.Bench
	machine  machine.Machine
	programs []*program.Program
	problems []string // what a reader must know before reading the tables
	tables   []*table.Table
	series   []*measure.Series // all that was run
}

// experiments make the tables, in this order. What they cannot measure they
// add to the problems; an error ends all.
var experiments = []struct {
	wanted func(*options) bool
	run    func(*session) error
}{
	{func(*options) bool { return true }, (*session).overhead},
	{func(o *options) bool { return o.builds }, (*session).builds},
}

// run tells whether there were no problems.
func run(o *options) (ok bool, err error) {
	work, err := os.MkdirTemp("", "stemma-bench-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	removeOnInterrupt(work)
	s, err := newSession(o, work)
	if err != nil {
		return false, err
	}
	for _, e := range experiments {
		if !e.wanted(o) {
			continue
		}
		if err := e.run(s); err != nil {
			return false, err
		}
	}
	return len(s.problems) == 0, s.write(os.Stdout)
}

// removeOnInterrupt removes the working directory, which may be large, when
// the user gives up. Programs that run get the same signal.
func removeOnInterrupt(work string) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-c
		os.RemoveAll(work)
		os.Exit(130)
	}()
}

func newSession(o *options, work string) (*session, error) {
	tree, err := machine.Find()
	if err != nil {
		return nil, err
	}
	if o.out == "" {
		o.out = filepath.Join(tree.Bench, "results")
	}
	s := &session{options: o, machine: machine.Describe(tree)}
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
