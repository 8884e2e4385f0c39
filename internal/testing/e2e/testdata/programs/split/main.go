// Command split spends known shares of its CPU time in contexts that have the same innermost function, and prints them
// as measured by the thread's own clock: in compiled code, in an inlined function, in natives, and in prologues of a
// function that is called from two places in turns.
package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

var (
	sum   int
	sink  []byte
	table = map[int]int{}
	text  = make([]byte, 1<<16)
)

// now returns the CPU time of this thread in nanoseconds.
func now() int64 {
	const clockThread = 3
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThread, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

//go:noinline
func spin(n int) {
	for i := range n {
		sum += i ^ sum>>3
	}
}

func inlined(n int) {
	for i := range n {
		sum -= i ^ sum>>5
	}
}

//go:noinline
func one(n int) { spin(n) }

//go:noinline
func three(n int) { spin(3 * n) }

//go:noinline
func within(n int) { inlined(n); sum++ }

//go:noinline
func moves(n int) {
	for range n / 4000 {
		copy(text, text[1:])
	}
}

//go:noinline
func maps(n int) {
	for i := range n / 20 {
		table[i&1023] += i
	}
}

// tiny has as many instructions in its entry as behind it.
//
//go:noinline
func tiny(n int) int { return leaf(n) + 1 }

//go:noinline
func leaf(n int) int { return n }

//go:noinline
func left(n int) {
	for i := range n {
		sum += tiny(i)
	}
}

//go:noinline
func right(n int) {
	for i := range n {
		sum -= tiny(i)
	}
}

// again calls itself, below one node.
//
//go:noinline
func again(depth, n int) {
	if depth > 0 {
		again(depth-1, n)
	}
	spin(n / 8)
}

//go:noinline
func deep(n int) { again(7, n) }

func main() {
	runtime.LockOSThread()
	parts := []struct {
		name string
		f    func(n int)
		n    int
	}{{"one", one, 2e5}, {"three", three, 2e5}, {"within", within, 4e5}, {"moves", moves, 8e5}, {"maps", maps, 4e5},
		{"left", left, 1e5}, {"right", right, 2e4}, {"deep", deep, 3e5}}
	spent := make([]int64, len(parts))
	rounds := 200
	if os.Getenv("ROUNDS") != "" {
		fmt.Sscan(os.Getenv("ROUNDS"), &rounds)
	}
	for range rounds {
		for i, p := range parts {
			begin := now()
			p.f(p.n)
			spent[i] += now() - begin
		}
	}
	for i, p := range parts {
		fmt.Println(p.name, spent[i])
	}
}
