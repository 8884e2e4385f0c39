package diff

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/profile"
)

// maxBenchmarks is the size of the largest text of benchmarks, in bytes.
const maxBenchmarks = 64 << 20

// readBenchmarks reads a text that 'stemma test -bench' has printed, nil if the file is something else.
func readBenchmarks(path string) (*diff.Benchmarks, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxBenchmarks {
		return nil, nil //nolint:nilerr // whoever reads it as a record reports it
	}
	text, err := os.ReadFile(path)
	if err != nil || bytes.IndexByte(text[:min(len(text), 512)], 0) >= 0 {
		return nil, nil //nolint:nilerr // as above
	}
	b, ok, err := diff.ReadBenchmarks(bytes.NewReader(text), profile.Printable(path))
	if !ok || err != nil {
		return nil, nil //nolint:nilerr // a line that is too long is none of a benchmark
	}
	return b, nil
}

// benchmarkSides reads both sides if they are texts of benchmarks. One that is not is an error if the other one is.
// None is if one of them is in a store.
func benchmarkSides(paths []string, stored map[string][]string) (sides [2]*diff.Benchmarks, ok bool, err error) {
	if stored != nil {
		return sides, false, nil
	}
	for i, path := range paths {
		// What a side is has to be looked at, and then it is read from its beginning.
		if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			return sides, false, base.Usagef("%s is a pipe, which can be read once only; write it to a file and "+
				"name that", profile.Printable(path))
		}
		if sides[i], err = readBenchmarks(path); err != nil {
			return sides, false, err
		}
	}
	for i, s := range sides {
		if other := sides[1-i]; s == nil && other != nil {
			return sides, false, fmt.Errorf("%s has results of benchmarks, and %s has none; compare two texts of "+
				"'stemma test -bench', or two records", other.Name, profile.Printable(paths[i]))
		}
	}
	return sides, sides[0] != nil, nil
}

// recordsOnly are the flags that mean nothing for benchmarks.
var recordsOnly = []string{"gate", "by", "ignore", "annotate", "repeats", "chance", "renames", "force"}

// runBenchmarks compares two texts of benchmarks.
func runBenchmarks(e *base.Env, fs *flag.FlagSet, o *diffFlags, sides [2]*diff.Benchmarks) error {
	var given []string
	fs.Visit(func(f *flag.Flag) {
		for _, name := range recordsOnly {
			if f.Name == name {
				given = append(given, "-"+name)
			}
		}
	})
	if given != nil {
		return base.Usagef("diff: %s is for records; for benchmarks give limits, such as -fail-over 'calls/op>0'",
			strings.Join(given, ", "))
	}
	if err := checkFormat(fs, o); err != nil {
		return err
	}
	if o.Format == "benchmark" {
		return base.Usagef("diff: -format=benchmark: they are benchmarks; give both texts to benchstat")
	}
	hard, err := benchmarkLimits("fail-over", o.failOver)
	if err != nil {
		return err
	}
	soft, err := benchmarkLimits("warn-over", o.warnOver)
	if err != nil {
		return err
	}
	d, err := diff.CompareBenchmarks(sides[0], sides[1])
	if err != nil {
		return err
	}
	if o.metric != "" {
		if d.Units, err = chosenUnits(d, strings.Split(o.metric, ",")); err != nil {
			return err
		}
	}
	over, err := exceededBenchmarks(d, hard)
	if err != nil {
		return err
	}
	warn, err := exceededBenchmarks(d, soft)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(e.Stdout)
	if err := printBenchmarks(w, d, o); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, line := range warn {
		fmt.Fprintf(e.Stderr, "stemma: warning: %s\n", line)
	}
	if over != nil {
		return &base.Error{Code: base.ExitRegression, Err: errors.New("diff: " + strings.Join(over, "; "))}
	}
	return nil
}

// benchmarkLimits parses the limits of a flag.
func benchmarkLimits(name string, texts []string) (limits []diff.Limit, err error) {
	for _, text := range texts {
		list, err := diff.ParseBenchmarkLimits(text)
		if err != nil {
			return nil, base.Usagef("diff: -%s: %w", name, err)
		}
		limits = append(limits, list...)
	}
	return limits, nil
}

// chosenUnits returns the units that are asked for.
func chosenUnits(d *diff.BenchmarkDiff, asked []string) ([]string, error) {
	have := "," + strings.Join(d.Units, ",") + ","
	for _, unit := range asked {
		if !strings.Contains(have, ","+unit+",") {
			return nil, fmt.Errorf("-metric: %s is not exact in both texts (have %s)", unit,
				strings.Join(d.Units, ", "))
		}
	}
	return asked, nil
}

// exceededBenchmarks says what exceeds limits.
func exceededBenchmarks(d *diff.BenchmarkDiff, limits []diff.Limit) (lines []string, err error) {
	for _, l := range limits {
		over, err := d.Over(l)
		if err != nil {
			return nil, err
		}
		if len(over) == 0 {
			continue
		}
		c := over[0]
		line := fmt.Sprintf("%s of %s: %s → %s (%s), limit %s", l.Metric, profile.Printable(c.New.Benchmark),
			perOp(c.Base), perOp(c.New), percent(c), l.Text)
		if more := len(over) - 1; more > 0 {
			line += fmt.Sprintf(", and %s more", humanize.Plural(more, "benchmark"))
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// decimal returns a number with commas, and with up to three digits behind the point.
func decimal(n float64) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	whole, rest := math.Modf(math.Round(n*1000) / 1000)
	text := sign + humanize.Commas(uint64(whole))
	if rest > 0 {
		text += strings.TrimRight(fmt.Sprintf("%.3f", rest)[1:], "0")
	}
	return text
}

// perOp returns the number of a result, or from what to what it varies.
func perOp(r diff.BenchmarkResult) string {
	if r.Low == r.High {
		return decimal(r.Low)
	}
	return decimal(r.Low) + "–" + decimal(r.High)
}

// percent returns by how much a benchmark has grown.
func percent(c diff.BenchmarkChange) string {
	n := c.Growth()
	of := c.Base.High
	if n < 0 {
		of = c.Base.Low
	}
	if of == 0 {
		return "new"
	}
	return fmt.Sprintf("%+.2f%%", 100*n/of)
}

// difference returns the growth with its sign.
func difference(c diff.BenchmarkChange) string {
	if c.Growth() > 0 {
		return "+" + decimal(c.Growth())
	}
	return decimal(c.Growth())
}

// printBenchmarks prints the difference in the format that was asked for.
func printBenchmarks(w io.Writer, d *diff.BenchmarkDiff, o *diffFlags) error {
	if o.Format == "json" {
		return writeBenchmarksJSON(w, d)
	}
	markdown, name := o.Format == "markdown", profile.Printable
	side, note := "%-5s %s\n", "note: only %s has %s\n"
	if markdown {
		name = func(s string) string { return cell(profile.Printable(s)) }
		side, note = "%s %s\n\n", "- only %s has %s\n"
	}
	for i, s := range d.Sides {
		fmt.Fprintf(w, side, []string{"base", "new"}[i], name(s.Name))
	}
	for i, names := range d.Only {
		for _, n := range names {
			fmt.Fprintf(w, note, name(d.Sides[i].Name), name(n))
		}
	}
	for _, unit := range d.Units {
		of, varying := 0, 0
		for _, c := range d.Changes {
			if c.New.Unit == unit {
				of++
				if c.Varies() {
					varying++
				}
			}
		}
		changed := d.Changed(unit)
		fmt.Fprintf(w, "\n%s: %d of %s changed", name(unit), len(changed), humanize.Plural(of, "benchmark"))
		if varying > 0 {
			fmt.Fprintf(w, "; %d %s from line to line, and have changed only where all lines have", varying,
				humanize.Noun(varying, "varies", "vary"))
		}
		fmt.Fprintln(w)
		if len(changed) > 0 {
			benchmarkRows(w, changed, o.Top, markdown, name)
		}
	}
	return nil
}

// benchmarkRows prints a table of changes, with names as name writes them.
func benchmarkRows(w io.Writer, changed []diff.BenchmarkChange, top int, markdown bool, name func(string) string) {
	form := "%15s %15s %15s %10s  %s\n"
	fmt.Fprintln(w)
	if markdown {
		form = "| %s | %s | %s | %s | %s |\n"
		fmt.Fprint(w, "| base | new | difference | % | benchmark |\n| ---: | ---: | ---: | ---: | --- |\n")
	} else {
		fmt.Fprintf(w, form, "base", "new", "difference", "%", "benchmark")
	}
	for i, c := range changed {
		if top >= 0 && i == top {
			fmt.Fprintf(w, "\nand %s more; -top=-1 lists all\n", humanize.Plural(len(changed)-i, "benchmark"))
			break
		}
		fmt.Fprintf(w, form, perOp(c.Base), perOp(c.New), difference(c), percent(c), name(c.New.Benchmark))
	}
}

// The JSON form of benchmarks: all that both sides have, changed or not.
type (
	jsonBenchmarks struct {
		Base       string          `json:"base"`
		New        string          `json:"new"`
		OnlyBase   []string        `json:"onlyBase"`
		OnlyNew    []string        `json:"onlyNew"`
		Benchmarks []jsonBenchmark `json:"benchmarks"`
	}
	jsonBenchmark struct {
		Name   string     `json:"name"`
		Unit   string     `json:"unit"`
		Base   [2]float64 `json:"base"` // the least and the most
		New    [2]float64 `json:"new"`
		Growth float64    `json:"growth"`
	}
)

func writeBenchmarksJSON(w io.Writer, d *diff.BenchmarkDiff) error {
	out := jsonBenchmarks{Base: d.Sides[0].Name, New: d.Sides[1].Name, OnlyBase: append([]string{}, d.Only[0]...),
		OnlyNew: append([]string{}, d.Only[1]...), Benchmarks: []jsonBenchmark{}}
	for _, unit := range d.Units {
		for _, c := range d.Changes {
			if c.New.Unit == unit {
				out.Benchmarks = append(out.Benchmarks, jsonBenchmark{c.New.Benchmark, unit,
					[2]float64{c.Base.Low, c.Base.High}, [2]float64{c.New.Low, c.New.High}, c.Growth()})
			}
		}
	}
	j := json.NewEncoder(w)
	j.SetIndent("", "\t")
	return j.Encode(out)
}
