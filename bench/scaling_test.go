package main

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/replay"
)

func TestDimensions(t *testing.T) {
	quick, whole := &session{options: &options{quick: true}}, &session{options: new(options)}
	for _, d := range dimensions() {
		n := len(quick.sizes(d))
		if n < 3 {
			t.Errorf("%s: -quick has %d points, of which no law can be made", d.name, n)
		}
		if all := len(whole.sizes(d)); all <= n && d.name != "goroutines" && all < 5 {
			t.Errorf("%s: %d points, with -quick %d", d.name, all, n)
		}
		for i := range d.sizes[1:] {
			if d.sizes[i+1] <= d.sizes[i] {
				t.Errorf("%s: sizes %v do not grow", d.name, d.sizes)
			}
		}
	}
	if quick.scalingTime() >= whole.scalingTime() {
		t.Error("-quick takes no less time")
	}
}

func TestLawOfMemoryIsThatOfWhatIsAdded(t *testing.T) {
	c := &curve{unit: "bytes"}
	for _, n := range []float64{1, 10, 100, 1000} {
		c.add(n, 5000+8*n)
	}
	if got := c.law(); !strings.HasPrefix(got, "bytes = 5008 + ") || !strings.Contains(got, "· x^1.0") ||
		!strings.Contains(got, "3 points") {
		t.Errorf("got %s", got)
	}
	if got := (&curve{unit: "bytes"}).law(); !strings.Contains(got, "none") {
		t.Errorf("without points: %s", got)
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{1.234: "1.23", 99.999: "100.00", 100.4: "100", 12345678: "12345678"} {
		if got := short(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

func TestReplayCells(t *testing.T) {
	row := replay.Row{Nodes: 1, Edges: 2, Encoded: 3, NumCC: 4, MaxID: 5, StackOps: 6, StackMean: 7.5, StackMax: 8,
		Compares: 9,
		Epochs:   10, EncodeUS: 11, Interned: 12, LogBytes: 13, Bytes: 14 << 10, Truncated: 15, Collisions: 16,
		Checked: 17, Mismatches: 18}
	if got, want := strings.Join(replayCells(row), " "),
		"1 2 3 4 5 6 7.50 8 9 10 11 12 13 14 15 16 17 18"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
