// Program nested starts 10,000 goroutines, each of which starts the next and
// waits for it.
package main

//stemma:default
//stemma:full -recursion=full

import "fmt"

const depth = 10_000

//want:func main.nest 10_001
//want:func main.leaf 1
//want:context@default [main];main.main;go main.nest 1
//want:context@default [main];main.main;go main.nest;go main.nest 10_000
//want:context@full [main];main.main;go main.nest;go main.nest;go main.nest;go main.nest 1
//want:context@full [main];main.main;**;go main.nest;main.leaf 1
func main() {
	done := make(chan int)
	go nest(depth, done)
	if n := <-done; n != depth {
		fmt.Println(n)
	}
}

//go:noinline
func leaf() {}

func nest(n int, done chan int) {
	if n == 0 {
		leaf()
		done <- 0
		return
	}
	next := make(chan int)
	go nest(n-1, next)
	done <- 1 + <-next
}
