// Command worker knows nothing of metrics: worker.module adds them to its functions. It prints what their sums must be,
// by its own counts beside the calls.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"example.com/worker/lib"
)

// want prints what a metric must be in the end.
func want(metric string, n int) { fmt.Printf("//want:sum %s %d\n", metric, n) }

// write stands for a function of a library that reports what it wrote.
func write(p []byte) (n int, err error) { return len(p), nil }

type buffer struct{ n int }

func (b *buffer) add(n int) int { b.n += n; return b.n }

type text struct{ s string }

func (t text) size(pad string) int { return len(t.s) + len(pad) }

type sizer interface{ size(pad string) int }

type embedding struct{ text }

func small(n int) int { return n + 1 }

func recursive(n int) int {
	if n == 0 {
		return 1
	}
	return recursive(n-1) + 1
}

// doubled has a result that a deferred function changes.
func doubled(p []byte) (n int, err error) {
	defer func() { n *= 2 }()
	return len(p), nil
}

func recovered(fail bool) (n int) {
	defer func() { recover() }()
	if fail {
		panic("recovered")
	}
	return 5
}

// looping recovers by a call that is deferred in a loop, and has its result before it panics.
func looping(fail bool) (n int) {
	for range 1 {
		defer func() { recover() }()
	}
	n = 7
	if fail {
		panic("recovered")
	}
	return n
}

// The package has two functions with this name, and a third that gives its variables values.
func init() { start() }

func init() { start() }

var started = start()

//go:noinline
func start() int { return 1 }

type amount int

// other is another name of the type.
type other = amount

func (o other) method() int { return int(o) }

func twice() {}

func instance[T any](T) {}

// deferring defers in a loop, which is not compiled in place.
func deferring(n int) (sum int64) {
	for i := range n {
		defer func() { sum += int64(i) }()
	}
	return 0
}

func failing(n int) int { panic(errors.New("always")) }

func waiting(d time.Duration, _ int, u8 uint8) (time.Duration, uint8) { return 2 * d, u8 }

func escaping(n int) (p *int, m int) { m = n; return &m, m }

func captured(s string) func() string { return func() string { s += "x"; return s } }

func joined(s string, b []byte) string { return s + string(b) }

func down(n int) int { return -n }

func unused() {}

var sink any

const (
	rounds     = 1000
	goroutines = 4
)

// methods calls methods in each way that there is.
func methods() {
	var b buffer
	added := 0
	for i := range rounds {
		b.add(i)
		added += b.n
	}
	value := b.add
	value(1)
	added += b.n
	expression := (*buffer).add
	expression(&b, 2)
	added += b.n
	want("added", added)

	t := text{"abc"}
	t.size("")
	for _, s := range []sizer{t, &t, embedding{t}, &embedding{t}} {
		s.size("xx")
	}
	text.size(t, "xxx")
	sink = t.size
	sink.(func(string) int)("x")
	want("sizes", 7)
	want("padding", 4*2+3+1)
}

// generics calls instances.
func generics() {
	lib.Sum(1, 2, 3)
	lib.Sum[int32](4, 5)
	lib.Sum[uint8](200, 55)
	want("summed", 6+9+255)
	want("numbers", 3+2+2)
	var l lib.List[string]
	l.Push("a")
	l.Push("b")
	for _, l := range []interface{ Push(int) int }{new(lib.List[int])} {
		l.Push(5)
	}
	want("pushes", 3)
	want("pushed", 1+2+1)
	lib.Pair[string, int]{"k", 1}.Key()
	for _, k := range []interface{ Key() int }{lib.Pair[int, int]{1, 1}, &lib.Pair[int, string]{2, ""}} {
		k.Key()
	}
	want("keys", 3)
}

// ends calls functions that end in each way that there is.
func ends() {
	recursive(9)
	want("depths", 10*11/2)
	doubled(make([]byte, 5))
	want("doubled", 10)
	recovered(true)
	recovered(false)
	want("recovered", 5) // a panic has no result
	want("recoveries", 2)
	looping(true)
	looping(false)
	want("looped", 7)
	want("inits", 2)
	amount(3).method()
	other(4).method()
	want("methods", 2)
	want("aliased", 7)
	twice()
	want("once", 1)
	instance(struct {
		X int `a:"]"`
	}{})
	instance(1)
	want("instances", 2)
	deferring(5)
	want("deferred", 0+1+2+3+4)
	func() {
		defer func() { recover() }()
		failing(7)
	}()
	want("failed", 7)
	escaping(6)
	want("escaped", 6)
	captured("abcd")()
	joined("abc", []byte("de"))
	want("joined", 5)
	want("strings", 4+3)
	want("slices", 2)
	waiting(time.Second, 3, 200)
	want("waited", int(time.Second)+2*int(time.Second))
	want("small_numbers", 200+3)
	down(1)
}

// starts calls small functions in goroutines, deferred and started ones as well.
func starts() {
	defer small(0)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range rounds {
				small(i)
				write(make([]byte, i))
			}
		})
	}
	wg.Wait()
	done := make(chan bool)
	go func() {
		defer close(done)
		defer small(1)
	}()
	<-done
	fired := make(chan bool)
	time.AfterFunc(1, func() {
		small(2)
		close(fired)
	})
	<-fired
	want("small_calls", goroutines*rounds+3)
	want("written", goroutines*rounds*(rounds-1)/2)
}

func main() {
	methods()
	generics()
	ends()
	starts()
	io.WriteString(os.Stderr, strings.Repeat("x", 100)) // calls Write
	want("files", 1)
}
