// Existing starts goroutines that wait for all sorts of things, prints them as package runtime does, and ends; with
// KEEP=1 it waits for the end of its standard input instead.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
)

var (
	channel = make(chan int)
	other   = make(chan int)
	locked  sync.Mutex
	cond    = sync.NewCond(new(sync.Mutex))
	group   sync.WaitGroup
	reader  *os.File
	writer  *os.File // the collector would close it
)

//go:noinline
func receive() { <-channel }

//go:noinline
func start(n int) {
	for range n {
		go receive()
	}
}

//go:noinline
func deeper(n int) {
	if n == 0 {
		start(4)
		return
	}
	deeper(n - 1)
}

//go:noinline
func wait(n int) {
	if n > 0 {
		wait(n - 1)
		return
	}
	cond.L.Lock()
	cond.Wait()
}

func main() {
	start(3)
	deeper(2)
	locked.Lock()
	for range 2 {
		go locked.Lock()
		go func() { locked.Lock() }()
	}
	go func() {
		go func() { make(chan int) <- 1 }()
		select {
		case <-other:
		case other <- 1:
		}
	}()
	go time.Sleep(time.Hour)
	go wait(3)
	group.Add(1)
	go group.Wait()
	reader, writer, _ = os.Pipe()
	go func() { reader.Read(make([]byte, 1)) }()
	go func() { select {} }()
	for range 50 { // they come and go, and their entries are used again
		done := make(chan bool)
		go func() { done <- true }()
		<-done
	}
	stacks := settled()
	fmt.Printf("%s\n", stacks)
	if os.Getenv("KEEP") != "" {
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
	}
	os.Exit(0)
}

// settled returns the stacks of all goroutines, when all but this one wait.
func settled() []byte {
	buf := make([]byte, 1<<20)
	for {
		stacks := buf[:runtime.Stack(buf, true)]
		others := bytes.Count(stacks, []byte("[runnable")) + bytes.Count(stacks, []byte("[running")) - 1
		// Whoever ended is still there for a moment.
		if others == 0 && !strings.Contains(string(stacks), "main.main.func6") {
			return stacks
		}
		runtime.Gosched()
	}
}
