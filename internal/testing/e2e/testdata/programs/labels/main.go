// Program labels sets labels of goroutines, in each way that runtime/pprof has, and does a known amount of work with
// each of them. It runs a server with five endpoints under load, and gives one key ten thousand values.
package main

import (
	"context"
	"fmt"
	"runtime/pprof"
	"sync"
)

// Requests is how many requests each of clients makes of each endpoint, which are paths /1 to /5.
const (
	clients  = 8
	requests = 50
)

type object struct{ v [4]int }

var sink any

//go:noinline
func work() { sink = new(object) }

// unlabelled is called without labels only.
//
//go:noinline
func unlabelled() { work() }

func label(kv ...string) pprof.LabelSet { return pprof.Labels(kv...) }

// A request is one of a path. Done is closed when it is answered.
type request struct {
	path string
	done chan struct{}
}

// handle works n times, and as often in a goroutine, with one more label.
func handle(ctx context.Context, path string, n int) {
	pprof.Do(ctx, label("endpoint", path, "ignored", path+"?"), func(ctx context.Context) {
		var wg sync.WaitGroup
		wg.Go(func() {
			for range n {
				work()
			}
		})
		pprof.Do(ctx, label("tenant", fmt.Sprint("t", n%2)), func(context.Context) {
			for range n {
				work()
			}
		})
		wg.Wait()
	})
}

// serve is the load, of a server that has a goroutine for each connection, as that of net/http.
func serve() {
	accept := make(chan chan request)
	go func() {
		for conn := range accept {
			go func() {
				for r := range conn {
					handle(context.Background(), r.path, int(r.path[1]-'0'))
					close(r.done)
				}
			}()
		}
	}()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			conn := make(chan request)
			accept <- conn
			for i := range 5 * requests {
				r := request{fmt.Sprint("/", i%5+1), make(chan struct{})}
				conn <- r
				<-r.done
			}
			close(conn)
		})
	}
	wg.Wait()
	close(accept)
}

// users works once for each of ten thousand users.
func users() {
	for i := range 10_000 {
		pprof.Do(context.Background(), label("user", fmt.Sprint("u", i)), func(context.Context) { work() })
	}
}

// again is recursive through labels that alternate, and comes back to labels that it had.
func again(n int) {
	work()
	if n > 0 {
		pprof.Do(context.Background(), label("endpoint", fmt.Sprint("again", n%2)), func(context.Context) { again(n - 1) })
	}
}

// fails leaves pprof.Do by a panic.
func fails() {
	defer func() {
		recover()
	}()
	pprof.Do(context.Background(), label("endpoint", "fails"), func(context.Context) {
		work()
		panic("fails")
	})
}

// set sets labels without an end, as a middleware does that puts the old ones back itself. What its callers do
// meanwhile has them as well.
//
//go:noinline
func set(value string) context.Context {
	ctx := pprof.WithLabels(context.Background(), label("endpoint", value))
	pprof.SetGoroutineLabels(ctx)
	return ctx
}

//go:noinline
func reset() { pprof.SetGoroutineLabels(context.Background()) }

func raw() {
	for i := range 3 {
		unlabelled()
		set("raw")
		work()
		go1(i)
		pprof.Do(context.Background(), label("tenant", "inner"), func(context.Context) { // drops the others when it ends
			work()
		})
		reset()
		unlabelled()
	}
	for range 2 {
		ctx := set("outer")
		pprof.Do(ctx, label("tenant", "inner"), func(ctx context.Context) {
			work()
			set("swapped") // no tenant any more
			work()
			pprof.SetGoroutineLabels(ctx)
			work()
		})
		work()
		reset()
		unlabelled()
	}
}

// go1 works in a goroutine, which has the labels of its creator.
//
//go:noinline
func go1(int) {
	var wg sync.WaitGroup
	wg.Go(work)
	wg.Wait()
}

func main() {
	fails()
	unlabelled()
	raw()
	unlabelled()
	again(20)
	unlabelled()
	serve()
	unlabelled()
	users()
	unlabelled()
}
