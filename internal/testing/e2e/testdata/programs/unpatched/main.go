// Command unpatched walks its own stack as perf and eBPF profilers do, by frame pointers
// and without the runtime, and prints the functions that it found below work.
package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"
	"unsafe"
)

func framePointer() uintptr

// walk notes the functions that the return addresses of its callers lie in. The stack must
// not move meanwhile, so it calls nothing.
//
//go:noinline
func walk(pcs []uintptr) int {
	n := 0
	for fp := framePointer(); fp != 0 && n < len(pcs); n++ {
		pcs[n] = *(*uintptr)(unsafe.Add(nil, fp+8))
		fp = *(*uintptr)(unsafe.Add(nil, fp))
	}
	return n
}

var sink int

//go:noinline
func work(n int, seen map[string]bool) {
	if n > 0 {
		work(n-1, seen)
		sink++
		return
	}
	var pcs [64]uintptr
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		for range 1000 {
			sink++
		}
		for _, pc := range pcs[:walk(pcs[:])] {
			if f := runtime.FuncForPC(pc - 1); f != nil {
				seen[f.Name()] = true
			}
		}
	}
}

func main() {
	seen := make(map[string]bool)
	work(5, seen)
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		fmt.Println(name)
	}
}
