// Program still waits for the end of its standard input in a system call, and for a timer: no thread is idle.
package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

func main() {
	go func() {
		var b [1]byte
		for n := 1; n != 0; {
			n, _ = syscall.Read(0, b[:])
		}
		os.Exit(0)
	}()
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
