package main

import (
	"fmt"
	"io"
	"math/rand"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// busy makes new contexts, through a site with many targets, with allocations, waits, faults, goroutines and more and
// more Ps, until nobody writes to standard input any more. What its functions return shows whether they were run as they
// are.
func busy() {
	runtime.GOMAXPROCS(4)
	var stop atomic.Bool
	var wrong atomic.Int64
	var wg sync.WaitGroup
	var lock sync.Mutex
	for i := range 6 {
		wg.Go(func() {
			r := rand.New(rand.NewSource(int64(i)))
			for !stop.Load() {
				n := 1 + r.Intn(12)
				if have := branch(n, r.Intn(len(branches))); have != n {
					wrong.Add(1)
				}
				if r.Intn(50) == 0 {
					wg.Go(func() { branch(5, i) })
					lock.Lock()
					runtime.Gosched()
					lock.Unlock()
				}
				if r.Intn(50) == 0 && !faulty(nil) {
					wrong.Add(1)
				}
				if i == 5 {
					time.Sleep(50 * time.Microsecond)
				}
			}
		})
	}
	wg.Go(func() {
		for procs := 5; procs < 24 && !stop.Load(); procs++ {
			time.Sleep(20 * time.Millisecond)
			runtime.GOMAXPROCS(procs)
		}
	})
	fmt.Println("ready")
	io.ReadAll(os.Stdin)
	stop.Store(true)
	wg.Wait()
	fmt.Println("wrong", wrong.Load())
}

var kept atomic.Pointer[[]byte]

// branch goes n levels deep, each through another one of the branches.
//
//go:noinline
func branch(n, k int) int {
	if n == 0 {
		b := make([]byte, 100)
		kept.Store(&b)
		return leaf(0)
	}
	return branches[k%len(branches)](n, k)
}

// faulty meets a run-time error, and goes on behind it.
//
//go:noinline
func faulty(p *[4]int) (recovered bool) {
	defer func() { recovered = recover() != nil }()
	return leaf(p[2]) > 9
}

var branches [24]func(n, k int) int

func init() {
	branches = [...]func(n, k int) int{b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15, b16, b17,
		b18, b19, b20, b21, b22, b23}
}

func b0(n, k int) int  { return 1 + branch(n-1, k+1) }
func b1(n, k int) int  { return 1 + branch(n-1, k*3+1) }
func b2(n, k int) int  { return 1 + branch(n-1, k*5+2) }
func b3(n, k int) int  { return 1 + branch(n-1, k*7+3) }
func b4(n, k int) int  { return 1 + branch(n-1, k+n) }
func b5(n, k int) int  { return 1 + branch(n-1, k+5) }
func b6(n, k int) int  { return 1 + branch(n-1, k+7) }
func b7(n, k int) int  { return 1 + branch(n-1, k+11) }
func b8(n, k int) int  { return 1 + branch(n-1, k+13) }
func b9(n, k int) int  { return 1 + branch(n-1, k+17) }
func b10(n, k int) int { return 1 + branch(n-1, k+19) }
func b11(n, k int) int { return 1 + branch(n-1, k^5) }
func b12(n, k int) int { return 1 + branch(n-1, k^9) }
func b13(n, k int) int { return 1 + branch(n-1, k^3) }
func b14(n, k int) int { return 1 + branch(n-1, k^1) }
func b15(n, k int) int { return 1 + branch(n-1, k*11) }
func b16(n, k int) int { return 1 + branch(n-1, k*13) }
func b17(n, k int) int { return 1 + branch(n-1, k*17) }
func b18(n, k int) int { return 1 + branch(n-1, k*19) }
func b19(n, k int) int { return 1 + branch(n-1, k*23+n) }
func b20(n, k int) int { return 1 + branch(n-1, k*29+n) }
func b21(n, k int) int { return 1 + branch(n-1, k+n*n) }
func b22(n, k int) int { return 1 + branch(n-1, k+n*3) }
func b23(n, k int) int { return 1 + branch(n-1, k+n*7) }
