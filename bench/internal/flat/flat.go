// Package flat compares samples with those of runtime/pprof, and with the truth.
package flat

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/bench/internal/wrap"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/profile"
)

// How it works.
//
// Each program runs under runtime/pprof and under each of stemma's samplers, in
// runs of its own. A flat profile is CPU time by the innermost function, inlined ones by
// their own names, as "go tool pprof -top" has it. Two profiles of one program differ by
// chance alone, the more so the fewer samples they have and the more functions share the
// time. So the runs of pprof and of isps are added up in two halves each: how far two
// halves of one profiler agree is what another profiler can be asked for.
//
// The second part is a program that knows where its time goes: see splits.go.

// A flatWay is a profiler of the programs.
type flatWay struct {
	name     string
	sampling string // STEMMA_SAMPLING; "" for runtime/pprof, contextsWay for samples of exact contexts
	halves   int    // into which its runs are divided
	samples  uint64 // that a half gets, if the bound of runs allows it
}

// flatWays begin with what the others are compared with, and stemma's default. Samples of stemma's stand for
// unlike times, so that one of pprof is worth two or three of them.
var flatWays = []flatWay{
	{"pprof", "", 2, 16000},
	{"isps", "sampler=isps", 2, 40000},
	{"sps", "sampler=sps", 1, 10000},
	{"stw", "sampler=stw", 1, 10000},
	{"cct, cpu", contextsWay, 1, 10000},
}

// contextWays are those of -variant 'cct -metrics=calls,cpu': samples of contexts are compared with runtime/pprof in a
// program that counts its calls as well, since that takes time; and both with the plain program's. All are as many a
// second.
var contextWays = []flatWay{
	{"pprof, counted", countedWay, 2, 6000},
	{"cct, cpu", contextsWay, 2, 6000},
	{"pprof, plain", "", 1, 6000},
}

// ofContexts reports whether samples of contexts are asked for, and not samplers.
func ofContexts(s *session.Session) bool {
	return slices.ContainsFunc(s.Options.Variants, func(v measure.Variant) bool {
		return slices.Contains(v.Flags, "-metrics="+contextMetrics)
	})
}

// flatWaysOf returns the ways that are asked for.
func flatWaysOf(s *session.Session) []flatWay {
	if ofContexts(s) {
		return contextWays
	}
	return flatWays
}

// contextMetrics is what a program counts whose contexts are sampled.
const contextMetrics = "calls,cpu"

// contextsWay marks the way that samples the contexts of engine cct, in a build that counts calls as well.
const contextsWay = "start=on"

// countedWay marks runtime/pprof in a build of engine cct.
const countedWay = "pprof"

// pprof reports whether runtime/pprof takes the samples.
func (w flatWay) pprof() bool { return w.sampling == "" || w.sampling == countedWay }

// flatEvery is the interval of stemma's samplers. It is shorter than runtime/pprof's, so that fewer runs are needed.
const flatEvery = "1ms"

// everyOf is the interval of stemma's samples. Those of contexts are as many a second as runtime/pprof's.
func everyOf(s *session.Session) string {
	if ofContexts(s) {
		return (time.Second / wrap.ProfileHz).String()
	}
	return flatEvery
}

// flatAgrees is how far two halves of runtime/pprof must agree, or else both profilers take twice
// the samples: of a program whose time lies in very many functions it takes more to tell two profiles apart.
const flatAgrees = 0.88

// flatRuns returns the most runs of a half. A run has several times as many of stemma's
// samples as of pprof's.
func flatRuns(s *session.Session, w flatWay) int {
	if w.pprof() || ofContexts(s) {
		return max(1, s.Options.Rounds/2)
	}
	return max(1, s.Options.Rounds/5)
}

// flatPrograms are all, but for -quick.
func flatPrograms(s *session.Session) []*program.Program {
	if s.Options.Quick {
		return s.Fewer()[:1]
	}
	return s.Programs
}

// Time estimates flat.
func Time(s *session.Session) time.Duration {
	runs := 0
	for _, w := range flatWaysOf(s) {
		runs += w.halves * flatRuns(s, w)
	}
	return time.Duration(len(flatPrograms(s)))*(2*s.BuildTime()+time.Duration(runs)*session.RunTime) + splitsTime(s)
}

// Run compares flat profiles with those of runtime/pprof, and with the truth.
func Run(s *session.Session) error {
	r := newFlatReport(s)
	for _, p := range flatPrograms(s) {
		if profiles := flatOf(s, p); profiles != nil {
			r.add(p.Name, profiles)
			s.Save(r.overlap, r.differences)
		}
	}
	s.Tables = append(s.Tables, r.overlap, r.differences)
	if !ofContexts(s) {
		splits(s)
	}
	return nil
}

// A flatProfile is CPU time by function, without what the function called.
type flatProfile struct {
	time      similarity.Weights
	samples   uint64
	preempted uint64 // of samples, those in runtime.asyncPreempt, which count for its caller
	runs      int
}

// add adds the samples of another profile.
func (f *flatProfile) add(g *flatProfile) {
	if f.time == nil {
		f.time = make(similarity.Weights)
	}
	for name, v := range g.time {
		f.time[name] += v
	}
	f.samples += g.samples
	f.preempted += g.preempted
	f.runs += g.runs
}

// sum returns all halves together.
func sum(halves []flatProfile) *flatProfile {
	all := new(flatProfile)
	for i := range halves {
		all.add(&halves[i])
	}
	return all
}

// flatOf profiles p with each of flatWays and returns their halves. If that
// fails it returns nil, and the problems have the reason.
func flatOf(s *session.Session, p *program.Program) [][]flatProfile {
	wrapped := measure.Variant{Name: "pprof to a file", Wrap: "pprof-file"}
	if !p.Module {
		wrapped.Wrap = "pprof-file-at-exit"
	}
	ways := flatWaysOf(s)
	profiles := make([][]flatProfile, len(ways))
	for i, w := range ways {
		profiles[i] = make([]flatProfile, w.halves)
	}
	sampled := session.EngineVariant("sample", "-every="+everyOf(s))
	contexts := session.EngineVariant("cct", "-metrics="+contextMetrics, "-every="+everyOf(s))
	counted := session.EngineVariant("cct", "-metrics=calls")
	counted.Name, counted.Wrap = "pprof to a file, counted", wrapped.Wrap
	if !s.Available(wrapped) || !s.Available(sampled) || !s.Available(contexts) {
		return nil
	}
	err := s.Built(p, wrapped, func(bin *measure.Binary, dir string) error {
		bins := flatBins{pprof: bin}
		for _, b := range []struct {
			to **measure.Binary
			v  measure.Variant
		}{{&bins.sampled, sampled}, {&bins.contexts, contexts}, {&bins.counted, counted}} {
			if !slices.ContainsFunc(ways, func(w flatWay) bool { return w.sampling != "" && bins.to(w) == b.to }) {
				continue
			}
			session.Tell(fmt.Sprintf("build %s: %s", p.Name, b.v.Name))
			var err error
			if *b.to, err = s.Bench.Build(p, b.v); err != nil {
				return err
			}
		}
		err := flatRunsOf(s, bins, dir, profiles, 1)
		if first := profiles[0]; err == nil &&
			similarity.Overlap(first[0].time, first[1].time) < flatAgrees {
			err = flatRunsOf(s, bins, dir, profiles, 2)
		}
		return err
	})
	if err != nil {
		s.Failed(p.Name, sampled, err)
		return nil
	}
	return profiles
}

// flatBins are the builds of one program.
type flatBins struct{ pprof, sampled, contexts, counted *measure.Binary }

// to returns where the build for a way is.
func (b *flatBins) to(w flatWay) **measure.Binary {
	switch w.sampling {
	case "":
		return &b.pprof
	case contextsWay:
		return &b.contexts
	case countedWay:
		return &b.counted
	}
	return &b.sampled
}

// flatRunsOf runs the program, under pprof and sampled, until all halves of profiles have times as many samples
// as flatWays say, or times their runs. What has the smallest part of them is next, so that whatever else the
// machine does meets all alike.
func flatRunsOf(s *session.Session, bins flatBins, dir string, profiles [][]flatProfile, times int) error {
	for {
		var half *flatProfile
		var way flatWay
		for i, w := range flatWaysOf(s) {
			for k := range profiles[i] {
				f := &profiles[i][k]
				if f.samples < uint64(times)*w.samples && f.runs < times*flatRuns(s, w) &&
					(half == nil || f.samples*way.samples < half.samples*w.samples) {
					half, way = f, w
				}
			}
		}
		if half == nil {
			return nil
		}
		bin := *bins.to(way)
		session.Tell(fmt.Sprintf("profile %s, run %d of at most %d: %s, %d samples of %d", bin.Program.Name,
			half.runs+1, times*flatRuns(s, way), way.name, half.samples, uint64(times)*way.samples))
		one, err := flatOnce(s, bin, way, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", way.name, err)
		}
		half.add(one)
	}
}

// flatOnce runs bin once and reads its profile.
func flatOnce(s *session.Session, bin *measure.Binary, w flatWay, dir string) (*flatProfile, error) {
	out, file := filepath.Join(dir, "out"), filepath.Join(dir, "cpu.pprof")
	defer os.RemoveAll(out)
	one := *bin
	one.Variant.Env = []string{"STEMMA_SAMPLING=" + w.sampling}
	if w.pprof() {
		one.Variant.Env = []string{wrap.ProfileEnv + "=" + file}
	}
	_, live, err := s.Recorded(&one, out)
	if err != nil {
		return nil, err
	}
	switch {
	case w.sampling == contextsWay:
		return flatOfContexts(live.Profile)
	case !w.pprof():
		return flatOfSamples(live.Profile)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return flatOfPprof(data)
}

// flatOfSamples returns the flat profile of stemma's samples on CPU.
func flatOfSamples(p *profile.Profile) (*flatProfile, error) {
	f := &flatProfile{time: make(similarity.Weights), runs: 1}
	for i, n := range p.Nodes {
		if i > 0 && p.Value(profile.CPU, i) > 0 {
			f.time[cct.DisplayName(p.String(p.Funcs[n.Func].Frames[0].Func))] += float64(p.Value(profile.CPU, i))
		}
		f.samples += p.Value(profile.Samples, i)
	}
	if f.samples == 0 {
		return nil, fmt.Errorf("no samples on CPU")
	}
	return f, nil
}

// flatOfContexts returns the flat profile of samples of contexts, as reports have it: what was sampled in a wrapper
// counts for its caller, as in tracebacks.
func flatOfContexts(p *profile.Profile) (*flatProfile, error) {
	f := &flatProfile{time: make(similarity.Weights), runs: 1}
	t, err := cct.Of(p, profile.ContextCPU.Name)
	if err != nil {
		return nil, err
	}
	for _, n := range t.Nodes {
		if n.Count > 0 {
			f.time[t.Funcs[n.Func].Name] += float64(n.Count)
		}
	}
	for _, proc := range p.Processes {
		if proc.Sampling != nil {
			f.samples += proc.Sampling.Stat("samples")
		}
	}
	if f.samples == 0 {
		return nil, fmt.Errorf("no samples of contexts")
	}
	return f, nil
}

// flatOfPprof returns the flat profile of one that runtime/pprof has written.
func flatOfPprof(data []byte) (*flatProfile, error) {
	p, err := pprof.Parse(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	f := &flatProfile{time: make(similarity.Weights), runs: 1}
	for _, s := range p.Sample {
		f.samples += uint64(s.Value[0])
		name := innermost(s.Location)
		if name == "runtime.asyncPreempt" {
			f.preempted += uint64(s.Value[0])
			name = innermost(s.Location[1:])
		}
		f.time[cct.DisplayName(name)] += float64(s.Value[1])
	}
	return f, nil
}

// innermost returns the name of the function in which the stack ends.
func innermost(stack []*pprof.Location) string {
	if len(stack) == 0 || len(stack[0].Line) == 0 {
		return "?"
	}
	return stack[0].Line[0].Function.Name
}

// byChance returns the overlap of two profiles that differ by chance alone, from the overlaps
// of each with its like: what is missing to 1 adds up as standard deviations do.
func byChance(a, b float64) float64 { return 1 - math.Hypot(1-a, 1-b)/math.Sqrt2 }

// beyondChance returns the overlap that would be left with any number of samples, if overlap is
// what was found and chance what chance alone would give.
func beyondChance(overlap, chance float64) float64 {
	return 1 - math.Sqrt(max(0, (1-overlap)*(1-overlap)-(1-chance)*(1-chance)))
}

// A flatReport is two tables.
type flatReport struct{ overlap, differences *table.Table }

// flatDifferences is how many functions of a program the table of differences has.
const flatDifferences = 3

func newFlatReport(s *session.Session) *flatReport {
	ways := flatWaysOf(s)
	second := ways[1].name
	head := []string{"program"}
	for _, w := range ways {
		head = append(head, w.name+" samples")
	}
	head = append(head, "asyncPreempt %", ways[0].name+" with itself %", second+" with itself %",
		second+" with pprof %", "by chance %", "beyond chance %")
	for i, w := range ways[1:] {
		if head = append(head, w.name+" %"); i == 0 {
			head[len(head)-1] = "all: " + head[len(head)-1]
		}
	}
	if ofContexts(s) {
		head = append(head, second+" with "+ways[2].name+" %")
	}
	return &flatReport{
		overlap: &table.Table{
			Name: "flat", Title: "Flat CPU profiles: degree of overlap with runtime/pprof's", Left: 1,
			Head: head,
			Notes: []string{strings.Join([]string{
				"Overlap: sum of the smaller one of a function's two shares. Flat: of functions without what they " +
					"called, inlined ones by their own names, as go tool pprof -top has it. runtime/pprof at " +
					fmt.Sprint(wrap.ProfileHz) + " Hz, stemma every " + everyOf(s) +
					", metric cpu, each in runs of its own.",
				fmt.Sprintf("The runs of pprof and of %s are added up in two halves. A half ends with %d and %d "+
					"samples, or with %d and %d runs (-rounds sets them). With itself: one half with the other.",
					second, ways[0].samples, ways[1].samples, flatRuns(s, ways[0]), flatRuns(s, ways[1])),
				second + " with pprof: mean of half with half. By chance: what that would be if both were " +
					"right, from what each gives with itself. Beyond chance: what would be left of a difference " +
					"with any number of samples, about (differences add up as standard deviations do).",
				"all: all samples of stemma's samplers with all of pprof's. sps, stw and cct, cpu have no halves, " +
					"so fewer samples. cct, cpu: samples of contexts, in a program that also counts its calls, " +
					"which takes time in small functions above all.",
				"asyncPreempt: samples that runtime/pprof took there, which count for the function that was " +
					"preempted. The runtime goes there by a signal of its own, after which the one for the profile " +
					"finds it, though no time is spent there.",
				"gofmt and compile end with os.Exit: their profile is ended by an exit hook of the runtime.",
			}, "\n")},
		},
		differences: &table.Table{
			Name: "flat-differences", Title: "Flat CPU profiles: where " + second + " and runtime/pprof differ most",
			Left: 2, Head: []string{"program", "function", "pprof %", second + " %", "points", "deviations"},
			Notes: []string{fmt.Sprintf("The %d functions with the largest differences, all runs together. "+
				"Deviations: the difference in standard deviations of such a difference by chance. Of hundreds of "+
				"functions some are 3 off.", flatDifferences)},
		},
	}
}

// add adds the rows of a program, whose profiles are those of flatWays.
func (r *flatReport) add(name string, profiles [][]flatProfile) {
	cells := []string{name}
	var all []*flatProfile
	for _, halves := range profiles {
		all = append(all, sum(halves))
		cells = append(cells, fmt.Sprint(all[len(all)-1].samples))
	}
	percent := func(v float64) { cells = append(cells, session.Number(100*v, 1)) }
	first, second := profiles[0], profiles[1]
	percent(float64(all[0].preempted) / float64(all[0].samples))
	pprofs, ispss := similarity.Overlap(first[0].time, first[1].time),
		similarity.Overlap(second[0].time, second[1].time)
	between := 0.0
	for i := range first {
		for k := range second {
			between += similarity.Overlap(first[i].time, second[k].time) / float64(len(first)*len(second))
		}
	}
	chance := byChance(pprofs, ispss)
	for _, v := range []float64{pprofs, ispss, between, chance, beyondChance(between, chance)} {
		percent(v)
	}
	for _, f := range all[1:] {
		percent(similarity.Overlap(all[0].time, f.time))
	}
	if len(profiles) == len(contextWays) {
		percent(similarity.Overlap(all[1].time, all[2].time))
	}
	r.overlap.Add(cells...)
	r.addDifferences(name, all[0], all[1])
}

// addDifferences adds the functions whose shares differ most.
func (r *flatReport) addDifferences(program string, a, b *flatProfile) {
	names := make(map[string]bool)
	for _, w := range []similarity.Weights{a.time, b.time} {
		for name := range w {
			names[name] = true
		}
	}
	type difference struct {
		name string
		a, b float64 // shares
	}
	var list []difference
	ta, tb := a.time.Total(), b.time.Total()
	for name := range names {
		list = append(list, difference{name, a.time[name] / ta, b.time[name] / tb})
	}
	slices.SortFunc(list, func(x, y difference) int {
		if dx, dy := math.Abs(x.a-x.b), math.Abs(y.a-y.b); dx != dy {
			return int(math.Copysign(1, dy-dx))
		}
		return strings.Compare(x.name, y.name)
	})
	for _, d := range list[:min(flatDifferences, len(list))] {
		p := (d.a + d.b) / 2
		deviation := math.Sqrt(p * (1 - p) * (1/float64(a.samples) + 1/float64(b.samples)))
		r.differences.Add(program, d.name, session.Number(100*d.a, 1), session.Number(100*d.b, 1),
			fmt.Sprintf("%+.1f", 100*(d.b-d.a)), session.Number(math.Abs(d.a-d.b)/deviation, 1))
	}
}
