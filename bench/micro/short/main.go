// Short starts goroutines that end soon, one after another on each P, and prints what one costs: the CPU time of the
// process in nanoseconds, as "NAME VALUE UNIT".
package main

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"syscall"
)

const depth = 20

//go:noinline
func recur(n int, sum []int) int {
	if n == 0 {
		s := 0
		for i := range sum {
			s += sum[i] * i
		}
		return s
	}
	return recur(n-1, sum) + 1
}

func main() {
	n := flag.Int("n", 200_000, "`GOROUTINES`")
	flag.Parse()
	work := make([]int, 2000)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for range *n / runtime.GOMAXPROCS(0) {
				done := make(chan int)
				go func() { done <- recur(depth, work) }()
				<-done
			}
		})
	}
	wg.Wait()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	fmt.Println("goroutine", float64(r.Utime.Nano()+r.Stime.Nano())/float64(*n), "ns")
}
