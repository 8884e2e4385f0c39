//go:build goexperiment.runtimesecret

// Program secret computes within secret.Do, with results in registers, and then looks for them in its own memory.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/secret"
	"strings"
	"sync"
	"time"
	"unsafe"
)

// What is computed is the exclusive or of both, and stands nowhere.
var (
	key  uint64 = 0x3f1e0d2c4b5a6978
	want uint64 = 0x7a6b5c4d3e2f1001
)

// results are as many as registers hold.
//
//go:noinline
func results(n int) (a, b, c, d, e, f, g, h, i uint64, u, v, w, x, y, z float64) {
	if n > 0 {
		return results(n - 1)
	}
	p := key ^ want
	q := math.Float64frombits(p)
	return p, p, p, p, p, p, p, p, p, q, q, q, q, q, q
}

// compute has functions return, of which the sampler intercepts some. The last one is intercepted with results in
// registers, if it ends the goroutine.
func compute(ends bool) {
	results(20)
	if ends {
		runtime.Goexit()
	}
}

// found counts the words of the memory that have what was computed.
func found() (n int) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		panic(err)
	}
	buf := make([]byte, 1<<16)
	for s := bufio.NewScanner(strings.NewReader(string(maps))); s.Scan(); {
		var lo, hi int64
		var mode string
		fmt.Sscanf(s.Text(), "%x-%x %s", &lo, &hi, &mode)
		for at := lo; strings.HasPrefix(mode, "rw") && at < hi; at += int64(len(buf)) {
			k, _ := mem.ReadAt(buf[:min(int64(len(buf)), hi-at)], at)
			words := unsafe.Slice((*uint64)(unsafe.Pointer(&buf[0])), k/8)
			for i, word := range words {
				if word^key == want {
					fmt.Printf("at %x, in %s\n", at+8*int64(i), s.Text())
					n++
				}
			}
		}
	}
	return n
}

func main() {
	var all sync.WaitGroup
	for i := range 200 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 10 {
				secret.Do(func() { compute(false) })
			}
			secret.Do(func() { compute(i%2 == 0) })
		}()
		if i%20 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	all.Wait()
	for range 3 { // which clears the stacks of signal handlers
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
	fmt.Println("found", found())
}
