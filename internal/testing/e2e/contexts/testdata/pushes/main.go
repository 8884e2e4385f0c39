// Command pushes calls itself from four places, so that most of its calls are pushed whatever the encoding. It writes a
// CPU profile of that to its standard output.
package main

import (
	"os"
	"runtime/pprof"
	"syscall"
)

//go:noinline
func tree(n int) int {
	if n == 0 {
		return 1
	}
	return tree(n-1) + tree(n-1) + tree(n-1) + tree(n-1)
}

// used returns the CPU time of the process in milliseconds.
func used() int64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return (r.Utime.Nano() + r.Stime.Nano()) / 1e6
}

func main() {
	if err := pprof.StartCPUProfile(os.Stdout); err != nil {
		panic(err)
	}
	for used() < 3000 {
		tree(8)
	}
	pprof.StopCPUProfile()
}
