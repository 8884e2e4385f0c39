// Lifetimes runs programs of the benchmark with -metrics=calls,wait, in a runtime that compares the life of each
// goroutine with its times that were counted. It fails if any differ by more than a thousandth.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/table"
)

func main() {
	only := flag.String("program", "", "run these programs `A,B,C`; all, if it is empty")
	flag.Parse()
	if err := run(lab.Names(*only)); err != nil {
		fmt.Fprintln(os.Stderr, "lifetimes:", err)
		os.Exit(1)
	}
}

// environments are the variables that each program runs with: the second ones preempt and collect as often as can be.
var environments = []string{"", "GOMAXPROCS=8 GOGC=10"}

func run(names []string) error {
	l, err := lab.Open("lifetimes")
	if err != nil {
		return err
	}
	defer l.Close()
	all, err := l.Programs("", names)
	if err != nil {
		return err
	}
	t := &table.Table{Title: "Goroutines that lived as long as was counted", Left: 2,
		Head: []string{"program", "environment", "goroutines", "differ"}}
	var differ []error
	for _, p := range all {
		fmt.Fprintln(os.Stderr, "lifetimes: running", p.Name)
		if err := l.SetUp(p); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		for _, env := range environments {
			n, wrong, err := compare(l, p, strings.Fields(env))
			if err != nil {
				return fmt.Errorf("%s: %w", p.Name, err)
			}
			t.Add(p.Name, env, n, wrong)
			if wrong != "0" {
				differ = append(differ, fmt.Errorf("%s: %s of %s goroutines differ", p.Name, wrong, n))
			}
		}
	}
	return errors.Join(append(differ, t.Text(os.Stdout))...)
}

// verdict is the line that the runtime prints at the end.
var verdict = regexp.MustCompile(`stemma: of ([0-9]+) goroutines ([0-9]+) lived`)

// compare runs a program, and returns how many goroutines there were and how many differ.
func compare(l *lab.Lab, p *program.Program, env []string) (n, differ string, err error) {
	b := l.Bench(10 * time.Minute)
	bin, err := b.Build(p, measure.Variant{Name: "cct", Flags: []string{"-engine=cct", "-metrics=calls,wait"},
		Env: append(env, "STEMMA_WAIT_CHECK=print")})
	if err != nil {
		return "", "", err
	}
	out := filepath.Join(b.Work, p.Name, "records")
	defer os.RemoveAll(out)
	r, err := b.Run(bin, out)
	if err != nil {
		return "", "", err
	}
	m := verdict.FindStringSubmatch(r.Stderr)
	if m == nil {
		return "", "", fmt.Errorf("the runtime has compared nothing; it said %q", r.Stderr)
	}
	return m[1], m[2], nil
}
