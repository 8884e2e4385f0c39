// Command accumulate is the program of figure 6 of "Approximating the Calling Context
// Tree via Sampling": a calls b 10 times, and b calls c 100 times. ACCUMULATE is how often
// each of two goroutines calls a. Now and then c calls two functions that call each other.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

//go:noinline
func a(n int) {
	for range 10 {
		b(n)
	}
}

//go:noinline
func b(n int) {
	for i := range 100 {
		c(n + i)
	}
}

//go:noinline
func c(n int) {
	if n%50 == 7 {
		even(n % 26)
	}
	if n%1000 == 999 {
		func() {
			defer func() { recover() }()
			d(n)
		}()
	}
}

//go:noinline
func d(n int) { panic(n) }

//go:noinline
func even(n int) int {
	if n <= 0 {
		return leaf(n)
	}
	return odd(n-1) + leaf(n)
}

//go:noinline
func odd(n int) int {
	if n%3 == 0 {
		return even(n - 1)
	}
	return even(n-1) + leaf(n)
}

//go:noinline
func leaf(n int) int { return n }

func main() {
	times := 3000
	if n, err := strconv.Atoi(os.Getenv("ACCUMULATE")); err == nil {
		times = n
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range times {
				a(i)
			}
		})
	}
	wg.Wait()
	fmt.Println("ok")
}
