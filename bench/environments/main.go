// Environments runs programs of the benchmark with all exact counts in environments that differ: more Ps, another
// pace of the garbage collector, other work on the machine. It says by how much the trees overlap with those of the
// same program in its usual environment (CCCP, section 5.1: metrics that do not depend on the platform).
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/profile"
)

func main() {
	only := flag.String("program", "", "run these programs `A,B,C`; all, if it is empty")
	flag.Parse()
	if err := run(lab.Names(*only)); err != nil {
		fmt.Fprintln(os.Stderr, "environments:", err)
		os.Exit(1)
	}
}

// An environment is what a program runs in.
type environment struct {
	name string
	env  []string
	busy int // loops that run beside it
}

var environments = []environment{
	{name: "again"},
	{name: "GOMAXPROCS=1", env: []string{"GOMAXPROCS=1"}},
	{name: "GOMAXPROCS=8", env: []string{"GOMAXPROCS=8"}},
	{name: "GOGC=25", env: []string{"GOGC=25"}},
	{name: "GOGC=off", env: []string{"GOGC=off"}},
	{name: "4 busy loops", busy: 4},
}

// values are what is compared.
var values = []profile.Metric{profile.Calls, profile.Ops, profile.AllocObjects, profile.AllocSpace}

func run(names []string) error {
	l, err := lab.Open("environments")
	if err != nil {
		return err
	}
	defer l.Close()
	all, err := l.Programs("", names)
	if err != nil {
		return err
	}
	t := &table.Table{Title: "Overlap of trees with those of the usual environment", Left: 2,
		Head:  []string{"program", "environment"},
		Notes: []string{"Overlap as in CCCP, section 6.1, of contexts by line."}}
	for _, v := range values {
		t.Head = append(t.Head, v.Name)
	}
	for _, p := range all {
		fmt.Fprintln(os.Stderr, "environments: running", p.Name)
		if err := compare(l, p, t); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return t.Text(os.Stdout)
}

// compare adds the rows of a program.
func compare(l *lab.Lab, p *program.Program, t *table.Table) error {
	if err := l.SetUp(p); err != nil {
		return err
	}
	b := l.Bench(10 * time.Minute)
	v := measure.Variant{Name: "cct", Flags: []string{"-engine=cct", "-metrics=calls,alloc,ops"}}
	usual, err := weigh(b, p, v, environment{name: "usual"})
	if err != nil {
		return err
	}
	for _, e := range environments {
		other, err := weigh(b, p, v, e)
		if err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		row := []string{p.Name, e.name}
		for i := range values {
			row = append(row, fmt.Sprintf("%.3f %%", 100*similarity.Overlap(usual[i], other[i])))
		}
		t.Add(row...)
	}
	return nil
}

// weigh runs a program in an environment and returns its trees, by value.
func weigh(b *measure.Bench, p *program.Program, v measure.Variant, e environment) ([]similarity.Weights, error) {
	v.Env = e.env
	bin, err := b.Build(p, v)
	if err != nil {
		return nil, err
	}
	stop, err := lab.Busy(e.busy, false)
	if err != nil {
		return nil, err
	}
	defer stop()
	out := filepath.Join(b.Work, p.Name, "records")
	defer os.RemoveAll(out)
	if _, err := b.Run(bin, out); err != nil {
		return nil, err
	}
	rec, err := onlyRecord(out)
	if err != nil {
		return nil, err
	}
	weights := make([]similarity.Weights, len(values))
	for i, value := range values {
		tree, err := cct.Of(rec.Profile, value.Name)
		if err != nil {
			return nil, err
		}
		weights[i] = similarity.Of(tree, similarity.ByLine)
	}
	return weights, nil
}

// onlyRecord reads the one live directory in a directory of records.
func onlyRecord(dir string) (*record.Record, error) {
	runs, err := filepath.Glob(filepath.Join(dir, "*", "tree"))
	if err != nil {
		return nil, err
	}
	if len(runs) != 1 {
		return nil, fmt.Errorf("%s: %d records, want 1", dir, len(runs))
	}
	return record.Open(os.DirFS(filepath.Dir(runs[0])))
}
