// Program recording prints where it records, or why it does not, and whether it gets
// context IDs, also from a goroutine and below a deep recursion. With REPLACE it first
// replaces itself by itself.
package main

import (
	"fmt"
	"os"
	"syscall"
	_ "unsafe"
)

// recording and api are what an instrumented runtime provides.
//
//go:linkname recording runtime.stemmaRecordingAPI2
var recording *struct{ state func() (dir, problem string) }

//go:linkname api runtime.stemmaAPI2
var api *struct{ here func() (hi, lo, run uint64) }

var ids, zeros int

func capture() {
	if api == nil {
		return
	}
	if hi, lo, run := api.here(); hi|lo|run == 0 {
		zeros++
	} else {
		ids++
	}
}

func recur(n int) {
	if n > 0 {
		recur(n - 1)
		capture()
	}
}

func main() {
	if os.Getenv("REPLACE") != "" {
		os.Unsetenv("REPLACE")
		fmt.Println(syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
	}
	dir, problem := recording.state()
	fmt.Printf("dir %s\nproblem %s\n", dir, problem)
	recur(100)
	done := make(chan bool)
	for range 10 {
		go func() {
			recur(10)
			done <- true
		}()
		<-done
	}
	fmt.Printf("ids %d\nzeros %d\n", ids, zeros)
	if os.Getenv("WAIT") != "" {
		os.Stdin.Read(make([]byte, 1))
	}
}
