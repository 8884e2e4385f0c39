// Command asks asks for context IDs on 16,384 paths in turn, beside goroutines that wait, which began on 1,024 paths.
// It prints how many rounds it made, how many of them took more than a millisecond, and the longest in microseconds.
//
//	asks TIME THREADS GOROUTINES
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/stemma-go/stemma"
)

const depth = 14 // calls on a path

//go:noinline
func path(k, n int) int {
	switch {
	case n == 0:
		stemma.Here()
		return 0
	case k&1 == 0:
		return even(k>>1, n-1)
	}
	return odd(k>>1, n-1)
}

//go:noinline
func even(k, n int) int { return path(k, n) + 1 }

//go:noinline
func odd(k, n int) int { return path(k, n) + 2 }

// start starts a goroutine that waits, by one of 1,024 paths.
func start(stop chan bool, k, n int) {
	switch {
	case n == 0:
		go wait(stop, 5)
	case k&1 == 0:
		startEven(stop, k>>1, n-1)
	default:
		startOdd(stop, k>>1, n-1)
	}
}

//go:noinline
func startEven(stop chan bool, k, n int) { start(stop, k, n) }

//go:noinline
func startOdd(stop chan bool, k, n int) { start(stop, k, n) }

//go:noinline
func wait(stop chan bool, n int) {
	if n > 0 {
		wait(stop, n-1)
		return
	}
	<-stop
}

// A result is what a thread has seen.
type result struct {
	rounds, long int
	longest      time.Duration
}

func asks(end time.Time, first, step int) (r result) {
	for k := first; ; k += step {
		began := time.Now()
		if began.After(end) {
			return r
		}
		path(k&(1<<depth-1), depth)
		took := time.Since(began)
		if r.rounds++; took > time.Millisecond {
			r.long++
		}
		r.longest = max(r.longest, took)
	}
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "asks:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want a time and two numbers, have %q", args)
	}
	length, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	threads, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	waiting, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	stop := make(chan bool)
	for i := range waiting {
		start(stop, i%1024, 10)
	}
	results := make(chan result)
	end := time.Now().Add(length)
	for i := range threads {
		go func() { results <- asks(end, i, threads) }()
	}
	var all result
	for range threads {
		r := <-results
		all = result{all.rounds + r.rounds, all.long + r.long, max(all.longest, r.longest)}
	}
	fmt.Println(all.rounds, all.long, all.longest.Microseconds())
	return nil
}
