package sampling

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// How it works.
//
// The benchmarks of package runtime measure what every program stands on. Their test
// binary is built by go test, and by stemma test for sampling, with sampling off from
// the start: what differs is the price of being able to sample. Both, and the plain
// one again as the noise floor, run the same number of iterations of each benchmark and
// take turns at that, so that they meet the same machine. A benchmark that is stopped in
// between cannot tell its time, so that of the process counts, without that of a process
// that runs no benchmark.

// offRounds is how often each binary runs each benchmark, for benchTime on the
// machine on which the number of iterations was found.
const (
	offRounds = 11
	benchTime = 400 * time.Millisecond
)

// A runtimeBenchmark is one of package runtime, without the word Benchmark.
type runtimeBenchmark struct {
	name string
	hook string // the function with a hook for samples that it runs through; "" for none
}

// runtimeBenchmarks are some of each part of the runtime, and all that run
// through the code that had to learn about patched return addresses.
var runtimeBenchmarks = []runtimeBenchmark{
	{"Callers/cached", "unwinder.next"}, {"FPCallers/cached", "fpTracebackPCs"},
	{"TraceStack/stackDepth=10", "fpTracebackPCs"}, {"GoroutineProfile/small/idle", "unwinder.next"},
	{"PanicRecover", "recovery"}, {"Defer", ""}, {"Defer10", ""},
	{"CreateGoroutines", "execute, gdestroy"}, {"StackGrowth", "newstack"}, {"StackGrowthDeep", "newstack"},
	{"MutexContention", "execute"}, {"Syscall", "exitsyscall"},
	{"ChanUncontended", ""}, {"ChanSync", "execute"}, {"ChanProdCons0", "execute"}, {"SelectProdCons", "execute"},
	{"Finalizer", ""}, {"Allocation", ""}, {"Malloc8", ""}, {"AppendGrowByte", ""},
	{"WriteBarrier", ""}, {"ClosureCall", ""}, {"AssertE2I", ""}, {"MapCycle", ""}, {"Memmove/64", ""},
	{"Memmove/4096", ""}, {"Hash64", ""},
}

// offTime estimates off: three binaries, two of which are built.
func offTime(s *session.Session) time.Duration {
	if s.Options.Quick {
		return 0
	}
	return 2*s.BuildTime() + time.Duration(len(runtimeBenchmarks))*(3*offRounds+1)*benchTime
}

// off compares the runtime of a program that does not sample with the plain one.
func off(s *session.Session) {
	v := session.EngineVariant("sample", "-start=off")
	if s.Options.Quick || !s.Available(v) {
		return
	}
	t, err := measureOff(s, v)
	if err != nil {
		s.Failed("benchmarks of package runtime", v, err)
		return
	}
	s.Tables = append(s.Tables, t)
}

// measureOff builds the binaries and runs them in turn.
func measureOff(s *session.Session, v measure.Variant) (*table.Table, error) {
	dir := filepath.Join(s.Bench.Work, "off")
	plain, off := filepath.Join(dir, "plain.test"), filepath.Join(dir, "off.test")
	for _, args := range [][]string{
		{"go", "test", "-c", "-o", plain, "runtime"},
		append(append([]string{s.Bench.Stemma, "test"}, v.Flags...), "-c", "-o", off, "runtime"),
	} {
		session.Tell("build the tests of package runtime: " + filepath.Base(args[0]))
		if err := (&measure.Command{Dir: s.Tree.Bench, Args: args}).Run(); err != nil {
			return nil, fmt.Errorf("build: %w", err)
		}
	}
	return offTable(s, runOff(s, plain, off, filepath.Join(s.Tree.GOROOT, "src", "runtime"))), nil
}

// runOff runs all benchmarks in dir, where their sources are, since some tests of the
// package read them. It returns the nanoseconds of CPU time per operation of plain, plain
// again and off, by name and round.
func runOff(s *session.Session, plain, off, dir string) []map[string][]float64 {
	times := []map[string][]float64{{}, {}, {}}
	start := [3]float64{}
	for i, c := range offCPU(s, "none", plain, off, dir, "^$", 1) {
		start[i] = stats.Median(c)
	}
	for i, b := range runtimeBenchmarks {
		session.Tell(fmt.Sprintf("benchmark %s of package runtime, %d of %d", b.name, i+1, len(runtimeBenchmarks)))
		n, err := iterations(plain, b.name, dir)
		if err != nil {
			s.Problem("benchmark %s of package runtime: %v", b.name, err)
			continue
		}
		if n == 0 {
			continue // it skips itself, as some do with GOMAXPROCS=1
		}
		for k, list := range offCPU(s, b.name, plain, off, dir, benchmarkPattern(b.name), n) {
			for _, c := range list {
				times[k][b.name] = append(times[k][b.name], (c-start[k])/float64(n)*1e9)
			}
		}
	}
	return times
}

// offCPU runs n iterations of the benchmarks that match the pattern, in turns, and
// returns the seconds of CPU time of plain, plain again and off in each round.
func offCPU(s *session.Session, name, plain, off, dir, pattern string, n int) [3][]float64 {
	p := program.Command(name, dir, "-test.run=^$", "-test.bench="+pattern, fmt.Sprintf("-test.benchtime=%dx", n))
	bins := []*measure.Binary{
		{Program: p, Variant: measure.Plain, Path: plain},
		{Program: p, Variant: measure.PlainAgain, Path: plain},
		{Program: p, Variant: measure.Variant{Name: "off"}, Path: off},
	}
	var cpu [3][]float64
	for i, series := range s.Bench.Rounds(bins, offRounds, func(string) {}) {
		cpu[i] = series.Values(measure.CPU)
		if series.Err != nil {
			s.Problem("benchmark %s of package runtime, %s: %v", name, bins[i].Variant.Name, series.Err)
		}
	}
	return cpu
}

// iterations returns how many iterations of a benchmark take benchTime or somewhat
// less, since only the last of several attempts counts; 0 if the benchmark skips itself.
func iterations(binary, name, dir string) (int, error) {
	cmd := exec.Command(binary, "-test.run=^$", "-test.bench="+benchmarkPattern(name),
		"-test.benchtime="+(benchTime/4).String())
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n\t%s", filepath.Base(binary), err, lastLine(out))
	}
	ns, ok := benchmarkTime(string(out))
	if !ok {
		return 0, nil
	}
	return max(1, int(float64(benchTime.Nanoseconds())/ns)), nil
}

// lastLine returns the end of what a command has printed.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// benchmarkPattern selects one benchmark, level by level of its name.
func benchmarkPattern(name string) string {
	return "^Benchmark" + strings.ReplaceAll(name, "/", "$/^") + "$"
}

// benchmarkLine is a result.
var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark\S+\s+\d+\s+([\d.]+) ns/op`)

// benchmarkTime returns the nanoseconds per operation that were printed; a benchmark
// that skips itself prints none.
func benchmarkTime(printed string) (ns float64, ok bool) {
	m := benchmarkLine.FindStringSubmatch(printed)
	if m == nil {
		return 0, false
	}
	ns, err := strconv.ParseFloat(m[1], 64)
	return ns, err == nil
}

// offTable makes the table of the times of plain, plain again and off, by name and round.
// A benchmark that is not in all rounds is a problem.
func offTable(s *session.Session, times []map[string][]float64) *table.Table {
	t := &table.Table{
		Name:  "sampling-off",
		Title: "Benchmarks of package runtime with sampling off (-engine=sample -start=off), to plain", Left: 2,
		Head: []string{"benchmark", "hook", "plain ns", "ratio", "interval", "of best", "plain again", "interval",
			"of best"},
		Notes: []string{fmt.Sprintf("CPU time, user and system, of the same number of iterations, which take some "+
			"%v; median of %d rounds of ratios to plain in the same round, in turns. plain again is the same file: "+
			"what it differs by is noise. "+
			"of best: ratio of the shortest times of all rounds, which other work on the machine disturbs least. "+
			"hook: the function of the runtime, changed for samples, that the benchmark runs through; these are the "+
			"exceptions from \"off means off\", since each has at least a check in it.", benchTime, offRounds)},
	}
	var m offMeans
	for _, b := range runtimeBenchmarks {
		plain, second, off := times[0][b.name], times[1][b.name], times[2][b.name]
		if len(plain)+len(second)+len(off) == 0 {
			continue // it skips itself, as some do with GOMAXPROCS=1
		}
		if len(plain) < offRounds || len(second) < offRounds || len(off) < offRounds {
			s.Problem("benchmark %s of package runtime: not in every round", b.name)
			continue
		}
		noise, ratio := stats.MedianInterval(stats.Ratios(second, plain)),
			stats.MedianInterval(stats.Ratios(off, plain))
		best := slices.Min(plain)
		t.Add(b.name, b.hook, session.Number(stats.Median(plain), 1), session.Number(ratio.Median, 3),
			session.Span(ratio),
			session.Number(slices.Min(off)/best, 3),
			session.Number(noise.Median, 3), session.Span(noise), session.Number(slices.Min(second)/best, 3))
		m.add(b.hook == "", ratio.Median, slices.Min(off)/best, noise.Median, slices.Min(second)/best)
		s.Metric("RuntimeOff/"+b.name, ratio.Median, "ratio")
	}
	t.Add(m.row("geometric mean", false)...)
	t.Add(m.row("those without a hook", true)...)
	return t
}

// offMeans collects the four ratios of each benchmark, of all and of those without
// a hook, in the order of the columns.
type offMeans struct{ all, free [4][]float64 }

func (m *offMeans) add(free bool, ratios ...float64) {
	for i, r := range ratios {
		m.all[i] = append(m.all[i], r)
		if free {
			m.free[i] = append(m.free[i], r)
		}
	}
}

// row returns a row of geometric means.
func (m *offMeans) row(title string, free bool) []string {
	of := m.all
	if free {
		of = m.free
	}
	mean := func(i int) string { return session.Number(stats.GeoMean(of[i]), 3) }
	return []string{title, "", "", mean(0), "", mean(1), mean(2), "", mean(3)}
}
