package sample

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestHalvings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 100000 {
		random := r.Uint64() >> (i % 64)
		want := 64 - math.Log2(float64(random|1))
		if have := halvings(random); math.Abs(have-want) > 0.00005 {
			t.Fatalf("%#x: have %v, want %v", random, have, want)
		}
	}
}

// TestStride compares lengths with those of independent draws: the chance of 1, the mean, and how often more than the
// mean are left, which with a fixed length is never.
func TestStride(t *testing.T) {
	if Stride(0, StrideScale(1)) != 1 || Stride(1<<63, StrideScale(1)) != 1 {
		t.Error("not every call is sampled, want each with n = 1")
	}
	r := rand.New(rand.NewPCG(1, 2))
	const draws = 1 << 20
	for _, n := range []int64{2, 31, 307, 1559, 1 << 30} {
		scale, sum, ones, longer := StrideScale(n), 0.0, 0.0, 0.0
		for range draws {
			d := Stride(r.Uint64(), scale)
			sum += float64(d)
			if d == 1 {
				ones++
			}
			if d > n {
				longer++
			}
		}
		p := 1 / float64(n)
		within := func(what string, have, want, deviation float64) {
			if math.Abs(have-want) > 5*deviation+want/10000 {
				t.Errorf("n = %d, %s: have %v, want %v", n, what, have, want)
			}
		}
		within("mean", sum/draws, float64(n), float64(n)*math.Sqrt((1-p)/draws))
		within("length 1", ones, draws*p, math.Sqrt(draws*p)+1)
		q := math.Pow(1-p, float64(n))
		within("longer than n", longer, draws*q, math.Sqrt(draws*q))
	}
}

// TestStridePeriod samples a program with a period, whose calls are of two functions in turn: a fixed length that is
// even finds one of them only. The chance that a call is sampled does not depend on when the last one was.
func TestStridePeriod(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	scale, left := StrideScale(100), int64(0)
	var found, after [2]float64 // by function; by whether the call before was sampled
	var calls [2]float64
	last := 0
	for i := range 1 << 24 {
		now := 0
		if left == 0 {
			left, now = Stride(r.Uint64(), scale), 1
			found[i%2]++
		}
		calls[last]++
		after[last] += float64(now)
		last = now
		left--
	}
	if z := (found[0] - found[1]) / math.Sqrt(found[0]+found[1]); math.Abs(z) > 4 {
		t.Errorf("samples %v, want as many of one as of the other", found)
	}
	for k := range after {
		want := calls[k] / 100
		if z := (after[k] - want) / math.Sqrt(want); math.Abs(z) > 4 {
			t.Errorf("%v of %v calls (before: sampled %d), want %v", after[k], calls[k], k, want)
		}
	}
}
