// Command splits spends about 70, 20 and 10 % of its time in f70, f20 and f10, doing what
// SPLITS_KIND says, and prints how much it really was: CPU time of the thread for what runs, wall
// time for what waits; then how many urgent signals it was told of. It is for tests of samplers, which must find these shares.
package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

var (
	sink     int
	bytes    []byte
	from, to [1 << 14]byte
	table    = make(map[int]int)
)

//go:noinline
func tiny(n int) int { return n*31 + 7 }

// kinds are some tens of microseconds of work each.
var kinds = map[string]func(){
	"loop": loop,
	"tiny": func() {
		x := sink
		for range 20_000 {
			x = tiny(x)
		}
		sink = x
	},
	"memmove": func() {
		for range 100 {
			copy(to[:], from[:])
		}
	},
	"map": func() {
		for i := range 3000 {
			table[i&1023]++
		}
	},
	"alloc": func() {
		for i := range 400 {
			bytes = make([]byte, 64+i&255)
		}
	},
	"sort": func() {
		list := make([]int, 400)
		for i := range list {
			list[i] = i * 7919 & 1023
		}
		slices.SortFunc(list, func(a, b int) int { return a - b })
	},
	"syscall": func() {
		for range 100 {
			syscall.Getppid()
		}
	},
	"sleep": func() { time.Sleep(200 * time.Microsecond) },
	"lock":  func() { locked() },
}

//go:noinline
func loop() {
	x := sink
	for i := range 50_000 {
		x += i ^ x>>3
	}
	sink = x
}

// locked waits for a mutex that another goroutine holds for a while.
func locked() {
	mu.Lock()
	mu.Unlock()
	turn <- true
	<-turn
}

var (
	mu   sync.Mutex
	turn = make(chan bool)
)

// holder holds the mutex whenever the other goroutine comes for it.
func holder() {
	mu.Lock()
	for {
		time.Sleep(300 * time.Microsecond)
		mu.Unlock()
		<-turn
		mu.Lock()
		turn <- true
	}
}

//go:noinline
func f70(work func()) { work(); sink++ }

//go:noinline
func f20(work func()) { work(); sink++ }

//go:noinline
func f10(work func()) { work(); sink++ }

// threadTime is the CPU time of this thread, as the kernel counts it.
func threadTime() time.Duration {
	var ts syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 3, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano())
}

// run calls the three functions until they have used so much time, in no order that a
// sampler could be in step with, and returns the time of each.
func run(work func(), enough time.Duration, clock func() time.Duration) (used [3]time.Duration) {
	r := rand.New(rand.NewPCG(1, 2))
	last := clock()
	for used[0]+used[1]+used[2] < enough {
		k := 0
		switch n := r.IntN(10); {
		case n < 7:
			f70(work)
		case n < 9:
			f20(work)
			k = 1
		default:
			f10(work)
			k = 2
		}
		now := clock()
		used[k] += now - last
		last = now
	}
	return used
}

func main() {
	kind, enough := os.Getenv("SPLITS_KIND"), time.Second
	if s := os.Getenv("SPLITS_TIME"); s != "" {
		enough, _ = time.ParseDuration(s)
	}
	if n, _ := strconv.Atoi(os.Getenv("SPLITS_CROWD")); n > 0 {
		wait := make(chan bool)
		for range n {
			go func() { <-wait }()
		}
	}
	if name := os.Getenv("SPLITS_PPROF"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			panic(err)
		}
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	urgent := make(chan os.Signal, 1<<16)
	signal.Notify(urgent, syscall.SIGURG)
	clock := threadTime
	if kind == "sleep" || kind == "lock" {
		go holder()
		start := time.Now()
		clock = func() time.Duration { return time.Since(start) }
	}
	done := make(chan [3]time.Duration)
	go func() {
		runtime.LockOSThread()
		done <- run(kinds[kind], enough, clock)
	}()
	fmt.Println(<-done)
	fmt.Println(len(urgent))
}
