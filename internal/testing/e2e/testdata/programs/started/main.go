// Started starts very many goroutines that do next to nothing, 150 at a time, in all
// ways in which go statements can be written.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

var done sync.WaitGroup

var sum atomic.Int64

//go:noinline
func add(n int64) { sum.Add(n) }

func work(n int64) {
	defer done.Done()
	add(n)
}

type worker struct{ n int64 }

func (w worker) run() { work(w.n) }

func main() {
	w := worker{3}
	for range 100 {
		for range 50 {
			done.Add(3)
			go func() { work(1) }()
			go work(2)
			go w.run()
		}
		done.Wait()
	}
	fmt.Println(sum.Load())
}
