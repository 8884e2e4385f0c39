package records

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/profile"
)

func TestHistogram(t *testing.T) {
	h := Histogram{0: 90, 2: 9, 7: 1}
	values, percent := h.Cumulative()
	if !slices.Equal(values, []float64{0, 2, 7}) || !slices.Equal(percent, []float64{90, 99, 100}) {
		t.Errorf("cumulative: %v, %v", values, percent)
	}
	for q, want := range map[float64]int{0.5: 0, 0.9: 0, 0.91: 2, 0.99: 2, 0.995: 7, 1: 7} {
		if got := h.Quantile(q); got != want {
			t.Errorf("quantile %v: %d, want %d", q, got, want)
		}
	}
	if got := h.Mean(); math.Abs(got-0.25) > 1e-9 {
		t.Errorf("mean %v, want 0.25", got)
	}
	if empty := (Histogram{}); empty.Quantile(0.5) != -1 || !math.IsNaN(empty.Mean()) {
		t.Error("an empty histogram has a quantile or a mean")
	}
}

// The ccStack of a goroutine ends at the go statement that began it.
func TestCCStackDepth(t *testing.T) {
	c := &ids.Encoding{Interned: []ids.Interned{
		{},
		{Kind: layout.InternRoot},
		{Kind: layout.InternCall, Parent: 1},
		{Kind: layout.InternGo, Parent: 2},
		{Kind: layout.InternCall, Parent: 3},
		{Kind: layout.InternFault, Parent: 4},
		{Kind: layout.InternAt, Parent: 5},
	}}
	for n, want := range []int{0, 0, 1, 0, 1, 2, 2} {
		if got, ok := ccStackDepth(c, uint32(n)); got != want || !ok {
			t.Errorf("entry %d: depth %d, %v, want %d", n, got, ok, want)
		}
	}
	c.Interned = append(c.Interned, ids.Interned{Kind: layout.InternCut})
	if _, ok := ccStackDepth(c, uint32(len(c.Interned)-1)); ok {
		t.Error("an entry that was cut has a depth")
	}
}

// TestDepths counts two captures, and none for the end of the program, which has no context.
func TestDepths(t *testing.T) {
	d := Depths{make(Histogram), make(Histogram)}
	c := &ids.Encoding{Interned: []ids.Interned{{}, {Kind: layout.InternRoot}}}
	frames := []livedir.CheckFrame{{Func: "a"}, {Func: "b", Inlined: true}, {Func: "c", Wrapper: true}, {Func: "d"}}
	d.add(c, &livedir.Check{Events: 2, Frames: frames})
	d.add(c, &livedir.Check{Ended: true, Events: 7})
	if d.Stack[2] != 2 || d.CCStack[0] != 2 || len(d.Stack) != 1 || len(d.CCStack) != 1 {
		t.Errorf("depths are %v", d)
	}
}

// TestProgress counts time from the start of the program, also that of the first re-encoding.
func TestProgress(t *testing.T) {
	start := time.Unix(1000, 0)
	c := &ids.Encoding{}
	c.Dict.Epochs = []ids.EpochInfo{{Known: true}, {Known: true, Time: start.Add(2 * time.Second), MaxID: 3}, {},
		{Known: true, Time: start.Add(5 * time.Second), MaxID: 4}}
	steps := Progress(&record.Record{Profile: &profile.Profile{Processes: []profile.Process{{Start: start}}}, IDs: c})
	want := []Step{{}, {After: 2 * time.Second, MaxID: 3}, {After: 5 * time.Second, MaxID: 4}}
	if !slices.Equal(steps, want) {
		t.Errorf("have %v, want %v", steps, want)
	}
}
