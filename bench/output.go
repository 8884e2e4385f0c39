package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/stemma-go/stemma/bench/internal/table"
)

// write prints the tables as text and writes them, and all runs, to files.
func (s *session) write(w io.Writer) error {
	if err := s.text(w); err != nil {
		return err
	}
	files := map[string]func(io.Writer) error{
		"tables.md":   s.markdown,
		"metrics.csv": s.metricsCSV,
		"runs.csv":    s.runsCSV,
		"runs.bench":  s.benchstat,
	}
	for _, t := range s.tables {
		files[t.Name+".csv"] = t.CSV
	}
	for _, f := range s.figures {
		files[f.Name+".svg"] = f.SVG
	}
	if err := os.MkdirAll(s.options.out, 0o755); err != nil {
		return err
	}
	for name, write := range files {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(s.options.out, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// head returns what a reader must know of the run as a whole.
func (s *session) head() [][2]string {
	return append(s.machine.Lines(), [2]string{"took", time.Since(s.machine.Start).Round(time.Second).String()})
}

// save writes the files as if more were the last tables, so that little is lost if bench
// is ended. They say that they are not all.
func (s *session) save(more ...*table.Table) {
	part := *s
	part.tables = append(slices.Clip(s.tables), more...)
	part.problems = append(slices.Clip(s.problems),
		"unfinished: this is what had been measured after "+time.Since(s.machine.Start).Round(time.Second).String())
	if err := part.write(io.Discard); err != nil {
		tell(err.Error())
	}
}

// text writes the problems first: whoever reads the tables must know them.
func (s *session) text(w io.Writer) error {
	var b bytes.Buffer
	if len(s.problems) > 0 {
		fmt.Fprintf(&b, "NOT VALID, problems: %d\n", len(s.problems))
		for _, p := range s.problems {
			fmt.Fprintln(&b, "-", p)
		}
		fmt.Fprintln(&b)
	}
	for _, l := range s.head() {
		fmt.Fprintf(&b, "%-8s %s\n", l[0], l[1])
	}
	for _, t := range s.tables {
		fmt.Fprintln(&b)
		if err := t.Text(&b); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// markdown writes what text writes, with links to the figures beside it.
func (s *session) markdown(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("# stemma, measured\n\n")
	if len(s.problems) > 0 {
		fmt.Fprintf(&b, "**Not valid, problems: %d**\n\n", len(s.problems))
		for _, p := range s.problems {
			fmt.Fprintln(&b, "-", strings.ReplaceAll(p, "\n", " "))
		}
		fmt.Fprintln(&b)
	}
	for _, l := range s.head() {
		fmt.Fprintf(&b, "- %s: %s\n", l[0], l[1])
	}
	for _, t := range s.tables {
		fmt.Fprintln(&b)
		if err := t.Markdown(&b); err != nil {
			return err
		}
	}
	for _, f := range s.figures {
		fmt.Fprintf(&b, "\n## %s\n\n![%s](%s.svg)\n", f.Title, f.Title, f.Name)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// runsCSV writes every run that counts.
func (s *session) runsCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"program", "build", "round", "user_s", "sys_s", "wall_s", "plain_user_s", "peak_bytes",
		"checksum"}}
	seconds := func(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }
	for _, one := range s.series {
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
func (s *session) benchstat(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: stemma/bench\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, s.machine.CPU)
	fmt.Fprintf(&b, "go: %s\nstemma: %s\n", s.machine.Go, s.machine.Commit)
	for _, one := range s.series {
		name := benchmarkName(one.Binary.Program.Name) + "/build=" + one.Binary.Variant.FileName()
		for _, r := range one.Runs {
			fmt.Fprintf(&b, "Benchmark%s 1 %d user-ns/op %d sys-ns/op %d ns/op %d peak-bytes\n",
				name, r.User.Nanoseconds(), r.System.Nanoseconds(), r.Wall.Nanoseconds(), r.Peak)
		}
	}
	for _, m := range s.metrics {
		fmt.Fprintf(&b, "Benchmark%s 1 %g %s\n", benchmarkName(m.name), m.value, m.unit)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// metricsCSV writes what the experiments other than overhead have measured.
func (s *session) metricsCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{"name", "value", "unit"}}
	for _, m := range s.metrics {
		rows = append(rows, []string{m.name, strconv.FormatFloat(m.value, 'g', -1, 64), m.unit})
	}
	return c.WriteAll(rows)
}

// benchmarkName returns name as it may follow the word Benchmark.
func benchmarkName(name string) string {
	r := []rune(name)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}
