package sampling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/bench/internal/chart"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/profile"
)

// oneRun has a tree and as many samples as it has weight, all of a latency of 5 µs.
func oneRun(tree similarity.Weights) sampledRun {
	n := uint64(tree.Total())
	return sampledRun{tree, n, &profile.Sampling{
		Stats: []profile.Loss{{Kind: "ticks", Count: n + 2}, {Kind: "requests", Count: n + 1},
			{Kind: "samples", Count: n}, {Kind: "stops", Count: 2 * n}, {Kind: "stopped", Count: 3000 * n}},
		Latency: []profile.Bucket{{Floor: 5 * time.Microsecond, Count: n}},
	}}
}

func TestSamplingReport(t *testing.T) {
	same := oneRun(similarity.Weights{"a": 3, "b": 1})
	other := oneRun(similarity.Weights{"a": 2, "b": 2})
	r := newSamplingReport()
	r.add("demo", [][]sampledRun{{same, same}, {same, other}, {other}, {other}, {other}})
	row := func(rows [][]string, i int) string { return strings.Join(rows[i], "|") }
	// Shares of 3/4 and of 1/2 in a are 5/8 on average: each overlaps with that by 7/8.
	for _, c := range []struct {
		rows [][]string
		i    int
		want string
	}{
		{r.stability.Rows, 0, "demo|jvmti|2|4|2|2|100.0|100.0..100.0|100.0|100.0..100.0"},
		{r.stability.Rows, 1, "demo|sps|2|4|2|2|87.5|87.5..87.5|100.0|100.0..100.0"},
		{r.agreement.Rows, 0, "demo|jvmti with sps|87.5|100.0|> 70 %, but 3 programs|> 90 %"},
		{r.agreement.Rows, 8, "demo|isps with isps at prologues|100.0|100.0||"},
		{r.latency.Rows, 0, "demo|jvmti|12|10|8|1.5|5.0|5.0|5.0|5.0|5.0|5.0|5.0"},
	} {
		if got := row(c.rows, c.i); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if n := len(r.agreement.Rows); n != 10 {
		t.Errorf("%d pairs, want 10", n)
	}
	if b := r.stabilityBars[0].Bars; len(b) != len(samplers) || b[1].Values[0] != 87.5 {
		t.Errorf("bars %+v", b)
	}
	if l := r.latencyLines.Lines; len(l) != len(samplers) || l[0].X[0] != 5 || l[0].Y[0] != 100 {
		t.Errorf("lines %+v", l)
	}
}

// A bar that a group lacks leaves its place empty.
func TestAddBar(t *testing.T) {
	f := &chart.Figure{Groups: []string{"a"}}
	addBar(f, "x", 1)
	f.Groups = append(f.Groups, "b")
	addBar(f, "x", 2)
	addBar(f, "y", 3)
	if got := fmt.Sprint(f.Bars); got != "[{x [1 2]} {y [NaN 3]}]" {
		t.Errorf("got %s", got)
	}
}

func TestQuartiles(t *testing.T) {
	for want, values := range map[string][]float64{"": nil, "7.0..7.0": {7}, "2.0..4.0": {5, 4, 3, 2, 1},
		"1.0..2.0": {2, 1}} {
		if got := quartiles(values); got != want {
			t.Errorf("%v: %s, want %s", values, got, want)
		}
	}
}

func TestSampledPrograms(t *testing.T) {
	var all []*program.Program
	for _, name := range []string{"crypto", "esbuild", "gopherlua", "nats"} {
		all = append(all, &program.Program{Name: name})
	}
	names := func(s *session.Session) string { return strings.Join(program.Names(sampledPrograms(s)), " ") }
	for _, c := range []struct {
		programs []*program.Program
		quick    bool
		want     string
	}{
		{all, false, "gopherlua esbuild crypto nats"},
		{all, true, "gopherlua"},
		{all[3:], false, "nats"},
	} {
		s := &session.Session{Options: &session.Options{Quick: c.quick}, Programs: c.programs}
		if got := names(s); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestRecordWithoutSamples(t *testing.T) {
	p := &profile.Profile{Strings: []string{""}}
	if _, err := sampledOf(p); err == nil {
		t.Error("a profile without samples was read")
	}
	if _, err := accumulatedOf(p); err == nil {
		t.Error("a profile without samples of calls was read")
	}
}

func TestAccumulatorReport(t *testing.T) {
	a := accumulated{
		exact:   similarity.Weights{"hot": 100, "warm": 50, "cold": 50},
		samples: similarity.Weights{"hot": 2, "warm": 1, "other": 1},
	}
	r := newAccumulatorReport()
	r.add("demo", setting{"calls:59", lastEdge}, a)
	r.addEdges("demo", setting{"calls:59", lastEdge}, a)
	// Overlap: 1/2 and 1/4; hot in both are two of four.
	if got, want := strings.Join(r.table.Rows[0], "|"),
		"demo|last-edge|calls:59|0.0|4|3|2|75.0|50.0|figure 3: much stronger"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	f := r.edges[0]
	if got, want := fmt.Sprint(f.Groups, f.Bars), "[1  ] [{exact [100 50 50]} {acct [100 0 50]}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if f.Name != "acct-59-last-edge" {
		t.Errorf("name %s", f.Name)
	}
}

func TestSettings(t *testing.T) {
	v := setting{"calls:307", allNewEdges}.variant()
	if got, want := strings.Join(v.Flags, " "),
		"-engine=cct+acct -recursion=full -trigger=calls:307 -weights=all-new-edges"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	seen := make(map[setting]bool)
	for _, c := range settings(&session.Session{Options: new(session.Options)}) {
		seen[c] = true
	}
	for c := range publishedAccuracy {
		if !seen[c] {
			t.Errorf("%v is published and not measured", c)
		}
	}
}

func TestBenchmarkTime(t *testing.T) {
	for line, want := range map[string]float64{
		"BenchmarkCallers/cached         	   15106	      1534 ns/op":                             1534,
		"BenchmarkMemmove/64-2 	   15106	      2.5 ns/op	 400 MB/s":                              2.5,
		"BenchmarkGoroutineProfile/small/idle-2    	    1006	     23982 ns/op	     21534 p50-ns": 23982,
	} {
		if ns, ok := benchmarkTime("goos: linux\n" + line + "\nPASS\n"); !ok || ns != want {
			t.Errorf("%q: got %v, %v, want %v", line, ns, ok, want)
		}
	}
	if ns, ok := benchmarkTime("goos: linux\nPASS\n"); ok {
		t.Errorf("got %v of a benchmark that skips itself", ns)
	}
}

func TestBenchmarkPattern(t *testing.T) {
	if got, want := benchmarkPattern("GoroutineProfile/small/idle"),
		"^BenchmarkGoroutineProfile$/^small$/^idle$"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOffTable(t *testing.T) {
	times := make([]map[string][]float64, 3)
	for i, factor := range []float64{1, 1, 2} {
		// The first benchmark has too few rounds, and the last one skips itself.
		times[i] = map[string][]float64{runtimeBenchmarks[0].name: {10}}
		for _, b := range runtimeBenchmarks[1 : len(runtimeBenchmarks)-1] {
			for range offRounds {
				times[i][b.name] = append(times[i][b.name], 10*factor)
			}
		}
	}
	s := new(session.Session)
	tab := offTable(s, times)
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0], runtimeBenchmarks[0].name) {
		t.Errorf("problems %q", s.Problems)
	}
	if got, want := strings.Join(tab.Rows[0], "|"),
		"FPCallers/cached|fpTracebackPCs|10.0|2.000|2.000..2.000|2.000|1.000|1.000..1.000|1.000"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, mean := range tab.Rows[len(tab.Rows)-2:] {
		if got, want := strings.Join(mean[1:], "|"), "||2.000||2.000|1.000||1.000"; got != want {
			t.Errorf("means %s, want %s", got, want)
		}
	}
	if m := s.Metrics[0]; math.Abs(m.Value-2) > 1e-9 {
		t.Errorf("metric %+v", m)
	}
}

// TestRunOff runs scripts instead of test binaries: each benchmark prints its result,
// one skips itself and one fails when sampling is off.
func TestRunOff(t *testing.T) {
	dir := t.TempDir()
	skips, fails := runtimeBenchmarks[3], runtimeBenchmarks[5]
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain",
		fmt.Sprintf("[ \"$2\" = '-test.bench=%s' ] || echo 'BenchmarkX 7 80000000 ns/op'\n",
			benchmarkPattern(skips.name)))
	off := write("off",
		fmt.Sprintf("echo \"$3\" >>%s/iterations; [ \"$2\" != '-test.bench=%s' ]\n", dir, benchmarkPattern(fails.name)))
	s := &session.Session{Options: new(session.Options), Bench: &measure.Bench{Work: dir, Timeout: time.Minute}}
	times := runOff(s, plain, off, dir)
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0], fails.name) ||
		!strings.Contains(s.Problems[0], "off: run: exit status 1") {
		t.Errorf("problems: %q", s.Problems)
	}
	for _, b := range runtimeBenchmarks {
		want := offRounds
		if b == skips || b == fails {
			want = 0
		}
		if got := len(times[2][b.name]); got != want {
			t.Errorf("%s: %d rounds, want %d", b.name, got, want)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "iterations"))
	if err != nil {
		t.Fatal(err)
	}
	// One run of no benchmark, then those of 80 ms in 400.
	if lines := strings.Fields(string(data)); lines[0] != "-test.benchtime=1x" ||
		lines[len(lines)-1] != "-test.benchtime=5x" {
		t.Errorf("iterations: %q", lines)
	}
}

func TestShortRows(t *testing.T) {
	times := make(map[string][]float64)
	for i, sampler := range shortSamplers {
		for _, every := range shortEvery {
			times[sampler+every] = []float64{100 * float64(i+1), 200 * float64(i+1), 300 * float64(i+1)}
		}
	}
	tab := new(table.Table)
	addShort(tab, []float64{100, 200, 300}, times)
	if got, want := strings.Join(tab.Rows[6], "|"), "isps|100us|400|2.000|2.000..2.000"; got != want {
		t.Errorf("the last row is %s, want %s", got, want)
	}
}

// TestDraw draws samples of a tree: as many as the chance says of each edge, and other ones each time.
func TestDraw(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	exact := similarity.Weights{"a": 100000, "b": 10000, "c": 1}
	for range 10 {
		drawn := draw(r, exact, 0.1)
		for k, calls := range exact {
			if z := (drawn[k] - calls/10) / math.Sqrt(calls*0.09); math.Abs(z) > 4 {
				t.Errorf("%v of %v calls of %s", drawn[k], calls, k)
			}
		}
		if b := similarity.BiasOf(exact, drawn); b.Functions != 2 || b.Worst > 16 {
			t.Errorf("%+v", b)
		}
	}
}
