// Package overhead measures what instrumentation costs programs, in turns with plain builds.
package overhead

import (
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
)

// How it works.
//
// All builds of a program take turns of some hundredths of a second, see
// [measure.Bench.Rounds], and each is compared with the plain one of the same round. Variants of
// two kinds are among them: those whose figures are claims have all rounds; landmarks, which only show the order of
// magnitude of what a user would take instead, have fewer.
//
// Nanoseconds per call need the number of calls. Only an exact tree knows it; so each
// program is run at least once with engine cct, and that count serves all rows.

// Time estimates overhead.
func Time(s *session.Session) time.Duration {
	sum := time.Duration(0)
	for _, p := range s.Programs {
		sum += timeOf(s, p)
	}
	return sum
}

// timeOf estimates overhead for p.
func timeOf(s *session.Session, p *program.Program) time.Duration {
	variants := slices.DeleteFunc(overheadVariants(s), func(v measure.Variant) bool { return v.Few && !s.Landmarks(p) })
	runs := 2 * s.Options.Rounds // the plain program runs again for each group of builds
	for _, v := range variants {
		switch {
		case v.Rounds == measure.WarmUpOnly:
			runs++
		case v.Rounds > 0:
			runs += min(v.Rounds, s.Options.Rounds)
		default:
			runs += s.Options.Rounds
		}
	}
	return time.Duration(runs)*session.RunTime + buildsTime(s, variants)
}

// buildsTime estimates the builds of one program. What a sampler is told does not change the code, so that
// all its builds but the first only link. Two builds at once take three quarters of the time.
func buildsTime(s *session.Session, variants []measure.Variant) (sum time.Duration) {
	const link = 2 * time.Second
	sampled := false
	for _, v := range variants {
		if v.Engine() == "sample" && sampled {
			sum += link
			continue
		}
		sampled = sampled || v.Engine() == "sample"
		sum += s.BuildTime()
	}
	return sum * 3 / 4
}

// overheadVariants are all that overhead builds, plain first.
func overheadVariants(s *session.Session) []measure.Variant {
	all := append([]measure.Variant{measure.Plain, measure.PlainAgain}, s.Options.Variants...)
	if !slices.ContainsFunc(all, session.CountsCalls) {
		all = append(all, session.CountOnly)
	}
	return all
}

// Run compares instrumented runs with plain ones.
func Run(s *session.Session) error {
	t := &table.Table{
		Name: "overhead", Title: "Overhead", Left: 2,
		Head: []string{"program", "build", "user s", "user ratio", "interval", "best", "user+sys ratio",
			"wall ratio", "interval",
			"calls M", "calls M/s", "ns/call", "contexts", "bytes/context", "record KB", "binary ratio"},
		Notes: []string{overheadNote(s)},
	}
	sums := make(map[string]*summary) // by build
	var rows []*row
	for _, p := range s.Programs {
		for _, r := range compare(s, p) {
			rows = append(rows, r)
			t.Add(r.cells()...)
			if r.build == measure.Plain.Name {
				continue
			}
			if sums[r.build] == nil {
				sums[r.build] = &summary{build: r.build}
			}
			sums[r.build].add(r)
		}
		s.Save(t, summarize(s, sums))
	}
	if apart := ranApart(s.Series); len(apart) > 0 {
		t.Notes = append(t.Notes,
			"Builds ran one after another and not in turns, for lack of memory: "+strings.Join(apart, ", ")+".")
	}
	s.Tables = append(s.Tables, t, summarize(s, sums))
	if f := overheadFigure(rows, s.Options.Variants); len(f.Bars) > 0 {
		s.Figures = append(s.Figures, f)
	}
	if t := methods(rows); t != nil {
		s.Tables = append(s.Tables, t)
	}
	if err := s.AddPaper("lucce1"); err != nil {
		return err
	}
	if t := framework(rows); t != nil {
		s.Tables = append(s.Tables, t)
		return s.AddPaper("cccp3", "cccp4")
	}
	return nil
}

// ranApart returns the programs whose builds did not take turns.
func ranApart(series []*measure.Series) (names []string) {
	for _, one := range series {
		if name := one.Binary.Program.Name; one.Apart && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// overheadFigure has a bar for each program and build.
func overheadFigure(rows []*row, variants []measure.Variant) *chart.Figure {
	f := &chart.Figure{Name: "overhead", Title: "User time, to plain", Y: "ratio"}
	for _, r := range rows {
		if !slices.Contains(f.Groups, r.program) {
			f.Groups = append(f.Groups, r.program)
		}
	}
	for _, v := range variants {
		if !v.Instrumented() {
			continue // race is so slow that the others would be hard to see
		}
		bars := chart.Bars{Name: v.Name, Values: make([]float64, len(f.Groups))}
		for i := range bars.Values {
			bars.Values[i] = math.NaN()
		}
		for _, r := range rows {
			if r.build == v.Name {
				bars.Values[slices.Index(f.Groups, r.program)] = r.userRatio.Median
			}
		}
		if slices.ContainsFunc(bars.Values, func(x float64) bool { return x > 0 }) {
			f.Bars = append(f.Bars, bars)
		}
	}
	return f
}

// overheadNote returns how to read the table, and what the papers measured.
func overheadNote(s *session.Session) string {
	c := stats.MedianInterval(make([]float64, s.Options.Rounds)).Coverage
	return strings.Join([]string{
		fmt.Sprintf("Ratios: median over %d rounds of a build to plain beside it, up to eight builds taking turns of "+
			"some hundredths of a second;", s.Options.Rounds),
		fmt.Sprintf("the interval covers the true median with a probability of %.1f %%; builds with fewer rounds, "+
			"for comparison only, with less.", 100*c),
		"best: the shortest run of a build to the shortest plain run. What disturbs a run makes it longer, so that " +
			"this is the better figure on a busy machine; it has no interval.",
		`"plain again" is a second copy of the plain program: how far it is from 1 is noise.`,
		"calls: as engine cct counts them, inlined calls and natives included; M/s: per second of the plain " +
			"program's user time.",
		"ns/call: user time added per call. bytes/context, record: of the live directory, on disk. pcc only computes " +
			"and records nothing; none is stemma's runtime without instrumentation.",
		"Landmarks: pprof is runtime/pprof at 100 Hz; fgprof at 99 Hz; memprofile is MemProfileRate=1; race is the " +
			"race detector. " +
			"pprof and fgprof wrap main, so gofmt and compile, which end with os.Exit, go without.",
		"Left out: callgrind, which simulates the processor, runs one thread at a time and takes stacks for " +
			"those of C; " +
			"and uftrace, which needs entry hooks (-pg, -finstrument-functions) that Go's compiler does not emit. " +
			"runtime.Callers for each event is in the table of events.",
		papers.DACCEOverhead, papers.CCCPOverhead, papers.LucceOverhead, papers.SamplingOverhead,
		"The programs, languages and machines of the papers are others; compare at like call rates only.",
	}, "\n")
}

// compare builds and runs p in all variants and returns a row for each that
// has worked.
func compare(s *session.Session, p *program.Program) []*row {
	dir := filepath.Join(s.Bench.Work, p.Name)
	defer os.RemoveAll(dir)
	bins, err := build(s, p, dir)
	if err != nil {
		s.Problem("%s: skipped: %v", p.Name, err)
		return nil
	}
	series := s.Bench.Rounds(bins, s.Options.Rounds, session.Tell)
	s.Series = append(s.Series, series...)
	s.Problems = append(s.Problems, measure.Problems(series)...)
	if series[0].Err != nil {
		return nil // there is nothing to compare with; the problems say why
	}
	calls := callsOf(series)
	s.Checksums[p.Name] = series[0].WarmUp.Checksum
	s.Counts[p.Name] = session.Count{Calls: calls, User: stats.Median(series[0].Values(measure.User))}
	return rowsOf(series, calls)
}

// rowsOf compares each of series that has runs, which countOnly has not, with the first.
func rowsOf(series []*measure.Series, calls uint64) []*row {
	var rows []*row
	for _, one := range series {
		if one.Err == nil && len(one.Runs) > 0 {
			rows = append(rows, newRow(one, series[0], calls))
		}
	}
	return rows
}

// callsOf returns how often functions were called, 0 if nothing has counted it.
func callsOf(series []*measure.Series) uint64 {
	for _, one := range series {
		if one.Err == nil && session.CountsCalls(one.Binary.Variant) {
			return one.Record.Calls
		}
	}
	return 0
}

// build builds all variants of p, the plain one first. A variant that cannot
// be built is a problem; without the plain one there is nothing to compare.
func build(s *session.Session, p *program.Program, dir string) ([]*measure.Binary, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := p.SetUp(dir); err != nil {
		return nil, err
	}
	variants := slices.DeleteFunc(overheadVariants(s), func(v measure.Variant) bool {
		return !s.Available(v) || v.Few && !s.Landmarks(p) ||
			v.Wrap != "" && !p.Module // see the problems, or the note below the table
	})
	bins, errs := s.Bench.BuildAll(p, variants, session.Tell)
	if errs[0] != nil {
		return nil, errs[0]
	}
	for i, err := range errs {
		if err != nil {
			s.Failed(p.Name, variants[i], err)
		}
	}
	return slices.DeleteFunc(bins, func(b *measure.Binary) bool { return b == nil }), nil
}

// row is what was measured of one build of one program.
type row struct {
	program, build  string
	user            float64 // median seconds
	userRatio       stats.Interval
	bestRatio       float64 // of the shortest user times
	wallRatio       stats.Interval
	cpuRatio        float64 // of user and system time together
	record          measure.Recorded
	calls           uint64  // 0 if they were not counted, or are not of this build
	rate            float64 // calls per second of the plain program's user time
	perCall         float64 // seconds of user time added
	bytesPerContext float64
	binaryRatio     float64
	memory          float64 // bytes that the peak of resident memory is larger
	isBase          bool
}

// newRow compares s with plain. calls is how often functions are called in a run.
func newRow(s, plain *measure.Series, calls uint64) *row {
	ratios := func(of func(measure.Run) float64) stats.Interval {
		return stats.MedianInterval(stats.Ratios(s.Values(of), s.PlainValues(of)))
	}
	r := &row{
		program: s.Binary.Program.Name, build: s.Binary.Variant.Name,
		user:        stats.Median(s.Values(measure.User)),
		userRatio:   ratios(measure.User),
		bestRatio:   slices.Min(s.Values(measure.User)) / slices.Min(s.PlainValues(measure.User)),
		wallRatio:   ratios(measure.Wall),
		cpuRatio:    ratios(measure.CPU).Median,
		binaryRatio: float64(s.Binary.Size) / float64(plain.Binary.Size),
		memory:      stats.Median(s.Values(peakOf)) - stats.Median(plain.Values(peakOf)),
		record:      s.Record,
		calls:       calls,
		isBase:      s == plain,
	}
	if s.Record.Calls > 0 {
		r.calls = s.Record.Calls // with -inlined=off fewer
	}
	if r.calls > 0 {
		base := stats.Median(plain.Values(measure.User))
		r.rate = float64(r.calls) / base
		r.perCall = (r.userRatio.Median - 1) * base / float64(r.calls)
	}
	if r.record.Contexts > 0 {
		r.bytesPerContext = float64(r.record.Bytes) / float64(r.record.Contexts)
	}
	return r
}

// cells returns the row of the table. What a build does not have is empty: a 0
// would look like a measurement.
func (r *row) cells() []string {
	cells := []string{r.program, r.build, session.Number(r.user, 2)}
	if r.isBase {
		cells = append(cells, "", "", "", "", "", "")
	} else {
		cells = append(cells, session.Number(r.userRatio.Median, 3), session.Span(r.userRatio),
			session.Number(r.bestRatio, 3),
			session.Number(r.cpuRatio, 3),
			session.Number(r.wallRatio.Median, 3), session.Span(r.wallRatio))
	}
	cells = append(cells, r.callCells()...)
	if r.record.Contexts > 0 {
		cells = append(cells, fmt.Sprint(r.record.Contexts), session.Number(r.bytesPerContext, 0))
	} else {
		cells = append(cells, "", "")
	}
	if r.record.Bytes > 0 {
		cells = append(cells, fmt.Sprint(r.record.Bytes>>10))
	} else {
		cells = append(cells, "")
	}
	if r.isBase {
		return append(cells, "")
	}
	return append(cells, session.Number(r.binaryRatio, 2))
}

// callCells returns the cells about calls, empty if nobody has counted them.
func (r *row) callCells() []string {
	switch {
	case r.calls == 0:
		return []string{"", "", ""}
	case r.isBase:
		return []string{session.Number(float64(r.calls)/1e6, 1), session.Number(r.rate/1e6, 0), ""}
	}
	return []string{session.Number(float64(r.calls)/1e6, 1), session.Number(r.rate/1e6, 0),
		session.Number(r.perCall*1e9, 2)}
}

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
func summarize(s *session.Session, sums map[string]*summary) *table.Table {
	t := &table.Table{
		Name: "geomean", Title: "Geometric means", Left: 1,
		Head: []string{"build", "programs", "user ratio", "worst", "in", "best", "worst", "in", "user+sys ratio",
			"worst", "in", "wall ratio", "worst", "in", "binary ratio", "worst", "in"},
	}
	for _, v := range append([]measure.Variant{measure.PlainAgain}, s.Options.Variants...) {
		sum := sums[v.Name]
		if sum == nil {
			continue
		}
		cells := []string{v.Name, fmt.Sprint(len(sum.rows))}
		for _, ratio := range []func(*row) float64{
			func(r *row) float64 { return r.userRatio.Median },
			func(r *row) float64 { return r.bestRatio },
			func(r *row) float64 { return r.cpuRatio },
			func(r *row) float64 { return r.wallRatio.Median },
			func(r *row) float64 { return r.binaryRatio },
		} {
			mean, worst, where := sum.over(ratio)
			cells = append(cells, session.Number(mean, 3), session.Number(worst, 3), where)
		}
		t.Add(cells...)
	}
	return t
}
