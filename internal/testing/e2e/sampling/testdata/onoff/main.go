// Command onoff switches sampling on and off, ONOFF_ROUNDS times, while all that makes the runtime send signals of its
// own is at work: collections and stops of the world beside goroutines that never call, a CPU profile that
// begins and ends, and, with cgo, threads of C, some of which block all signals. It ends if none of these signals is
// lost: a goroutine that is never stopped stops all others.
package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stemma-go/stemma"
)

var (
	ended atomic.Bool
	sink  int
)

//go:noinline
func spin(n int) (sum int) {
	for i := range n {
		sum += i ^ sum
	}
	return sum
}

//go:noinline
func deep(n int) int {
	if n == 0 {
		return spin(1000)
	}
	return deep(n-1) + 1
}

func nap(most time.Duration) { time.Sleep(time.Duration(rand.Int64N(int64(most)))) }

// beside runs what it is given again and again until the program ends.
func beside(wg *sync.WaitGroup, f func()) {
	wg.Go(func() {
		for !ended.Load() {
			f()
		}
	})
}

// exec lets another process begin while timers go off: a signal of one must not end it.
func exec() {
	if out, err := child(); err != nil {
		fmt.Println("a child:", err, out)
		os.Exit(3)
	}
	nap(20 * time.Millisecond)
}

// child runs this program again, which takes another one's place while it samples.
func child() (string, error) {
	attr := &os.ProcAttr{Env: append(os.Environ(), "ONOFF_CHILD=1"), Files: []*os.File{nil, os.Stdout, os.Stderr}}
	p, err := os.StartProcess("/proc/self/exe", []string{"onoff"}, attr)
	if err != nil {
		return "", err
	}
	s, err := p.Wait()
	if err == nil && !s.Success() {
		err = fmt.Errorf("%v", s)
	}
	return s.String(), err
}

func becomeAnother() {
	stemma.StartSampling(stemma.SamplingOptions{Every: 20 * time.Microsecond})
	for range 3 {
		go spin(1 << 40)
	}
	time.Sleep(time.Millisecond)
	fmt.Println(syscall.Exec("/bin/true", []string{"true"}, nil))
	os.Exit(3)
}

func main() {
	if os.Getenv("ONOFF_CHILD") != "" {
		becomeAnother()
	}
	rounds, err := strconv.Atoi(os.Getenv("ONOFF_ROUNDS"))
	if err != nil {
		rounds = 200
	}
	urgent := make(chan os.Signal, 1)
	signal.Notify(urgent) // all signals: those of samples are not for the program
	signal.Reset(syscall.SIGQUIT, syscall.SIGTERM)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { // never calls: only a signal stops it
			for n := 0; !ended.Load(); n++ {
				sink ^= n
			}
		})
	}
	beside(&wg, func() { sink += deep(rand.IntN(500)) })
	beside(&wg, func() { debug.FreeOSMemory(); nap(5 * time.Millisecond) })
	beside(&wg, func() { var m runtime.MemStats; runtime.ReadMemStats(&m); nap(2 * time.Millisecond) })
	beside(&wg, func() {
		if err := pprof.StartCPUProfile(io.Discard); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		nap(30 * time.Millisecond)
		pprof.StopCPUProfile()
	})
	beside(&wg, exec)
	startC(&wg)
	for i := range rounds {
		every := time.Duration(20+rand.IntN(2000)) * time.Microsecond
		if err := stemma.StartSampling(stemma.SamplingOptions{Every: every}); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		nap(10 * time.Millisecond)
		if i%3 != 0 { // else with another interval, without an end
			stemma.StopSampling()
			runtime.GC()
		}
	}
	stemma.StopSampling()
	ended.Store(true)
	wg.Wait()
	for {
		select {
		case s := <-urgent:
			if s == syscall.SIGPROF {
				fmt.Println("the program was told of", s)
				os.Exit(3)
			}
			continue
		default:
		}
		break
	}
	fmt.Println("ok")
}
