// Command cgoalloc allocates where C has called Go, and prints by how much runtime.MemStats has grown meanwhile. Then
// threads of C do the same.
package main

/*
#include <pthread.h>
#include <stdlib.h>

extern void goAllocate(int);

static void cTwice(int n) {
	goAllocate(n);
	goAllocate(n);
}

static void *threadMain(void *arg) {
	for (int i = 0; i < 250; i++)
		goAllocate(1);
	return NULL;
}

static void cThreads(int n) {
	pthread_t t[16];
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, threadMain, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"
)

type counted struct{ v [3]int }

type tiny struct{ a, b uint16 }

// Whatever is stored here escapes.
var (
	sink  atomic.Pointer[counted]
	small atomic.Pointer[tiny]
	text  string
	bytes []byte
)

//export goAllocate
func goAllocate(n C.int) {
	for range int(n) {
		sink.Store(new(counted))
		small.Store(new(tiny))
	}
}

// single is what is compared with runtime.MemStats.
//
//go:noinline
func single() {
	s := C.CString("a string of C")
	for range 100 {
		C.cTwice(5)
		text = C.GoString(s)
		bytes = C.GoBytes(unsafe.Pointer(s), 3)
	}
	C.free(unsafe.Pointer(s))
}

func main() {
	before, after := new(runtime.MemStats), new(runtime.MemStats)
	debug.SetGCPercent(-1)
	runtime.ReadMemStats(before)
	runtime.ReadMemStats(after)
	runtime.ReadMemStats(before)
	single()
	runtime.ReadMemStats(after)
	fmt.Printf("single allocs %d alloc %d\n", after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc)
	C.cThreads(4)
}
