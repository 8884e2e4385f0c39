// Goroutines measures what profilers cost a program with many goroutines that
// wait: each of stemma's samplers, github.com/felixge/fgprof and runtime/pprof as
// they ship.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// options is what the command line says.
type options struct {
	rounds int
	length time.Duration
	every  time.Duration
	counts []int
}

func main() {
	o := options{}
	flag.IntVar(&o.rounds, "rounds", 3, "`rounds`; the median counts")
	flag.DurationVar(&o.length, "t", 2*time.Second, "how long each run takes")
	flag.DurationVar(&o.every, "every", 10*time.Millisecond, "`time` between samples, of stemma's samplers; fgprof takes 99 a second, pprof 100")
	counts := flag.String("n", "10,1000,10000,100000", "`numbers` of goroutines")
	flag.Parse()
	for _, s := range strings.Split(*counts, ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			fatal(err)
		}
		o.counts = append(o.counts, n)
	}
	if err := run(&o); err != nil {
		fatal(err)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "goroutines:", err)
	os.Exit(1)
}

// A way is one way to profile the program.
type way struct {
	name, profiler string
	sampling       string // STEMMA_SAMPLING; "" for the plain program
}

var ways = []way{
	{"none", "none", ""},
	{"stemma, not started", "none", "start=off"},
	{"stw", "none", "sampler=stw"},
	{"sps", "none", "sampler=sps"},
	{"isps", "none", "sampler=isps"},
	{"fgprof", "fgprof", ""},
	{"runtime/pprof", "pprof", ""},
}

// A result is what one run printed, and for stemma's samplers the latency of samples.
type result struct {
	units, cpu, p999, longest float64
	latency                   string
}

// run builds the program twice and runs it in all ways, in turn.
func run(o *options) error {
	tree, err := machine.Find()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "stemma-goroutines-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	b := &bench{o, work, filepath.Join(work, "stemma")}
	if err := tree.BuildStemma(b.stemma); err != nil {
		return err
	}
	if err := b.build(); err != nil {
		return err
	}
	for _, l := range machine.Describe(tree).Lines() {
		fmt.Printf("%-8s %s\n", l[0], l[1])
	}
	t := &table.Table{
		Name: "goroutines", Title: fmt.Sprintf("Profilers and waiting goroutines, every %v", o.every), Left: 1,
		Head: []string{"profiler", "goroutines", "throughput", "CPU", "99.9 % unit µs", "longest unit µs", "latency of a sample"},
		Notes: []string{fmt.Sprintf("Two workers on two CPUs; median of %d interleaved rounds of %v. Throughput: units of work, ratio to none. CPU: process CPU time for each unit, ratio to none. "+
			"Unit: how long a unit of work took that was held up most. Latency: from the request to the end of the sample, median and 99 %%.", o.rounds, o.length)},
	}
	for _, n := range o.counts {
		if err := b.rows(t, n); err != nil {
			return err
		}
	}
	return t.Text(os.Stdout)
}

type bench struct {
	o            *options
	work, stemma string
}

// build builds the program plainly and for sampling.
func (b *bench) build() error {
	for _, args := range [][]string{
		{"go", "build", "-o", filepath.Join(b.work, "plain"), "."},
		{b.stemma, "build", "-engine=sample", "-every=" + b.o.every.String(), "-o", filepath.Join(b.work, "sampled"), "."},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = filepath.Join("goroutines", "busy")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// rows measures all ways with n goroutines.
func (b *bench) rows(t *table.Table, n int) error {
	results := make([][]result, len(ways))
	for range b.o.rounds {
		for i, w := range ways {
			r, err := b.once(w, n)
			if err != nil {
				return fmt.Errorf("%s with %d goroutines: %w", w.name, n, err)
			}
			results[i] = append(results[i], r)
		}
	}
	for i, w := range ways {
		t.Add(w.name, strconv.Itoa(n),
			median(results[i], results[0], func(r, base result) float64 { return r.units / base.units }, "%.3f"),
			median(results[i], results[0], func(r, base result) float64 { return r.cpu / r.units / (base.cpu / base.units) }, "%.3f"),
			median(results[i], results[0], func(r, _ result) float64 { return r.p999 / 1e3 }, "%.0f"),
			median(results[i], results[0], func(r, _ result) float64 { return r.longest / 1e3 }, "%.0f"),
			results[i][len(results[i])-1].latency)
	}
	return nil
}

// median formats the median of a figure over all rounds; base are the rounds without a
// profiler.
func median(list, base []result, figure func(r, base result) float64, format string) string {
	var all []float64
	for i := range list {
		all = append(all, figure(list[i], base[i]))
	}
	slices.Sort(all)
	return fmt.Sprintf(format, all[len(all)/2])
}

// once runs the program once.
func (b *bench) once(w way, n int) (r result, err error) {
	exe := "plain"
	if w.sampling != "" {
		exe = "sampled"
	}
	out := filepath.Join(b.work, "out")
	defer os.RemoveAll(out)
	cmd := exec.Command(filepath.Join(b.work, exe), "-n", strconv.Itoa(n), "-t", b.o.length.String(), "-profiler", w.profiler)
	cmd.Env = append(os.Environ(), "STEMMA_OUT="+out, "STEMMA_SAMPLING="+w.sampling)
	printed, err := cmd.Output()
	if err != nil {
		return r, err
	}
	if _, err := fmt.Sscanf(string(printed), "units %g cpu %g p999 %g max %g", &r.units, &r.cpu, &r.p999, &r.longest); err != nil {
		return r, fmt.Errorf("it printed %q", printed)
	}
	if w.sampling == "" || w.sampling == "start=off" {
		return r, nil
	}
	report, err := exec.Command(b.stemma, "report", "-top=0", out).Output()
	if err != nil {
		return r, err
	}
	if m := regexp.MustCompile(`latency (\S+) median, (\S+) 99`).FindSubmatch(report); m != nil {
		r.latency = fmt.Sprintf("%s, %s", m[1], m[2])
	}
	return r, nil
}
