// Program cgo calls C and is called back, from C's own threads too.
package main

/*
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

extern int goLeaf(int);
extern int goNest(int);
extern void goThread(int);
extern int goCompare(void *, void *);

static int cLeaf(int n) { return n + 1; }

static int cTwice(int n) { return goLeaf(n) + goLeaf(n + 1); }

// Some libraries use the segment base for themselves.
static int cSegment(int n) {
	int sum;
#ifdef SYS_arch_prctl
	const int setGS = 0x1001;
	syscall(SYS_arch_prctl, setGS, 0);
	sum = goLeaf(n);
	syscall(SYS_arch_prctl, setGS, &sum);
#else
	sum = goLeaf(n);
#endif
	return sum;
}

static int cMany(int n) {
	int i, sum = 0;
	for (i = 0; i < n; i++)
		sum += goNest(i) + goLeaf(i);
	return sum;
}

extern void goDeep(int);
extern void goPanic(void);

static void cDeep(int n) { goDeep(n - 1); }

static void cPanic(void) { goPanic(); }

static void *threadMain(void *arg) {
	int i, n = *(int *)arg;
	for (i = 0; i < n; i++)
		goThread(i);
	return NULL;
}

static void cThreads(int threads, int n) {
	pthread_t t[16];
	int i;
	for (i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, threadMain, &n);
	for (i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
}

static int compare(const void *a, const void *b) { return goCompare((void *)a, (void *)b); }

static void cSort(int *a, int n) { qsort(a, n, sizeof *a, compare); }
*/
import "C"

import (
	"fmt"
	"os"
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"unsafe"
)

func main() {
	leaves()
	segment()
	callbacks()
	threads()
	sorting()
	recursion()
	panics()
	parallel()
	handles()
}

var sink atomic.Int64

//go:noinline
func leaf() { sink.Add(1) }

//go:noinline
func leaf2() { sink.Add(1) }

// Calls of C are leaves, counted where they are made.
//
//want:context [main];main.main;main.leaves;**;main._Cfunc_cLeaf 30
//go:noinline
func leaves() {
	for i := range 30 {
		C.cLeaf(C.int(i))
	}
}

// Functions of runtime/cgo call package sync.
//
//want:context [main];main.main;main.handles;main.middle;main.use;runtime/cgo.NewHandle 40
//want:context [main];main.main;main.handles;main.middle;main.use;**;internal/sync.(*HashTrieMap[...]).Swap 40
//go:noinline
func handles() {
	for range 20 {
		middle()
	}
}

//go:noinline
func middle() { use(); use() }

//go:noinline
func use() {
	h := cgo.NewHandle(1)
	sink.Add(int64(h.Value().(int)))
	h.Delete()
}

// C may change what counters are found with.
//
//want:context [main];main.main;main.segment;**;main.goLeaf;main.leaf 20
//want:context [main];main.main;main.segment;main.leaf2 20
//go:noinline
func segment() {
	for i := range 20 {
		C.cSegment(C.int(i))
		leaf2()
	}
}

// C that calls back several times from one call.
//
//want:context [main];main.main;main.callbacks;main._Cfunc_cTwice;**;main.goLeaf 10
//want:context [main];main.main;main.callbacks;main._Cfunc_cTwice;**;main.goLeaf;main.leaf 10
//want:context [main];main.main;main.callbacks;main._Cfunc_cMany;**;main.goNest 12
//want:context [main];main.main;main.callbacks;main._Cfunc_cMany;_cgoexp_~_goNest;main.goNest 12
//want:context [main];main.main;main.callbacks;main._Cfunc_cMany;_cgoexp_~_goNest;main.goNest;main.leaf2 12
//want:context [main];main.main;main.callbacks;main._Cfunc_cMany;_cgoexp_~_goLeaf;main.goLeaf 12
//want:context [main];main.main;main.callbacks;main.leaf2 2
//go:noinline
func callbacks() {
	for range 5 {
		C.cTwice(1)
	}
	C.cMany(4)
	leaf2()
	C.cMany(8)
	leaf2()
}

//export goLeaf
func goLeaf(n C.int) C.int {
	leaf()
	return n
}

//export goNest
func goNest(n C.int) C.int {
	leaf2()
	C.cLeaf(n)
	return n
}

// Callbacks on threads that C created have a root of their own.
//
//want:context [cgo];**;main.goThread 60
//want:context [cgo];_cgoexp_~_goThread;main.goThread 60
//want:context [cgo];_cgoexp_~_goThread;main.goThread;main.leaf 60
//want:context [cgo];_cgoexp_~_goThread;main.goThread;go main.goThread.func1 60
//go:noinline
func threads() {
	C.cThreads(4, 5)
	C.cThreads(1, 20)
	C.cThreads(10, 2)
}

//export goThread
func goThread(n C.int) {
	mu.Lock()
	leaf()
	mu.Unlock()
	done := make(chan bool)
	go func() { done <- true }()
	<-done
}

var mu sync.Mutex

var compares int

// The C library's qsort calls back as often as it likes.
//
//go:noinline
func sorting() {
	a := []C.int{5, 3, 9, 1, 7, 2, 8, 6, 4, 0}
	C.cSort(&a[0], C.int(len(a)))
	if a[0] != 0 || a[9] != 9 {
		fmt.Fprintln(os.Stderr, a)
	}
	fmt.Println("want:context [main];main.main;main.sorting;**;**;main.goCompare", compares)
}

//export goCompare
func goCompare(a, b unsafe.Pointer) C.int {
	compares++
	return *(*C.int)(a) - *(*C.int)(b)
}

// Go and C in turns.
//
//want:func main.recurse 6
//want:context [main];main.main;main.recursion;main.recurse 1
//want:context [main];main.main;main.recursion;main.recurse;**;main.recurse 5
//go:noinline
func recursion() { recurse(5) }

//go:noinline
func recurse(n int) {
	if n > 0 {
		C.cDeep(C.int(n))
	}
}

//export goDeep
func goDeep(n C.int) { recurse(int(n)) }

// A panic passes through C's frames to a recover beyond them.
//
//want:context [main];main.main;main.panics;main.guarded 4
//want:context [main];main.main;main.panics;main.guarded;main._Cfunc_cPanic;_cgoexp_~_goPanic;main.goPanic 4
//want:context [main];main.main;main.panics;main.guarded;main._Cfunc_cPanic;_cgoexp_~_goPanic;main.goPanic;native runtime.gopanic;main.guarded.func1 4
//want:context [main];main.main;main.panics;main.guarded;main._Cfunc_cPanic;_cgoexp_~_goPanic;main.goPanic;native runtime.gopanic;main.guarded.func1;main.leaf2 4
//want:context [main];main.main;main.panics;main.leaf 4
//go:noinline
func panics() {
	for range 4 {
		guarded()
		leaf()
	}
}

//go:noinline
func guarded() {
	defer func() {
		leaf2()
		recover()
	}()
	C.cPanic()
}

//export goPanic
func goPanic() { panic("through C") }

// Many goroutines in C at once, called back while they migrate.
//
//want:context [main];main.main;main.parallel;go main.parallel.func1;main._Cfunc_cMany 800
//want:context [main];main.main;main.parallel;go main.parallel.func1;main._Cfunc_cMany;_cgoexp_~_goNest;main.goNest 4000
//go:noinline
func parallel() {
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 100 {
				C.cMany(5)
			}
		}()
	}
	wg.Wait()
}
