package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFit finds costs again that instructions were made from.
func TestFit(t *testing.T) {
	want := costs{1.5, 0, 4, 0.25}
	r := rand.New(rand.NewPCG(1, 2))
	var ops [][]int64
	var instructions []float64
	for range 200 {
		o := make([]int64, len(want))
		for k := range o {
			o[k] = r.Int64N(1000)
		}
		ops, instructions = append(ops, o), append(instructions, want.of(o))
	}
	for k, have := range fit(ops, instructions, len(want)) {
		if math.Abs(have-want[k]) > 1e-3 {
			t.Errorf("class %d: cost %g, want %g", k, have, want[k])
		}
	}
}

func TestRankCorrelation(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{10, 200, 3000, 40000}, 1},
		{[]float64{1, 2, 3, 4}, []float64{4, 3, 2, 1}, -1},
		{[]float64{1, 2, 2, 3}, []float64{1, 2, 2, 3}, 1},
		{[]float64{1, 2, 3, 4, 5}, []float64{2, 1, 4, 3, 5}, 0.8},
	} {
		if have := rankCorrelation(c.x, c.y); math.Abs(have-c.want) > 1e-9 {
			t.Errorf("%v and %v: %g, want %g", c.x, c.y, have, c.want)
		}
	}
}
