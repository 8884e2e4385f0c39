// Program progress prints how often it has called a function, as soon as it
// has, and runs until it is killed, or for as many rounds as STEPS says.
package main

import (
	"encoding/binary"
	"os"
	"runtime"
	"strconv"
)

// Each record on standard output is a counter's index and its value.
func main() {
	steps := 0
	if s := os.Getenv("STEPS"); s != "" {
		steps, _ = strconv.Atoi(s)
	}
	done := make(chan bool)
	for range 2 {
		go other(done)
	}
	for n := uint64(1); steps == 0 || n <= uint64(steps); n++ {
		for range 100 {
			step()
		}
		if n%10 == 0 {
			runtime.Gosched()
		}
		if _, err := os.Stdout.Write(binary.LittleEndian.AppendUint64(nil, 100*n)); err != nil {
			os.Exit(1)
		}
	}
}

//go:noinline
func step() { inner() }

//go:noinline
func inner() {}

// other keeps a second P busy and makes new contexts.
func other(done chan bool) {
	for n := 0; ; n++ {
		deep(n % 50)
		runtime.Gosched()
	}
}

//go:noinline
func deep(n int) {
	if n > 0 {
		deep(n - 1)
	}
}
