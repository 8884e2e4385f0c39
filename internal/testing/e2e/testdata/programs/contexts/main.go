// Program contexts makes more than a million contexts: all paths of length 20
// through two functions. Its output is its own count of calls.
package main

//stemma:full -recursion=full
//stemma:small -recursion=full -nodes=50000

import "fmt"

const depth = 19

// All 2^20-1 paths are contexts of their own; with a small budget the calls
// that had no room are counted by function.
//
//want:func main.a 524_288
//want:func main.b 524_287
//want:func main.leaf 524_288
//want:context@full **;main.leaf 524_288
//want:context@small [overflow];**;main.leaf >=400_000
func main() {
	a(depth)
	fmt.Println(count)
}

var count int

//go:noinline
func a(n int) {
	count++
	if n == 0 {
		leaf()
		return
	}
	a(n - 1)
	b(n - 1)
}

//go:noinline
func b(n int) {
	count++
	if n == 0 {
		leaf()
		return
	}
	a(n - 1)
	b(n - 1)
}

//go:noinline
func leaf() { count++ }
