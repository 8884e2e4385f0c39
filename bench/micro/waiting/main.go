// Waiting has two workers, and many goroutines that wait. It prints how much the
// workers did, and how long they were held up, while a profiler runs: one that it starts
// itself, or the sampler that stemma has built in. With -park the workers wait as well: after each unit of work for a
// goroutine that waits for them.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"runtime/pprof"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/felixge/fgprof"
)

//go:noinline
func leaf(n int) int {
	for i := range 100 {
		n += i ^ n>>3
	}
	return n
}

//go:noinline
func unit(depth int) int {
	if depth == 0 {
		return leaf(1)
	}
	return unit(depth-1) + leaf(depth)
}

// parked waits at the given depth.
//
//go:noinline
func parked(depth int, c chan bool) int {
	if depth == 0 {
		<-c
		return 1
	}
	return parked(depth-1, c) + 1
}

// A worker does units of work until the end and notes how long each took.
type worker struct {
	units int
	sum   int // keeps what is computed alive
	times []time.Duration
	// Each unit ends with a number sent to ask, and one received from answer, if there are such channels.
	ask, answer chan int
}

// withPartner gives w a goroutine that waits for its units until ask is closed.
func (w *worker) withPartner() {
	w.ask, w.answer = make(chan int), make(chan int)
	go func() {
		for n := range w.ask {
			w.answer <- n + 1
		}
	}()
}

func (w *worker) run(until time.Time) {
	for last := time.Now(); last.Before(until); {
		w.sum += unit(20)
		if w.ask != nil {
			w.ask <- w.sum
			w.sum = <-w.answer
		}
		now := time.Now()
		w.times = append(w.times, now.Sub(last))
		w.units++
		last = now
	}
}

func main() {
	goroutines := flag.Int("n", 10, "goroutines that wait")
	length := flag.Duration("t", 3*time.Second, "how long")
	profiler := flag.String("profiler", "none", "none, fgprof or pprof")
	park := flag.Bool("park", false, "the workers wait after each unit")
	flag.Parse()
	c := make(chan bool)
	for range *goroutines {
		go parked(10, c)
	}
	time.Sleep(200 * time.Millisecond)
	var stop func() error
	switch *profiler {
	case "fgprof":
		stop = fgprof.Start(io.Discard, fgprof.FormatPprof)
	case "pprof":
		if err := pprof.StartCPUProfile(io.Discard); err != nil {
			log.Fatal(err)
		}
	}
	workers := [2]worker{}
	var before, after syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	until := time.Now().Add(*length)
	var wg sync.WaitGroup
	for i := range workers {
		workers[i].times = make([]time.Duration, 0, 4<<20)
		if *park {
			workers[i].withPartner()
		}
		wg.Go(func() { workers[i].run(until) })
	}
	wg.Wait()
	syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	if stop != nil {
		stop()
	}
	times := append(workers[0].times, workers[1].times...)
	slices.Sort(times)
	for _, f := range []struct {
		name  string
		value int64
		unit  string
	}{
		{"units", int64(workers[0].units + workers[1].units), "units"},
		{"cpu", after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano(), "ns"},
		{"late", times[len(times)*999/1000].Nanoseconds(), "ns"},
		{"latest", times[len(times)-1].Nanoseconds(), "ns"},
	} {
		fmt.Println(f.name, f.value, f.unit)
	}
}
