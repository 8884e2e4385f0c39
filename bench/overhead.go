package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// overhead compares instrumented runs with plain ones.
func (s *session) overhead() error {
	t := &table.Table{
		Name: "overhead", Title: "Overhead", Left: 2,
		Head: []string{"program", "build", "user s", "user ratio", "interval", "user+sys ratio", "wall ratio", "interval",
			"calls M", "calls M/s", "contexts", "ns/call", "bytes/context", "binary ratio"},
		Notes: []string{s.overheadNote()},
	}
	sums := make(map[string]*summary)
	for _, p := range s.programs {
		for _, r := range s.compare(p) {
			t.Add(r.cells()...)
			if r.build == measure.Plain.Name {
				continue
			}
			if sums[r.build] == nil {
				sums[r.build] = &summary{build: r.build}
			}
			sums[r.build].add(r)
		}
	}
	s.tables = append(s.tables, t, s.summarize(sums))
	return nil
}

func (s *session) overheadNote() string {
	c := stats.MedianInterval(make([]float64, s.options.rounds)).Coverage
	return strings.Join([]string{
		fmt.Sprintf("Ratios: median over %d rounds of instrumented to plain in the same round;", s.options.rounds),
		fmt.Sprintf("the interval covers the true median with a probability of %.1f %%.", 100*c),
		`"plain again" is a second copy of the plain program: how far it is from 1 is noise.`,
		"calls M/s: calls per second of the plain program's user time.",
		"ns/call: user time added per call. bytes/context: of the live directory, on disk.",
	}, "\n")
}

// compare builds and runs p in all variants and returns a row for each that
// has worked.
func (s *session) compare(p *program.Program) []*row {
	dir := filepath.Join(s.bench.Work, p.Name)
	defer os.RemoveAll(dir)
	bins, err := s.build(p, dir)
	if err != nil {
		s.problems = append(s.problems, fmt.Sprintf("%s: skipped: %v", p.Name, err))
		return nil
	}
	series := s.bench.Rounds(bins, s.options.rounds, tell)
	s.series = append(s.series, series...)
	s.problems = append(s.problems, measure.Problems(series)...)
	var rows []*row
	for _, one := range series {
		if one.Err == nil && series[0].Err == nil {
			rows = append(rows, newRow(one, series[0]))
		}
	}
	return rows
}

// build builds all variants of p, the plain one first. A variant that cannot
// be built is a problem; without the plain one there is nothing to compare.
func (s *session) build(p *program.Program, dir string) ([]*measure.Binary, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := p.SetUp(dir); err != nil {
		return nil, err
	}
	var bins []*measure.Binary
	for _, v := range append([]measure.Variant{measure.Plain, measure.PlainAgain}, s.options.variants...) {
		tell(fmt.Sprintf("build %s: %s", p.Name, v.Name))
		bin, err := s.bench.Build(p, v)
		if err != nil && !v.Instrumented() {
			return nil, err
		}
		if err != nil {
			s.problems = append(s.problems, fmt.Sprintf("%s, %s: skipped: %v", p.Name, v.Name, err))
			continue
		}
		bins = append(bins, bin)
	}
	return bins, nil
}

// row is what was measured of one build of one program.
type row struct {
	program, build   string
	user             float64 // median seconds
	userRatio        stats.Interval
	wallRatio        stats.Interval
	cpuRatio         float64 // of user and system time together
	record           measure.Record
	rate             float64 // calls per second of the plain program's user time
	perCall          float64 // seconds of user time added
	bytesPerContext  float64
	binaryRatio      float64
	recorded, isBase bool
}

func newRow(s, plain *measure.Series) *row {
	ratios := func(of func(measure.Run) float64) stats.Interval {
		return stats.MedianInterval(stats.Ratios(s.Values(of), plain.Values(of)))
	}
	r := &row{
		program: s.Binary.Program.Name, build: s.Binary.Variant.Name,
		user:        stats.Median(s.Values(measure.User)),
		userRatio:   ratios(measure.User),
		wallRatio:   ratios(measure.Wall),
		cpuRatio:    ratios(measure.CPU).Median,
		binaryRatio: float64(s.Binary.Size) / float64(plain.Binary.Size),
		record:      s.Record,
		recorded:    s.Record.Calls > 0,
		isBase:      s == plain,
	}
	if r.recorded {
		base := stats.Median(plain.Values(measure.User))
		r.rate = float64(r.record.Calls) / base
		r.perCall = (r.userRatio.Median - 1) * base / float64(r.record.Calls)
		r.bytesPerContext = float64(r.record.Bytes) / float64(r.record.Contexts)
	}
	return r
}

func (r *row) cells() []string {
	cells := []string{r.program, r.build, number(r.user, 2)}
	if r.isBase {
		cells = append(cells, "", "", "", "", "")
	} else {
		cells = append(cells, number(r.userRatio.Median, 3), span(r.userRatio), number(r.cpuRatio, 3),
			number(r.wallRatio.Median, 3), span(r.wallRatio))
	}
	if !r.recorded {
		return append(cells, "", "", "", "", "", "")
	}
	return append(cells, number(float64(r.record.Calls)/1e6, 1), number(r.rate/1e6, 0), fmt.Sprint(r.record.Contexts),
		number(r.perCall*1e9, 2), number(r.bytesPerContext, 0), number(r.binaryRatio, 2))
}

// number formats v, or leaves it out if it is unknown.
func number(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "?"
	}
	return fmt.Sprintf("%.*f", decimals, v)
}

func span(i stats.Interval) string { return number(i.Low, 3) + ".." + number(i.High, 3) }

// summary collects the ratios of one build over all programs.
type summary struct {
	build string
	rows  []*row
}

func (s *summary) add(r *row) { s.rows = append(s.rows, r) }

// over returns the geometric mean of a ratio and its largest value, with the
// program that has it.
func (s *summary) over(ratio func(*row) float64) (mean, worst float64, where string) {
	values := make([]float64, len(s.rows))
	for i, r := range s.rows {
		values[i] = ratio(r)
		if i == 0 || values[i] > worst {
			worst, where = values[i], r.program
		}
	}
	return stats.GeoMean(values), worst, where
}

// summarize makes the table of the means, in the order of the variants.
func (s *session) summarize(sums map[string]*summary) *table.Table {
	t := &table.Table{
		Name: "geomean", Title: "Geometric means", Left: 1,
		Head: []string{"build", "programs", "user ratio", "worst", "in", "user+sys ratio", "worst", "in", "wall ratio", "worst", "in", "binary ratio", "worst", "in"},
	}
	for _, v := range append([]measure.Variant{measure.PlainAgain}, s.options.variants...) {
		sum := sums[v.Name]
		if sum == nil {
			continue
		}
		cells := []string{v.Name, fmt.Sprint(len(sum.rows))}
		for _, ratio := range []func(*row) float64{
			func(r *row) float64 { return r.userRatio.Median },
			func(r *row) float64 { return r.cpuRatio },
			func(r *row) float64 { return r.wallRatio.Median },
			func(r *row) float64 { return r.binaryRatio },
		} {
			mean, worst, where := sum.over(ratio)
			cells = append(cells, number(mean, 3), number(worst, 3), where)
		}
		t.Add(cells...)
	}
	return t
}
