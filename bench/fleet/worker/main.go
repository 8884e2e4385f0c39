// Worker is a service of a fleet: it calls functions by many paths, allocates, logs, and is asked for its counts.
//
// It ends its work with the first line on standard input, and prints how often it has called and what it has allocated.
// It ends itself with the next one. So whoever asks it for its counts over HTTP can do so when they change no more.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma"
	"github.com/stemma-go/stemma/stemmahttp"
)

// calls and objects are what the program has counted itself.
var calls, objects atomic.Int64

func main() {
	log := slog.New(stemma.SlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
	http.Handle("/debug/stemma/", stemmahttp.Handler())
	go http.Serve(l, nil)
	fmt.Println("http://" + l.Addr().String())

	ctx, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			for ctx.Err() == nil {
				request(log)
				time.Sleep(rand.N(40 * time.Millisecond))
			}
		})
	}
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	stop()
	work.Wait()
	fmt.Println("calls", calls.Load())
	fmt.Println("objects", objects.Load())
	in.Scan()
	runtime.KeepAlive(sink)
}

// request takes one of many paths.
func request(log *slog.Logger) {
	path := rand.Uint64()
	if path%3 == 0 {
		var inner sync.WaitGroup
		inner.Go(func() { left(path, 8) })
		inner.Wait()
	} else {
		right(path, 8)
	}
	if path%16 == 0 {
		log.Info("served", "by", "main.request")
	}
}

// left and right call each other, and count at the end.
//
//go:noinline
func left(path uint64, depth int) { next(path, depth) }

//go:noinline
func right(path uint64, depth int) { next(path, depth) }

//go:noinline
func next(path uint64, depth int) {
	switch {
	case depth == 0:
		for range 1 + path>>56 {
			step()
		}
		grow(int(path % 7))
	case path>>(2*depth)&3 == 0:
		left(path, depth-1)
	default:
		right(path, depth-1)
	}
}

//go:noinline
func step() { calls.Add(1) }

// object is what grow allocates.
type object struct{ content [48]byte }

var sink *object

//go:noinline
func grow(n int) {
	for range n {
		one := new(object)
		one.content[0] = byte(n)
		sink = one
		objects.Add(1)
	}
}
