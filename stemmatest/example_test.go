package stemmatest_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stemma-go/stemma/stemmatest"
)

// These are the bodies of tests: in a file that ends in _test.go, func TestX(t *testing.T). 'stemma test' runs them; in
// a plain go test they are skipped.

// Calls counts what a function calls, exactly. Here: how often a search calls its function that compares.
func ExampleCalls() {
	_ = func(t *testing.T) {
		list := make([]int, 1000)
		stemmatest.Calls(t, func() {
			_, _ = slices.BinarySearchFunc(list, 7, compare)
		}).Of("compare").AtMost(11)
	}
}

// Allocs counts what a function allocates, by type. It needs 'stemma test -metrics=calls,alloc'.
func ExampleAllocs() {
	_ = func(t *testing.T) {
		a := stemmatest.Allocs(t, func() { _ = fmt.Sprint("key", 7) })
		a.Of("string").AtMost(1)
		a.Bytes().AtMost(64)
	}
}

// AllocsPerRun takes the place of testing.AllocsPerRun. With 'stemma test -metrics=calls,alloc' it is exact, also in
// parallel tests.
func ExampleAllocsPerRun() {
	_ = func(t *testing.T) {
		t.Parallel()
		var buf []byte
		n := stemmatest.AllocsPerRun(100, func() { buf = fmt.Append(buf[:0], "key", 7) })
		if n > 0.1 { // the buffer grows once
			t.Errorf("%v allocations, want none", n)
		}
	}
}

// NoLeaks fails a test that leaves goroutines behind, and says who started them. Tests may be parallel.
func ExampleNoLeaks() {
	_ = func(t *testing.T) {
		stemmatest.NoLeaks(t)
		done := make(chan bool)
		go func() { done <- true }()
		<-done
	}
}

// Growth calls a function with several sizes: the calls may grow as n to the power of 1.2, so n log n is allowed, and
// n squared is not.
func ExampleGrowth() {
	_ = func(t *testing.T) {
		stemmatest.Growth(t, []int{1000, 2000, 4000}, func(n int) {
			slices.SortFunc(make([]int, n), compare)
		}).AtMost(1.2)
	}
}

// compare orders numbers.
func compare(a, b int) int { return a - b }
