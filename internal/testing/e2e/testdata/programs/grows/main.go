// Program grows makes many contexts, with full recursion, until its standard input ends.
package main

import (
	"io"
	"os"
	"strconv"
	"sync/atomic"
)

const depth = 24

//go:noinline
func left(path, n uint32) {
	if n > 0 {
		step(path>>1, n-1)
	}
}

//go:noinline
func right(path, n uint32) {
	if n > 0 {
		step(path>>1, n-1)
	}
}

// step calls one of two functions, as the lowest bit of path says.
func step(path, n uint32) {
	if path&1 == 0 {
		left(path, n)
	} else {
		right(path, n)
	}
}

func main() {
	var end atomic.Bool
	go func() {
		io.Copy(io.Discard, os.Stdin)
		end.Store(true)
	}()
	most := uint64(20_000) // paths, and about 300,000 contexts: then they count again
	if paths, err := strconv.ParseUint(os.Getenv("PATHS"), 10, 32); err == nil {
		most = paths
	}
	for n := uint64(0); !end.Load(); n++ {
		step(uint32(n%most)*2654435761, depth)
	}
}
