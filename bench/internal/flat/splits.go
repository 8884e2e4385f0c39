package flat

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/profile"
)

// splitFuncs are the functions that the program splits spends 70, 20 and 10 % of its time in.
var splitFuncs = [3]string{"main.f70", "main.f20", "main.f10"}

// A splitKind is what the program does in them.
type splitKind struct {
	name, kind string
	crowd      int  // goroutines that wait meanwhile
	waits      bool // it waits, and its truth is wall time
}

var splitKinds = []splitKind{
	{"loop", "loop", 0, false}, {"tiny functions", "tiny", 0, false}, {"memmove", "memmove", 0, false},
	{"map", "map", 0, false},
	{"allocation", "alloc", 0, false}, {"sort callback", "sort", 0, false}, {"system call", "syscall", 0, false},
	{"C", "c", 0, false},
	{"10,000 goroutines", "loop", 10_000, false}, {"sleep", "sleep", 0, true}, {"lock", "lock", 0, true},
}

// splitWays are profilers. pprof takes fewer samples and has twice the time.
var splitWays = []flatWay{{"pprof", "", 1, 0}, {"isps", "sampler=isps", 1, 0}, {"sps", "sampler=sps", 1, 0},
	{"stw", "sampler=stw", 1, 0}, {"isps at prologues", "sampler=isps,sample-at=prologue", 1, 0}}

// splitEvery is the interval of stemma's samplers.
const splitEvery = 500 * time.Microsecond

// splitTime is how long a run takes.
func splitTime(s *session.Session, w flatWay) time.Duration {
	t := time.Duration(s.Options.Rounds) * time.Second / 7
	if w.sampling == "" {
		t *= 2
	}
	return t
}

// splitsTime estimates splits: two builds of a small program, and its runs.
func splitsTime(s *session.Session) time.Duration {
	total := 4 * time.Second
	for _, w := range splitWays {
		total += time.Duration(len(splitKinds)) * splitTime(s, w)
	}
	return total
}

// splitsDir returns where the program is that knows its truth; the directory of bench is given.
func splitsDir(bench string) string {
	return filepath.Join(filepath.Dir(bench), "internal", "testing", "e2e", "testdata", "programs", "splits")
}

// splits compares profiles with the truth, of a program that knows it.
func splits(s *session.Session) {
	p := program.Command("splits", splitsDir(s.Tree.Bench))
	p.Package = "."
	bins := make(map[bool]*measure.Binary) // by whether stemma builds it
	for _, v := range []measure.Variant{measure.Plain, session.EngineVariant("sample", "-every="+splitEvery.String())} {
		if !s.Available(v) {
			continue
		}
		session.Tell(fmt.Sprintf("build %s: %s", p.Name, v.Name))
		bin, err := s.Bench.Build(p, v)
		if err != nil {
			s.Failed(p.Name, v, err)
			continue
		}
		bins[v.Instrumented()] = bin
	}
	t := newSplitsTable(s)
	for _, kind := range splitKinds {
		if cells := splitRow(s, kind, bins); cells != nil {
			t.Add(cells...)
		}
	}
	s.Tables = append(s.Tables, t)
}

func newSplitsTable(s *session.Session) *table.Table {
	t := &table.Table{
		Name: "splits", Title: "Samples of a program that spends 70, 20 and 10 % of its time in three functions",
		Left: 1,
		Head: []string{"in", "truth %"},
		Notes: []string{strings.Join([]string{
			fmt.Sprintf("Shares of three functions with all that they called, in points off the truth of the same "+
				"run, and samples. Stemma every %v, runs of %v; runtime/pprof at 100 Hz, runs of %v.", splitEvery,
				splitTime(s, splitWays[1]), splitTime(s, splitWays[0])),
			"Truth: by the clock of the thread, as the program read it; of what waits, wall time. The truth of " +
				"pprof's run is shown. One standard deviation of 70 % is 1.0 points with 2,000 samples, and " +
				"3.2 with 200.",
			"runtime/pprof has no samples of what waits. isps at prologues (-sample-at=prologue) is the paper's way, " +
				"which is known to be biased.",
		}, "\n")},
	}
	for _, w := range splitWays {
		t.Head = append(t.Head, w.name, "samples")
	}
	return t
}

// A splitRun is what the program says of itself, and what its samples say.
type splitRun struct {
	truth, sampled [3]float64 // times
	samples        uint64
}

// splitRow runs the program with all profilers. If some could not be run
// it returns nil, and the problems have the reason.
func splitRow(s *session.Session, kind splitKind, bins map[bool]*measure.Binary) []string {
	cells := []string{kind.name, ""}
	for _, w := range splitWays {
		bin := bins[w.sampling != ""]
		if bin == nil {
			return nil
		}
		if kind.waits && w.sampling == "" {
			cells = append(cells, "", "")
			continue
		}
		session.Tell(fmt.Sprintf("run splits, %s: %s", kind.name, w.name))
		r, err := splitOnce(s, kind, w, bin)
		if err != nil {
			s.Problem("splits, %s, %s: %v", kind.name, w.name, err)
			return nil
		}
		if cells[1] == "" {
			cells[1] = triple("%.1f", shares(r.truth))
		}
		cells = append(cells, r.cell(), fmt.Sprint(r.samples))
	}
	return cells
}

// splitOnce runs the program once with a profiler.
func splitOnce(s *session.Session, kind splitKind, w flatWay, bin *measure.Binary) (*splitRun, error) {
	dir := filepath.Dir(bin.Path)
	out, file := filepath.Join(dir, "out"), filepath.Join(dir, "cpu.pprof")
	defer os.RemoveAll(out)
	env := []string{"SPLITS_KIND=" + kind.kind, "SPLITS_TIME=" + splitTime(s, w).String(),
		fmt.Sprint("SPLITS_CROWD=", kind.crowd), "STEMMA_OUT=" + out}
	if w.sampling == "" {
		env = append(env, "SPLITS_PPROF="+file)
	} else {
		env = append(env, "STEMMA_SAMPLING="+w.sampling)
	}
	var text bytes.Buffer
	if _, err := s.Command(&text, nil, env, bin.Path); err != nil {
		return nil, err
	}
	r := new(splitRun)
	if err := r.readTruth(text.String()); err != nil {
		return nil, err
	}
	if w.sampling == "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		return r, r.addPprof(data)
	}
	live, err := records.Open(out)
	if err != nil {
		return nil, err
	}
	if kind.waits {
		r.addSamples(live.Profile, profile.SampledWait, profile.SampledWaits)
	} else {
		r.addSamples(live.Profile, profile.CPU, profile.Samples)
	}
	return r, nil
}

// readTruth reads the first line that the program prints: three durations in brackets.
func (r *splitRun) readTruth(text string) error {
	line, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(strings.Trim(strings.TrimSpace(line), "[]"))
	if len(words) != len(r.truth) {
		return fmt.Errorf("%q: want three durations", line)
	}
	for i, w := range words {
		d, err := time.ParseDuration(w)
		if err != nil {
			return err
		}
		r.truth[i] = float64(d)
	}
	return nil
}

// addSamples adds stemma's samples of the three functions and of all that they called.
func (r *splitRun) addSamples(p *profile.Profile, time, count profile.Metric) {
	nodes := p.Nodes
	in := make([]int, len(nodes))
	for i, n := range nodes {
		in[i] = -1
		if i > 0 {
			in[i] = in[n.Parent]
		}
		for _, f := range p.Funcs[n.Func].Frames {
			if k := slices.Index(splitFuncs[:], p.String(f.Func)); k >= 0 {
				in[i] = k
			}
		}
		if in[i] >= 0 {
			r.sampled[in[i]] += float64(p.Value(time, i))
			r.samples += p.Value(count, i)
		}
	}
}

// addPprof adds those of runtime/pprof.
func (r *splitRun) addPprof(data []byte) error {
	p, err := pprof.Parse(bytes.NewReader(data))
	if err != nil {
		return err
	}
	for _, s := range p.Sample {
		for _, l := range s.Location {
			for _, line := range l.Line {
				if k := slices.Index(splitFuncs[:], line.Function.Name); k >= 0 {
					r.sampled[k] += float64(s.Value[1])
					r.samples += uint64(s.Value[0])
				}
			}
		}
	}
	return nil
}

// cell returns how far the sampled shares are off the true ones.
func (r *splitRun) cell() string {
	off, truth := shares(r.sampled), shares(r.truth)
	for i := range off {
		off[i] -= truth[i]
	}
	return triple("%+.1f", off)
}

// shares returns percentages.
func shares(v [3]float64) (s [3]float64) {
	for i := range v {
		s[i] = 100 * v[i] / max(1, v[0]+v[1]+v[2])
	}
	return s
}

func triple(format string, v [3]float64) string {
	return fmt.Sprintf(strings.Join([]string{format, format, format}, " "), v[0], v[1], v[2])
}
