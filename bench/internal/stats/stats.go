// Package stats has the few statistics that repeated measurements need.
package stats

import (
	"math"
	"slices"
)

// Confidence is the probability with which an Interval is to cover the median.
const Confidence = 0.95

// Interval is a median and where it may really lie.
type Interval struct {
	Median   float64
	Low      float64
	High     float64
	Coverage float64 // probability that Low and High enclose the true median
}

// Median returns the median of values, or NaN if there are none.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// MedianInterval returns the median of values and the narrowest pair of order
// statistics that encloses the true one with probability Confidence. This
// assumes nothing about the distribution. With fewer than six values no pair
// is that good; then the interval is from the smallest to the largest, and
// Coverage says how good that is.
func MedianInterval(values []float64) Interval {
	n := len(values)
	if n == 0 {
		nan := math.NaN()
		return Interval{Median: nan, Low: nan, High: nan}
	}
	s := slices.Sorted(slices.Values(values))
	k := 0
	for k+1 < n/2 && coverage(n, k+1) >= Confidence {
		k++
	}
	return Interval{Median: Median(s), Low: s[k], High: s[n-1-k], Coverage: coverage(n, k)}
}

// coverage returns the probability that the true median lies between the
// values that have k others below and k others above them, of n.
func coverage(n, k int) float64 {
	// The number of values below the median is binomial with p = 1/2. The
	// interval misses if it is at most k or at least n-k.
	tail, term := 0.0, math.Pow(0.5, float64(n))
	for i := range k + 1 {
		tail += term
		term *= float64(n-i) / float64(i+1)
	}
	return max(0, 1-2*tail)
}

// GeoMean returns the geometric mean of values, or NaN if there are none.
func GeoMean(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

// Ratios returns a[i]/b[i] for all i that both have.
func Ratios(a, b []float64) []float64 {
	r := make([]float64, min(len(a), len(b)))
	for i := range r {
		r[i] = a[i] / b[i]
	}
	return r
}

// Differences returns a-b, element by element.
func Differences(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}
