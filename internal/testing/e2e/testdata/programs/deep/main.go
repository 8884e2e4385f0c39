// Program deep goes into a recursion of 5,000 levels. At each it calls a function, and
// starts a goroutine.
package main

const levels = 5000

//go:noinline
func leaf(n int) int { return n + 1 }

//go:noinline
func down(n int, done chan int) int {
	if n == 0 {
		return 0
	}
	go func() { done <- leaf(n) }()
	return down(n-1, done) + leaf(n) - <-done
}

func main() {
	if down(levels, make(chan int)) != 0 {
		panic("wrong sum")
	}
}
