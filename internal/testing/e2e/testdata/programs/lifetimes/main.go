// Lifetimes starts goroutines that do all sorts of things, and prints how long those of each go statement lived by
// the clock, all in all, at least and at most, and how many there were: "main.f ns ns n".
package main

import (
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"
)

const long = 300 * time.Millisecond

// A life is that of the goroutines of one go statement.
type life struct {
	mu          sync.Mutex
	n           int
	least, most time.Duration
	wait        sync.WaitGroup
}

// end is the last thing that a goroutine does which was about to begin at a time, and had begun at another.
func (l *life) end(before, began time.Time) {
	l.mu.Lock()
	l.n++
	l.mu.Unlock()
	l.wait.Done()
	end := time.Now()
	l.mu.Lock()
	l.least += end.Sub(began)
	l.most += end.Sub(before)
	l.mu.Unlock()
}

var sink [8]any

// spin is preempted, again and again.
func spin(until time.Time) {
	x := 1
	for time.Now().Before(until) {
		for range 1000 {
			x = x*5 + 1
		}
	}
	sink[0] = x
}

// yield lets others run all the time.
func yield(until time.Time) {
	for time.Now().Before(until) {
		runtime.Gosched()
	}
}

// allocate helps the collector.
func allocate(until time.Time) {
	var list [][]byte
	for time.Now().Before(until) {
		if list = append(list, make([]byte, 1<<12)); len(list) > 1000 {
			list = nil
		}
	}
	sink[1] = list
}

func sleep(until time.Time) {
	for time.Now().Before(until) {
		time.Sleep(time.Millisecond)
	}
}

// call makes system calls, short ones and such that block.
func call(until time.Time) {
	ts := syscall.NsecToTimespec(1e5)
	for time.Now().Before(until) {
		syscall.Getppid()
		syscall.Nanosleep(&ts, nil)
	}
}

var (
	mu   sync.Mutex
	ping = make(chan int)
)

func locks(until time.Time) {
	for time.Now().Before(until) {
		mu.Lock()
		spin(time.Now().Add(20 * time.Microsecond))
		mu.Unlock()
	}
}

func channel(until time.Time) {
	for time.Now().Before(until) {
		select {
		case ping <- 1:
		case <-ping:
		case <-time.After(time.Millisecond):
		}
	}
}

// coroutine has a coroutine, which is a goroutine of its own: it is made while Pull is called, somewhen. What Pull does
// has the context in which the coroutine begins, so that the lives of both are one sum.
func coroutine(gate chan int, until *time.Time, l *life) {
	l.wait.Add(1)
	before := time.Now()
	next, stop := iter.Pull(func(yield func(int) bool) {
		began := time.Now()
		defer func() { l.end(before, began) }()
		for i := 0; yield(i); i++ {
			spin(time.Now().Add(10 * time.Microsecond))
		}
	})
	defer stop()
	<-gate
	for next(); time.Now().Before(*until); { // it begins in any case
		next()
	}
}

// stops stops the world.
func stops(until time.Time) {
	for time.Now().Before(until) {
		runtime.GC()
	}
}

// children starts goroutines, whose lives are their own.
func children(until time.Time) {
	var wg sync.WaitGroup
	for time.Now().Before(until) {
		wg.Add(1)
		go func() {
			spin(time.Now().Add(50 * time.Microsecond))
			wg.Done()
		}()
		wg.Wait()
	}
}

func main() {
	runtime.GC()                  // the first collection waits for its workers, for which [gc] has the time
	old := debug.SetGCPercent(-1) // while goroutines are made, nothing comes between their clocks and their lives
	gate := make(chan int)
	var until time.Time
	all := map[string]*life{}
	begin := func(name string) (*life, time.Time) {
		l := all[name]
		if l == nil {
			l = new(life)
			all[name] = l
		}
		l.wait.Add(1)
		return l, time.Now()
	}
	for range 2 {
		go func(l *life, t time.Time) { <-gate; spin(until); l.end(t, t) }(begin("spin"))
		go func(l *life, t time.Time) { <-gate; yield(until); l.end(t, t) }(begin("yield"))
		go func(l *life, t time.Time) { <-gate; allocate(until); l.end(t, t) }(begin("allocate"))
		go func(l *life, t time.Time) { <-gate; sleep(until); l.end(t, t) }(begin("sleep"))
		go func(l *life, t time.Time) { <-gate; call(until); l.end(t, t) }(begin("call"))
		go func(l *life, t time.Time) { <-gate; locks(until); l.end(t, t) }(begin("locks"))
		go func(l *life, t time.Time) { <-gate; channel(until); l.end(t, t) }(begin("channel"))
		go func(l *life, t time.Time) { coroutine(gate, &until, l); l.end(t, t) }(begin("coroutine"))
		go func(l *life, t time.Time) { <-gate; children(until); l.end(t, t) }(begin("children"))
	}
	go func(l *life, t time.Time) { <-gate; stops(until); l.end(t, t) }(begin("stops"))
	until = time.Now().Add(long)
	debug.SetGCPercent(old)
	close(gate)
	for _, l := range all {
		l.wait.Wait()
	}
	time.Sleep(20 * time.Millisecond) // until the last ones have ended
	for name, l := range all {
		l.mu.Lock()
		fmt.Println("main."+name, l.least.Nanoseconds(), l.most.Nanoseconds(), l.n)
		l.mu.Unlock()
	}
}
