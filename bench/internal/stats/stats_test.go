package stats

import (
	"math"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{4, 1}, 2.5},
		{[]float64{9, 1, 5}, 5},
		{[]float64{8, 2, 6, 4}, 5},
	} {
		if got := Median(c.values); got != c.want {
			t.Errorf("Median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("Median of nothing = %v, want NaN", got)
	}
}

func TestMedianDoesNotSortItsArgument(t *testing.T) {
	values := []float64{3, 1, 2}
	Median(values)
	MedianInterval(values)
	if values[0] != 3 || values[1] != 1 || values[2] != 2 {
		t.Errorf("values are now %v", values)
	}
}

// The coverages are those of the sign test: 1 - 2·P(Binomial(n, 1/2) ≤ k).
func TestMedianInterval(t *testing.T) {
	for _, c := range []struct {
		n         int
		low, high float64
		coverage  float64
	}{
		{1, 1, 1, 0},
		{3, 1, 3, 0.75},
		{5, 1, 5, 0.9375},
		{6, 1, 6, 0.96875},
		{7, 1, 7, 0.984375},
		{8, 1, 8, 0.9921875},
		{9, 2, 8, 0.9609375},
		{11, 2, 10, 0.98828125},
		{12, 3, 10, 0.96142578125},
	} {
		values := make([]float64, c.n)
		for i := range values {
			values[i] = float64(c.n - i)
		}
		got := MedianInterval(values)
		if got.Low != c.low || got.High != c.high || !near(got.Coverage, c.coverage) {
			t.Errorf("n = %d: [%v, %v] at %v, want [%v, %v] at %v",
				c.n, got.Low, got.High, got.Coverage, c.low, c.high, c.coverage)
		}
		if want := float64(c.n+1) / 2; got.Median != want {
			t.Errorf("n = %d: median %v, want %v", c.n, got.Median, want)
		}
	}
	if got := MedianInterval(nil); !math.IsNaN(got.Median) {
		t.Errorf("interval of nothing: %+v", got)
	}
}

func TestGeoMean(t *testing.T) {
	if got := GeoMean([]float64{1, 4, 16}); !near(got, 4) {
		t.Errorf("GeoMean(1, 4, 16) = %v, want 4", got)
	}
	if got := GeoMean(nil); !math.IsNaN(got) {
		t.Errorf("GeoMean of nothing = %v, want NaN", got)
	}
}

func TestRatios(t *testing.T) {
	got := Ratios([]float64{2, 9, 5}, []float64{1, 3})
	if len(got) != 2 || got[0] != 2 || got[1] != 3 {
		t.Errorf("Ratios = %v, want [2 3]", got)
	}
}
