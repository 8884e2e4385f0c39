package sampling

import (
	"cmp"
	"fmt"
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
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/profile"
)

// How it works.
//
// With -engine=cct+acct one run counts all calls and takes samples of them, so both
// trees are of the same calls. Recursion is kept in full in both. Inlined calls that are
// no entries, and natives, are left out of the exact tree, as stemma similarity does: no
// function entry belongs to them at which a sample could be taken.

// A setting is a trigger and a weighting of the accumulator.
type setting struct {
	trigger string // calls:N, func:N or time:D, as the flag has it
	weights string
}

// variant returns the build that accumulates as c says.
func (c setting) variant() measure.Variant {
	return session.EngineVariant("cct+acct", "-recursion=full", "-trigger="+c.trigger, "-weights="+c.weights)
}

// String names c as a line of a figure.
func (c setting) String() string { return c.trigger + ", " + c.weights }

// fileName names c in the name of a file.
func (c setting) fileName() string {
	return strings.ReplaceAll(strings.TrimPrefix(c.trigger, everyCall), ":", "-") + "-" + c.weights
}

// everyCall begins the trigger of the paper's figures.
const everyCall = "calls:"

// The weightings, by the flag of stemma build.
const (
	lastEdge    = "last-edge"
	allNewEdges = "all-new-edges"
)

// topEdges is how many edges the paper's figures show.
const topEdges = 40

// settings are those of the paper's figures 1 to 5, in its order, and the weighting that
// it shows for one interval only at the others, and with the other triggers as well.
func settings(s *session.Session) []setting {
	if s.Options.Quick {
		return []setting{{"calls:59", allNewEdges}, {"calls:59", lastEdge}}
	}
	return []setting{{"calls:1", lastEdge}, {"calls:59", allNewEdges}, {"calls:59", lastEdge}, {"calls:307", lastEdge},
		{"calls:1559", lastEdge}, {"calls:307", allNewEdges}, {"calls:1559", allNewEdges}, {"func:307", lastEdge},
		{"func:307", allNewEdges}, {"time:100us", lastEdge}, {"time:100us", allNewEdges}}
}

// accumulatedPrograms are two of the programs that are sampled: a build for each
// setting takes its time.
func accumulatedPrograms(s *session.Session) []*program.Program {
	list := sampledPrograms(s)
	return list[:min(2, len(list))]
}

// accumulatorTime estimates accumulator. Counting makes runs half as long again; of
// the builds of one program, all but the first only link.
func accumulatorTime(s *session.Session) time.Duration {
	return time.Duration(len(accumulatedPrograms(s))*len(settings(s))) * (time.Second + 3*session.RunTime/2)
}

// accumulator makes ACCT's figures 1 to 5 and a table of them.
func accumulator(s *session.Session) {
	r := newAccumulatorReport()
	for i, p := range accumulatedPrograms(s) {
		for _, c := range settings(s) {
			// A sample at every call, only to show that nothing is lost then, costs some
			// programs ten times their time and more.
			if !s.Available(c.variant()) || c.trigger == "calls:1" && i > 0 {
				continue
			}
			a, err := accumulate(s, p, c.variant())
			if err != nil {
				s.Failed(p.Name, c.variant(), err)
				continue
			}
			r.add(p.Name, c, a)
			if i == 0 {
				r.addEdges(p.Name, c, a)
			}
		}
	}
	s.Tables = append(s.Tables, r.table, figure6(s))
	for _, f := range append([]*chart.Figure{r.bars}, r.edges...) {
		if len(f.Groups) > 0 {
			s.Figures = append(s.Figures, f)
		}
	}
}

// accumulated is the exact tree of a run and the approximate one.
type accumulated struct{ exact, samples similarity.Weights }

// accumulate runs p once.
func accumulate(s *session.Session, p *program.Program, v measure.Variant) (a accumulated, err error) {
	err = s.Built(p, v, func(bin *measure.Binary, dir string) error {
		session.Tell(fmt.Sprintf("run %s: %s", p.Name, v.Name))
		out := filepath.Join(dir, "out")
		defer os.RemoveAll(out)
		_, live, err := s.Recorded(bin, out)
		if err != nil {
			return err
		}
		a, err = accumulatedOf(live.Profile)
		return err
	})
	return a, err
}

// accumulatedOf reads both trees of a profile.
func accumulatedOf(p *profile.Profile) (accumulated, error) {
	samples, err := cct.Of(p, "samples")
	if err != nil {
		return accumulated{}, err
	}
	var a accumulated
	a.exact, a.samples = similarity.Pair(cct.New(p), samples)
	if len(a.exact) == 0 || len(a.samples) == 0 {
		return a, fmt.Errorf("%d exact contexts and %d sampled ones, want some of both", len(a.exact), len(a.samples))
	}
	return a, nil
}

// An accumulatorReport is figures 1 to 5 of the paper, with what they show in numbers.
type accumulatorReport struct {
	table *table.Table
	bars  *chart.Figure
	edges []*chart.Figure // one for each setting
}

// newAccumulatorReport returns an empty table and figure.
func newAccumulatorReport() *accumulatorReport {
	return &accumulatorReport{
		table: &table.Table{
			Name: "acct", Title: "Approximate trees with the exact one of the same run (ACCT, figures 1 to 5)", Left: 2,
			Head: []string{"program", "weights", "trigger", "calls M", "samples", "contexts", "found", "overlap %",
				"hot edges %", "paper"},
			Notes: []string{strings.Join([]string{
				"calls, contexts: exact, without inlined calls and natives; found: contexts with samples. Hot: at " +
					"least a tenth of the hottest (T = 0.1).",
				"samples: their weights added up, so that with all-new-edges one sample adds one for each new edge.",
				papers.ACCTAccuracy,
			}, "\n")},
		},
		bars: &chart.Figure{Name: "acct", Title: "Approximate trees with the exact one (ACCT)", Y: "per cent"},
	}
}

// publishedAccuracy is what the paper says of its figure with a setting.
var publishedAccuracy = map[setting]string{
	{"calls:1", lastEdge}:     "figure 1: perfect",
	{"calls:59", allNewEdges}: "figure 2: no apparent correlation",
	{"calls:59", lastEdge}:    "figure 3: much stronger",
	{"calls:307", lastEdge}:   "figure 4: degrades, acceptable",
	{"calls:1559", lastEdge}:  "figure 5: degrades, acceptable",
}

// add adds one run.
func (r *accumulatorReport) add(name string, c setting, a accumulated) {
	overlap, hot := 100*similarity.Overlap(a.exact, a.samples),
		100*similarity.HotEdgeCoverage(a.exact, a.samples, hotThreshold)
	found := 0
	for k := range a.samples {
		if a.exact[k] > 0 {
			found++
		}
	}
	r.table.Add(name, c.weights, c.trigger, session.Number(a.exact.Total()/1e6, 1),
		session.Number(a.samples.Total(), 0),
		fmt.Sprint(len(a.exact)), fmt.Sprint(found), session.Number(overlap, 1), session.Number(hot, 1),
		publishedAccuracy[c])
	r.bars.Groups = append(r.bars.Groups,
		name+" "+strings.TrimPrefix(c.trigger, everyCall)+" "+strings.TrimSuffix(c.weights, "-edges"))
	addBar(r.bars, "overlap", overlap)
	addBar(r.bars, "hot edges", hot)
}

// addEdges adds the figure of one setting: the hottest edges, as the paper shows them.
func (r *accumulatorReport) addEdges(name string, c setting, a accumulated) {
	f := &chart.Figure{
		Name:  "acct-" + c.fileName(),
		Title: fmt.Sprintf("%s, %v (ACCT, figures 1 to 5)", name, c), X: "edges of the exact tree, hottest first",
		Y: "per cent of the hottest",
	}
	keys := hottest(a.exact, topEdges)
	top, approximate := heaviest(a.exact), heaviest(a.samples)
	for i, k := range keys {
		label := ""
		if i%5 == 0 {
			label = fmt.Sprint(i + 1)
		}
		f.Groups = append(f.Groups, label)
		addBar(f, "exact", 100*a.exact[k]/top)
		addBar(f, "acct", 100*a.samples[k]/approximate)
	}
	r.edges = append(r.edges, f)
}

// hottest returns the n heaviest edges of w; those that are equally heavy by key.
func hottest(w similarity.Weights, n int) []string {
	var keys []string
	for k := range w {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return cmp.Or(cmp.Compare(w[b], w[a]), strings.Compare(a, b)) })
	return keys[:min(n, len(keys))]
}

// heaviest returns the weight of the heaviest edge.
func heaviest(w similarity.Weights) float64 {
	top := 0.0
	for _, v := range w {
		top = max(top, v)
	}
	return top
}
