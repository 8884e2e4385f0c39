package index

import (
	"fmt"
	"testing"

	"github.com/stemma-go/stemma/stemmatest"
)

// words returns n words.
func words(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprint("word", i))
	}
	return list
}

// TestHas is a test like any other. In a plain go test it is all that runs.
func TestHas(t *testing.T) {
	x := New(words(100))
	if !x.Has("word42") || x.Has("word100") {
		t.Error("the index has other words")
	}
}

// TestComparisons asserts that a search in 1,000 words makes at most 10 comparisons.
func TestComparisons(t *testing.T) {
	x := New(words(1000))
	stemmatest.Calls(t, func() { x.Has("word500") }).Of("less").AtMost(10)
}

// TestGrowth asserts that a search takes hardly longer in a list of ten times the length.
func TestGrowth(t *testing.T) {
	indexes := make(map[int]*Index)
	sizes := []int{1000, 10_000, 100_000}
	for _, n := range sizes {
		indexes[n] = New(words(n))
	}
	stemmatest.Growth(t, sizes, func(n int) { indexes[n].Has("word500") }).AtMost(0.3)
}
