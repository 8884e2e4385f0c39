// Program sent sends SIGBUS to its main thread, from several others at once, and goes on.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
)

func main() {
	runtime.LockOSThread()
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGBUS)
	const senders, signals = 4, 200_000
	var ended atomic.Int32
	pid, tid := syscall.Getpid(), syscall.Gettid()
	for range senders {
		go func() {
			runtime.LockOSThread()
			for range signals {
				syscall.Tgkill(pid, tid, syscall.SIGBUS)
			}
			ended.Add(1)
		}()
	}
	for n := 0; ended.Load() < senders; n++ {
	}
	fmt.Println(<-c)
}
