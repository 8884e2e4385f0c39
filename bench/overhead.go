package main

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

// countOnly is the variant that counts the calls of a program if no other does.
var countOnly = measure.Variant{Name: "count of calls", Flags: []string{"-engine=cct"}, Rounds: measure.WarmUpOnly}

// overheadTime estimates overhead.
func (s *session) overheadTime() time.Duration {
	variants := s.overheadVariants()
	runs := 2 * s.options.rounds // the plain program runs again for each group of builds
	for _, v := range variants {
		switch {
		case v.Rounds == measure.WarmUpOnly:
			runs++
		case v.Rounds > 0:
			runs += min(v.Rounds, s.options.rounds)
		default:
			runs += s.options.rounds
		}
	}
	return time.Duration(len(s.programs)) * (time.Duration(runs)*runTime + time.Duration(len(variants))*s.buildTime())
}

// overheadVariants are all that overhead builds, plain first.
func (s *session) overheadVariants() []measure.Variant {
	all := append([]measure.Variant{measure.Plain, measure.PlainAgain}, s.options.variants...)
	if !slices.ContainsFunc(all, countsCalls) {
		all = append(all, countOnly)
	}
	return all
}

// countsCalls tells whether v counts all calls, inlined ones too.
func countsCalls(v measure.Variant) bool {
	return v.Engine() == "cct" && !slices.Contains(v.Flags, "-inlined=off")
}

// overhead compares instrumented runs with plain ones.
func (s *session) overhead() error {
	t := &table.Table{
		Name: "overhead", Title: "Overhead", Left: 2,
		Head: []string{"program", "build", "user s", "user ratio", "interval", "best", "user+sys ratio",
			"wall ratio", "interval",
			"calls M", "calls M/s", "ns/call", "contexts", "bytes/context", "record KB", "binary ratio"},
		Notes: []string{s.overheadNote()},
	}
	sums := make(map[string]*summary) // by build
	var rows []*row
	for _, p := range s.programs {
		for _, r := range s.compare(p) {
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
		s.save(t, s.summarize(sums))
	}
	if len(s.apart) > 0 {
		t.Notes = append(t.Notes,
			"Builds ran one after another and not in turns, for lack of memory: "+strings.Join(s.apart, ", ")+".")
	}
	s.tables = append(s.tables, t, s.summarize(sums))
	if f := overheadFigure(rows, s.options.variants); len(f.Bars) > 0 {
		s.figures = append(s.figures, f)
	}
	if err := s.addPaper("lucce1"); err != nil {
		return err
	}
	if t := framework(rows); t != nil {
		s.tables = append(s.tables, t)
		return s.addPaper("cccp3", "cccp4")
	}
	return nil
}

// addPaper adds a table of a paper behind those that it is to be compared with.
func (s *session) addPaper(names ...string) error {
	for _, name := range names {
		t, err := papers.Table(name)
		if err != nil {
			return err
		}
		s.tables = append(s.tables, t)
	}
	return nil
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

// overheadNote tells how to read the table, and what the papers measured.
func (s *session) overheadNote() string {
	c := stats.MedianInterval(make([]float64, s.options.rounds)).Coverage
	return strings.Join([]string{
		fmt.Sprintf("Ratios: median over %d rounds of a build to plain beside it, up to eight builds taking turns of "+
			"some hundredths of a second;", s.options.rounds),
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
	if series[0].Err != nil {
		return nil // there is nothing to compare with; the problems say why
	}
	if series[0].Apart {
		s.apart = append(s.apart, p.Name)
	}
	calls := callsOf(series)
	s.checksums[p.Name] = series[0].WarmUp.Checksum
	s.counts[p.Name] = count{calls, stats.Median(series[0].Values(measure.User))}
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
		if one.Err == nil && countsCalls(one.Binary.Variant) {
			return one.Record.Calls
		}
	}
	return 0
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
	for _, v := range s.overheadVariants() {
		if !s.available(v) || v.Wrap != "" && !p.Module {
			continue // see the problems, or the note below the table
		}
		tell(fmt.Sprintf("build %s: %s", p.Name, v.Name))
		bin, err := s.bench.Build(p, v)
		if err != nil && v.Name == measure.Plain.Name {
			return nil, err
		}
		if err != nil {
			if s.isAvailable(v, err) {
				s.problem("%s, %s: skipped: %v", p.Name, v.Name, err)
			}
			continue
		}
		bins = append(bins, bin)
	}
	return bins, nil
}

// row is what was measured of one build of one program.
type row struct {
	program, build  string
	user            float64 // median seconds
	userRatio       stats.Interval
	bestRatio       float64 // of the shortest user times
	wallRatio       stats.Interval
	cpuRatio        float64 // of user and system time together
	record          measure.Record
	calls           uint64  // 0 if they were not counted, or are not of this build
	rate            float64 // calls per second of the plain program's user time
	perCall         float64 // seconds of user time added
	bytesPerContext float64
	binaryRatio     float64
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
	cells := []string{r.program, r.build, number(r.user, 2)}
	if r.isBase {
		cells = append(cells, "", "", "", "", "", "")
	} else {
		cells = append(cells, number(r.userRatio.Median, 3), span(r.userRatio), number(r.bestRatio, 3),
			number(r.cpuRatio, 3),
			number(r.wallRatio.Median, 3), span(r.wallRatio))
	}
	cells = append(cells, r.callCells()...)
	if r.record.Contexts > 0 {
		cells = append(cells, fmt.Sprint(r.record.Contexts), number(r.bytesPerContext, 0))
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
	return append(cells, number(r.binaryRatio, 2))
}

// callCells returns the cells about calls, empty if nobody has counted them.
func (r *row) callCells() []string {
	switch {
	case r.calls == 0:
		return []string{"", "", ""}
	case r.isBase:
		return []string{number(float64(r.calls)/1e6, 1), number(r.rate/1e6, 0), ""}
	}
	return []string{number(float64(r.calls)/1e6, 1), number(r.rate/1e6, 0), number(r.perCall*1e9, 2)}
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
		Head: []string{"build", "programs", "user ratio", "worst", "in", "best", "worst", "in", "user+sys ratio",
			"worst", "in", "wall ratio", "worst", "in", "binary ratio", "worst", "in"},
	}
	for _, v := range append([]measure.Variant{measure.PlainAgain}, s.options.variants...) {
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
			cells = append(cells, number(mean, 3), number(worst, 3), where)
		}
		t.Add(cells...)
	}
	return t
}
