package measure

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/bench/internal/program"
)

// script makes a binary of a shell script that prints a checksum line and
// stands for a build of the program "demo".
func script(t *testing.T, v Variant, lines string) *Binary {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, "demo")
	for name, text := range map[string]string{"demo/go.mod": "module demo\n", "run": "#!/bin/sh\n" + lines + "\n"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all, err := program.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Dir != home {
		t.Fatalf("program in %s, want %s", all[0].Dir, home)
	}
	return &Binary{Program: all[0], Variant: v, Path: filepath.Join(dir, "run")}
}

func TestRoundsRotate(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute}
	bins := []*Binary{
		script(t, Plain, "echo checksum demo 1"),
		script(t, PlainAgain, "echo checksum demo 1"),
	}
	var order []string
	series := b.Rounds(bins, 2, func(s string) { order = append(order, s) })
	want := []string{
		"demo, round 0 of 2: plain", "demo, round 0 of 2: plain again",
		"demo, round 1 of 2: plain again", "demo, round 1 of 2: plain",
		"demo, round 2 of 2: plain", "demo, round 2 of 2: plain again",
	}
	if !slices.Equal(order, want) {
		t.Errorf("order\n%s\nwant\n%s", strings.Join(order, "\n"), strings.Join(want, "\n"))
	}
	for _, s := range series {
		if len(s.Runs) != 2 || s.Err != nil {
			t.Errorf("%s: %d runs, %v", s.Binary.Variant.Name, len(s.Runs), s.Err)
		}
	}
	if p := Problems(series); p != nil {
		t.Errorf("problems: %q", p)
	}
}

func TestRoundsReportProblems(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute}
	bins := []*Binary{
		script(t, Plain, "echo checksum demo 1"),
		script(t, Variant{Name: "other"}, "echo checksum demo 2"),
		script(t, Variant{Name: "broken"}, "echo a reason >&2; exit 4"),
		script(t, Variant{Name: "silent"}, "true"),
	}
	got := strings.Join(Problems(b.Rounds(bins, 1, func(string) {})), "\n")
	for _, want := range []string{
		`demo, other: round 1: checksum "demo 2", want "demo 1"`,
		"demo, broken: run: exit status 4\n\ta reason",
		"demo, silent: run: no line",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("problems\n%s\ndo not have %q", got, want)
		}
	}
}

func TestRoundsEndWithThePlainProgram(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute}
	runs := 0
	series := b.Rounds([]*Binary{
		script(t, Plain, "exit 1"),
		script(t, PlainAgain, "echo checksum demo 1"),
	}, 3, func(string) { runs++ })
	if runs != 1 {
		t.Errorf("%d runs, want 1", runs)
	}
	if p := Problems(series); len(p) != 1 {
		t.Errorf("problems: %q, want one", p)
	}
}

func TestRunTakesTooLong(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: 50 * time.Millisecond}
	_, err := b.Run(script(t, Plain, "exec sleep 20"), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "stopped after") {
		t.Errorf("got %v", err)
	}
}

func TestRoundsOfAVariantAreLimited(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute}
	series := b.Rounds([]*Binary{
		script(t, Plain, "echo checksum demo 1"),
		script(t, Variant{Name: "landmark", Rounds: 2}, "echo checksum demo 1"),
	}, 4, func(string) {})
	if n, m := len(series[0].Runs), len(series[1].Runs); n != 4 || m != 2 {
		t.Errorf("%d and %d runs, want 4 and 2", n, m)
	}
}

func TestRunsHaveTheEnvironmentOfTheVariant(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute}
	bin := script(t, Variant{Name: "env", Env: []string{"WHAT=ever"}}, "echo checksum demo $WHAT")
	if r, err := b.Run(bin, t.TempDir()); err != nil || r.Checksum != "demo ever" {
		t.Errorf("got %+v, %v", r, err)
	}
}
