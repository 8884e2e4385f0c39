// Package growing has tests that print the exponents of three kinds of growth.
package growing

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stemma-go/stemma/stemmatest"
)

var found bool

// TestGrowing makes new random lists each time, so that only what does not depend on them can
// be the same in each run.
func TestGrowing(t *testing.T) {
	sizes := []int{250, 500, 1000, 2000}
	for _, c := range []struct {
		name string
		f    func(list []int)
	}{
		{"linear", func(list []int) { found = slices.ContainsFunc(list, func(n int) bool { return n < 0 }) }},
		{"nlogn", func(list []int) { slices.SortFunc(list, func(a, b int) int { return a - b }) }},
		{"quadratic", func(list []int) {
			for _, a := range list[:len(list)/4] {
				found = slices.ContainsFunc(list, func(b int) bool { return a+b < 0 })
			}
		}},
	} {
		g := stemmatest.Growth(t, sizes, func(n int) {
			list := make([]int, n)
			for i := range list {
				list[i] = rand.IntN(1 << 30)
			}
			c.f(list)
		}).Of("growing.TestGrowing*")
		t.Logf("growth %s %.4f", c.name, g.Exponent())
	}
}
