// Locks spends its time where the runtime holds locks: in select and in the allocator.
package main

import "time"

var sink []byte

func main() {
	a, b := make(chan int, 1), make(chan int, 1)
	for start := time.Now(); time.Since(start) < 300*time.Millisecond; {
		for range 1000 {
			a <- 1
			select {
			case <-a:
			case <-b:
			}
			sink = make([]byte, 3000)
		}
	}
}
