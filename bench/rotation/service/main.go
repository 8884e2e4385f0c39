// Service makes calls in contexts that are new again and again, until its standard input ends. Then it prints how many
// calls of each function it has made.
package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/stemma-go/stemma"
)

var (
	lefts, rights int  // of the goroutine that serves
	ask           bool // for the ID of the next context
)

//go:noinline
func left(path uint64, n int) {
	lefts++
	step(path>>1, n)
}

//go:noinline
func right(path uint64, n int) {
	rights++
	step(path>>1, n)
}

func step(path uint64, n int) {
	switch {
	case n == 0:
		if ask {
			ask = false
			fmt.Fprintln(os.Stderr, stemma.Here())
		}
	case path&1 == 0:
		left(path, n-1)
	default:
		right(path, n-1)
	}
}

func main() {
	rate := flag.Int("rate", 2000, "paths a second")
	depth := flag.Int("depth", 40, "calls of a path")
	log := flag.Bool("log", false, "print the IDs of contexts")
	flag.Parse()
	done := make(chan bool)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // whatever ends it
		close(done)
	}()
	var wait sync.WaitGroup
	wait.Go(func() { serve(done, *rate, *depth, *log) })
	wait.Wait()
	fmt.Println(lefts, rights)
}

// serve makes calls in ticks of a tenth of a second.
func serve(done chan bool, rate, depth int, log bool) {
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		for i := range rate / 10 {
			ask = log && i < 10
			step(rand.Uint64(), depth)
		}
	}
}
