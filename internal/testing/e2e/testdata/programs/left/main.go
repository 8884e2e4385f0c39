// Program left ends while a goroutine waits: it returns, or exits if EXIT is set.
package main

import (
	"os"
	"time"
)

func main() {
	go forever(make(chan int))
	time.Sleep(20 * time.Millisecond)
	if os.Getenv("EXIT") != "" {
		os.Exit(0)
	}
}

func forever(c chan int) { <-c }
