// Command alloc allocates in all ways that Go has, in one goroutine, and prints by how
// much runtime.MemStats has grown meanwhile. Then it allocates in several goroutines
// at once, a number of objects of each type that it knows.
package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// Whatever is stored here escapes.
var (
	sink    any
	pointer *int
	bytes   []byte
	text    string
	list    []*node
)

type node struct {
	next *node
	v    [4]int
}

type tiny struct{ a, b uint16 }

type big struct{ data [100 << 10]byte }

// n keeps the compiler from knowing sizes.
var n = 10 + len(os.Args)

func main() {
	before, after := new(runtime.MemStats), new(runtime.MemStats)
	debug.SetGCPercent(-1)
	runtime.ReadMemStats(before)
	runtime.ReadMemStats(after)
	runtime.ReadMemStats(before)
	single()
	runtime.ReadMemStats(after)
	fmt.Printf("single allocs %d alloc %d\n", after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc)
	debug.SetGCPercent(100)
	parallel()
}

// single is what is compared with runtime.MemStats.
//
//go:noinline
func single() {
	for range 100 {
		objects()
		slicesAndMaps()
		stringsOf(bytes)
		dynamic()
		defers()
		errorsAndPanics()
		recursive(5)
	}
	goroutines()
	timers()
}

//go:noinline
func objects() {
	for range 10 {
		pointer = new(int)
		sink = new(tiny)
		sink = new(bool)
		sink = &node{}
		list = append(list, &node{})
	}
	sink = new(big)
	sink = func() int { return len(text) }
	sink = 1 << 20
	sink = text
	sink = tiny{1, 2}
	local := n
	sink = func() { local++ }
}

//go:noinline
func slicesAndMaps() {
	sink = make([]int, 100)
	sink = make([]*node, n)
	sink = make([]byte, n, 2*n)
	sink = make(chan node, n)
	sink = make(chan int)
	var grown []int
	for i := range 1000 {
		grown = append(grown, i)
	}
	sink = slices.Clone(grown)
	m := make(map[string]*node)
	for i := range 100 {
		m[fmt.Sprint(i)] = &node{}
	}
	sink = m
	sink = map[int]int{n: n}
}

//go:noinline
func stringsOf(b []byte) {
	b = append(b, "some text"...)
	text = string(b)
	text += "and more" + text[:n%3]
	sink = []byte(text)
	sink = []rune(text)
	var s strings.Builder
	for i := range 100 {
		fmt.Fprintf(&s, "%d,", i)
	}
	sink = strings.Split(s.String(), ",")
	sink = strings.Repeat("x", 1000*n)
}

//go:noinline
func dynamic() {
	sink = reflect.New(reflect.TypeFor[node]()).Interface()
	sink = reflect.MakeSlice(reflect.TypeFor[[]string](), n, n).Interface()
	sink = reflect.MakeMap(reflect.TypeFor[map[int]bool]()).Interface()
	reflect.ValueOf(objects).Call(nil)
	sink = reflect.ArrayOf(n, reflect.TypeFor[tiny]())
	names := []string{"c", "a", "b"}
	sort.Slice(names, func(i, j int) bool { return names[i] < names[j] })
	sort.Sort(sort.Reverse(sort.StringSlice(names)))
	newInt := intOf
	pointer = newInt()
}

var intOf = func() *int { return new(int) }

//go:noinline
func defers() {
	for i := range n {
		defer func() { sink = &tiny{uint16(i), 0} }()
	}
}

//go:noinline
func errorsAndPanics() {
	sink = fmt.Errorf("wrapped: %w", errors.New("error"))
	for _, f := range []func(){
		func() { panic(fmt.Sprint("text", n)) },
		func() { bytes[1<<30+n] = 1 },
		func() { var p *node; p.v[n%4]++ },
	} {
		func() {
			defer func() { sink = fmt.Sprint(recover()) }()
			f()
		}()
	}
}

//go:noinline
func recursive(depth int) {
	if depth > 0 {
		list = append(list[:0], &node{})
		recursive(depth - 1)
		sink = new(tiny)
	}
}

// goroutines starts some that wait for each other, so that one runs at a time.
//
//go:noinline
func goroutines() {
	c := make(chan *node)
	for i := range 50 {
		go func() { c <- &node{v: [4]int{i}} }()
		sink = <-c
	}
}

//go:noinline
func timers() {
	ticker := time.NewTicker(time.Microsecond)
	<-ticker.C
	ticker.Stop()
	<-time.After(time.Microsecond)
}

type counted struct {
	v int
	p *counted
}

type countedTiny struct{ v [3]byte }

const workers, each = 8, 20000

// parallel allocates in several goroutines, while the collector runs.
func parallel() {
	var wait sync.WaitGroup
	for range workers {
		wait.Add(1)
		go worker(&wait)
	}
	wait.Wait()
}

func worker(wait *sync.WaitGroup) {
	defer wait.Done()
	var keep *counted
	var small *countedTiny
	for i := range each {
		keep = &counted{i, keep}
		small = new(countedTiny)
		if i%100 == 0 {
			keep = nil
			runtime.Gosched()
		}
	}
	runtime.KeepAlive(keep)
	runtime.KeepAlive(small)
	sinkOf(keep, small)
}

//go:noinline
func sinkOf(p *counted, t *countedTiny) {}
