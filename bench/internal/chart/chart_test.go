package chart

import (
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"math"
	"strings"
	"testing"
)

func draw(t *testing.T, f *Figure) string {
	t.Helper()
	var b strings.Builder
	if err := f.SVG(&b); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		if _, err := d.Token(); err == io.EOF {
			return b.String()
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFiguresAreSVG(t *testing.T) {
	lines := &Figure{Name: "a", Title: "Growth", X: "n", Y: "ns", LogX: true, LogY: true,
		Lines: []Line{{"one", []float64{0, 1, 10, 100}, []float64{1, 2, math.NaN(), 5}},
			{"same", []float64{1, 2}, []float64{3, 3}}}}
	bars := &Figure{Name: "b", Title: "Overhead", Groups: []string{"x", "y"},
		Bars: []Bars{{"cct", []float64{1, math.NaN()}}}}
	for f, want := range map[*Figure]string{lines: "Growth", bars: "Overhead"} {
		if svg := draw(t, f); !strings.Contains(svg, want) || !strings.Contains(svg, "<svg") {
			t.Errorf("%s: no title in %.100q", f.Name, svg)
		}
	}
}

func TestBarsHaveColorsOfTheirOwn(t *testing.T) {
	seen := make(map[color.Color]int)
	for i := range 14 {
		if k, ok := seen[shade(i)]; ok {
			t.Errorf("bars %d and %d look the same", k, i)
		}
		seen[shade(i)] = i
	}
}

func TestPointsThatCannotBeDrawn(t *testing.T) {
	f := &Figure{LogX: true, LogY: true}
	got := f.points(Line{X: []float64{0, 1, 2, 3, 4}, Y: []float64{1, 0, math.Inf(1), math.NaN(), 7}})
	if len(got) != 1 || got[0].X != 4 {
		t.Errorf("got %v, want the last point", got)
	}
	f = &Figure{Name: "none", Lines: []Line{{Name: "nothing"}}}
	if err := f.SVG(io.Discard); !errors.Is(err, errEmpty) {
		t.Errorf("got %v, want %v", err, errEmpty)
	}
}
