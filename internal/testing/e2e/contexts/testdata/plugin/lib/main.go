// Package main is loaded by program plugin.
package main

// Work calls back, works, starts a goroutine, and calls itself.
func Work(f func()) {
	spin()
	done := make(chan bool)
	go func() {
		spin()
		close(done)
	}()
	<-done
	recur(3, f)
}

var sum int

//go:noinline
func spin() {
	for i := range 1 << 16 {
		sum += i
	}
}

//go:noinline
func recur(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	recur(n-1, f)
}

func init() { spin() }
