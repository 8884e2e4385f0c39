// Package waiting compares profilers where many goroutines wait.
package waiting

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// How it works.
//
// bench/micro/waiting has two goroutines that work and many that wait. It shows how many units of work
// were done and at what cost, and how long the units took that were held up most. To see what
// waits cost that are counted, those that work wait after each unit as well. Profilers take turns,
// whole runs as these are short: units are timed by the clock, so a run cannot be stopped within.

// waitingEvery is the interval of stemma's samplers. fgprof takes 99 samples a second,
// and runtime/pprof 100.
const waitingEvery = 10 * time.Millisecond

// A waitingWay is a way to profile the program.
type waitingWay struct{ name, profiler, sampling string }

// waitingWays begin with the one that the others are compared with. Those with a
// setting of STEMMA_SAMPLING are built by stemma.
var waitingWays = []waitingWay{
	{"none", "none", ""},
	{"stemma, not started", "none", "start=off"},
	{"jvmti", "none", "sampler=jvmti"}, {"stw", "none", "sampler=stw"},
	{"sps", "none", "sampler=sps"},
	{"isps", "none", "sampler=isps"},
	{"fgprof", "fgprof", ""},
	{"runtime/pprof", "pprof", ""},
}

// countedWays are those of -variant 'cct -metrics=calls,wait': what waits cost a program that counts its calls.
var countedWays = []waitingWay{
	{"cct", "none", "metrics=calls"},
	{"cct, wait", "none", "metrics=" + waitMetrics},
	{"cct again", "none", "metrics=calls"},
}

// waitMetrics is what a program counts that counts its waits.
const waitMetrics = "calls,wait"

// counted returns the metrics of one of countedWays, "" of others.
func (w waitingWay) counted() string {
	metrics, _ := strings.CutPrefix(w.sampling, "metrics=")
	if metrics == w.sampling {
		return ""
	}
	return metrics
}

// variant returns what the program is built as.
func (w waitingWay) variant() measure.Variant {
	switch {
	case w.counted() != "":
		return session.EngineVariant("cct", "-metrics="+w.counted())
	case w.sampling != "":
		return session.EngineVariant("sample", "-every="+waitingEvery.String())
	}
	return measure.Plain
}

// waysOf returns the ways that are asked for.
func waysOf(s *session.Session) []waitingWay {
	for _, v := range s.Options.Variants {
		if slices.Contains(v.Flags, "-metrics="+waitMetrics) {
			return countedWays
		}
	}
	return waitingWays
}

// A crowd is how many goroutines wait, and whether the two that work wait as well, after each unit.
type crowd struct {
	n    int
	park bool
}

func (c crowd) String() string {
	if c.park {
		return fmt.Sprintf("%d, and the workers", c.n)
	}
	return fmt.Sprint(c.n)
}

// waitingScale returns the goroutines, the rounds, and the length of a run.
func waitingScale(s *session.Session) (crowds []crowd, rounds int, length time.Duration) {
	switch ways := waysOf(s); {
	case s.Options.Quick:
		return []crowd{{10, false}, {1e4, false}}, 1, time.Second / 2
	case ways[0].counted() != "":
		return []crowd{{10, false}, {1e4, false}, {10, true}, {1e4, true}}, s.Options.Rounds, time.Second
	}
	return []crowd{{10, false}, {1e3, false}, {1e4, false}, {1e5, false}}, 5, time.Second
}

// Time estimates waiting.
func Time(s *session.Session) time.Duration {
	crowds, rounds, length := waitingScale(s)
	return 2*s.BuildTime() + time.Duration(len(crowds)*rounds*len(waysOf(s)))*(length+time.Second/2)
}

// Run compares profilers where many goroutines wait.
func Run(s *session.Session) error {
	crowds, rounds, length := waitingScale(s)
	t := &table.Table{
		Name: "waiting", Title: fmt.Sprintf("Profilers and goroutines that wait, every %v", waitingEvery), Left: 1,
		Head: []string{"profiler", "goroutines", "CPU", "interval", "throughput", "99.9 % unit µs",
			"longest unit µs", "latency", "99 %"},
		Notes: []string{fmt.Sprintf("Two workers; %d rounds of %v, the profilers in turn. CPU: process CPU time, "+
			"system time included, for each unit of work; throughput: units; both as the median of ratios "+
			"to the first one in the same round. "+
			"Unit: how long a unit of work took that was held up most, median of the rounds. latency: from the "+
			"request to the end of a sample, median and 99 %%, of the last round.", rounds, length) +
			" ICPE'15 has no such table; the programs that it measures have a few threads."},
	}
	ways := waysOf(s)
	built := map[string]*session.Micro{}
	for _, w := range ways {
		if v := w.variant(); built[v.Name] == nil {
			built[v.Name] = s.BuildMicro("waiting", v)
		}
	}
	for _, c := range crowds {
		runs := make([]waitingRuns, len(ways))
		for round := range rounds {
			for k := range ways {
				k = (k + round) % len(ways)
				if m := built[ways[k].variant().Name]; m != nil {
					runs[k].add(runWaiting(m, ways[k], c, length))
				}
			}
		}
		for k, w := range ways {
			if len(runs[k].cpu) == rounds && len(runs[0].cpu) == rounds { // what failed is among the problems
				t.Add(append([]string{w.name, c.String()}, runs[k].cells(&runs[0])...)...)
			}
		}
	}
	s.Tables = append(s.Tables, t)
	return nil
}

// waitingRuns are the figures of one way, by round.
type waitingRuns struct {
	cpu, units, late, latest []float64 // cpu of a unit
	latency                  [2]string // of the last round
}

// A waitingRun is one round.
type waitingRun struct {
	figures map[string]float64
	latency [2]string
}

// runWaiting runs the program once. If that fails it returns nil, and the problems have the reason.
func runWaiting(m *session.Micro, w waitingWay, c crowd, length time.Duration) *waitingRun {
	var env []string
	if w.counted() == "" {
		env = []string{"STEMMA_SAMPLING=" + w.sampling}
	}
	r := m.Run(env, fmt.Sprint("-n=", c.n), fmt.Sprint("-park=", c.park), fmt.Sprint("-t=", length),
		"-profiler="+w.profiler)
	if r == nil {
		return nil
	}
	one := &waitingRun{figures: r.Figures}
	if w.sampling == "" || w.sampling == "start=off" || w.counted() != "" {
		return one
	}
	live, err := records.Open(r.Out)
	if err != nil || live.Profile.Processes[0].Sampling == nil {
		m.S.Problem("%s, %s: no record of samples: %v", m.Name, w.name, err)
		return nil
	}
	for i, q := range []float64{0.5, 0.99} {
		one.latency[i] = live.Profile.Processes[0].Sampling.Quantile(q).String()
	}
	return one
}

// add adds a round, unless it has failed.
func (r *waitingRuns) add(one *waitingRun) {
	if one == nil {
		return
	}
	r.cpu = append(r.cpu, one.figures["cpu"]/one.figures["units"])
	r.units = append(r.units, one.figures["units"])
	r.late = append(r.late, one.figures["late"])
	r.latest = append(r.latest, one.figures["latest"])
	r.latency = one.latency
}

// cells compares r with base, round by round.
func (r *waitingRuns) cells(base *waitingRuns) []string {
	cpu, units := stats.MedianInterval(stats.Ratios(r.cpu, base.cpu)),
		stats.MedianInterval(stats.Ratios(r.units, base.units))
	return []string{session.Number(cpu.Median, 3), session.Span(cpu), session.Number(units.Median, 3),
		session.Number(stats.Median(r.late)/1e3, 0), session.Number(stats.Median(r.latest)/1e3, 0),
		r.latency[0], r.latency[1]}
}
