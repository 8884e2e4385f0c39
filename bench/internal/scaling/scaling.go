// Package scaling measures cost and memory against contexts, goroutines, depth and threads.
package scaling

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/chart"
	"github.com/stemma-go/stemma/bench/internal/encoders"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// How it works.
//
// Each point is a process of its own: memory that a larger point took would be in
// the next one's figures otherwise. Points are not repeated, as the law is fitted over
// orders of magnitude, where a disturbed point shows in R² and not in the
// exponent. A build without instrumentation is among the builds of each dimension: Go
// programs grow on their own, and only what is added is stemma's.

// dimension is one direction in which programs grow.
type dimension struct {
	name     string
	what     string // for readers
	sizes    []int
	quick    int      // how many of the sizes -quick takes
	times    []string // figures of the program, in ns
	variants []measure.Variant
}

// dimensions are what scaling measures.
func dimensions() []dimension {
	plain, cct, dacce := measure.Plain, session.EngineVariant("cct"), session.EngineVariant("dacce")
	large := session.EngineVariant("cct", "-nodes=20000000") // more than 10^7 contexts
	return []dimension{
		{"contexts", "contexts that are entered, first when they are new and then again",
			[]int{1e3, 1e4, 1e5, 1e6, 1e7}, 4,
			[]string{"new", "known"}, []measure.Variant{plain, large, dacce}},
		{"goroutines", "goroutines that wait ten calls deep", []int{1, 10, 100, 1e3, 1e4, 1e5}, 5, []string{"start"},
			[]measure.Variant{plain, cct, dacce}},
		{"depth", "calls of a recursive function on the stack", []int{10, 100, 1e3, 1e4, 1e5}, 4,
			[]string{"call", "first", "here"},
			[]measure.Variant{plain, cct, session.EngineVariant("cct", "-recursion=full"), dacce}},
		{"threads", "goroutines that call at once, and GOMAXPROCS", []int{1, 2, 4, 8, 16, 32, 64, 128, 256}, 4,
			[]string{"call"}, []measure.Variant{plain, cct, dacce}},
	}
}

// Time estimates scaling: four builds, and short runs.
func Time(s *session.Session) time.Duration {
	total := 5 * s.BuildTime()
	for _, d := range dimensions() {
		total += time.Duration(len(sizes(s, d))*len(d.variants)) * time.Second
	}
	return total
}

// sizes returns the points that are measured.
func sizes(s *session.Session, d dimension) []int {
	if s.Options.Quick {
		return d.sizes[:d.quick]
	}
	return d.sizes
}

// Run measures cost and memory against contexts, goroutines, depth and threads.
func Run(s *session.Session) error {
	points := &table.Table{
		Name: "scaling", Title: "Scaling", Left: 2,
		Head: []string{"dimension", "build", "n", "figure", "value", "unit"},
		Notes: []string{strings.Join([]string{
			"Each point is one run of bench/micro/scaling. Times are for one operation: entering a context, starting " +
				"a goroutine, a call, stemma.Here (first: the first one at this depth, which interns the ccStack).",
			"resident: largest resident memory, mapped records included; record: the live directory on disk.",
			fmt.Sprintf("threads: GOMAXPROCS is n, on a machine with %d CPUs. From there on it is a simulation of "+
				"the counter shards, "+
				"which belong to Ps: their memory is real, but calls do not run at the same time.", s.Machine.CPUs),
		}, "\n")},
	}
	laws := &table.Table{
		Name: "laws", Title: "Growth laws", Left: 4,
		Head: []string{"dimension", "build", "figure", "law"},
		Notes: []string{"Power laws by least squares on logarithms; of memory, what is more than at the smallest n. " +
			"An exponent near 0 is a constant cost, near 1 a proportional one. R² says little where the exponent " +
			"is near 0. " +
			"The papers have no such figures: Lucce's table 1 names orders of magnitude of memory."},
	}
	for _, d := range dimensions() {
		scale(s, d, points, laws)
	}
	s.Tables = append(s.Tables, points, laws)
	return nil
}

// curve is one figure of a build as n grows.
type curve struct {
	figure, unit string
	x, y         []float64
}

// scale measures one dimension.
func scale(s *session.Session, d dimension, points, laws *table.Table) {
	fig := &chart.Figure{Name: "scaling-" + d.name, Title: "Scaling: " + d.name, X: d.what, Y: "ns per operation",
		LogX: true, LogY: true}
	for _, v := range d.variants {
		m := s.BuildMicro("scaling", v)
		if m == nil {
			continue
		}
		var curves []*curve
		for _, f := range d.times {
			curves = append(curves, &curve{figure: f, unit: "ns"})
		}
		curves = append(curves, &curve{figure: "resident", unit: "bytes"})
		if v.Records() {
			curves = append(curves, &curve{figure: "record", unit: "bytes"})
		}
		for _, n := range sizes(s, d) {
			r := m.Run(nil, fmt.Sprint("-n=", n), d.name)
			if r == nil {
				continue
			}
			// The program cannot know what it leaves on disk; a plain one leaves nothing.
			r.Figures["record"] = float64(r.Record)
			for _, c := range curves {
				y, ok := r.Figures[c.figure]
				if !ok {
					s.Problem("scaling %s, %s: no figure %s", d.name, v.Name, c.figure)
					continue
				}
				c.add(float64(n), y)
				points.Add(d.name, v.Name, fmt.Sprint(n), c.figure, short(y), c.unit)
				s.Metric(fmt.Sprintf("Scaling/%s/n=%d/build=%s/figure=%s", d.name, n, v.FileName(), c.figure), y,
					c.unit+"/op")
			}
		}
		for _, c := range curves {
			laws.Add(d.name, v.Name, c.figure, c.law())
			if c.unit == "ns" {
				fig.Lines = append(fig.Lines, chart.Line{Name: v.Name + " " + c.figure, X: c.x, Y: c.y})
			}
		}
	}
	if len(fig.Lines) > 0 {
		s.Figures = append(s.Figures, fig)
	}
}

// law returns how the figure grows. Memory has a constant part, which would hide the
// rest; so it is what is added to that of the smallest n.
func (c *curve) law() string {
	if c.unit != "bytes" || len(c.x) == 0 {
		return c.unit + " = " + encoders.Law(c.x, c.y)
	}
	var added []float64
	for _, y := range c.y[1:] {
		added = append(added, y-c.y[0])
	}
	return fmt.Sprintf("bytes = %s + %s", short(c.y[0]), encoders.Law(c.x[1:], added))
}

// add adds a point.
func (c *curve) add(x, y float64) { c.x, c.y = append(c.x, x), append(c.y, y) }

// short formats a figure with as many digits as mean something.
func short(v float64) string {
	if math.Abs(v) >= 100 {
		return session.Number(v, 0)
	}
	return session.Number(v, 2)
}
