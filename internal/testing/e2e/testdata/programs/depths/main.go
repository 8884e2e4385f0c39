// Depths panics and faults at all depths of a stack, so that what the runtime calls then has to make it grow.
package main

import "fmt"

//go:noinline
func panics(n int) int {
	if n == 0 {
		panic("x")
	}
	return panics(n-1) + 1
}

var nowhere *int

//go:noinline
func faults(n int) int {
	if n == 0 {
		return *nowhere
	}
	return faults(n-1) + 1
}

// wide has a frame of another size below it.
//
//go:noinline
func wide(f func(int) int, n int) int {
	var pad [3]int
	pad[n&1] = n
	return f(n) + pad[n>>1&1]
}

func try(run func()) {
	done := make(chan bool)
	go func() {
		defer func() { done <- recover() != nil }()
		run()
	}()
	if !<-done {
		panic("did not panic")
	}
}

func main() {
	for n := range 300 {
		for _, f := range []func(int) int{panics, faults} {
			try(func() { f(n) })
			try(func() { wide(f, n) })
		}
	}
	fmt.Println("done")
}
