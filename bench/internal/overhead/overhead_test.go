package overhead

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/stats"
)

// TestOverheadFigure leaves out what has no bar: rivals, and a build that has failed
// everywhere.
func TestOverheadFigure(t *testing.T) {
	var variants []measure.Variant
	for _, s := range []string{"race", "dacce", "cct"} {
		v, err := measure.ParseVariant(s)
		if err != nil {
			t.Fatal(err)
		}
		variants = append(variants, v)
	}
	rows := []*row{
		{program: "a", build: "race", userRatio: stats.Interval{Median: 10}},
		{program: "a", build: "cct", userRatio: stats.Interval{Median: 1.1}},
	}
	if f := overheadFigure(rows[:1], variants); len(f.Bars) > 0 {
		t.Errorf("of race alone: %+v", f.Bars)
	}
	if f := overheadFigure(rows, variants); len(f.Bars) != 1 || f.Bars[0].Name != "cct" || f.Bars[0].Values[0] != 1.1 {
		t.Errorf("bars: %+v", f.Bars)
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
		Record: measure.Recorded{Calls: 100_000_000, Contexts: 1000, Bytes: 80_000},
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
	dacce.Record = measure.Recorded{Engine: "dacce", Encoding: new(measure.Encoding), Bytes: 4096}
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
	for args, want := range map[string]bool{"dacce": true, "cct": false, "dacce,cct": false} {
		o := new(session.Options)
		for name := range strings.SplitSeq(args, ",") {
			v, err := measure.ParseVariant(name)
			if err != nil {
				t.Fatal(err)
			}
			o.Variants = append(o.Variants, v)
		}
		all := overheadVariants(&session.Session{Options: o})
		if got := all[len(all)-1].Name == session.CountOnly.Name; got != want {
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
	if session.Number(mean, 6) != "2.000000" || worst != 4 || where != "b" {
		t.Errorf("got %v, %v in %s", mean, worst, where)
	}
}

func TestFramework(t *testing.T) {
	at := func(program, build string, ratio float64) *row {
		return &row{program: program, build: build, user: 2,
			userRatio: stats.Interval{Median: ratio, Low: ratio, High: ratio}}
	}
	rows := []*row{
		at("a", "plain", 1), at("a", "none", 1), at("a", "cct -inlined=off", 1.1), at("a", "cct", 4),
		at("b", "plain", 1), at("b", "cct", 9), // without the framework there is nothing to split
		at("c", "plain", 1), at("c", "none", 1), at("c", "cct", 1),
	}
	got := framework(rows)
	if len(got.Rows) != 3 || got.Rows[0][0] != "a" || got.Rows[1][0] != "c" {
		t.Fatalf("rows %v", got.Rows)
	}
	if got, want := strings.Join(got.Rows[2], "|"), "geometric mean||1.000||1.100||2.000|"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if framework(rows[:1]) != nil {
		t.Error("a table without rows")
	}
}

// TestMethods has a row for each engine that was measured, with medians and the worst program.
func TestMethods(t *testing.T) {
	of := func(program, build string, ratio, memory float64, record int64) *row {
		return &row{program: program, build: build, userRatio: stats.Interval{Median: ratio}, binaryRatio: 1.5,
			memory: memory * (1 << 20), record: measure.Recorded{Bytes: record << 10}}
	}
	if m := methods([]*row{of("a", "race", 10, 1, 1)}); m != nil {
		t.Errorf("of race alone: %v", m.Rows)
	}
	m := methods([]*row{of("a", "lucce", 1, 1, 3), of("b", "lucce", 4, 3, 5), of("a", "race", 10, 1, 1)})
	if got, want := strings.Join(m.Rows[0], "|"),
		"lucce|code in each function; stopped only to begin a segment|yes|2.000|4.000|b|1.50|2.0|3.0|4|5"; got != want {
		t.Errorf("%d rows, got %s, want %s", len(m.Rows), got, want)
	}
}
