// Switched computes with sampling on and off in turn, much longer while it is off, and prints the CPU time in
// nanoseconds that it took while it was on.
package main

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/stemma-go/stemma"
)

func used() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

//go:noinline
func work(n int) (x int) {
	for i := range n {
		x += i ^ x
	}
	return x
}

func compute(length time.Duration) {
	for began := used(); used()-began < length; {
		work(100_000)
	}
}

func main() {
	on := time.Duration(0)
	for range 150 {
		began := used()
		if err := stemma.StartSampling(stemma.SamplingOptions{Every: time.Millisecond}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		compute(3 * time.Millisecond)
		stemma.StopSampling()
		on += used() - began
		compute(20 * time.Millisecond)
	}
	fmt.Println(int64(on))
}
