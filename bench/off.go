package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// How it works.
//
// The benchmarks of package runtime measure what every program stands on. Their test
// binary is built by go test, and by stemma test for sampling, with sampling off from
// the start: what differs is the price of being able to sample. Both, and the plain
// one again as the noise floor, take turns.

// offRounds is how often each binary runs all benchmarks. Each takes benchTime
// at least, and what it needs to find out how often it has to run.
const (
	offRounds = 5
	benchTime = 20 * time.Millisecond
)

// A runtimeBenchmark is one of package runtime, without the word Benchmark.
type runtimeBenchmark struct {
	name string
	hook string // what of stemma's it runs through; "" for nothing that knows of samples
}

// runtimeBenchmarks are some of each part of the runtime, and all that run
// through the code that had to learn about patched return addresses.
var runtimeBenchmarks = []runtimeBenchmark{
	{"Callers/cached", "traceback"}, {"Callers/no-cache", "traceback"}, {"FPCallers/cached", "traceback"},
	{"TraceStack/stackDepth=10", "traceback"}, {"GoroutineProfile/small/idle", "traceback"},
	{"PanicRecover", "panic"}, {"Defer", "defer"}, {"Defer10", "defer"}, {"DeferMany", "defer"},
	{"CreateGoroutines", "goroutine start and end"}, {"StackGrowth", "stack guard"}, {"StackGrowthDeep", "stack guard"},
	{"MutexContention", "unlock"}, {"Syscall", "system call"}, {"SyscallExcess", "system call"},
	{"ChanUncontended", ""}, {"ChanSync", ""}, {"ChanProdCons0", ""}, {"ChanProdCons100", ""}, {"SelectUncontended", ""}, {"SelectProdCons", ""},
	{"Finalizer", ""}, {"Allocation", ""}, {"Malloc8", ""}, {"Malloc16", ""}, {"WriteBarrier", ""},
	{"ClosureCall", ""}, {"ConvT2ESmall", ""}, {"AppendGrowByte", ""}, {"Memmove/64", ""}, {"Memmove/4096", ""}, {"Hash64", ""},
}

// offTime estimates off: three binaries, two of which are built.
func (s *session) offTime() time.Duration {
	if s.options.quick {
		return 0
	}
	one := time.Duration(len(runtimeBenchmarks)) * 6 * benchTime // a benchmark looks for the number of its iterations first
	return 2*s.buildTime() + 3*offRounds*one
}

// off compares the runtime of a program that does not sample with the plain one.
func (s *session) off() {
	v := engineVariant("sample", "-start=off")
	if s.options.quick || !s.available(v) {
		return
	}
	t, err := s.measureOff(v)
	if err != nil {
		if s.isAvailable(v, err) {
			s.problem("benchmarks of package runtime, %s: %v", v.Name, err)
		}
		return
	}
	s.tables = append(s.tables, t)
}

// measureOff builds the binaries and runs them in turn.
func (s *session) measureOff(v measure.Variant) (*table.Table, error) {
	dir := filepath.Join(s.bench.Work, "off")
	plain, off := filepath.Join(dir, "plain.test"), filepath.Join(dir, "off.test")
	for _, args := range [][]string{
		{"go", "test", "-c", "-o", plain, "runtime"},
		append(append([]string{s.bench.Stemma, "test"}, v.Flags...), "-c", "-o", off, "runtime"),
	} {
		tell("build the tests of package runtime: " + filepath.Base(args[0]))
		if err := (&measure.Command{Dir: s.tree.Bench, Args: args}).Run(); err != nil {
			return nil, fmt.Errorf("build: %w", err)
		}
	}
	ways := []string{plain, plain, off} // the second one tells what is noise
	times := make([]map[string][]float64, len(ways))
	for i := range times {
		times[i] = make(map[string][]float64)
	}
	for round := range offRounds {
		tell(fmt.Sprintf("benchmarks of package runtime, round %d of %d", round+1, offRounds))
		for k := range ways {
			k = (k + round) % len(ways)
			printed, err := runBenchmarks(ways[k], s.tree.GOROOT, dir)
			if err != nil {
				return nil, err
			}
			for name, ns := range benchmarkTimes(printed) {
				times[k][name] = append(times[k][name], ns)
			}
		}
	}
	return s.offTable(times), nil
}

// runBenchmarks runs the benchmarks once, where their sources are, since some tests
// of the package read them. What is recorded goes to dir.
func runBenchmarks(binary, goroot, dir string) (string, error) {
	cmd := exec.Command(binary, "-test.run=^$", "-test.bench="+benchmarkPattern(), "-test.benchtime="+benchTime.String())
	cmd.Dir = filepath.Join(goroot, "src", "runtime")
	cmd.Env = append(cmd.Environ(), "STEMMA_OUT="+filepath.Join(dir, "out"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n\t%s", filepath.Base(binary), err, lastLine(out))
	}
	return string(out), nil
}

// lastLine returns the end of what a command has printed.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// benchmarkPattern selects the benchmarks, level by level of their names.
func benchmarkPattern() string {
	var all []string
	for _, b := range runtimeBenchmarks {
		all = append(all, "^Benchmark"+strings.ReplaceAll(b.name, "/", "$/^")+"$")
	}
	return strings.Join(all, "|")
}

// benchmarkLine is a result; the number behind the name is GOMAXPROCS if that is not 1.
var benchmarkLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)

// benchmarkTimes returns nanoseconds per operation by name.
func benchmarkTimes(printed string) map[string]float64 {
	times := make(map[string]float64)
	for _, m := range benchmarkLine.FindAllStringSubmatch(printed, -1) {
		if ns, err := strconv.ParseFloat(m[2], 64); err == nil {
			times[m[1]] = ns
		}
	}
	return times
}

// offTable makes the table of the times of plain, plain again and off, by name and round.
// A benchmark without times is a problem.
func (s *session) offTable(times []map[string][]float64) *table.Table {
	t := &table.Table{
		Name: "sampling-off", Title: "Benchmarks of package runtime with sampling off (-engine=sample -start=off), to plain", Left: 2,
		Head: []string{"benchmark", "hook", "plain ns", "ratio", "interval", "plain again", "interval"},
		Notes: []string{fmt.Sprintf("Median of %d rounds of ratios to plain in the same round, each benchmark for %v. plain again is the same file: what it differs by is noise. "+
			"hook: what of the runtime that was changed for samples the benchmark runs through; these are the exceptions from \"off means off\", since each has at least a check in it.", offRounds, benchTime)},
	}
	var all, free, again []float64
	for _, b := range runtimeBenchmarks {
		plain := times[0][b.name]
		if len(plain) < offRounds || len(times[1][b.name]) < offRounds || len(times[2][b.name]) < offRounds {
			s.problem("benchmark %s of package runtime: not in every round", b.name)
			continue
		}
		noise, off := stats.MedianInterval(stats.Ratios(times[1][b.name], plain)), stats.MedianInterval(stats.Ratios(times[2][b.name], plain))
		t.Add(b.name, b.hook, number(stats.Median(plain), 1), number(off.Median, 3), span(off), number(noise.Median, 3), span(noise))
		all, again = append(all, off.Median), append(again, noise.Median)
		if b.hook == "" {
			free = append(free, off.Median)
		}
		s.metrics = append(s.metrics, metric{"RuntimeOff/" + b.name, off.Median, "ratio"})
	}
	t.Add("geometric mean", "", "", number(stats.GeoMean(all), 3), "", number(stats.GeoMean(again), 3), "")
	t.Add("those without a hook", "", "", number(stats.GeoMean(free), 3), "", "", "")
	return t
}
