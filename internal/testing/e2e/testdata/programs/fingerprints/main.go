// Program fingerprints calls mark in all sorts of contexts, with the text that the fingerprint of the context is the
// hash of, written by hand: | ends a line, and mark itself is left out. With an engine that gives IDs it prints the ID
// and the text, with another one the text.
package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	_ "unsafe"
)

// api is what an instrumented runtime provides.
//
//go:linkname api runtime.stemmaAPI2
var api *struct{ here func() (hi, lo, run uint64) }

var mu sync.Mutex

//go:noinline
func mark(text string) {
	var hi, lo, run uint64
	if api != nil {
		hi, lo, run = api.here()
	}
	mu.Lock()
	defer mu.Unlock()
	fmt.Printf("%x %x %x %s\n", hi, lo, run, text)
}

func main() {
	mark("[main]|main.main")
	inlined("[main]|main.main|main.inlined")
	recur(5, "[main]|main.main|main.recur")
	even(4)
	closures()
	list[int](1)
	list("a")
	library()
	adapters()
	started()
	deferred()
}

func inlined(text string) { mark(text) }

func recur(n int, text string) {
	if n > 0 {
		recur(n-1, text)
		return
	}
	mark(text)
}

// even and odd call each other; below odd, even leads back.
func even(n int) {
	if n == 0 {
		mark("[main]|main.main|main.even")
		return
	}
	odd(n - 1)
}

func odd(n int) { even(n - 1) }

//go:noinline
func closures() {
	f := func(text string) { mark(text) }
	run(func() { f("[main]|main.main|main.closures|main.run|main.closures.func2|main.closures.func1") })
}

//go:noinline
func run(f func()) { f(); pass++ }

var pass int

//go:noinline
func list[T any](v T) {
	mark("[main]|main.main|main.list[...]")
	pass += len(fmt.Sprint(v))
}

// library is called back by the standard library, through functions that do not enter.
//
//go:noinline
func library() {
	const main = "[main]|main.main|main.library|"
	numbers := []int{3, 1, 2}
	sort.Slice(numbers, func(i, k int) bool {
		mark(main + "sort.Slice|main.library.func1")
		return numbers[i] < numbers[k]
	})
	strings.Map(func(r rune) rune {
		mark(main + "strings.Map|main.library.func2")
		return r
	}, "ab")
	var once sync.Once
	once.Do(func() { mark(main + "sync.(*Once).Do|main.library.func3") })
	_ = fmt.Sprint(shown{})
}

type shown struct{}

// String is called by package fmt.
func (shown) String() string {
	mark("[main]|main.main|main.library|fmt.Sprint|main.shown.String")
	return ""
}

// A handler passes a call on: it may come again.
type handler func(text string)

//go:noinline
func (h handler) serve(text string) { h(text) }

//go:noinline
func adapters() {
	inner := handler(func(text string) { mark(text) })
	middle := handler(func(text string) { inner.serve(text); pass++ })
	middle.serve("[main]|main.main|main.adapters|main.handler.serve|main.adapters.func2|main.handler.serve|" +
		"main.adapters.func1")
}

func started() {
	const main = "[main]|main.main|main.started|"
	var wg sync.WaitGroup
	wg.Add(1)
	go child(&wg, main+"go main.child")
	wg.Wait()
	wg.Go(func() { mark(main + "sync.(*WaitGroup).Go|go main.started.func1") })
	wg.Wait()
}

func child(wg *sync.WaitGroup, text string) {
	mark(text)
	if text != "" {
		grandchild := sync.WaitGroup{}
		grandchild.Add(1)
		go func() {
			mark("[main]|main.main|main.started|go main.child|go main.child.func1")
			grandchild.Done()
		}()
		grandchild.Wait()
	}
	wg.Done()
}

// deferred recovers from a panic and from a fault: natives, which do not enter, call the deferred functions.
func deferred() {
	for i, f := range []func(){func() { panic("p") }, func() { println(*none) }} {
		last = fmt.Sprintf("[main]|main.main|main.deferred|main.protect|main.deferred.func%d|main.protect.func1", i+1)
		protect(f)
	}
}

var (
	none *int
	last string
)

//go:noinline
func protect(f func()) {
	defer func() {
		recover()
		mark(last)
	}()
	f()
}
