package sample

// How many calls it is from one sample to the next is drawn at random, so that samples cannot beat with a period of
// the program: each call is the next one with a chance of 1 in n, whatever came before it. A countdown of such a
// length forgets. It may begin anywhere, be drawn anew at any time, or end at something that is not sampled: the other
// calls have the same chance as before. So neither a first countdown nor one of a function that is seldom called needs
// a rule of its own.

// strideTerms is how many terms of a logarithm's series StrideScale adds up. With n = 2, the slowest, what is left out
// is less than 2^-64.
const strideTerms = 64

// StrideScale returns what Stride needs to know of n, which is 1 or more: the number of calls after which the chance
// that none of them was sampled is a half. For n = 1 it is 0.
func StrideScale(n int64) float64 {
	if n <= 1 {
		return 0
	}
	none, power := 0.0, 1.0 // -ln(1 - 1/n) = 1/n + 1/2n² + 1/3n³ + ...
	for k := 1; k <= strideTerms; k++ {
		power /= float64(n)
		none += power / float64(k)
	}
	const ln2 = 0.693147180559945309417
	return ln2 / none
}

// Stride returns how many calls it is to the next sample, that call included, by 64 random bits.
//
//go:nosplit
func Stride(random uint64, scale float64) int64 { return 1 + int64(halvings(random)*scale) }

// halvings returns the logarithm to the base 2 of 1 / u, where u is the number between 0 and 1 whose binary digits are
// random. It is off by less than 0.00005.
//
//go:nosplit
func halvings(random uint64) float64 {
	random |= 1
	n := 1.0
	for ; random>>63 == 0; random <<= 1 {
		n++
	}
	at := random >> 57 & 63
	below, above := log2Table[at], log2Table[at+1]
	return n - below - (above-below)*float64(random>>33&(1<<24-1))/(1<<24)
}

// log2Table has the logarithm to the base 2 of 1 + i/64.
var log2Table = [65]float64{
	0, 0.02236781, 0.04439412, 0.06608919, 0.08746284, 0.1085245, 0.129283, 0.1497471, 0.169925,
	0.1898246, 0.2094534, 0.2288187, 0.2479275, 0.2667865, 0.2854022, 0.3037807, 0.3219281, 0.33985,
	0.357552, 0.3750394, 0.3923174, 0.4093909, 0.4262648, 0.4429435, 0.4594316, 0.4757334, 0.4918531,
	0.5077946, 0.523562, 0.5391588, 0.5545889, 0.5698556, 0.5849625, 0.5999128, 0.6147098, 0.6293566,
	0.6438562, 0.6582115, 0.6724253, 0.6865005, 0.7004397, 0.7142455, 0.7279205, 0.741467, 0.7548875,
	0.7681843, 0.7813597, 0.7944159, 0.8073549, 0.820179, 0.83289, 0.8454901, 0.857981, 0.8703647,
	0.882643, 0.8948178, 0.9068906, 0.9188632, 0.9307373, 0.9425145, 0.9541963, 0.9657843, 0.9772799,
	0.9886847, 1,
}
