package events

import (
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/session"
)

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

// A build's net times are differences within a round, and the ratio of log lines is one
// within a round; a build that missed a round has no columns.
func TestEventTable(t *testing.T) {
	s := &session.Session{}
	build := func(v measure.Variant, here, plain, with []float64) *eventBuild {
		return &eventBuild{&session.Micro{Variant: v},
			map[string][]float64{"here": here, "slog/plain": plain, "slog/context": with}}
	}
	got := eventTable(s, []*eventBuild{
		build(measure.Plain, []float64{1, 2, 9}, []float64{10, 20, 30}, []float64{10, 20, 30}),
		build(session.EngineVariant("dacce"), []float64{3, 4.5, 10}, []float64{10, 20, 40}, []float64{11, 24, 44}),
		build(session.EngineVariant("lucce"), []float64{3, 4}, []float64{10, 20}, []float64{11, 24}),
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
