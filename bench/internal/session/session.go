// Package session has what all experiments need: the options, the programs, their builds and runs, and where tables
// go.
package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stemma-go/stemma/bench/internal/chart"
	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// Options is what the command line says.
type Options struct {
	Quick    bool
	Rounds   int
	Programs []string
	Only     []string // experiments; nil for those that always run
	Dir      string
	Out      string
	Stemma   string
	Variants []measure.Variant
	Chosen   bool // the user has chosen the variants
	Timeout  time.Duration
	Builds   bool
}

// Session is one run of the benchmark.
type Session struct {
	Options  *Options
	Bench    *measure.Bench
	Tree     machine.Tree
	Machine  machine.Machine
	Programs []*program.Program
	Problems []string // what a reader must know before reading the tables
	Tables   []*table.Table
	Figures  []*chart.Figure
	Series   []*measure.Series // all that was run, by overhead
	Counts   map[string]Count  // by program
	missing  map[string]bool   // variants that this stemma does not have

	Checksums map[string]string // by program, of the first run
	Metrics   []metric
}

// metric is one value that an experiment measured once, for benchstat.
type metric struct {
	name  string // of the benchmark
	Value float64
	unit  string
}

// Count is what an exact tree says about a program.
type Count struct {
	Calls uint64
	User  float64 // seconds of the plain program
}

// Problem adds to what is said above all tables.
func (s *Session) Problem(format string, args ...any) {
	s.Problems = append(s.Problems, fmt.Sprintf(format, args...))
}

// Metric adds a value for benchstat. The name is that of the benchmark.
func (s *Session) Metric(name string, value float64, unit string) {
	s.Metrics = append(s.Metrics, metric{name, value, unit})
}

// RunTime is how long a run of a program takes on two quiet cores, for estimates.
const RunTime = 1500 * time.Millisecond

// BuildTime is how long a build of a program takes there. The whole has large
// programs, and compiles the standard library for engines seldom built; what
// -quick builds is in the cache, but for the first time.
func (s *Session) BuildTime() time.Duration {
	if s.Options.Quick {
		return 4 * time.Second
	}
	return 7 * time.Second
}

// BuildsTime is how long builds of a program take, without those that the table of overhead has made before.
func (s *Session) BuildsTime(list ...measure.Variant) (sum time.Duration) {
	var made []measure.Variant
	if o := s.Options; o.Only == nil || slices.Contains(o.Only, "overhead") {
		made = append([]measure.Variant{measure.Plain}, o.Variants...)
	}
	for _, v := range list {
		if !slices.ContainsFunc(made, func(m measure.Variant) bool { return m.Name == v.Name }) {
			sum += s.BuildTime()
		}
	}
	return sum
}

// LandmarkPrograms are an interpreter, closures and reflection, and many goroutines.
var LandmarkPrograms = []string{"gopherlua", "site", "nats"}

// Landmarks reports whether p is one of the few programs for [measure.Variant.Few]: of a -dir without those the first.
func (s *Session) Landmarks(p *program.Program) bool {
	if slices.Contains(LandmarkPrograms, p.Name) {
		return true
	}
	return p == s.Programs[0] && !slices.ContainsFunc(s.Programs,
		func(p *program.Program) bool { return slices.Contains(LandmarkPrograms, p.Name) })
}

// fewPrograms are those that -quick has in the slower tables.
var fewPrograms = []string{"gopherlua", "site"}

// Fewer returns the programs for slower tables: all, but for -quick.
func (s *Session) Fewer() []*program.Program {
	if !s.Options.Quick {
		return s.Programs
	}
	few := slices.DeleteFunc(slices.Clone(s.Programs),
		func(p *program.Program) bool { return !slices.Contains(fewPrograms, p.Name) })
	if len(few) == 0 {
		return s.Programs // of a -dir or -programs without them
	}
	return few
}

// New builds stemma and finds the programs. It measures nothing.
func New(o *Options, work string) (*Session, error) {
	Tell("build stemma")
	l, err := lab.In(work, o.Stemma)
	if err != nil {
		return nil, err
	}
	if o.Out == "" {
		o.Out = filepath.Join(l.Tree.Bench, "results")
	}
	s := &Session{Options: o, Tree: l.Tree, Machine: machine.Describe(l.Tree), Counts: make(map[string]Count),
		missing: make(map[string]bool), Checksums: make(map[string]string), Bench: l.Bench(o.Timeout)}
	s.Programs, err = l.Programs(o.Dir, o.Programs)
	return s, err
}

// Tell reports progress.
func Tell(what string) {
	fmt.Fprintf(os.Stderr, "%s bench: %s\n", time.Now().Format("15:04:05"), what)
}
