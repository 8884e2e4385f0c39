package flat

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// written returns a profile as runtime/pprof would write it, of stacks of functions, innermost
// first, with spaces between frames and commas between inlined ones; each is one sample of 10 ms.
func written(t *testing.T, stacks ...string) []byte {
	t.Helper()
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"},
		{Type: "cpu", Unit: "nanoseconds"}}}
	for _, stack := range stacks {
		s := &pprof.Sample{Value: []int64{1, 10e6}}
		for _, frame := range strings.Fields(stack) {
			l := &pprof.Location{ID: uint64(len(p.Location) + 1)}
			for _, name := range strings.Split(frame, ",") {
				f := &pprof.Function{ID: uint64(len(p.Function) + 1), Name: name}
				p.Function = append(p.Function, f)
				l.Line = append(l.Line, pprof.Line{Function: f})
			}
			p.Location = append(p.Location, l)
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sampled returns stemma's samples of the same stacks, each with the given nanoseconds on CPU.
func sampled(ns uint64, stacks ...string) *profile.Profile {
	p := profile.New(profile.CPU, profile.Samples, profile.SampledWait, profile.SampledWaits)
	x := profile.NewNodeIndex(p, 0)
	for _, stack := range stacks {
		frames, node := strings.Fields(stack), uint32(0)
		for i := len(frames) - 1; i >= 0; i-- {
			place := profile.Func{Kind: profile.FuncPlace}
			for _, name := range strings.Split(frames[i], ",") {
				place.Frames = append(place.Frames, profile.Frame{Func: uint32(len(p.Strings))})
				p.Strings = append(p.Strings, name)
			}
			p.Funcs = append(p.Funcs, place)
			node = x.Node(node, 0, uint32(len(p.Funcs)-1))
		}
		for k, v := range []uint64{ns, 1, 2 * ns, 2} {
			p.Columns[k].Values[node] += v
		}
	}
	return p
}

func TestFlatOf(t *testing.T) {
	a, err := flatOfPprof(written(t, "main.leaf,main.f main.main", "main.f main.main",
		"runtime.asyncPreempt main.f main.main"))
	if err != nil {
		t.Fatal(err)
	}
	if a.time["main.leaf"] != 10e6 || a.time["main.f"] != 20e6 || len(a.time) != 2 || a.samples != 3 ||
		a.preempted != 1 {
		t.Errorf("of pprof: %+v", a)
	}
	b, err := flatOfSamples(sampled(5, "main.leaf,main.f main.main", "main.f main.main", "main.f main.main"))
	if err != nil {
		t.Fatal(err)
	}
	if b.time["main.leaf"] != 5 || b.time["main.f"] != 10 || len(b.time) != 2 || b.samples != 3 {
		t.Errorf("of samples: %+v", b)
	}
	if _, err := flatOfSamples(sampled(5)); err == nil {
		t.Error("no error without samples")
	}
	if _, err := flatOfPprof([]byte("no profile")); err == nil {
		t.Error("no error for what is no profile")
	}
}

// TestFlatOfContexts has a sample in a function and two in a wrapper that it calls.
func TestFlatOfContexts(t *testing.T) {
	d := recordtest.New(1, "prog")
	f := d.Func(recordtest.Func{Name: "main.f", Files: []string{"main.go"},
		Sites: []recordtest.Site{{Kind: layout.SiteCall, Line: 9, Cell: 1}}})
	w := d.Func(recordtest.Func{Name: "main.(*T).wrapper", Files: []string{"main.go"}, Flags: layout.MetaFlagWrapper})
	inF := d.Node(recordtest.Root, layout.RootMain, f)
	inW := d.Node(inF, 0, w)
	l, err := livedir.Open(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	cpu, err := l.Profile.AddColumn(profile.ContextCPU)
	if err != nil {
		t.Fatal(err)
	}
	for of, ns := range map[int]uint64{inF: 10, inW: 20} {
		n, _ := l.Node(uint32(of))
		cpu.Values[n] = ns
	}
	if _, err := flatOfContexts(l.Profile); err == nil {
		t.Error("no error without samples")
	}
	l.Process().Sampling = &profile.Sampling{Stats: []profile.Loss{{Kind: "samples", Count: 3}}}
	got, err := flatOfContexts(l.Profile)
	if err != nil {
		t.Fatal(err)
	}
	if got.time["main.f"] != 30 || len(got.time) != 1 || got.samples != 3 {
		t.Errorf("%+v", got)
	}
}

// TestByChance draws nothing: with as much noise on both sides, as much is expected between them, and
// nothing is left beyond it.
func TestByChance(t *testing.T) {
	for _, c := range []struct{ a, b, between, chance, beyond float64 }{
		{0.8, 0.8, 0.8, 0.8, 1},
		{1, 1, 0.9, 1, 0.9},
		{0.7, 0.9, 0.9, 0.776, 1},   // more than expected
		{0.8, 0.8, 0.75, 0.8, 0.85}, // 25² = 20² + 15²
	} {
		chance := byChance(c.a, c.b)
		if beyond := beyondChance(c.between, chance); math.Abs(chance-c.chance) > 0.001 ||
			math.Abs(beyond-c.beyond) > 0.001 {
			t.Errorf("%v: got %.3f, %.3f", c, chance, beyond)
		}
	}
}

func TestFlatReport(t *testing.T) {
	half := func(f, g float64) flatProfile {
		return flatProfile{time: similarity.Weights{"f": f, "g": g}, samples: uint64(f + g), runs: 1}
	}
	s := &session.Session{Options: &session.Options{Rounds: 7}}
	r := newFlatReport(s)
	a, b := half(80, 20), half(60, 40)
	a.preempted = 10
	r.add("demo", [][]flatProfile{{a, b}, {half(60, 40), half(80, 20)}, {half(7, 3)}, {half(50, 50)}, {half(70, 30)}})
	if got, want := strings.Join(r.overlap.Rows[0], "|"),
		"demo|200|200|10|100|100|5.0|80.0|80.0|90.0|80.0|100.0|100.0|100.0|80.0|100.0"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	r.addDifferences("demo", &a, &b)
	last := r.differences.Rows[len(r.differences.Rows)-2]
	if got, want := strings.Join(last, "|"), "demo|f|80.0|60.0|-20.0|3.1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, row := range r.overlap.Rows {
		if len(row) != len(r.overlap.Head) {
			t.Errorf("%d cells, %d columns", len(row), len(r.overlap.Head))
		}
	}
}

// TestFlatRuns: more rounds are more runs, and the whole stays short.
func TestFlatRuns(t *testing.T) {
	for _, c := range []struct{ rounds, pprof, stemma int }{{1, 1, 1}, {7, 3, 1}, {20, 10, 4}} {
		s := &session.Session{Options: &session.Options{Rounds: c.rounds}}
		if p, st := flatRuns(s, flatWays[0]), flatRuns(s, flatWays[1]); p != c.pprof || st != c.stemma {
			t.Errorf("%d rounds: %d runs of pprof and %d of stemma", c.rounds, p, st)
		}
	}
	s := &session.Session{Options: &session.Options{Rounds: 7}, Programs: make([]*program.Program, 10)}
	if d := Time(s); d > 7*time.Minute {
		t.Errorf("flat takes %v, more than 7 minutes", d)
	}
}

func TestSplitRun(t *testing.T) {
	stacks := []string{"main.loop main.f70 main.run", "main.loop main.f70 main.run", "main.loop,main.f20 main.run",
		"main.f10 main.run", "main.threadTime main.run"}
	var a, b, w splitRun
	for _, r := range []*splitRun{&a, &b, &w} {
		if err := r.readTruth("[700ms 200ms 100ms]\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.addPprof(written(t, stacks...)); err != nil {
		t.Fatal(err)
	}
	b.addSamples(sampled(5, stacks...), profile.CPU, profile.Samples)
	w.addSamples(sampled(5, stacks...), profile.SampledWait, profile.SampledWaits)
	for i, r := range []splitRun{a, b, w} {
		samples := []uint64{4, 4, 8}[i]
		if got, want := r.cell(), "-20.0 +5.0 +15.0"; got != want || r.samples != samples {
			t.Errorf("got %s, %d samples; want %s, %d", got, r.samples, want, samples)
		}
	}
	for _, bad := range []string{"", "[1s 2s]", "[1 2 3]"} {
		if err := a.readTruth(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// TestReadTruth reads what the program splits prints: shares, and signals that it was told of.
func TestReadTruth(t *testing.T) {
	var r splitRun
	if err := r.readTruth("[2s 1.5s 500ms]\n17\n"); err != nil || r.truth != [3]float64{2e9, 1.5e9, 5e8} {
		t.Errorf("%v, %v", r.truth, err)
	}
	if r.readTruth("[2s 1.5s]\n17\n") == nil {
		t.Error("two durations are taken for three")
	}
}

// TestSplitsDir looks where the program of table splits is.
func TestSplitsDir(t *testing.T) {
	if _, err := os.Stat(filepath.Join(splitsDir(filepath.Join("..", "..", "..", "bench")), "main.go")); err != nil {
		t.Error(err)
	}
}
