// Mallocs gets memory from C, each time from another of four threads: nobody decides which. It makes calls whose number
// depends on the addresses. Before that it prints what Go and C know as GLIBC_TUNABLES, and nothing but
// "random" if the kernel does not let a program fix its addresses.
package main

/*
#include <stdlib.h>

static const char *tunables(void) { return getenv("GLIBC_TUNABLES"); }
*/
import "C"

import (
	"crypto/rand"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

//go:noinline
func hit(n int) int { return n }

// noRandomize is the personality of a process with fixed addresses.
const noRandomize = 0x0040000

func main() {
	if now, _, _ := syscall.RawSyscall(syscall.SYS_PERSONALITY, 0xffffffff, 0, 0); now&noRandomize == 0 {
		fmt.Println("random")
		return
	}
	fmt.Printf("%q\n%q\n", os.Getenv("GLIBC_TUNABLES"), C.GoString(C.tunables()))
	if n := strings.Count(strings.Join(os.Environ(), "\n"), "GLIBC_TUNABLES="); n > 1 {
		panic(fmt.Sprint(n, " values of GLIBC_TUNABLES"))
	}
	var who [200]byte
	rand.Read(who[:])
	ask, got := start(4)
	var blocks []unsafe.Pointer
	places := uintptr(0)
	for i, b := range who {
		ask[b%4] <- 24 << (i % 15)
		p := <-got
		places = places*31 + uintptr(p)>>4
		if blocks = append(blocks, p); i%3 == 0 {
			C.free(blocks[i/2])
			blocks[i/2] = nil
		}
	}
	for range places % 1000 {
		hit(1)
	}
}

// start returns where a thread is asked for so many bytes, and what all of them answer.
func start(threads int) (ask []chan int, got chan unsafe.Pointer) {
	got = make(chan unsafe.Pointer)
	for range threads {
		c := make(chan int)
		ask = append(ask, c)
		go func() {
			runtime.LockOSThread()
			for n := range c {
				got <- C.malloc(C.size_t(n))
			}
		}()
	}
	return ask, got
}
