// Program here captures contexts in all sorts of places, and prints each ID with
// what runtime.Callers says there, innermost frame first, and what it said at the
// go statements that led there. A "?" at the end says that more may follow: what
// the runtime or the standard library calls.
//
// With HERE it goes on: "loop" repeats until it is killed, "deep" recurs
// deeper than a ccStack can be.
package main

import (
	"fmt"
	"iter"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	_ "unsafe"
)

// api is what an instrumented runtime provides.
//
//go:linkname api runtime.stemmaAPI2
var api *struct{ here func() (hi, lo, run uint64) }

var mu sync.Mutex

// say prints a context of its caller.
func say(hi, lo, run uint64, began string) { print4(hi, lo, run, stack(3)+began) }

func print4(hi, lo, run uint64, stack string) {
	mu.Lock()
	defer mu.Unlock()
	fmt.Printf("%x %x %x %s\n", hi, lo, run, stack)
}

// said and more are say in one line with the capture: without ancestors, and
// where there may be some.
func said(hi, lo, run uint64) { print4(hi, lo, run, stack(3)) }
func more(hi, lo, run uint64) { print4(hi, lo, run, stack(3)+"?") }

// stack returns the stack from a caller on, as function|line|inlined.
func stack(skip int) string {
	pcs := make([]uintptr, 100)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skip, pcs)])
	var b strings.Builder
	for {
		f, more := frames.Next()
		fmt.Fprintf(&b, "%s|%d|%v;", f.Function, f.Line, f.Func == nil)
		if !more {
			return b.String()
		}
	}
}

func plain(began string) { hi, lo, run := api.here(); say(hi, lo, run, began) }

//go:noinline
func generic[T any](x T) { plain("") }

type greeter interface{ greet() }
type english struct{ n int }
type french struct{ *english }

//go:noinline
func (e *english) greet() { hi, lo, run := api.here(); say(hi, lo, run, "") }

//go:noinline
func closures() {
	n := 0
	f := func() { n++; hi, lo, run := api.here(); say(hi, lo, run, "") }
	f()
	func() { f() }()
	call(f)
	call((&english{}).greet)
	call(french{&english{}}.greet)
	call(func() { (*english).greet(nil) })
	for _, g := range []greeter{&english{}, french{&english{}}} {
		g.greet()
	}
}

//go:noinline
func call(f func()) { f() }

//go:noinline
func defers() {
	defer plain("")
	for range 2 {
		defer func() { plain("") }()
	}
	defer func() {
		said(api.here())
		recover()
		said(api.here())
	}()
	var p *int
	fail(p)
}

// fail calls nothing: what is recorded of it is its fault.
//
//go:noinline
func fail(p *int) { *p = 1 }

//go:noinline
func repanic() {
	defer func() { recover(); plain("") }()
	defer func() { plain(""); panic("again") }()
	panic("once")
}

//go:noinline
func goexit(began string) {
	defer plain(began)
	runtime.Goexit()
}

//go:noinline
func goroutines(n int, began string) {
	plain(began)
	if n == 0 {
		return
	}
	done := make(chan bool)
	go func() { goroutines(n-1, "?"); done <- true }()
	<-done
}

//go:noinline
func child(began string, done chan bool) {
	plain(began)
	go grandchild(stack(2)+began, done)
}

//go:noinline
func grandchild(began string, done chan bool) {
	plain(began)
	go func(began string) { defer func() { done <- true }(); goexit(began) }(stack(2) + began)
}

//go:noinline
func library() {
	next, stop := iter.Pull(func(yield func(int) bool) {
		plain("?")
		yield(1)
		plain("?")
	})
	next()
	next()
	stop()
	list := []int{3, 1, 2}
	slices.SortFunc(list, func(a, b int) int { plain(""); return a - b })
	reflect.ValueOf(plain).Call([]reflect.Value{reflect.ValueOf("")})
	reflect.ValueOf(&english{}).MethodByName("Shown").Call(nil)
	done := make(chan bool)
	time.AfterFunc(1, func() { plain("?"); done <- true })
	<-done
	collect(done)
	for range 100 {
		runtime.GC()
		select {
		case <-done:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (e *english) Shown() { plain("") }

//go:noinline
func collect(done chan bool) {
	runtime.SetFinalizer(&[100]int{}, func(*[100]int) { plain("?"); done <- true })
}

//go:noinline
func down(n int) {
	if n%400_000 == 0 {
		more(api.here())
	}
	switch { // two sites, of which one is pushed
	case n == 0:
	case n%2 == 0:
		down(n - 1)
	default:
		down(n - 1)
	}
}

func main() {
	if api == nil {
		fmt.Println("not instrumented")
		return
	}
	for {
		closures()
		generic(1)
		generic("x")
		defers()
		repanic()
		goroutines(2, "")
		done := make(chan bool)
		go child(stack(2), done)
		<-done
		library()
		if os.Getenv("HERE") != "loop" {
			break
		}
	}
	if os.Getenv("HERE") == "deep" {
		debug.SetMaxStack(1 << 30)
		down(2_400_000)
	}
}
