package main

import (
	"testing"

	"github.com/stemma-go/stemma/bench/internal/measure"
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
