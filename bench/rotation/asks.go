package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/internal/record/store"
)

// An asked is a way in which program asks is run, and what all its runs have said.
type asked struct {
	engine, rotate   string
	threads, waiting int
	rounds, long     int
	longest          int // microseconds
	segments         int
}

// asks measures what a segment of context IDs costs who asks for IDs, and prints it.
func (o *options) asks() error {
	l, err := lab.Open("rotation")
	if err != nil {
		return err
	}
	defer l.Close()
	var rows []*asked
	for _, engine := range []string{"dacce", "lucce"} {
		exe := filepath.Join(l.Work, "asks."+engine)
		if err := build(l, exe, "./rotation/asks", "-engine="+engine); err != nil {
			return err
		}
		for _, waiting := range []int{100, 10_000} {
			for _, threads := range []int{1, 2} {
				for _, rotate := range []string{"1h", o.every.String()} {
					rows = append(rows, &asked{engine: engine, rotate: rotate, threads: threads, waiting: waiting})
				}
			}
		}
	}
	for round := range o.rounds {
		for i := range rows {
			r := rows[(i+round)%len(rows)]
			if err := r.run(l, o); err != nil {
				return fmt.Errorf("%s: %w", r.engine, err)
			}
		}
	}
	machine.Describe(l.Tree).Print()
	fmt.Println("\n| engine | goroutines that wait | threads | segments | ended | rounds (1,000) | " +
		"of more than 1 ms | longest ms |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, r := range rows {
		fmt.Printf("| %s | %d | %d | %s | %d | %d | %d | %.1f |\n", r.engine, r.waiting, r.threads, r.rotate,
			r.segments, r.rounds/1000, r.long, float64(r.longest)/1e3)
	}
	return nil
}

// run runs the program once.
func (r *asked) run(l *lab.Lab, o *options) error {
	out := filepath.Join(l.Work, "out")
	defer os.RemoveAll(out)
	cmd := exec.Command(filepath.Join(l.Work, "asks."+r.engine), o.length.String(), fmt.Sprint(r.threads),
		fmt.Sprint(r.waiting))
	cmd.Env, cmd.Stderr = append(os.Environ(), "STEMMA_OUT="+out, "STEMMA_ROTATE="+r.rotate+",10000"), os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return err
	}
	var rounds, long, longest int
	if _, err := fmt.Sscan(string(text), &rounds, &long, &longest); err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	r.rounds, r.long, r.longest = r.rounds+rounds, r.long+long, max(r.longest, longest)
	dirs, err := filepath.Glob(filepath.Join(out, "asks.*-??????"))
	if err != nil || len(dirs) != 1 {
		return fmt.Errorf("live directories %q, want one: %v", dirs, err)
	}
	r.segments += len(store.Segments(dirs[0]))
	return nil
}
