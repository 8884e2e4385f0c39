package session

import (
	"encoding/csv"
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

// What is saved on the way says that it is not all, and what is written in the end does not.
func TestSave(t *testing.T) {
	s := &Session{Options: &Options{Out: t.TempDir()}}
	read := func() string {
		data, err := os.ReadFile(filepath.Join(s.Options.Out, "tables.md"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	s.Save(&table.Table{Name: "half", Title: "Half a table"})
	if got := read(); !strings.Contains(got, "- unfinished: ") || !strings.Contains(got, "Half a table") {
		t.Errorf("saved:\n%s", got)
	}
	if err := s.Write(io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := read(); strings.Contains(got, "unfinished") || strings.Contains(got, "Half") ||
		!strings.Contains(got, "- took: ") {
		t.Errorf("written:\n%s", got)
	}
}

func TestOutput(t *testing.T) {
	p := &program.Program{Name: "demo"}
	of := func(v measure.Variant, user time.Duration) *measure.Series {
		runs := []measure.Run{{User: user, Wall: 2 * time.Second}, {User: user, Wall: 2 * time.Second}}
		return &measure.Series{Binary: &measure.Binary{Program: p, Variant: v}, Runs: runs, Plain: runs}
	}
	s := &Session{
		Options:  &Options{Out: t.TempDir()},
		Problems: []string{"demo: skipped: no compiler"},
		Series:   []*measure.Series{of(measure.Plain, time.Second), of(EngineVariant("cct"), 1600*time.Millisecond)},
		Machine:  machine.Machine{CPU: "Fast", Go: "go1.26.8", Commit: "commit 1"},
	}
	var text strings.Builder
	if err := s.Write(&text); err != nil {
		t.Fatal(err)
	}
	if want := "NOT VALID, problems: 1\n- demo: skipped: no compiler\n"; !strings.HasPrefix(text.String(), want) {
		t.Errorf("text begins %.80q, want %q", text.String(), want)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(s.Options.Out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	rows, err := csv.NewReader(strings.NewReader(read("runs.csv"))).ReadAll()
	if err != nil || len(rows) != 5 || rows[3][1] != "cct" || rows[3][3] != "1.600000" {
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
