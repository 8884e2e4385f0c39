// Command shop is a user's program that adds to metrics of its own from everywhere. It prints the sum of each context,
// in Turns rounds of work: how it ends depends on its argument.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"example.com/shop/lib"

	"github.com/stemma-go/stemma"
)

var (
	written    = stemma.NewMetric("written", "bytes")
	statements = stemma.NewMetric("statements", "statements")
	_          = stemma.NewMetric("unused", "count")
)

var sink []byte

// want prints what a context, outermost function first, has of a metric.
func want(metric string, n int, path string) {
	if n > 0 {
		fmt.Printf("//want:metric %s %d %s\n", metric, n, path)
	}
}

func init() { statements.Add(1000) }

//go:noinline
func write(n int) {
	sink = make([]byte, n)
	written.Add(int64(n))
	statements.Add(1)
}

//go:noinline
func send(n int64) {
	lib.Send(n)
	lib.Send(n)
}

//go:noinline
func deferred() {
	defer statements.Add(5)
	defer func() {
		recover()
		statements.Add(6)
	}()
	panic("deferred")
}

type adder interface{ Add(n int64) }

//go:noinline
func method(a adder) { a.Add(7) }

//go:noinline
func value(f func(n int64)) { f(8) }

//go:noinline
func recursive(n int) {
	statements.Add(1)
	if n > 0 {
		recursive(n - 1)
	}
}

//go:noinline
//go:nosplit
func leaf() { statements.Add(9) }

//go:noinline
func nothing(m *stemma.Metric) {
	m.Add(10)
	new(stemma.Metric).Add(10)
	written.Add(0)
	if negative {
		written.Add(-3)
	}
}

//go:noinline
func work(turns int) {
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range turns {
				write(i)
				if i%100 == 0 {
					runtime.GC()
				}
			}
		})
	}
	wg.Wait()
	done := make(chan bool)
	go started(done)
	<-done
	time.AfterFunc(1, func() {
		statements.Add(11)
		close(done)
	})
	<-done
	for range turns {
		send(1)
		deferred()
		method(statements)
		value(statements.Add)
		recursive(4)
		leaf()
		nothing(nil)
	}
}

//go:noinline
func started(done chan bool) {
	statements.Add(12)
	done <- true
}

const goroutines = 4

// negative is whether numbers are added that cannot be.
var negative = os.Getenv("END") != ""

func main() {
	turns, err := strconv.Atoi(os.Getenv("TURNS"))
	if err != nil {
		panic(err)
	}
	work(turns)
	const in = "[main];main.main;main.work;"
	const through = in + "sync.(*WaitGroup).Go;sync.(*WaitGroup).Go.func1;main.work.func1;main.write"
	want("statements", 1000, "[init];main.init.0")
	want("written", goroutines*turns*(turns-1)/2, through)
	want("statements", goroutines*turns, through)
	want("statements", 2*turns, in+"main.send;example.com/shop/lib.Send")
	want("statements", 5*turns, in+"main.deferred")
	want("statements", 6*turns, in+"main.deferred;runtime.gopanic;main.deferred.func1")
	want("statements", 7*turns, in+"main.method")
	want("statements", 8*turns, in+"main.value")
	want("statements", 5*turns, in+"main.recursive")
	want("statements", 9*turns, in+"main.leaf")
	want("statements", 11, "[timer];time.goFunc;main.work.func2")
	want("statements", 12, in+"main.started")
	switch os.Getenv("END") {
	case "panic":
		want("statements", 13, "[main];main.main;runtime.gopanic;main.main.func1")
		defer func() { statements.Add(13) }()
		panic("the end")
	case "kill":
		fmt.Println("ready")
		time.Sleep(time.Hour) // until it is killed
	}
}
