// Parked waits in all ways that Go has, each in a function of its own, and prints how long the call took by
// the clock: "main.f ns".
package main

import (
	"fmt"
	"iter"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const short = 20 * time.Millisecond

// after calls f in a while, from another goroutine.
func after(f func()) {
	go func() {
		time.Sleep(short)
		f()
	}()
}

func sleep() { time.Sleep(short) }

func receive() {
	c := make(chan int)
	after(func() { c <- 1 })
	<-c
}

func send() {
	c := make(chan int)
	after(func() { <-c })
	c <- 1
}

func choose() {
	a, b := make(chan int), make(chan int)
	after(func() { close(a) })
	select {
	case <-a:
	case <-b:
	}
}

func mutex() {
	var mu sync.Mutex
	mu.Lock()
	after(mu.Unlock)
	mu.Lock()
}

func readers() {
	var mu sync.RWMutex
	mu.Lock()
	after(mu.Unlock)
	mu.RLock()
}

func group() {
	var wg sync.WaitGroup
	wg.Add(1)
	after(wg.Done)
	wg.Wait()
}

func cond() {
	var mu sync.Mutex
	c := sync.NewCond(&mu)
	mu.Lock()
	after(c.Signal)
	c.Wait()
}

func network() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	after(func() {
		c, err := net.Dial("tcp", l.Addr().String())
		if err == nil {
			c.Close()
		}
	})
	c, err := l.Accept()
	if err == nil {
		c.Close()
	}
}

// call blocks in a system call.
func call() {
	t := syscall.NsecToTimespec(int64(short))
	if err := syscall.Nanosleep(&t, nil); err != nil {
		panic(err)
	}
}

func pull() {
	next, stop := iter.Pull(func(yield func(int) bool) {
		time.Sleep(short)
		yield(1)
	})
	defer stop()
	next()
}

// stop stops the world, often.
func stop() {
	for range 100 {
		runtime.GC()
	}
}

// deep waits far below a function that all of its waits stand for.
func deep(n int) {
	if n > 0 {
		deep(n - 1)
		return
	}
	time.Sleep(short)
}

func levels() { deep(10) }

// busy does not wait, but for a CPU: several goroutines share one P, and each is preempted.
func busy() { share(spin) }

// assigns is preempted inside the runtime, long after its only call.
func assigns() { share(assign) }

// yields gives its P to others, long after its only call of the program.
func yields() { share(yield) }

func share(f func()) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f()
		}()
	}
	wg.Wait()
}

//go:noinline
func assign() {
	before()
	m := make(map[int]int)
	for i := range 5_000_000 {
		m[i&1023] += i
	}
}

//go:noinline
func yield() {
	before()
	for i := range uint64(20_000_000) {
		sink += i
		if i%10_000 == 0 {
			runtime.Gosched()
		}
	}
}

// before has returned when its callers wait.
//
//go:noinline
func before() { count() }

//go:noinline
func count() { sink++ }

var sink uint64

//go:noinline
func spin() {
	x := uint64(1)
	for begin := time.Now(); time.Since(begin) < 5*short; {
		for range 10000 {
			x = x*6364136223846793005 + 1
		}
	}
	sink += x
}

// leak leaves a goroutine that never goes on.
func leak() {
	go forever(make(chan int))
	time.Sleep(short)
}

func forever(c chan int) { <-c }

func main() {
	runtime.GOMAXPROCS(1)
	begin := time.Now()
	work()
	fmt.Fprintf(os.Stdout, "main.work %d\n", time.Since(begin))
}

// work calls all that wait, each between two looks at the clock.
//
//go:noinline
func work() {
	all := []struct {
		name string
		f    func()
	}{
		{"sleep", sleep}, {"receive", receive}, {"send", send}, {"choose", choose}, {"mutex", mutex},
		{"readers", readers}, {"group", group}, {"cond", cond}, {"network", network}, {"call", call},
		{"pull", pull}, {"levels", levels}, {"stop", stop}, {"busy", busy}, {"assigns", assigns},
		{"yields", yields}, {"leak", leak},
	}
	for _, w := range all {
		from := time.Now()
		w.f()
		fmt.Printf("main.%s %d\n", w.name, time.Since(from))
	}
}
