package session

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/stemma-go/stemma/bench/internal/papers"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// Write prints the tables as text and writes them, and all runs, to files.
func (s *Session) Write(w io.Writer) error {
	if err := s.text(w); err != nil {
		return err
	}
	files := map[string]func(io.Writer) error{
		"tables.md":   s.markdown,
		"metrics.csv": s.metricsCSV,
		"runs.csv":    s.runsCSV,
		"runs.bench":  s.benchstat,
	}
	for _, t := range s.Tables {
		files[t.Name+".csv"] = t.CSV
	}
	for _, f := range s.Figures {
		files[f.Name+".svg"] = f.SVG
	}
	if err := os.MkdirAll(s.Options.Out, 0o755); err != nil {
		return err
	}
	for name, write := range files {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(s.Options.Out, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// head returns what a reader must know of the run as a whole.
func (s *Session) head() [][2]string {
	return append(s.Machine.Lines(), [2]string{"took", time.Since(s.Machine.Start).Round(time.Second).String()})
}

// Save writes the files as if more were the last tables, so that little is lost if bench
// is ended. They say that they are not all.
func (s *Session) Save(more ...*table.Table) {
	part := *s
	part.Tables = append(slices.Clip(s.Tables), more...)
	part.Problems = append(slices.Clip(s.Problems),
		"unfinished: this is what had been measured after "+time.Since(s.Machine.Start).Round(time.Second).String())
	if err := part.Write(io.Discard); err != nil {
		Tell(err.Error())
	}
}

// text writes the problems first: whoever reads the tables must know them.
func (s *Session) text(w io.Writer) error {
	var b bytes.Buffer
	if len(s.Problems) > 0 {
		fmt.Fprintf(&b, "NOT VALID, problems: %d\n", len(s.Problems))
		for _, p := range s.Problems {
			fmt.Fprintln(&b, "-", p)
		}
		fmt.Fprintln(&b)
	}
	for _, l := range s.head() {
		fmt.Fprintf(&b, "%-8s %s\n", l[0], l[1])
	}
	for _, t := range s.Tables {
		fmt.Fprintln(&b)
		if err := t.Text(&b); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// markdown writes what text writes, with links to the figures beside it.
func (s *Session) markdown(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("# stemma, measured\n\n")
	if len(s.Problems) > 0 {
		fmt.Fprintf(&b, "**Not valid, problems: %d**\n\n", len(s.Problems))
		for _, p := range s.Problems {
			fmt.Fprintln(&b, "-", strings.ReplaceAll(p, "\n", " "))
		}
		fmt.Fprintln(&b)
	}
	for _, l := range s.head() {
		fmt.Fprintf(&b, "- %s: %s\n", l[0], l[1])
	}
	for _, t := range s.Tables {
		fmt.Fprintln(&b)
		if err := t.Markdown(&b); err != nil {
			return err
		}
	}
	for _, f := range s.Figures {
		fmt.Fprintf(&b, "\n## %s\n\n![%s](%s.svg)\n", f.Title, f.Title, f.Name)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// runsCSV writes every run that counts.
func (s *Session) runsCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"program", "build", "round", "user_s", "sys_s", "wall_s", "plain_user_s", "peak_bytes",
		"checksum"}}
	seconds := func(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }
	for _, one := range s.Series {
		for i, r := range one.Runs {
			rows = append(rows, []string{
				one.Binary.Program.Name, one.Binary.Variant.Name, strconv.Itoa(i + 1),
				seconds(r.User.Seconds()), seconds(r.System.Seconds()), seconds(r.Wall.Seconds()),
				seconds(one.Plain[i].User.Seconds()),
				strconv.FormatInt(r.Peak, 10), r.Checksum,
			})
		}
	}
	return c.WriteAll(rows)
}

// benchstat writes every run that counts in the format of Go benchmarks:
// "benchstat -col /build runs.bench" compares the builds.
func (s *Session) benchstat(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: stemma/bench\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, s.Machine.CPU)
	fmt.Fprintf(&b, "go: %s\nstemma: %s\n", s.Machine.Go, s.Machine.Commit)
	for _, one := range s.Series {
		name := benchmarkName(one.Binary.Program.Name) + "/build=" + one.Binary.Variant.FileName()
		for _, r := range one.Runs {
			fmt.Fprintf(&b, "Benchmark%s 1 %d user-ns/op %d sys-ns/op %d ns/op %d peak-bytes\n",
				name, r.User.Nanoseconds(), r.System.Nanoseconds(), r.Wall.Nanoseconds(), r.Peak)
		}
	}
	for _, m := range s.Metrics {
		fmt.Fprintf(&b, "Benchmark%s 1 %g %s\n", benchmarkName(m.name), m.Value, m.unit)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// metricsCSV writes what the experiments other than overhead have measured.
func (s *Session) metricsCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"name", "value", "unit"}}
	for _, m := range s.Metrics {
		rows = append(rows, []string{m.name, strconv.FormatFloat(m.Value, 'g', -1, 64), m.unit})
	}
	return c.WriteAll(rows)
}

// benchmarkName returns name as it may follow the word Benchmark.
func benchmarkName(name string) string {
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// AddPaper adds a table of a paper behind those that it is to be compared with.
func (s *Session) AddPaper(names ...string) error {
	for _, name := range names {
		t, err := papers.Table(name)
		if err != nil {
			return err
		}
		s.Tables = append(s.Tables, t)
	}
	return nil
}

// Number formats v, or leaves it out if it is unknown.
func Number(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "?"
	}
	return fmt.Sprintf("%.*f", decimals, v)
}

func Span(i stats.Interval) string { return Number(i.Low, 3) + ".." + Number(i.High, 3) }
