// Requests measures what a sample costs that a program asks for, at several depths of the stack, beside
// runtime.Callers.
//
// It prints a line "NAME VALUE UNIT" for each figure: the median of batches of 16, in nanoseconds.
package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/stemma-go/stemma"
)

const (
	batch   = 16
	batches = 2000
)

func main() {
	for _, depth := range []int{10, 100, 1000} {
		at(depth, func() { show(fmt.Sprint("callers/depth=", depth), callers) })
		at(depth, func() { show(fmt.Sprint("sample/depth=", depth), sample) })
		show(fmt.Sprint("down/depth=", depth), func() { at(depth, nothing) })
		show(fmt.Sprint("down-callers/depth=", depth), func() { at(depth, callers) })
		show(fmt.Sprint("down-sample/depth=", depth), func() { at(depth, sample) })
	}
}

// show times f.
func show(name string, f func()) {
	times := make([]float64, batches)
	for i := range times {
		begin := time.Now()
		for range batch {
			f()
		}
		times[i] = float64(time.Since(begin).Nanoseconds()) / batch
	}
	slices.Sort(times)
	fmt.Printf("%s %.1f ns\n", name, times[batches/2])
}

// at calls f below so many frames of recursion.
//
//go:noinline
func at(depth int, f func()) {
	if depth == 0 {
		f()
		return
	}
	at(depth-1, f)
	kept++ // no tail call, whatever the compiler may learn
}

var (
	kept int
	pcs  [2048]uintptr
)

//go:noinline
func callers() { kept = runtime.Callers(1, pcs[:]) }

//go:noinline
func sample() { stemma.Sample(uint64(kept)) }

//go:noinline
func nothing() {}
