package stats

import (
	"fmt"
	"math"
)

// Power is the growth law y = Factor · x^Exponent.
type Power struct {
	Factor, Exponent float64
	R2               float64 // share of the variance of log y that the law explains
	N                int     // points that it was fitted to
}

// FitPower fits a power law by least squares on logarithms. Points with a
// coordinate that is not positive have none and are left out. With fewer than
// three points, or with one x only, there is no law to be found: N shows how
// many there were, and the other fields are NaN.
func FitPower(x, y []float64) Power {
	var lx, ly []float64
	for i := range min(len(x), len(y)) {
		if x[i] > 0 && y[i] > 0 && !math.IsInf(x[i]+y[i], 0) {
			lx, ly = append(lx, math.Log(x[i])), append(ly, math.Log(y[i]))
		}
	}
	nan := math.NaN()
	p := Power{nan, nan, nan, len(lx)}
	if p.N < 3 {
		return p
	}
	mx, my := mean(lx), mean(ly)
	var sxx, sxy, syy float64
	for i := range lx {
		dx, dy := lx[i]-mx, ly[i]-my
		sxx, sxy, syy = sxx+dx*dx, sxy+dx*dy, syy+dy*dy
	}
	if sxx == 0 {
		return p
	}
	p.Exponent = sxy / sxx
	p.Factor = math.Exp(my - p.Exponent*mx)
	p.R2 = 1
	if syy > 0 {
		p.R2 = sxy * sxy / (sxx * syy)
	}
	return p
}

// At returns the value of the law at x.
func (p Power) At(x float64) float64 { return p.Factor * math.Pow(x, p.Exponent) }

// String writes the law for a reader: "2.1 · x^0.98, R² 0.999, 5 points".
func (p Power) String() string {
	if math.IsNaN(p.Exponent) {
		return fmt.Sprintf("none (%d points)", p.N)
	}
	return fmt.Sprintf("%.3g · x^%.2f, R² %.3f, %d points", p.Factor, p.Exponent, p.R2, p.N)
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
