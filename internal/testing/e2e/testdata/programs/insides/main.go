// Program insides does what libraries do that know the inside of the runtime: it reads
// fields of g where plain Go has them, and runs code where there is no g.
package main

//stemma:cct
//stemma:dacce -engine=dacce
//stemma-full:lucce -engine=lucce
//stemma-full:pcce -engine=pcce
//stemma:sample -engine=sample

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"unsafe"
)

func main() {
	done := make(chan bool)
	for range 3 {
		go func() {
			readG()
			done <- true
		}()
		<-done
	}
	for range 2 {
		runWithoutG()
	}
}

// getG returns the g of the goroutine.
func getG() unsafe.Pointer

// readG compares the number of the goroutine at the offset in GOID with the one that a
// traceback shows.
func readG() {
	offset, err := strconv.Atoi(os.Getenv("GOID"))
	if err != nil {
		fmt.Println("GOID:", err)
		os.Exit(1)
	}
	var buf [64]byte
	text := bytes.Fields(buf[:runtime.Stack(buf[:], false)])[1]
	have := *(*uint64)(unsafe.Add(getG(), offset))
	if want, _ := strconv.ParseUint(string(text), 10, 64); have != want {
		fmt.Printf("goid at %d is %d, want %d\n", offset, have, want)
		os.Exit(1)
	}
}

// withoutG calls f, which must not split the stack, with this in the register of g.
func withoutG(f func(), r14 uintptr)

// asmLeaf is in assembly and calls nothing.
func asmLeaf()

var hits int

//go:nosplit
//go:noinline
func hit() { hits++ }

// hitOften calls several times, so that it would put its context back.
//
//go:nosplit
//go:noinline
func hitOften() {
	for range 3 {
		hit()
		asmLeaf()
	}
}

// leaveSoon goes to assembly at once.
//
//go:nosplit
//go:noinline
func leaveSoon() {
	asmLeaf()
	hit()
}

// What runs without a g leaves the context as it was.
//
//want:context@cct [main];main.main;main.runWithoutG;main.leaf 8
//go:noinline
func runWithoutG() {
	for _, g := range []uintptr{0, 8} {
		hits = 0
		withoutG(hitOften, g)
		leaf()
		withoutG(leaveSoon, g)
		leaf()
		if hits != 4 {
			fmt.Println("hits:", hits)
			os.Exit(1)
		}
	}
}

//go:noinline
func leaf() {}
