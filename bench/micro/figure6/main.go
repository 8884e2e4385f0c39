// Command figure6 makes the calls of figure 6 of "Approximating the Calling Context Tree via Sampling":
// a calls b 10 times, and b calls c 100 times. It prints how often a was called, as "NAME VALUE UNIT".
package main

import (
	"flag"
	"fmt"
)

//go:noinline
func a() {
	for range 10 {
		b()
	}
}

//go:noinline
func b() {
	for range 100 {
		c()
	}
}

// c has a frame that is worth a stack check: without the exact tree the trigger time samples functions that have one.
//
//go:noinline
func c() {
	var room [64]int
	room[rounds%len(room)] = rounds
	rounds += room[0]
}

var rounds int

func main() {
	n := flag.Int("n", 60_000, "`CALLS` of a")
	flag.Parse()
	for range *n {
		a()
	}
	fmt.Println("calls", *n, "calls")
}
