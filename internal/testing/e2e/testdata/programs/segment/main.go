// Program segment calls C that has the segment base for itself, on every thread that it runs on, and is called back.
package main

// #include "segment.h"
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

//want:func main.main 1
func main() {
	runtime.LockOSThread()
	C.use() // set by a constructor
	runtime.UnlockOSThread()
	ways := 1 + int(C.canWrite())
	for way := range ways {
		C.chooseWay(C.int(way))
		plainly()
		within()
		threads()
		migrating()
		ending()
	}
	fmt.Println("want:func main.leaf", leaves*ways)
	fmt.Println("want:context [main];main.main;main.plainly;main.leaf", 300*ways)
	fmt.Println("want:context [cgo];**;main.goCalled;main.leaf", calledByThreads*ways)
	fmt.Println("want:context **;main.migrating.func1;main.leaf", 8*200*ways)
}

const (
	calledByThreads = 4*(5+1) + 16*(2+1)
	leaves          = 300 + 3*20 + calledByThreads + 8*200*(1+3) + 10
)

//go:noinline
func leaf() {}

// plainly calls C, which finds its base and is interrupted, and counts in between.
//
//go:noinline
func plainly() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 100 {
		C.use()
		leaf()
		C.interrupted()
		leaf()
		C.drop()
		leaf()
		C.isDropped()
	}
}

// within changes the base in a callback.
//
//go:noinline
func within() { C.changeWithin(20) }

//export goDrops
func goDrops() {
	leaf()
	C.drop()
	leaf()
}

//export goUses
func goUses() {
	C.use()
	leaf()
}

// threads has threads of C that call Go.
//
//go:noinline
func threads() {
	C.onThreads(4, 5)
	C.onThreads(16, 2)
}

//export goCalled
func goCalled(n C.int) {
	if n%2 == 0 {
		runtime.Gosched()
	}
	leaf()
}

// migrating has goroutines that go from thread to thread between calls.
//
//go:noinline
func migrating() {
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 200 {
				C.use()
				leaf()
				runtime.Gosched()
				C.callBack(3)
				if i%50 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	all.Wait()
}

// ending has threads that Go made end, and C look at the base once more.
//
//go:noinline
func ending() {
	before := C.ended()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			runtime.LockOSThread() // for ever: the thread ends with the goroutine
			leaf()
			C.sayEnd()
		})
	}
	all.Wait()
	for i := 0; C.ended() < before+9; i++ { // the first thread only ends with the program
		if i == 5000 {
			fmt.Fprintln(os.Stderr, "threads have not ended")
			os.Exit(4)
		}
		time.Sleep(time.Millisecond)
	}
}
