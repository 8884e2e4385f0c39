// Command requests asks for samples of its own, in all that is hard for a sampler that replaces return
// addresses. Beside each it looks at the stack itself, and prints what the sample must be:
//
//	want ID HASH DEPTH
//
// With REQUESTS=kill it asks for some that are known at once, for one that is not, and waits to be killed.
package main

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma"
)

var (
	ids   atomic.Uint64
	mu    sync.Mutex
	wants strings.Builder
	sink  [][]byte
)

// ask asks for a sample, and notes what runtime.Callers says.
//
//go:noinline
func ask() {
	id := ids.Add(1)
	stemma.Sample(id)
	want(id)
}

//go:noinline
func want(id uint64) {
	pcs := make([]uintptr, 20000)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	h, n := fnv.New64a(), 0
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function == "runtime.goexit" {
			break
		}
		line := f.Line
		if n++; n == 1 {
			line = 0 // the sample is of another one
		}
		fmt.Fprintf(h, "%s %d\n", f.Function, line)
	}
	mu.Lock()
	fmt.Fprintf(&wants, "want %d %d %d\n", id, h.Sum64(), n)
	mu.Unlock()
}

//go:noinline
func down(n int, f func()) int {
	var big [16]int
	big[n%16] = n
	if n == 0 {
		f()
		return 1
	}
	sum := down(n-1, f) + big[n%16]
	if n%37 == 0 {
		ask()
	}
	return sum
}

// walk goes down and up at random, and asks at both.
//
//go:noinline
func walk(r *rand.Rand, n int) {
	for range r.IntN(4) {
		if r.IntN(3) == 0 {
			ask()
		}
		if n > 0 {
			walk(r, n-1-r.IntN(2)%max(n, 1))
		}
	}
	if r.IntN(8) == 0 {
		sink = append(sink[:0], make([]byte, 1<<10))
	}
}

//go:noinline
func panics(n int) {
	defer ask()
	defer func() {
		ask()
		recover()
		ask()
	}()
	down(n, func() {
		ask()
		defer func() {
			ask()
			if n%3 == 0 {
				recover()
				ask()
			}
		}()
		var p *int
		switch n % 4 {
		case 0:
			*p = n
		case 1:
			panic("one")
		case 2:
			defer func() { panic("two") }()
			panic("one")
		case 3:
			runtime.Goexit()
		}
	})
}

// grow makes its goroutine's stack grow while traces are on.
//
//go:noinline
func grow(n int) byte {
	var big [2048]byte
	ask()
	if n > 0 {
		big[n] = grow(n - 1)
	}
	ask()
	return big[n/2]
}

func pull(n int) {
	next, stop := iter.Pull(func(yield func(int) bool) {
		for i := range n {
			ask()
			if !yield(down(i%20, ask)) {
				return
			}
		}
	})
	defer stop()
	for range n / 2 {
		next()
		ask()
	}
}

func inGoroutines(n int, f func(int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

func all() {
	inGoroutines(4, func(i int) {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		for range 20 {
			walk(r, 12)
		}
	})
	inGoroutines(40, panics)
	inGoroutines(4, func(int) { grow(100) })
	inGoroutines(200, func(int) { ask() })
	inGoroutines(20, func(i int) {
		ask()
		time.Sleep(time.Millisecond)
		down(i, ask)
	})
	pull(30)
	down(3000, ask)
	reflect.ValueOf(down).Call([]reflect.Value{reflect.ValueOf(70), reflect.ValueOf(ask)})
	list := []int{3, 1, 2}
	sort.Slice(list, func(i, j int) bool {
		ask()
		return list[i] < list[j]
	})
	runtime.GC()
	down(10, ask)
}

func main() {
	if os.Getenv("REQUESTS") == "kill" {
		inGoroutines(100, func(i int) { down(i, ask) })
		down(50, func() {
			stemma.Sample(1 << 40)
			fmt.Println("ready")
			for {
				ids.Add(1)
			}
		})
	}
	all()
	handler()
	fmt.Print(wants.String())
}
