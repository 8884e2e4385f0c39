// Package encoders measures the encodings of contexts, of engines in programs and of all encoders on the same calls.
package encoders

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/chart"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/record"
)

// How it works.
//
// Each program is run once with each engine that encodes contexts. What the engine
// says about itself, in the header of its record, is a row of the table; the epochs of
// its dictionary are the progress of the encoding. Neither needs more than one run:
// they are counts, which do not depend on how busy the machine is, but for those
// of re-encodings, which happen when a goroutine of the runtime finds time.
//
// Depths are another matter. The header knows the ccStack at pushes only, so a
// further run has the checker in it, which captures contexts at regular
// distances and walks the stack beside each. The same records prove that the
// contexts are right.

// Figures 9 and 10 of the paper show four programs; more lines would be hard to
// tell apart.
const figureLines = 6

// Time estimates encoders: two engines, a build with the checker, which
// is slower, and a count if there is none yet; and lucce, but for -quick.
func Time(s *session.Session) time.Duration {
	built := session.EngineVariant
	one := s.BuildsTime(measure.Plain, built("cct"), built("pcce"), built("dacce"), built("dacce", "-verify")) +
		6*session.RunTime
	if !s.Options.Quick {
		one += s.BuildsTime(built("lucce")) + session.RunTime
	}
	return time.Duration(len(s.Fewer())) * one
}

// Run makes DACCE's table 1, its figures 9 and 10, and the growth of Lucce's log.
func Run(s *session.Session) error {
	t := &table.Table{
		Name: "encoders", Title: "Characteristics of the encodings (DACCE, table 1)", Left: 2,
		Head: []string{"program", "engine", "nodes", "edges", "encoded", "back edges", "left out", "maxID",
			"ccStack/s", "depth",
			"max depth", "gTS", "costs us", "max pause us", "calls/s"},
		Notes: []string{strings.Join([]string{
			"nodes, edges: of the call graph that was seen; encoded: those of them that have ids; left out: so that " +
				"ids stay in 30 bits, and where one would take too many. Functions that call nothing are no nodes.",
			"ccStack/s: pushes per second of user time, counted in steps of 1024 for each g; depth: mean of " +
				"the ccStack at those pushes, so that it is never 0, " +
				"while the paper's is over all contexts: see the figure of depths for that.",
			"gTS: re-encodings; costs: time spent in them. calls/s: calls of the exact tree by user time of the " +
				"plain program.",
			"The paper's programs are C and C++, have 44 to 34 million calls a second, and PCCE there encodes the " +
				"static graph, with the targets of indirect calls and the weights of a profile of the same input; " +
				"nodes, edges and ids of Go programs include the standard library.",
		}, "\n")},
	}
	progress := &chart.Figure{Name: "progress", Title: "Progress of the encoding with dacce (DACCE, figure 9)",
		X: "seconds since the start, plus 1 ms", Y: "encoded edges", LogX: true, LogY: true, Steps: true}
	ids := &chart.Figure{Name: "maxid", Title: "Largest id with dacce (DACCE, figure 9)", X: progress.X, Y: "maxID",
		LogX: true, LogY: true, Steps: true}
	steps := stepsTable()
	d, g := newDepthsReport(), newGrowthReport()
	for _, p := range s.Fewer() {
		s.Count(p)
		for _, v := range []measure.Variant{session.EngineVariant("pcce"), session.EngineVariant("dacce")} {
			s.Once(p, v, func(r *measure.Recorded, user float64, live *record.Record) error {
				if r.Encoding == nil {
					return fmt.Errorf("engine %s says nothing about its encoding", v.Name)
				}
				t.Add(append([]string{p.Name, v.Name}, encodingCells(s, p, r.Encoding, user)...)...)
				if v.Name == "dacce" {
					addProgress(p.Name, records.Progress(live), steps, progress, ids)
				}
				return nil
			})
		}
		depths(s, p, d)
		if !s.Options.Quick {
			growth(s, p, g)
		}
	}
	s.Tables = append(s.Tables, t)
	if err := s.AddPaper("dacce1"); err != nil {
		return err
	}
	s.Tables = append(s.Tables, steps, d.table)
	if len(g.table.Rows) > 0 {
		s.Tables = append(s.Tables, g.table)
	}
	for _, f := range []*chart.Figure{progress, ids, d.ccStack, d.stack, g.figure} {
		if len(f.Lines) > 0 {
			s.Figures = append(s.Figures, f)
		}
	}
	return nil
}

// encodingCells are the columns of the paper. user is how many seconds the run took.
func encodingCells(s *session.Session, p *program.Program, e *measure.Encoding, user float64) []string {
	rate := ""
	if c := s.Counts[p.Name]; c.Calls > 0 && c.User > 0 {
		rate = session.Number(float64(c.Calls)/c.User, 0)
	}
	return []string{
		fmt.Sprint(e.Functions), fmt.Sprint(e.Edges), fmt.Sprint(e.Encoded), fmt.Sprint(e.BackEdges),
		fmt.Sprint(e.LeftOut),
		fmt.Sprint(e.MaxID), session.Number(float64(e.Pushes)/user, 0), session.Number(e.MeanDepth, 2),
		fmt.Sprint(e.MaxDepth),
		fmt.Sprint(e.Reencodings), fmt.Sprint(e.ReencodeTime.Microseconds()), fmt.Sprint(e.MaxPause.Microseconds()),
		rate,
	}
}

// stepsTable is figure 9 as a table, since curves hide what happens early.
func stepsTable() *table.Table {
	return &table.Table{
		Name: "progress", Title: "Progress of the encoding with dacce (DACCE, figure 9)", Left: 1,
		Head: []string{"program", "epoch", "after s", "nodes", "encoded edges", "maxID"},
		Notes: []string{"An epoch begins with a re-encoding. Edges of a site that is encoded for a group of callees " +
			"are counted for each of them, whether taken or not. The paper shows four programs, without numbers: " +
			"more re-encodings at the beginning, then a steady state; " +
			"ids may become fewer when a new edge closes a cycle."},
	}
}

// addProgress adds the epochs of a program to the table and the figures.
func addProgress(name string, steps []records.Step, t *table.Table, edges, ids *chart.Figure) {
	e, m := chart.Line{Name: name}, chart.Line{Name: name}
	for i, s := range steps {
		t.Add(name, fmt.Sprint(i), session.Number(s.After.Seconds(), 3), fmt.Sprint(s.Nodes), fmt.Sprint(s.Edges),
			fmt.Sprint(s.MaxID))
		x := s.After.Seconds() + 0.001 // so that epoch 0 is on a log axis
		e.X, e.Y = append(e.X, x), append(e.Y, float64(s.Edges))
		m.X, m.Y = append(m.X, x), append(m.Y, float64(s.MaxID))
	}
	// A program that was never encoded has no curve.
	if len(steps) > 1 && len(edges.Lines) < figureLines {
		edges.Lines, ids.Lines = append(edges.Lines, e), append(ids.Lines, m)
	}
}

// depthsReport is figure 10 of the paper.
type depthsReport struct {
	table          *table.Table
	stack, ccStack *chart.Figure
}

// newDepthsReport returns the empty table and figures.
func newDepthsReport() *depthsReport {
	y := "per cent of contexts with at most this depth"
	return &depthsReport{
		table: &table.Table{
			Name: "depths", Title: "Depths of contexts with dacce (DACCE, figure 10)", Left: 1,
			Head: []string{"program", "contexts", "stack mean", "50 %", "90 %", "99 %", "max", "ccStack empty %",
				"ccStack mean", "90 %", "99 %", "max"},
			Notes: []string{"A build with the checker captures a context at every 1009th entry of a function that " +
				"calls others, and at go statements, and walks the stack there unless it is very deep; what is not " +
				"cut is compared as stemma verify does. " +
				"stack: frames of the goroutine, without inlined ones. ccStack: entries of the goroutine. " +
				"The paper captures one every 10 ms. It reports an empty ccStack for most programs, and a stack of " +
				"7200 for 90 % of the contexts of 483.xalancbmk."},
		},
		stack: &chart.Figure{Name: "depths-stack", Title: "Depth of the call stack (DACCE, figure 10)",
			X: "frames", Y: y, Steps: true, LogX: true},
		ccStack: &chart.Figure{Name: "depths-ccstack", Title: "Depth of the ccStack (DACCE, figure 10)",
			X: "entries", Y: y, Steps: true},
	}
}

// depths adds p to the report. Contexts that are decoded wrongly are a problem.
func depths(s *session.Session, p *program.Program, d *depthsReport) {
	v := session.EngineVariant("dacce", "-verify")
	s.Once(p, v, func(_ *measure.Recorded, _ float64, live *record.Record) error {
		h, err := records.DepthsOf(live)
		if err != nil {
			return err
		}
		d.add(p.Name, h)
		out := filepath.Join(s.Bench.Work, p.Name, "out")
		dirs, err := filepath.Glob(filepath.Join(out, "*"))
		if err != nil {
			return err
		}
		c := &measure.Command{Dir: out, Args: append([]string{s.Bench.Stemma, "verify", "-live"}, dirs...)}
		return c.Run()
	})
}

// add adds the depths of one program.
func (d *depthsReport) add(name string, h records.Depths) {
	empty := 100 * float64(h.CCStack[0]) / float64(h.CCStack.Total())
	highest := func(h records.Histogram) int { return slices.Max(append(slices.Collect(maps.Keys(h)), 0)) }
	cells := []string{name, fmt.Sprint(h.Stack.Total()), session.Number(h.Stack.Mean(), 1)}
	for _, n := range []int{h.Stack.Quantile(0.5), h.Stack.Quantile(0.9), h.Stack.Quantile(0.99), highest(h.Stack)} {
		cells = append(cells, fmt.Sprint(n))
	}
	cells = append(cells, session.Number(empty, 1), session.Number(h.CCStack.Mean(), 2))
	for _, n := range []int{h.CCStack.Quantile(0.9), h.CCStack.Quantile(0.99), highest(h.CCStack)} {
		cells = append(cells, fmt.Sprint(n))
	}
	d.table.Add(cells...)
	if len(d.stack.Lines) < figureLines {
		for f, h := range map[*chart.Figure]records.Histogram{d.stack: h.Stack, d.ccStack: h.CCStack} {
			x, y := h.Cumulative()
			f.Lines = append(f.Lines, chart.Line{Name: name, X: x, Y: y})
		}
	}
}

// Law fits how y grows with x and reports it.
func Law(x, y []float64) string { return stats.FitPower(x, y).String() }
