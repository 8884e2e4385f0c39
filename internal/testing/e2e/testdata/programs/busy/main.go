// Command busy spends a third of its time in light and two thirds in heavy, both on
// stacks as deep as BUSY_DEPTH says, while other goroutines wait.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

var sink atomic.Int64

// A stepper is called through the compiler's wrapper for the promoted method.
type stepper interface{ step(n int) int }

type (
	outer struct{ *inner }
	inner struct{ count int }
)

var each stepper = outer{new(inner)}

//go:noinline
func (*inner) step(n int) int {
	for i := range 200 {
		n += i ^ n>>3
	}
	return n
}

//go:noinline
func light(n int) int {
	for range 100 {
		n += each.step(n)
	}
	return n
}

//go:noinline
func heavy(n int) int {
	for range 200 {
		n += each.step(n)
	}
	return n
}

//go:noinline
func work(until time.Time) (n int) {
	for time.Now().Before(until) {
		n += light(n) + heavy(n)
	}
	return n
}

func waits(c chan bool) { <-c }

//go:noinline
func deep(n int, until time.Time) int {
	if n == 0 {
		return work(until)
	}
	return deep(n-1, until) + 1
}

func main() {
	depth, _ := strconv.Atoi(os.Getenv("BUSY_DEPTH"))
	d := 600 * time.Millisecond
	if s := os.Getenv("BUSY_TIME"); s != "" {
		d, _ = time.ParseDuration(s)
	}
	until := time.Now().Add(d)
	wait := make(chan bool)
	for range 5 {
		go waits(wait) // through a wrapper that has the argument
	}
	var wg sync.WaitGroup
	workers := 2
	if n, _ := strconv.Atoi(os.Getenv("BUSY_WORKERS")); n > 0 {
		workers = n
	}
	for range workers {
		wg.Go(func() { sink.Add(int64(deep(depth, until))) })
	}
	wg.Wait()
	fmt.Println("ok")
}
