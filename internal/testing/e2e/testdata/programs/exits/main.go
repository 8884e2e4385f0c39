// Exits ends on two goroutines at once, while many others wait.
package main

import (
	"os"
	"time"
)

func main() {
	never := make(chan int)
	for range 1000 {
		go wait(never)
	}
	time.Sleep(20 * time.Millisecond)
	go os.Exit(0)
	time.Sleep(500 * time.Microsecond) // the other goroutine is counting
}

func wait(c chan int) { <-c }
