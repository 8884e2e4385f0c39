// Loop takes paths of calls, again and again, on threads of their own. One calls in contexts that are
// there, one in contexts that are new each time. It prints what each round took, and what the process has taken beside.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const rusageThread = 1

//go:noinline
func left(path, n uint32) uint32 {
	if n == 0 {
		return path
	}
	return step(path>>1, n-1) + 1
}

//go:noinline
func right(path, n uint32) uint32 {
	if n == 0 {
		return path
	}
	return step(path>>1, n-1) + 2
}

// step calls one of two functions, as the lowest bit of path says. With full recursion each path is a context.
func step(path, n uint32) uint32 {
	if path&1 == 0 {
		return left(path, n)
	}
	return right(path, n)
}

// depth is how long a path is: there are more than a run can go.
const depth = 24

// A thread is what one of the threads has measured.
type thread struct {
	name  string
	next  func(round uint32) uint32 // the path that a round goes
	pause time.Duration             // between two rounds

	all       []time.Duration
	long      [4]int           // how many rounds took more than a millisecond, by cause
	longest   [4]time.Duration // by cause
	user, sys time.Duration
}

// causes are why a round took long. Who was preempted lost the CPU to other work. Who waited left it.
var causes = [4]string{"preempted", "waited", "faults", "neither"}

const (
	preempted = iota
	waited
	faults
	neither
)

func (t *thread) run(length time.Duration) {
	runtime.LockOSThread()
	var last, now syscall.Rusage
	syscall.Getrusage(rusageThread, &last)
	first := last
	for end, round := time.Now().Add(length), uint32(0); len(t.all) < cap(t.all); round++ {
		began := time.Now()
		if began.After(end) {
			break
		}
		path := t.next(round)
		step(path, depth)
		took := time.Since(began)
		t.all = append(t.all, took)
		if took > 20*time.Microsecond {
			syscall.Getrusage(rusageThread, &now)
			t.note(took, cause(&last, &now))
			last = now
		}
		for time.Since(began) < t.pause {
		}
	}
	syscall.Getrusage(rusageThread, &now)
	t.user = time.Duration(now.Utime.Nano() - first.Utime.Nano())
	t.sys = time.Duration(now.Stime.Nano() - first.Stime.Nano())
}

func cause(last, now *syscall.Rusage) int {
	switch {
	case now.Nivcsw != last.Nivcsw:
		return preempted
	case now.Nvcsw != last.Nvcsw:
		return waited
	case now.Minflt+now.Majflt != last.Minflt+last.Majflt:
		return faults
	}
	return neither
}

func (t *thread) note(took time.Duration, cause int) {
	if took > time.Millisecond {
		t.long[cause]++
	}
	t.longest[cause] = max(t.longest[cause], took)
}

// touched returns room for n durations whose pages are there.
func touched(n int) []time.Duration {
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = 1
	}
	return list[:0]
}

func main() {
	length, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	known, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	pause, err := time.ParseDuration(os.Args[3])
	if err != nil {
		panic(err)
	}
	for path := range known {
		step(uint32(path), depth)
	}
	threads := []*thread{
		{name: "known", all: touched(int(length / 200)), next: func(n uint32) uint32 { return n % uint32(known) }},
		{name: "new", all: touched(int(length / (20 * time.Microsecond))), pause: pause,
			next: func(n uint32) uint32 { return uint32(known) + n }},
	}
	runtime.GC()
	debug.SetGCPercent(-1)
	var begin, end syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &begin)
	var wait sync.WaitGroup
	for _, t := range threads {
		wait.Go(func() { t.run(length) })
	}
	wait.Wait()
	syscall.Getrusage(syscall.RUSAGE_SELF, &end)
	beside := time.Duration(end.Utime.Nano() + end.Stime.Nano() - begin.Utime.Nano() - begin.Stime.Nano())
	for _, t := range threads {
		beside -= t.user + t.sys
		slices.Sort(t.all)
		fmt.Printf("%s %d %d %d", t.name, len(t.all), t.all[len(t.all)/2], t.all[len(t.all)*9999/10000])
		for i := range causes {
			fmt.Printf(" %d %d", t.long[i], t.longest[i])
		}
		fmt.Println()
	}
	fmt.Printf("beside %d\n", beside)
}
