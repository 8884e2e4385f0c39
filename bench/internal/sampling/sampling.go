// Package sampling compares samplers with each other, samples of calls with the exact tree, and a runtime that does
// not sample with a plain one.
package sampling

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/chart"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/papers"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/profile"
)

// How it works.
//
// Each program is built once for sampling and run several times with each sampler, the
// samplers in turn, so that what changes on the machine meets all of them. Of a run
// the tree of CPU time and the latencies are kept, not the record. The average of
// the trees of one sampler, each of which counts the same, is what a single run is
// compared with (ICPE'15, figure 12), and the averages are compared with each other
// (figure 13): no exact tree of time exists that they could be compared with.
//
// Calls can be counted exactly, so the accumulator is compared with the truth: see
// accumulator.go. What sampling costs a program that does not sample is in off.go.

// The settings of sampling. Intervals and threshold are those of the paper.
const (
	samplingEvery = "1ms"
	hotThreshold  = 0.1
)

// A sampler is one that the runs take turns with.
type sampler struct{ name, options string }

// samplers are those of the paper, then stw, which stops the world for goroutines that wait only, and isps at stack
// guards only, as the paper has it, which tells that bias from what else the samplers differ by.
var samplers = []sampler{{"jvmti", "sampler=jvmti"}, {"sps", "sampler=sps"}, {"isps", "sampler=isps"},
	{"stw", "sampler=stw"}, {"isps at prologues", "sampler=isps,sample-at=prologue"}}

// samplingPrograms are an interpreter, a parser with goroutines, and reflection:
// three, because each is run thirty times. The first has acct's figures. The others are run less often.
var samplingPrograms = []string{"gopherlua", "site", "esbuild"}

// inTurn returns those that take turns: with -quick the paper's only.
func inTurn(s *session.Session) []sampler {
	if s.Options.Quick {
		return samplers[:3]
	}
	return samplers
}

// samplingRuns is how often the program that is number i is run with each sampler. The paper's
// averages are over 10 rounds of 10 iterations each.
func samplingRuns(s *session.Session, i int) int {
	switch {
	case s.Options.Quick:
		return 2
	case i < len(samplingPrograms):
		return 6
	}
	return 2
}

// sampledPrograms are the programs for these tables, those of samplingPrograms first: with -quick the first only.
func sampledPrograms(s *session.Session) []*program.Program {
	list := choose(s.Programs, samplingPrograms)
	if s.Options.Quick {
		return list[:min(1, len(list))]
	}
	for _, p := range s.Programs {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// choose returns the programs with these names; where none has one of them, as with
// -dir or -programs, the first of all stand for them.
func choose(all []*program.Program, names []string) []*program.Program {
	var chosen []*program.Program
	for _, name := range names {
		for _, p := range all {
			if p.Name == name {
				chosen = append(chosen, p)
			}
		}
	}
	if len(chosen) == 0 {
		return all[:min(len(names), len(all))]
	}
	return chosen
}

// Time estimates sampling.
func Time(s *session.Session) time.Duration {
	total := accumulatorTime(s) + figure6Time() + shortTime(s) + offTime(s)
	for i := range sampledPrograms(s) {
		total += s.BuildsTime(session.EngineVariant("sample", "-every="+samplingEvery)) +
			time.Duration(len(inTurn(s))*samplingRuns(s, i))*session.RunTime
	}
	return total
}

// Run makes ICPE'15's figures 11 to 13, ACCT's figures 1 to 5, and the table of
// what a program pays that does not sample.
func Run(s *session.Session) error {
	r := newSamplingReport()
	for i, p := range sampledPrograms(s) {
		if runs := sample(s, p, samplingRuns(s, i)); runs != nil {
			r.add(p.Name, runs)
		}
	}
	s.Tables = append(s.Tables, r.stability, r.agreement, r.latency)
	for _, f := range append(append(r.stabilityBars[:], r.agreementBars[:]...), r.latencyLines) {
		if len(f.Groups)+len(f.Lines) > 0 {
			s.Figures = append(s.Figures, f)
		}
	}
	if !s.Options.Quick {
		s.Tables = append(s.Tables, short(s))
	}
	accumulator(s)
	off(s)
	return nil
}

// A sampledRun is what is kept of one run.
type sampledRun struct {
	tree     similarity.Weights // time on CPU
	samples  uint64             // of running goroutines
	sampling *profile.Sampling
}

// sample runs p so many times with each sampler, in turn, and returns the runs by sampler. If there
// is nothing to compare it returns nil, and the problems have the reason.
func sample(s *session.Session, p *program.Program, times int) [][]sampledRun {
	v := session.EngineVariant("sample", "-every="+samplingEvery)
	if !s.Available(v) {
		return nil
	}
	turns := inTurn(s)
	runs := make([][]sampledRun, len(turns))
	err := s.Built(p, v, func(bin *measure.Binary, dir string) error {
		for i := range times {
			for k := range turns {
				k = (k + i) % len(turns) // none always runs first
				session.Tell(fmt.Sprintf("sample %s, run %d of %d: %s", p.Name, i+1, times, turns[k].name))
				bin.Variant.Env = []string{"STEMMA_SAMPLING=" + turns[k].options}
				run, err := sampleOnce(s, bin, filepath.Join(dir, "out"))
				if err != nil {
					return fmt.Errorf("%s: %w", turns[k].name, err)
				}
				runs[k] = append(runs[k], run)
			}
		}
		return nil
	})
	if err != nil {
		s.Failed(p.Name, v, err)
		return nil
	}
	return runs
}

// sampleOnce runs bin once and reads its samples. The record is gone afterwards.
func sampleOnce(s *session.Session, bin *measure.Binary, out string) (sampledRun, error) {
	defer os.RemoveAll(out)
	_, live, err := s.Recorded(bin, out)
	if err != nil {
		return sampledRun{}, err
	}
	return sampledOf(live.Profile)
}

// sampledOf reads the samples of a profile.
func sampledOf(p *profile.Profile) (sampledRun, error) {
	if len(p.Processes) == 0 || p.Processes[0].Sampling == nil {
		return sampledRun{}, fmt.Errorf("the record has no samples")
	}
	t, err := cct.Of(p, "cpu")
	if err != nil {
		return sampledRun{}, err
	}
	r := sampledRun{similarity.Of(t, similarity.ByLine), p.Total(profile.Samples), p.Processes[0].Sampling}
	if len(r.tree) == 0 {
		return sampledRun{}, fmt.Errorf("no samples on CPU")
	}
	return r, nil
}

// A samplingReport is figures 11 to 13 of the paper.
type samplingReport struct {
	stability, agreement, latency *table.Table
	stabilityBars, agreementBars  [2]*chart.Figure // of overlap, of hot edges
	latencyLines                  *chart.Figure
}

// newSamplingReport returns empty tables and figures.
func newSamplingReport() *samplingReport {
	return &samplingReport{
		stability: &table.Table{
			Name: "sampling-stability",
			Title: "Samplers: each run with the average of its sampler's runs, every " + samplingEvery +
				" (ICPE'15, figure 12)", Left: 2,
			Head: []string{"program", "sampler", "runs", "samples", "contexts", "of the average", "overlap %",
				"quartiles", "hot edges %", "quartiles"},
			Notes: []string{strings.Join([]string{
				"Trees of CPU time; an edge is a context with its call sites. Medians over the runs; contexts: of " +
					"one run, and of the average of all. Hot: at least a tenth of the hottest (T = 0.1).",
				"Each run is a part of the average, so that N runs with nothing in common would still overlap with " +
					"it by 1/N: compare tables with equally many runs only.",
				papers.SamplingStability,
			}, "\n")},
		},
		agreement: &table.Table{
			Name: "sampling-agreement", Title: "Samplers: the averages with each other (ICPE'15, figure 13)", Left: 2,
			Head: []string{"program", "samplers", "overlap %", "hot edges %", "paper: overlap", "paper: hot edges"},
			Notes: []string{strings.Join([]string{
				"jvmti takes running goroutines where they stop at a global safepoint, as JVMTI sampling does in the " +
					"paper. sps, isps and stw take them where a signal finds them; isps at prologues " +
					"(-sample-at=prologue, the paper's way) takes them in function prologues. " +
					"Averages of fewer samples agree less: see how many jvmti takes. Stacks are never cut here, " +
					"where the paper cuts those of JVMTI and SPS at 256 frames.",
				papers.SamplingAgreement,
			}, "\n")},
		},
		latency: &table.Table{
			Name: "sampling-latency", Title: "Latency of samples, every " + samplingEvery + " (ICPE'15, figure 11)",
			Left: 2,
			Head: []string{"program", "sampler", "ticks", "requests", "samples", "stop us", "2.5 % us", "25 % us",
				"50 % us", "75 % us", "97.5 % us", "99 % us", "max us"},
			Notes: []string{strings.Join([]string{
				"From the moment for which a sample on CPU was due, or asked for at a guard, to its end; all runs of " +
					"the table above together. Latencies are counted in classes, four for each power of two, and a " +
					"class is shown by its lower bound.",
				"ticks: of the sampler; requests: samples on CPU that were due, of jvmti those that ran at a tick. " +
					"stop: " +
					"from when the world is told to stop until it goes on again, on average. stw stops it for " +
					"goroutines that wait only, so that its stop is no part of a latency.",
				"What waits for a CPU on a busy machine is latency of jvmti, and of samples that are asked for, " +
					"only: a sample of a timer that finds its thread without a CPU is due anew. " +
					papers.SamplingLatency,
			}, "\n")},
		},
		stabilityBars: twoFigures("sampling-stability",
			"of runs with the average of their sampler (ICPE'15, figure 12)"),
		agreementBars: twoFigures("sampling-agreement", "of averages of samplers with each other (ICPE'15, figure 13)"),
		latencyLines: &chart.Figure{Name: "sampling-latency", Title: "Latency of samples (ICPE'15, figure 11)",
			X: "microseconds",
			Y: "per cent of samples with at most this latency", LogX: true, Steps: true},
	}
}

// twoFigures returns the upper and the lower part of a figure of the paper.
func twoFigures(name, title string) [2]*chart.Figure {
	return [2]*chart.Figure{
		{Name: name, Title: "Degree of overlap " + title, Y: "per cent"},
		{Name: name + "-hot", Title: "Hot-edge coverage " + title, Y: "per cent"},
	}
}

// add adds the runs of one program, by sampler.
func (r *samplingReport) add(name string, runs [][]sampledRun) {
	for _, f := range append(r.stabilityBars[:], r.agreementBars[:]...) {
		f.Groups = append(f.Groups, name)
	}
	var averages []similarity.Weights
	for i, list := range runs {
		avg := average(list)
		averages = append(averages, avg)
		r.addStability(name, samplers[i].name, list, avg)
		r.addLatency(name, samplers[i].name, list)
	}
	for i := range averages {
		for k := i + 1; k < len(averages); k++ {
			r.addAgreement(name, samplers[i].name+" with "+samplers[k].name, averages[i], averages[k])
		}
	}
}

// average returns the average of the trees of runs.
func average(list []sampledRun) similarity.Weights {
	var trees []similarity.Weights
	for _, run := range list {
		trees = append(trees, run.tree)
	}
	return similarity.Average(trees...)
}

// addStability compares the runs of a sampler with their average.
func (r *samplingReport) addStability(name, sampler string, list []sampledRun, avg similarity.Weights) {
	var overlap, hot, samples, contexts []float64
	for _, run := range list {
		overlap = append(overlap, 100*similarity.Overlap(run.tree, avg))
		hot = append(hot, 100*similarity.HotEdgeCoverage(run.tree, avg, hotThreshold))
		samples = append(samples, float64(run.samples))
		contexts = append(contexts, float64(len(run.tree)))
	}
	r.stability.Add(name, sampler, fmt.Sprint(len(list)), session.Number(stats.Median(samples), 0),
		session.Number(stats.Median(contexts), 0), fmt.Sprint(len(avg)),
		session.Number(stats.Median(overlap), 1), quartiles(overlap), session.Number(stats.Median(hot), 1),
		quartiles(hot))
	addBar(r.stabilityBars[0], sampler, stats.Median(overlap))
	addBar(r.stabilityBars[1], sampler, stats.Median(hot))
}

// addAgreement compares the averages of two samplers.
func (r *samplingReport) addAgreement(name, pair string, a, b similarity.Weights) {
	overlap, hot := 100*similarity.Overlap(a, b), 100*similarity.HotEdgeCoverage(a, b, hotThreshold)
	cells := publishedAgreement[pair]
	r.agreement.Add(name, pair, session.Number(overlap, 1), session.Number(hot, 1), cells[0], cells[1])
	addBar(r.agreementBars[0], pair, overlap)
	addBar(r.agreementBars[1], pair, hot)
}

// publishedAgreement is what the paper says of overlap and hot edges of a pair. It has
// no sampler of both kinds of ISPS.
var publishedAgreement = map[string][2]string{
	"jvmti with sps":  {"> 70 %, but 3 programs", "> 90 %"},
	"jvmti with isps": {"> 70 %, but 3 programs", "lower for some"},
	"sps with isps":   {"> 70 %, but 3 programs", "lower for some"},
}

// addLatency adds up the latencies of all runs of a sampler.
func (r *samplingReport) addLatency(name, sampler string, list []sampledRun) {
	sum := new(profile.Sampling)
	var ticks, requests, samples, stops, stopped uint64
	counts := make(map[time.Duration]uint64)
	for _, run := range list {
		ticks, requests, samples = ticks+run.sampling.Stat("ticks"), requests+run.sampling.Stat("requests"),
			samples+run.sampling.Stat("samples")
		stops, stopped = stops+run.sampling.Stat("stops"), stopped+run.sampling.Stat("stopped")
		for _, b := range run.sampling.Latency {
			counts[b.Floor] += b.Count
		}
	}
	for floor, n := range counts {
		sum.Latency = append(sum.Latency, profile.Bucket{Floor: floor, Count: n})
	}
	slices.SortFunc(sum.Latency, func(a, b profile.Bucket) int { return cmp.Compare(a.Floor, b.Floor) })
	stop := ""
	if stops > 0 {
		stop = session.Number(micros(time.Duration(stopped/stops)), 1)
	}
	cells := []string{name, sampler, fmt.Sprint(ticks), fmt.Sprint(requests), fmt.Sprint(samples), stop}
	for _, q := range []float64{0.025, 0.25, 0.5, 0.75, 0.975, 0.99, 1} {
		cells = append(cells, session.Number(micros(sum.Quantile(q)), 1))
	}
	r.latency.Add(cells...)
	if len(r.latencyLines.Lines) < len(samplers) { // one program: those of more would be hard to tell apart
		r.latencyLines.Lines = append(r.latencyLines.Lines, cumulative(name+", "+sampler, sum.Latency))
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// cumulative returns the distribution of latencies in ascending classes.
func cumulative(name string, classes []profile.Bucket) chart.Line {
	l := chart.Line{Name: name}
	var all, sum uint64
	for _, b := range classes {
		all += b.Count
	}
	for _, b := range classes {
		sum += b.Count
		l.X, l.Y = append(l.X, micros(b.Floor)), append(l.Y, 100*float64(sum)/float64(all))
	}
	return l
}

// addBar adds a bar to the last group of f.
func addBar(f *chart.Figure, name string, value float64) {
	i := slices.IndexFunc(f.Bars, func(b chart.Bars) bool { return b.Name == name })
	if i < 0 {
		i = len(f.Bars)
		f.Bars = append(f.Bars, chart.Bars{Name: name})
	}
	b := &f.Bars[i]
	for len(b.Values) < len(f.Groups)-1 {
		b.Values = append(b.Values, math.NaN()) // of groups that lack this bar
	}
	b.Values = append(b.Values, value)
}

// quartiles returns the values that a quarter of all are not above, and not below.
func quartiles(values []float64) string {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return ""
	}
	k := (len(sorted) - 1) / 4
	return session.Number(sorted[k], 1) + ".." + session.Number(sorted[len(sorted)-1-k], 1)
}
