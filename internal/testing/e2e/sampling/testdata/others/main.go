// Command others asks for samples of its other goroutines, by a label: of some that wait, for all kinds of
// reasons, some that run, and some that ask for samples of the one that asks.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stemma-go/stemma"
)

var (
	block   = make(chan int)
	mu      sync.Mutex
	spins   atomic.Uint64
	stop    atomic.Bool
	started sync.WaitGroup
	ended   sync.WaitGroup
)

// labelled runs f in a goroutine that has the label. f says that it has begun.
func labelled(value string, f func()) {
	started.Add(1)
	ended.Add(1)
	go func() {
		defer ended.Done()
		pprof.Do(context.Background(), pprof.Labels("other", "1", "request", value), func(context.Context) {
			f()
		})
	}()
}

//go:noinline
func parked() {
	started.Done()
	<-block
}

//go:noinline
func locked() {
	started.Done()
	mu.Lock()
	mu.Unlock()
}

//go:noinline
func sleeping() { time.Sleep(time.Hour) }

//go:noinline
func reading(fd int) {
	started.Done()
	syscall.Read(fd, make([]byte, 1))
	runtime.KeepAlive(fd)
}

//go:noinline
func spinning() {
	started.Done()
	for !stop.Load() {
	}
}

//go:noinline
func calling() {
	started.Done()
	for !stop.Load() {
		deep(200)
	}
}

//go:noinline
func deep(n int) int {
	var big [8]int
	if n == 0 {
		spins.Add(1)
		return 1
	}
	big[n%8] = n
	return deep(n-1) + big[n%8]
}

// asking asks for samples of those that ask for samples of it.
//
//go:noinline
func asking() {
	started.Done()
	for !stop.Load() {
		stemma.SampleLabeled(1<<40, "request", "main")
		time.Sleep(100 * time.Microsecond) // or it takes all the room that there is for requests
	}
}

func main() {
	mu.Lock()
	pipe := make([]int, 2)
	if err := syscall.Pipe(pipe); err != nil {
		panic(err)
	}
	for _, f := range []func(){parked, locked, func() { reading(pipe[0]) }, spinning, calling, asking} {
		labelled("7", f)
	}
	go labelledSleeper()
	labelled("8", parked)
	started.Wait()
	time.Sleep(10 * time.Millisecond)
	n := 0
	pprof.Do(context.Background(), pprof.Labels("request", "main"), func(context.Context) {
		for id := range uint64(200) {
			n += stemma.SampleLabeled(id+1, "request", "7")
			if id%50 == 0 {
				runtime.GC()
			}
		}
	})
	fmt.Println("took", n, "and", stemma.SampleLabeled(999, "request", "nobody"))
	stop.Store(true)
	syscall.Write(pipe[1], []byte("x"))
	mu.Unlock()
	block <- 1
	block <- 1
	ended.Wait()
	if spins.Load() == 0 {
		os.Exit(1)
	}
}

// labelledSleeper never ends.
func labelledSleeper() {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("request", "9")))
	sleeping()
}
