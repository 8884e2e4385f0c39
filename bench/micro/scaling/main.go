// Scaling does work that grows in one dimension and prints what it took, a line
// "NAME VALUE UNIT" for each figure.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stemma-go/stemma"
)

func main() {
	n := flag.Int("n", 1000, "`size`")
	flag.Parse()
	kinds := map[string]func(int){"contexts": contexts, "goroutines": goroutines, "depth": depth, "threads": threads}
	run := kinds[flag.Arg(0)]
	if run == nil || *n < 1 {
		fmt.Fprintln(os.Stderr, "usage: scaling -n N contexts|goroutines|depth|threads")
		os.Exit(2)
	}
	run(*n)
	fmt.Printf("resident %d bytes\n", resident())
	runtime.KeepAlive(kept)
}

// nsPer prints the time since begin for each of n operations.
func nsPer(name string, begin time.Time, n int) {
	fmt.Printf("%s %.4f ns\n", name, float64(time.Since(begin).Nanoseconds())/float64(n))
}

// resident returns the largest resident memory of the process so far, in bytes.
// That which the kernel tells the parent includes the parent's own.
func resident() int {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if kb, err := strconv.Atoi(strings.Fields(rest)[0]); err == nil {
				return kb << 10
			}
		}
	}
	return 0
}

var kept int

// levels[i] has ten call sites of levels[i-1]; levels[0] is a leaf.
var levels = [...]func(){level0, level1, level2, level3, level4, level5, level6, level7}

// contexts enters n contexts, n a power of ten, twice: when they are new, and when
// they are known.
func contexts(n int) {
	level := 0
	for size := 1; size < n; size *= 10 {
		level++
	}
	for _, name := range []string{"new", "known"} {
		begin := time.Now()
		levels[level]()
		nsPer(name, begin, n)
	}
}

// goroutines starts n goroutines that wait ten calls deep until all are there.
func goroutines(n int) {
	var there, done sync.WaitGroup
	end := make(chan struct{})
	there.Add(n)
	done.Add(n)
	begin := time.Now()
	for range n {
		go func() {
			defer done.Done()
			down(10, func() {
				runtime.KeepAlive(stemma.Here())
				there.Done()
				<-end
			})
		}()
	}
	there.Wait()
	nsPer("start", begin, n)
	fmt.Printf("all %d bytes\n", resident())
	close(end)
	done.Wait()
}

// depth goes n calls deep, often enough to be timed.
func depth(n int) {
	down(n, func() {}) // the stack has grown
	turns := max(1, 2_000_000/n)
	begin := time.Now()
	for range turns {
		down(n, func() {})
	}
	nsPer("call", begin, turns*n)
	down(n, func() {
		begin := time.Now()
		runtime.KeepAlive(stemma.Here())
		nsPer("first", begin, 1)
		begin = time.Now()
		for range 1000 {
			runtime.KeepAlive(stemma.Here())
		}
		nsPer("here", begin, 1000)
	})
}

//go:noinline
func down(n int, f func()) {
	if n == 0 {
		f()
		return
	}
	down(n-1, f)
	kept = n
}

// threads makes calls from n goroutines at once, with GOMAXPROCS n.
func threads(n int) {
	runtime.GOMAXPROCS(n)
	const calls = 40_000_000
	var wg sync.WaitGroup
	begin := time.Now()
	for range n {
		wg.Go(func() {
			var mine int
			for range calls / 1000 / n {
				thousand(&mine)
			}
		})
	}
	wg.Wait()
	nsPer("call", begin, calls/1000/n*n*1000)
}

// thousand makes a thousand calls.
//
//go:noinline
func thousand(sum *int) {
	for range 1000 {
		leaf(sum)
	}
}

//go:noinline
func leaf(sum *int) { *sum++ }
