// Program stops stops the world again and again, just when goroutines have begun system calls that end only when it goes
// on.
package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"time"
)

func main() {
	const rounds, readers = 500, 4
	var p [2]int
	if err := syscall.Pipe(p[:]); err != nil {
		panic(err)
	}
	begun, done := make(chan bool, readers), make(chan bool)
	var ms runtime.MemStats
	for range rounds {
		for range readers {
			go func() {
				var b [1]byte
				begun <- true
				syscall.Read(p[0], b[:])
				done <- true
			}()
		}
		for range readers {
			<-begun
		}
		for t := time.Now().Add(time.Duration(rand.IntN(40)) * time.Microsecond); time.Now().Before(t); {
		}
		runtime.ReadMemStats(&ms)
		syscall.Write(p[1], make([]byte, readers))
		for range readers {
			<-done
		}
	}
	fmt.Println(rounds, "stops")
}
