// Program stacks has many goroutines, each in a recursion of a depth of its own, all
// at the same time. At its innermost call each prints an ID and the depth.
package main

import (
	"fmt"
	"sync"
	_ "unsafe"
)

// api is what an instrumented runtime provides.
//
//go:linkname api runtime.stemmaAPI2
var api *struct{ here func() (hi, lo, run uint64) }

const goroutines, shallow = 1500, 500

var (
	below sync.WaitGroup // goroutines that are not at their depth yet
	mu    sync.Mutex
)

//go:noinline
func down(left, depth int) int {
	switch { // two sites, of which one is pushed
	case left > 0 && left%2 == 0:
		return down(left-1, depth) + 1
	case left > 0:
		return down(left-1, depth) + 2
	}
	below.Done()
	below.Wait() // all ccStacks are in use
	hi, lo, run := api.here()
	mu.Lock()
	fmt.Printf("%x %x %x %d\n", hi, lo, run, depth)
	mu.Unlock()
	return 0
}

func main() {
	var all sync.WaitGroup
	below.Add(goroutines)
	for i := range goroutines {
		all.Go(func() { down(shallow+i, shallow+i) })
	}
	all.Wait()
}
