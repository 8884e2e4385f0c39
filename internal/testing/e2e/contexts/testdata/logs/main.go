// Program logs prints context IDs, each with the functions that led to it, while goroutines that began long ago, and
// ones that begin all the time, go ways that change. It decodes some of its own IDs later on. It runs for LOGS_MS
// milliseconds, and says at the end how many go statements it has executed.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma"
)

// A logger prints IDs.
type logger struct {
	sync.Mutex
	w    *bufio.Writer
	n    int
	kept []keeps
}

// keeps is an ID to be decoded later, with what it should be.
type keeps struct {
	id   stemma.ID
	path string
}

var (
	out  = logger{w: bufio.NewWriter(os.Stdout)}
	stop = make(chan bool)
	all  sync.WaitGroup
	goes atomic.Int64
	made atomic.Int64 // IDs that were decoded in the process
)

//go:noinline
func log(path string) {
	id := stemma.Here()
	path += " log"
	out.Lock()
	defer out.Unlock()
	fmt.Fprintf(out.w, "%v %s\n", id, path)
	if out.n++; out.n%64 == 0 {
		out.w.Flush()
		out.kept = append(out.kept, keeps{id, path})
	}
}

// decodeOld decodes IDs that were logged a while ago.
func decodeOld() {
	out.Lock()
	list := out.kept
	out.kept = nil
	out.Unlock()
	for i, k := range list {
		if i%16 != 0 {
			continue
		}
		s, err := stemma.Decode(k.id)
		var have []string
		for _, section := range s.Sections {
			for _, f := range section {
				have = append([]string{strings.TrimPrefix(f.Func, "main.")}, have...)
			}
		}
		if path := strings.Join(have, " "); err != nil || path != k.path {
			fmt.Fprintf(os.Stderr, "bad: %v: have %q, %v; want %q\n", k.id, path, err, k.path)
			os.Exit(1)
		}
		made.Add(1)
	}
}

// ended reports whether the program ends.
func ended() bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

//go:noinline
func left(n int, path string) {
	path += " left"
	if n%7 == 0 {
		log(path)
	}
	if n > 0 {
		right(n-1, path)
	}
}

//go:noinline
func right(n int, path string) {
	path += " right"
	if n%5 == 0 {
		log(path)
	}
	switch {
	case n <= 0:
	case n%3 == 0:
		left(n-1, path)
	default:
		through(n-1, path, left)
	}
}

//go:noinline
func through(n int, path string, f func(int, string)) {
	path += " through"
	log(path)
	f(n, path)
}

// again calls itself by two sites.
//
//go:noinline
func again(n int, path string) {
	path += " again"
	switch {
	case n == 0:
		log(path)
	case n%2 == 0:
		again(n-1, path)
	default:
		again(n-1, path)
	}
}

//go:noinline
func fails(path string) {
	path += " fails"
	defer rescue(path)
	panic("fails")
}

//go:noinline
func rescue(path string) {
	log(path + " rescue")
	recover()
}

//go:noinline
func start(i int, path string) {
	path += " start"
	goes.Add(1)
	if i%2 == 0 {
		other(i, path)
		return
	}
	all.Add(1)
	go work(i, path)
}

//go:noinline
func other(i int, path string) {
	path += " other"
	all.Add(1)
	go work(i, path)
}

// work runs until the program ends.
func work(i int, path string) {
	defer all.Done()
	path += " work"
	for k := i; !ended(); k++ {
		left(k%12, path)
		if k%5 == 0 {
			again(k%30, path)
			fails(path)
		}
		if k%10 == 0 {
			var short sync.WaitGroup
			short.Add(1)
			goes.Add(1)
			go brief(&short, k%9, path)
			short.Wait()
		}
		if k%100 == 0 {
			runtime.GC()
		}
		time.Sleep(time.Duration(100*i) * time.Microsecond)
	}
}

//go:noinline
func brief(done *sync.WaitGroup, n int, path string) {
	defer done.Done()
	right(n, path+" brief")
}

// late sleeps for nearly as long as the program runs.
func late(after time.Duration, path string) {
	defer all.Done()
	path += " late"
	time.Sleep(after)
	right(5, path)
	goes.Add(1)
	all.Add(1)
	go later(path)
}

func later(path string) {
	defer all.Done()
	left(7, path+" later")
}

func main() {
	ms, err := strconv.Atoi(os.Getenv("LOGS_MS"))
	if err != nil {
		ms = 400
	}
	for i := range 12 {
		start(i, "main")
	}
	for i := range 40 {
		goes.Add(1)
		all.Add(1)
		go late(time.Duration(ms*(i+40)/80)*time.Millisecond, "main")
	}
	for end := time.Now().Add(time.Duration(ms) * time.Millisecond); time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
		decodeOld()
		runtime.GOMAXPROCS(1 + int(made.Load())%4)
	}
	close(stop)
	all.Wait()
	out.w.Flush()
	fmt.Printf("goes %d decoded %d\n", goes.Load(), made.Load())
	if os.Getenv("LOGS_EXIT") != "" {
		os.Exit(0)
	}
}
