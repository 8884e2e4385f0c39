// Recorded is a program whose calls are known: one goroutine runs at a time, and
// nothing but the functions below is called while it does. It is run with its
// calls recorded, and TestRecorded has the list of what must be in the recording.
package main

import (
	"os"
	"runtime"
)

// A shape is called through its interface.
type shape interface{ area(n int) int }

type square struct{}
type circle struct{}

//go:noinline
func (square) area(n int) int { return leaf(n) }

//go:noinline
func (circle) area(n int) int { return n }

//go:noinline
func leaf(n int) int { return n + 1 }

// even and odd are a cycle of the call graph.
//
//go:noinline
func even(n int) bool {
	if n == 0 {
		return true
	}
	return odd(n - 1)
}

//go:noinline
func odd(n int) bool { return n != 0 && even(n-1) }

// fails panics two frames below the function that recovers.
//
//go:noinline
func fails(n int) int {
	if n > 0 {
		return fails(n-1) + 1
	}
	panic("as planned")
}

//go:noinline
func recovers(n int) (r int) {
	defer caught(&r)
	return fails(n)
}

//go:noinline
func caught(r *int) {
	recover()
	*r = leaf(*r)
}

// faults makes a run-time error, which is a place of its own on the path.
//
//go:noinline
func faults(p *int) (r int) {
	defer caught(&r)
	return *p
}

//go:noinline
func worker(done chan int, n int) {
	done <- leaf(n)
}

//go:noinline
func starts(n int) int {
	done := make(chan int)
	go worker(done, n)
	n = <-done
	for runtime.NumGoroutine() > 1 {
		runtime.Gosched() // until the worker is gone
	}
	return n
}

//go:noinline
func apply(f func(int) int, n int) int { return f(n) }

func main() {
	sum := 0
	for _, s := range []shape{square{}, circle{}, square{}} {
		sum += s.area(1)
	}
	if even(3) {
		sum++
	}
	sum += apply(func(n int) int { return leaf(n) + sum }, 2)
	sum += recovers(1)
	sum += faults(nil)
	sum += starts(sum)
	sum += starts(sum)
	sum += leaf(0)
	os.Exit(min(sum, 0))
}
