package diff

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Benchmarks are what 'stemma test -bench' has printed: the results of benchmarks in Go's format.
type Benchmarks struct {
	Name    string
	Results []BenchmarkResult // in the order of the text
	Exact   []string          // the units that a line "Unit … assume=exact" marks, in the order of the text
	Failed  string            // the first line about a test or package that failed, "" if none has
}

// A BenchmarkResult is what a benchmark has in a unit, by operation: from the least to the most of all its lines.
type BenchmarkResult struct {
	Benchmark string // with the package before it, if the text names it
	Unit      string
	Low, High float64
}

var (
	resultLine = regexp.MustCompile(`^(Benchmark\S*)\s+\d+((?:\s+\S+\s+\S+)+)\s*$`)
	unitLine   = regexp.MustCompile(`^Unit\s+(\S+)\s(?:.*\s)?assume=exact(?:\s|$)`)
	failedLine = regexp.MustCompile(`^(?:\s*--- FAIL|FAIL\b|panic: )`)
)

// ReadBenchmarks reads a text. ok is false if it has no results of benchmarks: it is something else.
func ReadBenchmarks(r io.Reader, name string) (b *Benchmarks, ok bool, err error) {
	b = &Benchmarks{Name: name}
	index := make(map[[2]string]int)
	pkg := ""
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if p, is := strings.CutPrefix(line, "pkg: "); is {
			pkg = strings.TrimSpace(p) + "."
		} else if m := unitLine.FindStringSubmatch(line); m != nil && !slices.Contains(b.Exact, m[1]) {
			b.Exact = append(b.Exact, m[1])
		} else if m := resultLine.FindStringSubmatch(line); m != nil {
			ok = b.add(index, pkg+m[1], strings.Fields(m[2])) || ok
		} else if failedLine.MatchString(line) && b.Failed == "" {
			b.Failed = line
		}
	}
	return b, ok, lines.Err()
}

// add adds the values and units of a line, and reports whether it is one of results.
func (b *Benchmarks) add(index map[[2]string]int, benchmark string, fields []string) bool {
	for ; len(fields) >= 2; fields = fields[2:] {
		n, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			return false
		}
		key := [2]string{benchmark, fields[1]}
		i, ok := index[key]
		if !ok {
			i = len(b.Results)
			index[key] = i
			b.Results = append(b.Results, BenchmarkResult{benchmark, fields[1], n, n})
		}
		r := &b.Results[i]
		r.Low, r.High = min(r.Low, n), max(r.High, n)
	}
	return true
}

// A BenchmarkChange is a benchmark on both sides, in a unit.
type BenchmarkChange struct {
	Base, New BenchmarkResult
}

// Growth returns by how much the new side is more than the base, or less. A benchmark that varies has not changed where
// the two sides overlap. Numbers have three digits, and so has the difference.
func (c BenchmarkChange) Growth() float64 {
	switch {
	case c.New.Low > c.Base.High:
		return thousandths(c.New.Low - c.Base.High)
	case c.New.High < c.Base.Low:
		return thousandths(c.New.High - c.Base.Low)
	}
	return 0
}

// thousandths rounds away what subtracting decimal fractions adds.
func thousandths(n float64) float64 { return math.Round(n*1000) / 1000 }

// Varies reports whether a side has several numbers.
func (c BenchmarkChange) Varies() bool { return c.Base.Low < c.Base.High || c.New.Low < c.New.High }

// A BenchmarkDiff is what two texts have in common.
type BenchmarkDiff struct {
	Sides   [2]*Benchmarks
	Units   []string // that are exact on both sides
	Changes []BenchmarkChange
	Only    [2][]string // benchmarks that only one side has
}

// CompareBenchmarks compares the exact units of the benchmarks that both texts have.
func CompareBenchmarks(base, new *Benchmarks) (*BenchmarkDiff, error) {
	d := &BenchmarkDiff{Sides: [2]*Benchmarks{base, new}}
	for _, s := range d.Sides {
		if len(s.Exact) == 0 {
			return nil, fmt.Errorf("%s: no unit of its benchmarks is exact; make the text with 'stemma test -bench'",
				s.Name)
		}
		if s.Failed != "" {
			return nil, fmt.Errorf("%s: the run has failed, and what it printed may lack something: %s", s.Name,
				strings.TrimSpace(s.Failed))
		}
	}
	for _, unit := range base.Exact {
		if slices.Contains(new.Exact, unit) {
			d.Units = append(d.Units, unit)
		}
	}
	var has [2]map[string]bool
	results := make(map[[2]string]BenchmarkResult)
	for i, s := range d.Sides {
		has[i] = make(map[string]bool)
		for _, r := range s.Results {
			has[i][r.Benchmark] = true
			if i == 0 {
				results[[2]string{r.Benchmark, r.Unit}] = r
			} else if b, ok := results[[2]string{r.Benchmark, r.Unit}]; ok && slices.Contains(d.Units, r.Unit) {
				d.Changes = append(d.Changes, BenchmarkChange{b, r})
			}
		}
	}
	for i, s := range d.Sides {
		if lacks := lacking(s, d.Sides[1-i], d.Units); lacks != "" {
			return nil, fmt.Errorf("%s: %s; what that run printed on standard error reports why", d.Sides[1-i].Name,
				lacks)
		}
	}
	for i := range d.Only {
		for _, r := range d.Sides[i].Results {
			if !has[1-i][r.Benchmark] && !slices.Contains(d.Only[i], r.Benchmark) {
				d.Only[i] = append(d.Only[i], r.Benchmark)
			}
		}
	}
	if len(d.Changes) == 0 {
		return nil, fmt.Errorf("%s and %s have no benchmark with an exact unit in common; run both with the same "+
			"flags, and the same -cpu", base.Name, new.Name)
	}
	return d, nil
}

// lacking names a benchmark of another text, and a unit that s has of it and the other one has not, "" if there is
// none.
func lacking(s, other *Benchmarks, units []string) string {
	has, known := make(map[string]bool), make(map[[2]string]bool)
	for _, r := range other.Results {
		has[r.Benchmark], known[[2]string{r.Benchmark, r.Unit}] = true, true
	}
	for _, r := range s.Results {
		if has[r.Benchmark] && slices.Contains(units, r.Unit) && !known[[2]string{r.Benchmark, r.Unit}] {
			return fmt.Sprintf("%s has no %s", r.Benchmark, r.Unit)
		}
	}
	return ""
}

// Changed returns what has changed in a unit, the largest growth first.
func (d *BenchmarkDiff) Changed(unit string) (list []BenchmarkChange) {
	for _, c := range d.Changes {
		if c.New.Unit == unit && c.Growth() != 0 {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b BenchmarkChange) int { return cmp.Compare(b.Growth(), a.Growth()) })
	return list
}

// benchmarkLimitForm is what messages say a limit of benchmarks is.
const benchmarkLimitForm = "want UNIT[@PATTERN]>AMOUNT, such as calls/op>0 or B/op@BenchmarkParse*>1%+64"

// ParseBenchmarkLimits parses a list of limits for benchmarks. The metric of a limit is a unit.
//
//	limit = unit ["@" pattern] ">" amount
func ParseBenchmarkLimits(text string) (limits []Limit, err error) {
	for _, part := range splitLimits(text) {
		l := Limit{Text: strings.TrimSpace(part)}
		what, amount, ok := strings.Cut(l.Text, ">")
		if !ok {
			return nil, fmt.Errorf("limit %q: no >; %s", l.Text, benchmarkLimitForm)
		}
		unit, pattern, hasPattern := strings.Cut(what, "@")
		if l.Metric = strings.TrimSpace(unit); l.Metric == "" || strings.ContainsAny(l.Metric, " \t") {
			return nil, fmt.Errorf("limit %q: %q is no unit; %s", l.Text, unit, benchmarkLimitForm)
		}
		if hasPattern {
			p, err := NewPattern(strings.TrimSpace(pattern))
			if err != nil {
				return nil, fmt.Errorf("limit %q: %w", l.Text, err)
			}
			l.Pattern = &p
		}
		if err := l.parseAmount(strings.TrimSpace(amount)); err != nil {
			return nil, fmt.Errorf("limit %q: %w", l.Text, err)
		}
		if l.Unit == "bytes" && !strings.Contains(l.Metric, "B/") ||
			l.Unit == "nanoseconds" && !strings.Contains(l.Metric, "ns/") {
			return nil, fmt.Errorf("limit %q: %s is not counted in %s", l.Text, l.Metric, l.Unit)
		}
		limits = append(limits, l)
	}
	return limits, nil
}

// Over returns the benchmarks that exceed a limit, the largest growth first. A limit that guards nothing is an error.
func (d *BenchmarkDiff) Over(l Limit) (over []BenchmarkChange, err error) {
	if !slices.Contains(d.Units, l.Metric) {
		return nil, fmt.Errorf("limit %q: %s is not exact in both texts (%s are); record it on both sides, or leave "+
			"the limit out", l.Text, l.Metric, strings.Join(d.Units, ", "))
	}
	matched := false
	for _, c := range d.Changes {
		if c.New.Unit == l.Metric && (l.Pattern == nil || l.matches(c.New.Benchmark)) {
			matched = true
		}
	}
	if !matched {
		return nil, fmt.Errorf("limit %q: no benchmark of both texts matches; a limit that guards nothing is a mistake",
			l.Text)
	}
	for _, c := range d.Changed(l.Metric) {
		if l.Pattern != nil && !l.matches(c.New.Benchmark) {
			continue
		}
		if c.Growth() > 0 && c.Growth() > thousandths(l.Percent/100*c.Base.High+l.Amount) {
			over = append(over, c)
		}
	}
	return over, nil
}

// matches reports whether the pattern matches a benchmark: its whole name, or that without the package.
func (l Limit) matches(benchmark string) bool {
	at := strings.Index(benchmark, ".Benchmark")
	return l.Pattern.Match(benchmark) || at >= 0 && l.Pattern.Match(benchmark[at+1:])
}
