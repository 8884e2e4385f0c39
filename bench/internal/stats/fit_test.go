package stats

import (
	"math"
	"testing"
)

func TestFitPower(t *testing.T) {
	x := []float64{1, 10, 100, 1000}
	y := make([]float64, len(x))
	for i := range x {
		y[i] = 3 * math.Pow(x[i], 0.5)
	}
	p := FitPower(x, y)
	if math.Abs(p.Factor-3) > 1e-9 || math.Abs(p.Exponent-0.5) > 1e-9 || p.R2 < 1-1e-9 || p.N != 4 {
		t.Errorf("got %v, want 3 · x^0.5", p)
	}
	if got := p.At(16); math.Abs(got-12) > 1e-9 {
		t.Errorf("at 16 it is %v, want 12", got)
	}
	// Worked by hand: logs (0,0), (1,0), (2,3): slope 1.5, R² 0.75.
	e := math.E
	p = FitPower([]float64{1, e, e * e}, []float64{1, 1, e * e * e})
	if math.Abs(p.Exponent-1.5) > 1e-9 || math.Abs(p.R2-0.75) > 1e-9 {
		t.Errorf("got %v, want exponent 1.5 and R² 0.75", p)
	}
}

func TestFitPowerLeavesOutWhatHasNoLogarithm(t *testing.T) {
	p := FitPower([]float64{0, 1, 2, 4}, []float64{7, 1, 2, 4})
	if p.N != 3 || math.Abs(p.Exponent-1) > 1e-9 {
		t.Errorf("got %v, want exponent 1 of 3 points", p)
	}
	for _, x := range [][]float64{{1, 2}, {5, 5, 5}, {-1, 0, 1}} {
		if p := FitPower(x, []float64{1, 2, 3}); !math.IsNaN(p.Exponent) {
			t.Errorf("%v: got %v, want none", x, p)
		}
	}
	if p := FitPower([]float64{1, 2, 3}, []float64{5, 5, 5}); p.Exponent != 0 || p.R2 != 1 {
		t.Errorf("a constant: got %v", p)
	}
}
