// Program manyfaults faults in 160 · 160 contexts, and recovers.
package main

import "fmt"

const depth = 160

func main() {
	a(depth - 1)
	fmt.Println("recovered", recovered)
}

//go:noinline
func a(n int) {
	b(depth - 1)
	if n > 0 {
		a(n - 1)
	}
}

//go:noinline
func b(n int) {
	try()
	if n > 0 {
		b(n - 1)
	}
}

//go:noinline
func try() {
	defer func() {
		recover()
		deferred()
	}()
	fault()
}

var nowhere *int

//go:noinline
func fault() { *nowhere = 1 }

var recovered int

//go:noinline
func deferred() { recovered++ }
