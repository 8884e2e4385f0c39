package similarity

import "strings"

// A Bias is how samples of calls differ from an unbiased random sample of the same size.
type Bias struct {
	Functions int     // that are compared, see enough
	Mean      float64 // of their z²: 1 where the samples are unbiased
	Worst     float64 // the largest z²
	Function  string  // the one with it
}

// enough is how many samples are to be expected of a function for its z² to be one: below, it is not nearly normal.
const enough = 5

// BiasOf compares samples with the exact counts, both by function. Of N calls of a function, where one of n is
// sampled, N / n samples are to be expected; their variance is N / n (1 - 1/n).
func BiasOf(exact, samples Weights) (b Bias) {
	rate := samples.Total() / exact.Total()
	for f, calls := range exact {
		want := calls * rate
		if want < enough || rate >= 1 {
			continue
		}
		z2 := (samples[f] - want) * (samples[f] - want) / (want * (1 - rate))
		b.Functions++
		b.Mean += z2
		if z2 > b.Worst {
			b.Worst, b.Function = z2, f
		}
	}
	b.Mean /= float64(max(b.Functions, 1))
	return b
}

// ByCallee adds up what Entries returns by the function that each edge leads to.
func (w Weights) ByCallee() Weights {
	sum := make(Weights)
	for path, v := range w {
		name, _, _ := strings.Cut(path[strings.LastIndexByte(path, '\n')+1:], "\x00")
		sum[name] += v
	}
	return sum
}
