// Waits has goroutines that wait without giving up their P: in a loop, and in a system call.
package main

import (
	"fmt"
	"sync/atomic"
	"syscall"
)

func main() {
	var flag atomic.Bool
	go flag.Store(true)
	for !flag.Load() {
	}
	fmt.Println("spun")

	// The descriptors block: the runtime's poller does not know them.
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		panic(err)
	}
	go syscall.Write(fds[1], []byte("x"))
	b := make([]byte, 1)
	if _, err := syscall.Read(fds[0], b); err != nil {
		panic(err)
	}
	fmt.Println("read")
}
