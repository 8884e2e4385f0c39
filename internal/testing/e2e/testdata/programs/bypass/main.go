// Command bypass does things that are recorded, and the same things again that are not.
package main

import (
	"runtime"
	"sync"
	_ "unsafe" // for go:linkname
)

//go:linkname recording runtime.stemmaRecordingAPI2
var recording *struct {
	State      func() (dir, problem string)
	CountInuse func() bool
	Bypass     func(f func())
}

var sink any

type node struct{ v [4]int }

//go:noinline
func work() {
	sink = new(node)
	runtime.Gosched()
	for i := range 200_000 {
		leaf(i)
	}
}

//go:noinline
func leaf(i int) int { return i }

// hidden is called by nobody else.
//
//go:noinline
func hidden() {
	work()
	again(3)
	var wg sync.WaitGroup
	wg.Go(func() {
		child()
		recording.Bypass(child)
	})
	wg.Wait()
	defer func() { recover() }()
	panic("hidden")
}

//go:noinline
func again(n int) {
	if n > 0 {
		again(n - 1)
	}
	work()
}

//go:noinline
func child() { work() }

//go:noinline
func fails() {
	work()
	panic("through")
}

//go:noinline
func caught() {
	defer func() {
		recover()
		work()
	}()
	recording.Bypass(fails)
}

func main() {
	for range 5 {
		work()
		recording.Bypass(hidden)
		work()
		caught()
		work()
	}
}
