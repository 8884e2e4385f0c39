package main

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/table"
)

func TestParseFlags(t *testing.T) {
	for _, c := range []struct {
		args     string
		rounds   int
		variants string
	}{
		{"", 7, "cct, dacce, lucce, sample -every=1ms, sample -every=10ms, none, cct -inlined=off, pcce, pcc, sample " +
			"-every=100us, " +
			"cct,acct, pprof, fgprof, memprofile, race"},
		{"-quick", 3, "cct, dacce, sample -every=1ms"},
		{"-quick -rounds=5", 5, "cct, dacce, sample -every=1ms"},
		{"-variant=pcc -rounds=9", 9, "pcc"},
	} {
		o, err := parseFlags(strings.Fields(c.args))
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		var names []string
		for _, v := range o.variants {
			names = append(names, v.Name)
		}
		if got := strings.Join(names, ", "); got != c.variants || o.rounds != c.rounds {
			t.Errorf("%q: %d rounds of %s, want %d of %s", c.args, o.rounds, got, c.rounds, c.variants)
		}
	}
	for _, args := range []string{"-rounds=-1", "-variant=", "-only=nothing", "extra"} {
		if _, err := parseFlags(strings.Fields(args)); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// demo returns two series: plain with 1, 2 and 4 s, and an instrumented one
// that takes half as much again.
func demo() (plain, cct *measure.Series) {
	p := &program.Program{Name: "demo"}
	plain = &measure.Series{Binary: &measure.Binary{Program: p, Variant: measure.Plain, Size: 100}}
	cct = &measure.Series{
		Binary: &measure.Binary{Program: p, Variant: measure.Variant{Name: "cct", Flags: []string{"-engine=cct"}},
			Size: 150},
		Record: measure.Record{Calls: 100_000_000, Contexts: 1000, Bytes: 80_000},
	}
	for _, s := range []time.Duration{1, 2, 4} {
		plain.Runs = append(plain.Runs, measure.Run{User: s * time.Second, Wall: s * time.Second, Checksum: "a"})
		cct.Runs = append(cct.Runs,
			measure.Run{User: s * 1500 * time.Millisecond, Wall: s * 2 * time.Second, Checksum: "a"})
	}
	cct.Runs[0].User = 1600 * time.Millisecond // so that the best ratio is another one than the median
	plain.Plain, cct.Plain = plain.Runs, plain.Runs
	plain.WarmUp.Checksum, cct.WarmUp.Checksum = "a", "a"
	return plain, cct
}

func TestChosenExperiments(t *testing.T) {
	for args, want := range map[string]string{
		"":                     "overhead encoders events requests trees replay scaling sampling flat waiting",
		"-builds":              "overhead encoders events requests trees replay scaling sampling flat waiting builds",
		"-only=scaling,events": "events scaling",
		"-only=builds":         "builds",
	} {
		o, err := parseFlags(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range o.chosen() {
			names = append(names, e.name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
	for i, e := range experiments() {
		if experimentNames()[i] != e.name {
			t.Errorf("name %d is %s, but the experiment %s", i, experimentNames()[i], e.name)
		}
	}
}

func TestRow(t *testing.T) {
	plain, cct := demo()
	got := strings.Join(newRow(cct, plain, 100_000_000).cells(), "|")
	// 3 s of 100 M calls at a plain 2 s: 50 M/s, and 1 s more is 10 ns a call.
	want := "demo|cct|3.00|1.500|1.500..1.600|1.600|1.500|2.000|2.000..2.000|100.0|50|10.00|1000|80|78|1.50"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	got = strings.Join(newRow(plain, plain, 100_000_000).cells(), "|")
	if want := "demo|plain|2.00|||||||100.0|50|||||"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A variant that does not count calls takes the count from the one that does.
func TestRowWithoutCounts(t *testing.T) {
	plain, cct := demo()
	dacce := *cct
	dacce.Binary = &measure.Binary{Program: plain.Binary.Program,
		Variant: measure.Variant{Name: "dacce", Flags: []string{"-engine=dacce"}}, Size: 150}
	dacce.Record = measure.Record{Engine: "dacce", Encoding: new(measure.Encoding), Bytes: 4096}
	calls := callsOf([]*measure.Series{plain, &dacce, cct})
	if calls != 100_000_000 {
		t.Fatalf("%d calls, want those of cct", calls)
	}
	got := strings.Join(newRow(&dacce, plain, calls).callCells(), "|")
	if want := "100.0|50|10.00"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := strings.Join(newRow(&dacce, plain, 0).callCells(), "|"); got != "||" {
		t.Errorf("without a count: %s", got)
	}
}

// A build that only counts calls, or that has failed, has no row.
func TestRowsOf(t *testing.T) {
	plain, cct := demo()
	counted, failed := *cct, *cct
	counted.Runs = nil
	failed.Err = errors.New("broken")
	if rows := rowsOf([]*measure.Series{plain, &counted, cct, &failed}, 1); len(rows) != 2 || rows[1].build != "cct" {
		t.Errorf("%d rows", len(rows))
	}
}

func TestCallsAreAlwaysCounted(t *testing.T) {
	for args, want := range map[string]bool{"-variant=dacce": true, "-variant=cct": false,
		"-variant=dacce -variant=cct": false} {
		o, err := parseFlags(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		all := (&session{options: o}).overheadVariants()
		if got := all[len(all)-1].Name == countOnly.Name; got != want {
			t.Errorf("%s: a run that counts: %v, want %v", args, got, want)
		}
	}
}

func TestSummaryTellsTheWorst(t *testing.T) {
	s := &summary{build: "cct"}
	for name, ratio := range map[string]float64{"a": 1, "b": 4, "c": 2} {
		r := &row{program: name, binaryRatio: ratio}
		s.add(r)
	}
	mean, worst, where := s.over(func(r *row) float64 { return r.binaryRatio })
	if number(mean, 6) != "2.000000" || worst != 4 || where != "b" {
		t.Errorf("got %v, %v in %s", mean, worst, where)
	}
}

// What is saved on the way says that it is not all, and what is written in the end does not.
func TestSave(t *testing.T) {
	s := &session{options: &options{out: t.TempDir()}}
	read := func() string {
		data, err := os.ReadFile(filepath.Join(s.options.out, "tables.md"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	s.save(&table.Table{Name: "half", Title: "Half a table"})
	if got := read(); !strings.Contains(got, "- unfinished: ") || !strings.Contains(got, "Half a table") {
		t.Errorf("saved:\n%s", got)
	}
	if err := s.write(io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := read(); strings.Contains(got, "unfinished") || strings.Contains(got, "Half") ||
		!strings.Contains(got, "- took: ") {
		t.Errorf("written:\n%s", got)
	}
}

func TestOutput(t *testing.T) {
	plain, cct := demo()
	s := &session{
		options:  &options{out: t.TempDir()},
		problems: []string{"demo: skipped: no compiler"},
		series:   []*measure.Series{plain, cct},
		machine:  machine.Machine{CPU: "Fast", Go: "go1.26.8", Commit: "commit 1"},
	}
	var text strings.Builder
	if err := s.write(&text); err != nil {
		t.Fatal(err)
	}
	if want := "NOT VALID, problems: 1\n- demo: skipped: no compiler\n"; !strings.HasPrefix(text.String(), want) {
		t.Errorf("text begins %.80q, want %q", text.String(), want)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(s.options.out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	rows, err := csv.NewReader(strings.NewReader(read("runs.csv"))).ReadAll()
	if err != nil || len(rows) != 7 || rows[4][1] != "cct" || rows[4][3] != "1.600000" {
		t.Errorf("runs.csv: %v, %v", rows, err)
	}
	if want := "BenchmarkDemo/build=cct 1 1600000000 user-ns/op 0 sys-ns/op 2000000000 ns/op 0 " +
		"peak-bytes\n"; !strings.Contains(read("runs.bench"), want) {
		t.Errorf("runs.bench has no line %q:\n%s", want, read("runs.bench"))
	}
	if want := "**Not valid, problems: 1**"; !strings.Contains(read("tables.md"), want) {
		t.Errorf("tables.md does not tell %q", want)
	}
}

func TestTimeBuildsChangesTheSource(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "main.go")
	if err := os.WriteFile(name, []byte("package main\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	// Each build notes how long the source is.
	c := &measure.Command{Dir: dir, Args: []string{"sh", "-c", "wc -l <main.go >>lines"}}
	if _, err := timeBuilds(c); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "lines"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(strings.Fields(string(data)), " "), "1 3 3 5 5 7 7"; got != want {
		t.Errorf("lines at each build: %s, want %s", got, want)
	}
}

func TestEstimates(t *testing.T) {
	estimate := func(args string, programs []string) time.Duration {
		o, err := parseFlags(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		s := &session{options: o}
		for _, name := range programs {
			s.programs = append(s.programs, &program.Program{Name: name})
		}
		total := time.Duration(0)
		for _, e := range o.chosen() {
			total += e.estimate(s)
		}
		return total
	}
	if d := estimate("-quick", quickPrograms); d > 10*time.Minute {
		t.Errorf("-quick takes %v, want at most 10 minutes", d)
	}
	if d := estimate("", make([]string, 10)); d > 90*time.Minute || d < 30*time.Minute {
		t.Errorf("all takes %v, want at most 90 minutes, and a true estimate", d)
	}
}
