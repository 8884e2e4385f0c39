// Deterministic runs programs of the benchmark many times beside busy loops, with
// STEMMA_DETERMINISTIC=1, and says in how many runs the gate would have raised an alarm at
// calls>0, which part of the calls lies in contexts that do not vary, what the runs differed in, and whether a record
// differs from the baseline that is made of it;
// with -metric=ops it compares operations instead, with -clock the time of day is fixed as well.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
)

func main() {
	o := options{}
	flag.IntVar(&o.runs, "runs", 100, "how often each program runs")
	flag.IntVar(&o.loops, "loops", 2, "how many busy loops run beside it")
	flag.IntVar(&o.work, "n", 0, "how often a run of bench's own programs repeats its work, as their own -n")
	flag.BoolVar(&o.clock, "clock", false, "let the time of day begin at the same moment, as -deterministic=clock")
	flag.BoolVar(&o.random, "random", false, "run the programs as they are, to compare")
	flag.StringVar(&o.keep, "keep", "", "work in directory `DIR`, and leave what is there: programs and records")
	flag.StringVar(&o.metric, "metric", "calls", "what is compared: calls, ops or alloc_objects")
	flag.StringVar(&o.dir, "dir", "", "`directory` of programs, each a module; those of bench, if it is empty")
	only := flag.String("program", "", "run these programs `A,B,C`; all, if it is empty")
	flag.Parse()
	o.only = lab.Names(*only)
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "deterministic:", err)
		os.Exit(1)
	}
}

type options struct {
	runs, loops int
	work        int // 0 is as much as each program does on its own
	clock       bool
	random      bool
	metric      string
	keep        string
	dir         string
	only        []string
}

func (o *options) run() error {
	l, err := o.open()
	if err != nil {
		return err
	}
	defer l.Close()
	chosen, err := l.Programs(o.dir, o.only)
	if err != nil {
		return err
	}
	stop, err := lab.Busy(o.loops, true)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Printf("| program | runs | alarms | runs that differ | %s | calls in contexts that do not vary | "+
		"first difference | differs from its own baseline |\n", o.metric)
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	var wrong []string
	for _, p := range chosen {
		if o.work > 0 && p.Module {
			p.Args = append(p.Args, fmt.Sprint("-n=", o.work))
		}
		r, err := o.repeat(l, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		fmt.Printf("| %s | %d | %d | %d | %s | %s | %s | %s |\n", p.Name, o.runs, r.alarms, r.differ, r.total, r.stable,
			r.first, orNo(r.own))
		if r.own != "" {
			wrong = append(wrong, p.Name)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s: the record differs from its own baseline", strings.Join(wrong, ", "))
	}
	return nil
}

// open makes the directory to work in.
func (o *options) open() (*lab.Lab, error) {
	if o.keep != "" {
		return lab.In(o.keep, "")
	}
	return lab.Open("deterministic")
}

// A result is what runs of one program differed in.
type result struct {
	alarms, differ       int
	total, stable, first string
	own                  string // in what a record differs from its own baseline
}

// orNo returns s, or no where that is empty.
func orNo(s string) string {
	if s == "" {
		return "no"
	}
	return s
}

// repeat compares all runs of a program with one.
func (o *options) repeat(l *lab.Lab, p *program.Program) (r result, err error) {
	if err := l.SetUp(p); err != nil {
		return r, err
	}
	b := l.Bench(10 * time.Minute)
	v := measure.Variant{Name: "cct", Flags: []string{"-engine=cct"}, Env: []string{"STEMMA_DETERMINISTIC=1"}}
	if metrics := map[string]string{"ops": "ops", "alloc_objects": "alloc"}[o.metric]; metrics != "" {
		v.Flags = append(v.Flags, "-metrics=calls,"+metrics)
	}
	if o.clock {
		v.Env = []string{"STEMMA_DETERMINISTIC=clock"}
	}
	if o.random {
		v.Env = nil
	}
	bin, err := b.Build(p, v)
	if err != nil {
		return r, err
	}
	base := filepath.Join(b.Work, p.Name, "run000")
	// What a program keeps for its next run is there after the first one: counters of the compiler's telemetry.
	for range 2 {
		if err := os.RemoveAll(base); err != nil {
			return r, err
		}
		if _, err := b.Run(bin, base); err != nil {
			return r, err
		}
	}
	if r.own, err = ownBaseline(b.Stemma, o.metric, base); err != nil {
		return r, err
	}
	all := []string{base}
	for n := range o.runs {
		out := filepath.Join(b.Work, p.Name, fmt.Sprintf("run%03d", n+1))
		if _, err := b.Run(bin, out); err != nil {
			return r, err
		}
		if err := r.compare(b.Stemma, o.metric, base, out); err != nil {
			return r, err
		}
		all = append(all, out)
	}
	if err := r.stability(b.Stemma, filepath.Join(b.Work, p.Name, "all.stemma"), all); err != nil {
		return r, err
	}
	if o.keep == "" {
		for _, out := range all {
			if err := os.RemoveAll(out); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

var printedShare = regexp.MustCompile(`calls, ([0-9.]+%) in contexts that do not vary`)

// stability finds out which part of the calls lies in contexts that vary in none of the runs.
func (r *result) stability(stemma, file string, runs []string) error {
	text, err := exec.Command(stemma, append([]string{"seal", "-repeats", "-o", file}, runs...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("stemma seal: %w\n%s", err, text)
	}
	m := printedShare.FindSubmatch(text)
	if m == nil {
		return fmt.Errorf("stemma seal: no share of calls in\n%s", text)
	}
	r.stable = string(m[1])
	return nil
}

// alarm is the exit code of the gate.
const alarm = 3

// compare counts a run that differs, and one in which a context has more of the metric. It keeps the
// largest difference of the first.
func (r *result) compare(stemma, metric, base, out string) error {
	d, err := compareBy(stemma, metric, "context", base, out)
	if err != nil {
		return err
	}
	r.total = d.total
	if d.more {
		r.alarms++
	}
	if d.first != "" {
		r.differ++
		if r.first == "" {
			r.first = d.first
		}
	}
	return nil
}

// ownBaseline returns the first row in which a record differs from the baseline that is made of it, with contexts and
// without.
func ownBaseline(stemma, metric, record string) (first string, err error) {
	for _, flags := range [][]string{{"-contexts"}, nil} {
		text := record + ".baseline"
		args := append(append([]string{"baseline"}, flags...), "-o", text, record)
		if out, err := exec.Command(stemma, args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("stemma baseline: %w\n%s", err, out)
		}
		by := "function"
		if flags != nil {
			by = "context"
		}
		d, err := compareBy(stemma, metric, by, text, record)
		if err != nil {
			return "", err
		}
		if d.more || d.first != "" {
			return by + " " + d.first, nil
		}
		if err := os.Remove(text); err != nil {
			return "", err
		}
	}
	return "", nil
}

// A difference is what stemma diff says of two records.
type difference struct {
	total string
	first string // the row of the largest difference; empty where there is none
	more  bool   // a function, or a context, has more
}

// compareBy compares functions or contexts.
func compareBy(stemma, metric, by, base, out string) (d difference, err error) {
	cmd := exec.Command(stemma, "diff", "-metric", metric, "-by", by, "-fail-over", metric+"/"+by+">0", base, out)
	text, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == alarm {
		d.more = true
	} else if err != nil {
		return d, fmt.Errorf("stemma diff: %w", err)
	}
	rows := false
	for line := range bytes.Lines(text) {
		line := strings.TrimSpace(string(line))
		if total, ok := strings.CutPrefix(line, metric+": "); ok {
			d.total, _, _ = strings.Cut(total, " ")
		}
		if rows && d.first == "" {
			d.first = line
		}
		if strings.HasPrefix(line, "base ") && strings.HasSuffix(line, by) {
			rows = true
		}
	}
	return d, nil
}
