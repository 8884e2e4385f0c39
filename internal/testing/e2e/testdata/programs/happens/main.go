// Program happens allocates a known number of objects at known places, starts goroutines, and panics.
package main

import "sync"

type order struct{ id, n int }

var last *order

//go:noinline
func place(n int) { last = &order{n, n} }

//go:noinline
func byTwo(n int) {
	if n%2 == 0 {
		place(n)
		return
	}
	place(-n)
}

//go:noinline
func fails() {
	defer func() { recover() }()
	panic("no")
}

func main() {
	var all sync.WaitGroup
	for i := range 1000 {
		byTwo(i)
	}
	for range 3 {
		all.Add(1)
		go func() {
			defer all.Done()
			byTwo(1)
		}()
		all.Wait()
	}
	fails()
	faults(nil)
	faultsInLeaf(nil)
}

//go:noinline
func get(o *order) *order { return o }

// faults reads behind a call, right where the call returns to.
//
//go:noinline
func faults(o *order) {
	defer func() { recover() }()
	o = get(o)
	o.n = 1
}

//go:noinline
func leaf(o *order) { o.n = 1 }

// faultsInLeaf calls a function that has no frame.
//
//go:noinline
func faultsInLeaf(o *order) {
	defer func() {
		recover()
		last = &order{}
	}()
	leaf(o)
}
