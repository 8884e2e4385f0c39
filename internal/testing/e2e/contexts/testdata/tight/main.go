// Program tight takes few paths again and again, as fast as it can, and looks at the context ID on each. It prints an ID
// with the functions that led to it where that is another one than the last time. So it says little, and whatever is
// wrong with a context for a moment is seen. It runs for LOGS_MS milliseconds.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma"
)

var (
	out   = bufio.NewWriter(os.Stdout)
	mu    sync.Mutex // guards out
	ended atomic.Bool
	calls atomic.Uint64
)

const depth = 6

// A walker takes paths.
type walker struct {
	bits int // the path: which function is next, from the outermost on
	last [1 << depth]stemma.ID
}

//go:noinline
func (w *walker) leaf() {
	id := stemma.Here()
	if id == w.last[w.bits] {
		return
	}
	w.last[w.bits] = id
	var path strings.Builder
	path.WriteString("main main.func1 (*walker).walk (*walker).next")
	for i := range depth {
		path.WriteString([]string{" (*walker).even (*walker).next", " (*walker).odd (*walker).next"}[w.bits>>i&1])
	}
	mu.Lock()
	fmt.Fprintf(out, "%v %v (*walker).leaf\n", id, &path)
	mu.Unlock()
}

func (w *walker) next(n int) {
	switch {
	case n == depth:
		w.leaf()
	case w.bits>>n&1 == 0:
		w.even(n + 1)
	default:
		w.odd(n + 1)
	}
}

//go:noinline
func (w *walker) even(n int) { w.next(n) }

//go:noinline
func (w *walker) odd(n int) { w.next(n) }

//go:noinline
func (w *walker) walk() {
	for n := uint64(0); !ended.Load(); n++ {
		w.bits = int(n % (1 << depth))
		w.next(0)
		if w.bits == 0 {
			calls.Add(1 << depth)
		}
	}
}

func main() {
	ms, err := strconv.Atoi(os.Getenv("LOGS_MS"))
	if err != nil {
		ms = 400
	}
	var all sync.WaitGroup
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			new(walker).walk()
		}()
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	ended.Store(true)
	all.Wait()
	out.Flush()
	fmt.Printf("calls %d\n", calls.Load())
}
