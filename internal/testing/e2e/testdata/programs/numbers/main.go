// Numbers starts goroutines that print their numbers: one after the other, which take the place of those that have
// ended, and several at a time.
package main

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
)

var (
	done    sync.WaitGroup
	lock    sync.Mutex
	numbers []string
)

// note is what each goroutine runs. The trace begins with "goroutine N [running]:".
func note() {
	defer done.Done()
	var trace [64]byte
	n := runtime.Stack(trace[:], false)
	lock.Lock()
	defer lock.Unlock()
	numbers = append(numbers, string(bytes.Fields(trace[:n])[1]))
}

//go:noinline
func start(n int) {
	for range n {
		done.Add(1)
		go note()
	}
}

func main() {
	for range 100 {
		start(1)
		done.Wait()
	}
	start(100)
	done.Wait()
	for _, n := range numbers {
		fmt.Println(n)
	}
}
