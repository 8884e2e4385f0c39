// Package main changes its directory before most of its Ps exist.
package main

import (
	"os"
	"runtime"
	"sync"
)

//go:noinline
func leaf(x int) int { return x + 1 }

func main() {
	os.Chdir("/")
	runtime.GOMAXPROCS(8)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s := 0
			for i := range 50000 {
				s += leaf(i)
			}
		})
	}
	wg.Wait()
}
