// Program exact counts calls on many goroutines that migrate, lock threads,
// make system calls and are preempted. It counts itself, with atomic counters
// beside the calls, and prints what it expects.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
)

const rounds = 200

var made struct{ a, b, c, d, deep, iface, closure, spawned, maps, recovered atomic.Uint64 }

func main() {
	workers := 4 * runtime.GOMAXPROCS(0)
	if workers > 64 {
		workers = 64
	}
	stop := disturb()
	var wg sync.WaitGroup
	for i := range workers {
		wg.Add(1)
		go work(i, &wg)
	}
	wg.Wait()
	stop()
	expect("main.a", made.a.Load())
	expect("main.b", made.b.Load())
	expect("main.c", made.c.Load())
	expect("main.d", made.d.Load())
	expect("main.down", made.deep.Load())
	expect("main.(*impl).method", made.iface.Load())
	expect("main.spawned", made.spawned.Load())
	expect("main.thrower", made.recovered.Load())
	fmt.Println("want:func main.loop", workers)
	fmt.Println("want:context [main];main.main;go main.work;main.loop", workers)
	fmt.Println("want:context [main];main.main;go main.work;main.loop;main.a", made.a.Load())
	fmt.Println("want:context [main];main.main;go main.work;main.loop;main.a;main.b", made.b.Load())
	fmt.Println("want:context [main];main.main;go main.work;main.loop;main.a;main.b;inlined main.small", 3*made.b.Load())
	fmt.Println("want:context [main];main.main;go main.work;main.loop;main.mapper;native runtime.mapassign_fast64", made.maps.Load())
	fmt.Println("want:context [main];main.main;go main.work;main.loop;go main.spawned;main.down", made.spawned.Load())
	fmt.Println("want:context [main];main.main;go main.work;main.loop;go main.spawned;main.down;main.down", made.deep.Load()-made.spawned.Load())
}

func expect(name string, n uint64) { fmt.Println("want:func", name, n) }

// disturb starts what the environment asks for and returns what ends it.
func disturb() (stop func()) {
	done := make(chan bool)
	var wg sync.WaitGroup
	start := func(f func()) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				select {
				case <-done:
					return
				default:
					f()
				}
			}
		}()
	}
	if os.Getenv("DISTURB_PREEMPT") != "" {
		pid := syscall.Getpid()
		start(func() {
			for range 10 {
				syscall.Kill(pid, syscall.SIGURG)
			}
			tasks, _ := os.ReadDir("/proc/self/task")
			for _, t := range tasks {
				tid, _ := strconv.Atoi(t.Name())
				syscall.Tgkill(pid, tid, syscall.SIGURG)
			}
		})
	}
	if os.Getenv("DISTURB_PROCS") != "" {
		n := 0
		start(func() { n++; runtime.GOMAXPROCS(1 + n%16) })
	}
	if os.Getenv("DISTURB_GC") != "" {
		debug.SetGCPercent(1)
		start(runtime.GC)
	}
	return func() { close(done); wg.Wait() }
}

// work mixes the ways in which a goroutine comes to another thread.
func work(i int, wg *sync.WaitGroup) {
	defer wg.Done()
	if i%4 == 1 {
		runtime.LockOSThread()
	}
	loop(i)
}

//go:noinline
func loop(seed int) {
	m := &impl{}
	var x caller = m
	hand := make(chan int)
	go func() {
		for range rounds {
			made.c.Add(1)
			hand <- c(1)
		}
	}()
	for r := range rounds {
		for range 50 {
			a()
			made.a.Add(1)
		}
		x.method()
		made.iface.Add(1)
		if (r+seed)%3 == 0 {
			runtime.Gosched()
		}
		if (r+seed)%5 == 0 {
			syscall.Getppid()
		}
		<-hand
		f := func() { d(); made.d.Add(1) }
		f()
		mapper()
		made.maps.Add(20)
		if (r+seed)%20 == 0 {
			done := make(chan bool)
			go spawned(done, 300)
			made.spawned.Add(1)
			made.deep.Add(301)
			<-done
			try()
			made.recovered.Add(1)
		}
	}
}

//go:noinline
func a() {
	for range 3 {
		b()
		made.b.Add(1)
	}
}

//go:noinline
func b() int { return small(3) + small(4) - small(4) }

func small(n int) int { return n * n }

//go:noinline
func c(n int) int { return n + 1 }

//go:noinline
func d() {}

type caller interface{ method() }

type impl struct{ n int }

//go:noinline
func (i *impl) method() { i.n++ }

//go:noinline
func mapper() {
	m := make(map[int]int, 50)
	for i := range 20 {
		m[i] = i
	}
}

//go:noinline
func spawned(done chan bool, depth int) {
	down(depth)
	done <- true
}

// down makes the stack of a fresh goroutine grow at some depth or other.
//
//go:noinline
func down(n int) [8]int {
	if n == 0 {
		return [8]int{}
	}
	a := down(n - 1)
	a[n%8]++
	return a
}

//go:noinline
func try() {
	defer func() { recover() }()
	thrower()
}

//go:noinline
func thrower() { panic("p") }
