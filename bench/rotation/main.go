// Rotation measures what segments cost: the time of a path of calls while a program ends no segments, while it
// waits to end one, and while it ends one after the other; with -ids that of a program that asks for context IDs; and,
// with -month, the memory and the disk of programs that make ever new contexts.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/internal/record"
)

// options are the flags.
type options struct {
	rounds int
	length time.Duration // of a run
	every  time.Duration // of segments
	known  int           // paths that are called before the measurement begins
	pause  time.Duration // between two new paths
	month  time.Duration
	sample time.Duration
	ids    bool
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 7, "`runs` of each setting, in turn")
	flag.DurationVar(&o.length, "for", 5*time.Second, "how long a run is")
	flag.DurationVar(&o.every, "every", 100*time.Millisecond, "end a segment after this `TIME`")
	flag.IntVar(&o.known, "known", 20_000, "`paths` that are on record before a run is measured")
	flag.DurationVar(&o.pause, "pause", 50*time.Microsecond, "wait for `TIME` before each new path, for a smaller tree")
	flag.DurationVar(&o.month, "month", 0, "instead, watch programs that make ever new contexts for `TIME`")
	flag.DurationVar(&o.sample, "sample", 20*time.Second, "look at these programs after each `TIME`")
	flag.BoolVar(&o.ids, "ids", false, "instead, measure programs that ask for context IDs")
	flag.Parse()
	run := o.run
	switch {
	case o.ids:
		run = o.asks
	case o.month > 0:
		run = o.watch
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "rotation:", err)
		os.Exit(1)
	}
}

// A setting is a way in which the loop is run, and what was measured.
type setting struct {
	name, rotate string
	threads      map[string]*thread
	beside       time.Duration // CPU time of other threads than those of the loop
	segments     uint64
	failed       uint64
	nodes        int // of the tree of the last run, when it ended
}

// A thread is what all runs of a thread of the loop have measured.
type thread struct {
	rounds      int
	median, far []float64 // nanoseconds, of each run
	long        [4]int
	longest     [4]time.Duration
}

func (o *options) run() error {
	l, err := lab.Open("rotation")
	if err != nil {
		return err
	}
	defer l.Close()
	exe := filepath.Join(l.Work, "loop")
	if err := build(l, exe, "./rotation/loop", "-recursion=full"); err != nil {
		return err
	}
	settings := []*setting{{name: "none"}, {name: "none again"}, {name: "an hour", rotate: "1h,3"},
		{name: o.every.String(), rotate: o.every.String() + ",3"}}
	for round := range o.rounds {
		for i := range settings {
			s := settings[(i+round)%len(settings)]
			if err := s.measure(l, exe, o); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	machine.Describe(l.Tree).Print()
	show(settings)
	for _, s := range settings {
		if s.nodes > 0 {
			fmt.Printf("\n%s: %d nodes at the end of the last run\n", s.name, s.nodes)
		}
	}
	return nil
}

// build builds a program with stemma.
func build(l *lab.Lab, exe, pkg string, flags ...string) error {
	cmd := exec.Command(l.Stemma, append(append([]string{"build"}, flags...), "-o", exe, pkg)...)
	cmd.Dir, cmd.Stderr = l.Tree.Bench, os.Stderr
	return cmd.Run()
}

// measure runs the loop once.
func (s *setting) measure(l *lab.Lab, exe string, o *options) error {
	out := filepath.Join(l.Work, "out")
	defer os.RemoveAll(out)
	cmd := exec.Command(exe, o.length.String(), fmt.Sprint(o.known), o.pause.String())
	cmd.Env, cmd.Stderr = append(os.Environ(), "STEMMA_OUT="+out, "STEMMA_ROTATE="+s.rotate), os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return err
	}
	if s.threads == nil {
		s.threads = make(map[string]*thread)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if err := s.read(lines.Text()); err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
	}
	if s.rotate == "" {
		return nil
	}
	dirs, err := filepath.Glob(filepath.Join(out, "loop.*-??????"))
	if err != nil || len(dirs) != 1 {
		return fmt.Errorf("live directories %q, want one: %v", dirs, err)
	}
	r, err := record.Open(os.DirFS(dirs[0]))
	if err != nil {
		return err
	}
	s.segments += r.Processes[0].Segment.Closed
	s.failed += r.Processes[0].Segment.Failed
	s.nodes = len(r.Nodes)
	return nil
}

// read takes a line that the loop has printed.
func (s *setting) read(line string) error {
	name, rest, _ := strings.Cut(line, " ")
	if name == "beside" {
		var beside time.Duration
		_, err := fmt.Sscan(rest, (*int64)(&beside))
		s.beside += beside
		return err
	}
	t := s.threads[name]
	if t == nil {
		t = new(thread)
		s.threads[name] = t
	}
	var rounds int
	var median, far float64
	var long [4]int
	var longest [4]int64
	_, err := fmt.Sscan(rest, &rounds, &median, &far, &long[0], &longest[0], &long[1], &longest[1], &long[2],
		&longest[2], &long[3], &longest[3])
	t.rounds, t.median, t.far = t.rounds+rounds, append(t.median, median), append(t.far, far)
	for i := range long {
		t.long[i] += long[i]
		t.longest[i] = max(t.longest[i], time.Duration(longest[i]))
	}
	return err
}

// show prints a row for each thread in each setting. What a thread was preempted for is other work of the machine.
func show(settings []*setting) {
	fmt.Println("\n| thread | segments each | rounds | ns, median | to none | ns, p99.99 | preempted | waited | " +
		"faults | neither | segments | CPU ms for one |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, name := range []string{"known", "new"} {
		none := settings[0].threads[name]
		for _, s := range settings {
			t := s.threads[name]
			ratio := stats.MedianInterval(stats.Ratios(t.median, none.median))
			fmt.Printf("| %s | %s | %d | %.0f | %.3f (%.3f to %.3f) | %.0f |", name, s.name, t.rounds,
				stats.Median(t.median), ratio.Median, ratio.Low, ratio.High, stats.Median(t.far))
			for i := range t.long {
				fmt.Printf(" %d; %v |", t.long[i], t.longest[i].Round(time.Microsecond))
			}
			each := ""
			if s.segments > 0 {
				each = fmt.Sprintf("%.2f", s.beside.Seconds()*1e3/float64(s.segments))
			}
			fmt.Printf(" %d | %s |\n", s.segments, each)
			if s.failed > 0 {
				fmt.Printf("%d segments failed\n", s.failed)
			}
		}
	}
}
