// Command sampled does what is hard for a sampler that replaces return
// addresses: panics of all kinds, Goexit, growing and shrinking stacks,
// callbacks through reflection, coroutines, and profilers that walk stacks themselves. It
// does so for SAMPLED_TIME, on stacks that are SAMPLED_DEPTH deep or, now and then, ten times that.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

var sink int

//go:noinline
func leaf(n int) int {
	for i := range 50 {
		n += i ^ sink
	}
	return n
}

//go:noinline
func down(n int, f func() int) int {
	var big [16]int
	big[n%16] = n
	if n == 0 {
		return f()
	}
	return down(n-1, f) + big[n%16]
}

//go:noinline
func random(r *rand.Rand, n int) int {
	if n <= 0 {
		return leaf(n)
	}
	sum := 0
	for range 1 + r.IntN(3) {
		sum += random(r, n-1-r.IntN(3))
	}
	return sum
}

type failure struct{ n int }

func (f failure) Error() string { return fmt.Sprint("failure ", f.n) }

//go:noinline
func panics(n int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			switch r := r.(type) {
			case error:
				err = r
			default:
				err = errors.New("other")
			}
		}
	}()
	return fmt.Errorf("none %d", down(n, func() int {
		leaf(n)
		switch n % 7 {
		case 0:
			panic(failure{n})
		case 1:
			var p *failure
			return p.n // sigpanic
		case 2:
			var a []int
			return a[n]
		case 3:
			return n / (sink * 0)
		case 4:
			var e error
			return len(e.(failure).Error())
		case 5:
			defer func() { panic(failure{n}) }()
			panic("first")
		}
		defer func() { recover() }()
		panic("inner")
	}))
}

// loops with defer in them, so that deferred calls are linked and not open-coded.
//
//go:noinline
func deferLoop(n int) (sum int) {
	for i := range n {
		defer func() {
			sum += leaf(i)
			if i%3 == 0 {
				recover()
			}
		}()
	}
	if n%2 == 0 {
		panic("even")
	}
	return down(n, func() int { return leaf(n) })
}

func goexit(n int) {
	done := make(chan bool)
	go func() {
		defer close(done)
		defer leaf(n)
		down(n, func() int {
			defer leaf(1)
			runtime.Goexit()
			return 0
		})
	}()
	<-done
}

//go:noinline
func large(n int) int {
	var room [1 << 13]int
	room[n] = leaf(n)
	return room[n/2]
}

// grow needs a larger stack in the first function that a goroutine enters after it was scheduled.
func grow(n int) {
	done := make(chan bool)
	go func() {
		defer close(done)
		runtime.Gosched()
		large(n)
	}()
	<-done
}

func pull(n int) int {
	next, stop := iter.Pull(func(yield func(int) bool) {
		for i := range n {
			if !yield(down(i%20, func() int { return leaf(i) })) {
				return
			}
		}
	})
	defer stop()
	sum := 0
	for range n / 2 {
		v, ok := next()
		if !ok {
			break
		}
		sum += v + leaf(sum)
	}
	return sum
}

type method struct{ n int }

func (m method) Call(f func() int) int { return m.n + f() }

func reflected(n int) int {
	f := reflect.ValueOf(method{n}).MethodByName("Call")
	g := reflect.MakeFunc(reflect.TypeOf(func() int { return 0 }), func([]reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(down(n, func() int { return leaf(n) }))}
	})
	return int(f.Call([]reflect.Value{g})[0].Int())
}

// callers checks that stack walks see true frames.
func callers(n int) int {
	return down(n, func() int {
		leaf(n)
		pcs := make([]uintptr, 4*n+100)
		frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
		count := 0
		for {
			f, more := frames.Next()
			if strings.HasSuffix(f.Function, ".down") {
				count++
			}
			if !more {
				break
			}
		}
		if count != n+1 {
			fmt.Println("Callers: ", count, "frames of down, want", n+1)
			os.Exit(3)
		}
		if n%10 == 0 && !bytes.Contains(debug.Stack(), []byte("main.callers")) {
			fmt.Println("debug.Stack: no main.callers")
			os.Exit(3)
		}
		return count
	})
}

// results checks that a return through the trampoline keeps all results.
//
//go:noinline
func results(n int) (a, b, c, d, e, f, g, h, i int, x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14 float64) {
	v := float64(n)
	down(3, func() int { return leaf(n) })
	return n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 8, v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7, v + 8, v + 9, v + 10, v + 11, v + 12, v + 13, v + 14
}

func checkResults(n int) int {
	a, b, c, d, e, f, g, h, i, x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14 := results(n)
	if a+b+c+d+e+f+g+h+i != 9*n+36 || x0+x1+x2+x3+x4+x5+x6+x7+x8+x9+x10+x11+x12+x13+x14 != float64(15*n+105) {
		fmt.Println("results are wrong")
		os.Exit(3)
	}
	return a
}

func worker(seed int, until time.Time, depth int) {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	for time.Now().Before(until) {
		n := r.IntN(depth)
		switch r.IntN(12) {
		case 0:
			random(r, min(12, depth/4))
		case 1:
			panics(n)
		case 2:
			func() {
				defer func() { recover() }()
				deferLoop(n % 30)
			}()
		case 3:
			goexit(n)
		case 4:
			pull(n % 50)
		case 5:
			reflected(n % 50)
		case 6:
			callers(n)
		case 7:
			checkResults(n)
		case 8:
			s := make([]int, n)
			for i := range s {
				s[i] = r.Int()
			}
			sort.Slice(s, func(i, j int) bool { return leaf(s[i])%100 < leaf(s[j])%100 })
		case 9:
			down(10*n, func() int { return leaf(n) })
		case 10:
			var mu sync.Mutex
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() { mu.Lock(); leaf(n); runtime.Gosched(); mu.Unlock() })
			}
			wg.Wait()
		case 11:
			grow(n)
		}
	}
}

func main() {
	d, depth := time.Second, 200
	if s := os.Getenv("SAMPLED_TIME"); s != "" {
		d, _ = time.ParseDuration(s)
	}
	if s := os.Getenv("SAMPLED_DEPTH"); s != "" {
		depth, _ = strconv.Atoi(s)
	}
	debug.SetGCPercent(5)
	runtime.SetBlockProfileRate(1000)
	runtime.SetMutexProfileFraction(2)
	// Not the CPU profile and the trace at the same time: the trace would have samples of
	// the trampoline itself.
	pprof.StartCPUProfile(io.Discard)
	var traced, blocked bytes.Buffer
	until := time.Now().Add(d)
	time.AfterFunc(d/2, func() {
		pprof.StopCPUProfile()
		trace.Start(&traced)
	})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() { worker(i, until, depth) })
	}
	wg.Go(func() {
		for time.Now().Before(until) {
			runtime.GC()
			pprof.Lookup("goroutine").WriteTo(io.Discard, 0)
			runtime.Stack(make([]byte, 1<<20), true)
			time.Sleep(5 * time.Millisecond)
		}
	})
	wg.Wait()
	trace.Stop()
	pprof.Lookup("block").WriteTo(&blocked, 1)
	pprof.Lookup("mutex").WriteTo(&blocked, 1)
	// What the profilers saw must be what called, not what stands in its place.
	if bytes.Contains(blocked.Bytes(), []byte("stemmaTrampoline")) {
		fmt.Println("the block profile has the trampoline")
		os.Exit(3)
	}
	if bytes.Contains(traced.Bytes(), []byte("stemmaTrampoline")) {
		fmt.Println("the trace has the trampoline")
		os.Exit(3)
	}
	fmt.Println("ok")
}
