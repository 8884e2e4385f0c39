// Loop makes calls for about a microsecond, again and again, and prints how long that took
// and what kept it: waiting, which other work on the machine makes, and page faults.
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"
)

const rusageThread = 1

//go:noinline
func f(n int) int {
	if n == 0 {
		return 1
	}
	return g(n-1) + 1
}

//go:noinline
func g(n int) int {
	if n == 0 {
		return 1
	}
	return f(n-1) + 1
}

// touched returns room for n durations whose pages are there.
func touched(n int) []time.Duration {
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = 1
	}
	return list[:0]
}

func main() {
	runtime.LockOSThread()
	length, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	all, waits, faults := touched(int(length/time.Microsecond)*2), touched(1e5), touched(1e5)
	runtime.GC()
	var last, now syscall.Rusage
	syscall.Getrusage(rusageThread, &last)
	for end := time.Now().Add(length); len(all) < cap(all); {
		began := time.Now()
		if began.After(end) {
			break
		}
		for range 20 {
			f(20)
		}
		took := time.Since(began)
		all = append(all, took)
		if took < 3*time.Microsecond {
			continue
		}
		syscall.Getrusage(rusageThread, &now)
		switch {
		case now.Minflt+now.Majflt != last.Minflt+last.Majflt && len(faults) < cap(faults):
			faults = append(faults, took)
		case now.Nvcsw != last.Nvcsw && len(waits) < cap(waits):
			waits = append(waits, took)
		}
		last = now
	}
	fmt.Printf("%8d rounds  median %v  p99.9 %v  p99.99 %v  %d faults, median %v  %d waits, median %v\n", len(all),
		quantile(all, 0.5), quantile(all, 0.999), quantile(all, 0.9999), len(faults), quantile(faults, 0.5),
		len(waits), quantile(waits, 0.5))
}

func quantile(list []time.Duration, q float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[int(q*float64(len(list)-1))]
}
