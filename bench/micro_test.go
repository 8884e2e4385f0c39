package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
)

func TestParseFigures(t *testing.T) {
	got, err := parseFigures("here/depth=0 1.25 ns\nslog/plain 300 ns\n")
	if err != nil || len(got) != 2 || got["here/depth=0"] != 1.25 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, s := range []string{"here 1\n", "here one ns\n", "panic: no\n"} {
		if got, err := parseFigures(s); err == nil {
			t.Errorf("%q gives %v, want an error", s, got)
		}
	}
}

func TestNamesInOrderOfTheirNumbers(t *testing.T) {
	names := []string{"here/depth=100", "slog/plain", "here/depth=10", "here/depth=2", "callers/depth=1000"}
	slices.SortFunc(names, byNumber)
	if got, want := strings.Join(names, " "),
		"callers/depth=1000 here/depth=2 here/depth=10 here/depth=100 slog/plain"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestStacksAreCountedAcrossWrites(t *testing.T) {
	for size := 1; size < 20; size++ {
		var c counter
		text := strings.Repeat("main.branch←main.writeLog←main.main\n", 7)
		for chunk := range slices.Chunk([]byte(text), size) {
			if _, err := c.Write(chunk); err != nil {
				t.Fatal(err)
			}
		}
		if c.stacks != 7 {
			t.Errorf("in pieces of %d: %d stacks, want 7", size, c.stacks)
		}
	}
}

func TestCommandTellsWhy(t *testing.T) {
	s := &session{options: &options{timeout: time.Minute}}
	var out bytes.Buffer
	u, err := s.command(&out, strings.NewReader("in"), []string{"A=b"}, "sh", "-c", "cat; echo $A")
	if err != nil || out.String() != "inb\n" || u.peak == 0 {
		t.Errorf("got %q, %+v, %v", out.String(), u, err)
	}
	if _, err := s.command(&out, nil, nil, "sh", "-c", "echo why >&2; exit 2"); err == nil ||
		!strings.Contains(err.Error(), "why") {
		t.Errorf("got %v", err)
	}
	s.options.timeout = 20 * time.Millisecond
	if _, err := s.command(&out, nil, nil, "sleep", "5"); err == nil ||
		!strings.Contains(err.Error(), "stopped after") {
		t.Errorf("got %v", err)
	}
}

func TestMicroIsNotBuiltTwiceInVain(t *testing.T) {
	s := &session{missing: map[string]bool{"lucce": true}}
	if m := s.buildMicro("events", engineVariant("lucce")); m != nil || len(s.problems) > 0 {
		t.Errorf("got %v, problems %q", m, s.problems)
	}
}

// A build's net times are differences within a round, and the ratio of log lines is one
// within a round; a build that missed a round has no columns.
func TestEventTable(t *testing.T) {
	s := &session{}
	build := func(v measure.Variant, here, plain, with []float64) *eventBuild {
		return &eventBuild{&micro{s, "events", v, ""},
			map[string][]float64{"here": here, "slog/plain": plain, "slog/context": with}}
	}
	got := s.eventTable([]*eventBuild{
		build(measure.Plain, []float64{1, 2, 9}, []float64{10, 20, 30}, []float64{10, 20, 30}),
		build(engineVariant("dacce"), []float64{3, 4.5, 10}, []float64{10, 20, 40}, []float64{11, 24, 44}),
		build(engineVariant("lucce"), []float64{3, 4}, []float64{10, 20}, []float64{11, 24}),
	}, 3)
	if want := []string{"event", "plain ns", "dacce ns", "net", "interval"}; !slices.Equal(got.Head, want) {
		t.Errorf("head %q, want %q", got.Head, want)
	}
	if want := "here 2.00 4.50 2.00 1.000..2.500"; strings.Join(got.Rows[0], " ") != want {
		t.Errorf("got %q, want %q", got.Rows[0], want)
	}
	if !strings.Contains(strings.Join(got.Notes, " "), "same round: dacce 1.100 (1.100..1.200).") {
		t.Errorf("notes: %q", got.Notes)
	}
}
