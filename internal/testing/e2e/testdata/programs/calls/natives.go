package main

import (
	"time"
	"unsafe"

	"example.com/e2e/calls/lib"
)

type key struct {
	a string
	b int
}

// Natives are leaves, counted where they are called.
//
//want:context [main];main.main;main.natives;main.maps;native runtime.mapassign_fast64 10
//want:context [main];main.main;main.natives;main.maps;native runtime.mapaccess1_fast64 20
//want:context [main];main.main;main.natives;main.maps;native runtime.mapaccess2_fast64 30
//want:context [main];main.main;main.natives;main.maps;native runtime.mapassign_faststr 5
//want:context [main];main.main;main.natives;main.maps;native runtime.mapdelete_fast64 4
//want:context [main];main.main;main.natives;main.maps;native runtime.mapassign 3
//want:context [main];main.main;main.natives;main.maps;native runtime.mapaccess1 3
//want:context [main];main.main;main.natives;main.maps;native runtime.mapIterStart 2
//want:context [main];main.main;main.natives;main.maps;native runtime.mapclear 1
//want:context [main];main.main;main.natives;main.chans;native runtime.makechan 2
//want:context [main];main.main;main.natives;main.chans;native runtime.chansend1 8
//want:context [main];main.main;main.natives;main.chans;native runtime.chanrecv1 4
//want:context [main];main.main;main.natives;main.chans;native runtime.chanrecv2 5
//want:context [main];main.main;main.natives;main.chans;native runtime.closechan 1
//want:context [main];main.main;main.natives;main.chans;native runtime.selectnbsend 6
//want:context [main];main.main;main.natives;main.chans;native runtime.selectnbrecv 7
//want:context [main];main.main;main.natives;main.chans;native runtime.selectgo 9
//want:context [main];main.main;main.natives;main.slices;native runtime.makeslice 3
//want:context [main];main.main;main.natives;main.slices;native runtime.growslice 4
//want:context [main];main.main;main.natives;main.slices;native runtime.newobject 6
//want:context [main];main.main;main.natives;main.slices;native runtime.makeslicecopy 2
//want:context [main];main.main;main.natives;main.texts;native runtime.concatstring2 5
//want:context [main];main.main;main.natives;main.texts;native runtime.concatstring3 3
//want:context [main];main.main;main.natives;main.texts;native runtime.slicebytetostring 2
//want:context [main];main.main;main.natives;main.texts;native runtime.stringtoslicebyte 4
//want:context [main];main.main;main.natives;main.texts;native runtime.stringtoslicerune 2
//want:context [main];main.main;main.natives;main.texts;native runtime.slicerunetostring 3
//want:context [main];main.main;main.natives;main.texts;native runtime.intstring 2
//want:context [main];main.main;main.natives;main.texts;native runtime.cmpstring 3
//want:context [main];main.main;main.natives;main.texts;native runtime.memequal 4
//want:context [main];main.main;main.natives;main.ifaces;native runtime.convTstring 3
//want:context [main];main.main;main.natives;main.ifaces;native runtime.convT64 6
//want:context [main];main.main;main.natives;main.ifaces;native runtime.efaceeq 5
//want:context [main];main.main;main.natives;main.ifaces;native runtime.typeAssert >=1
//want:context [main];main.main;main.natives;main.ifaces;native runtime.typeAssert <=6
//want:context [main];main.main;main.natives;main.sleeps;~time.Sleep 3
//want:func time.Sleep 3
//go:noinline
func natives() {
	maps()
	chans()
	slices()
	texts()
	ifaces()
	sleeps()
}

//go:noinline
func maps() {
	m := make(map[int]int, 100)
	for i := range 10 {
		m[i] = i
	}
	n := 0
	for i := range 20 {
		n += m[i]
	}
	for i := range 30 {
		if _, ok := m[i]; ok {
			n++
		}
	}
	for i := range 4 {
		delete(m, i)
	}
	for k := range m {
		n += k
	}
	names := make(map[string]int, 100)
	for i := range 5 {
		names[string(rune('a'+i))] = i
	}
	for range names {
		n++
	}
	keys := make(map[key]int, 100)
	for i := range 3 {
		keys[key{"a", i}] = i
		n += keys[key{"a", i}]
	}
	clear(m)
	lib.Touch(&n)
}

//go:noinline
func chans() {
	c := make(chan int, 100)
	for i := range 8 {
		c <- i
	}
	for range 4 {
		<-c
	}
	for range 5 {
		if _, ok := <-c; !ok {
			break
		}
		select {
		case c <- 1:
		default:
		}
	}
	select {
	case c <- 2:
	default:
	}
	for range 7 {
		select {
		case <-c:
		default:
		}
	}
	d := make(chan int)
	close(d)
	for range 9 {
		select {
		case <-d:
		case c <- 1:
		}
	}
}

//go:noinline
func slices() {
	n := 10
	lib.Touch(&n)
	var all [][]int
	_ = all
	for range 3 {
		keep(&[]byte{}) // newobject
		s := make([]int, n)
		keepInts(s)
	}
	var grow []int
	for range 4 {
		grow = append(grow[:len(grow):len(grow)], 1)
	}
	keepInts(grow)
	for range 3 {
		keep(&key{})
	}
	for range 2 {
		c := make([]*int, len(keptPointers))
		copy(c, keptPointers)
		keptPointers = c
	}
}

var keptPointers = make([]*int, 3)

var keptInts []int

//go:noinline
func keepInts(x []int) { keptInts = x }

var keptString string

//go:noinline
func keepString(s string) { keptString = s }

var keptBytes []byte
var keptRunes []rune

//go:noinline
func texts() {
	a, b := "abc", "def"
	lib.TouchString(&a)
	lib.TouchString(&b)
	for range 5 {
		keepString(a + b)
	}
	for range 3 {
		keepString(a + "-" + b)
	}
	bytes := []byte{'a', 'b'}
	lib.TouchBytes(&bytes)
	for range 2 {
		keepString(string(bytes))
	}
	for range 4 {
		keptBytes = []byte(a)
	}
	for range 2 {
		keptRunes = []rune(a)
	}
	for range 3 {
		keepString(string(keptRunes))
	}
	r := 'x'
	for range 2 {
		keepString(string(r))
		r++
	}
	n := 0
	for range 3 {
		if a < b {
			n++
		}
	}
	for range 4 {
		if a == b {
			n++
		}
	}
	lib.Touch(&n)
}

//go:noinline
func ifaces() {
	s, n := "abc", 1000
	lib.TouchString(&s)
	lib.Touch(&n)
	for range 3 {
		keep(s)
	}
	for range 4 {
		keep(n)
		n++
	}
	x, y := any(square{n}), any(square{n + 1})
	keep(x)
	keep(y)
	eq := 0
	for range 5 {
		if kept == x {
			eq++
		}
	}
	for range 6 {
		if s, ok := kept.(shape); ok && s == nil {
			eq++
		}
	}
	lib.Touch(&eq)
}

//go:noinline
func sleeps() {
	for range 3 {
		time.Sleep(time.Nanosecond)
	}
}

type fn func(int) int

//go:noinline
func (f fn) call(n int) int { return f(n) }

type table struct {
	list [3]func(int) int
	m    map[string]func(int) int
}

// Calls in odd places: of results, elements, fields and conversions, in
// arguments, conditions, range and select clauses.
//
//want:context [main];main.main;main.strange;main.double 28
//want:context [main];main.main;main.strange;main.fn.call 2
//want:context [main];main.main;main.strange;main.fn.call;main.double 2
//want:context [main];main.main;main.strange;main.pickFn 3
//want:context [main];main.main;main.strange;main.yes 6
//want:context [main];main.main;main.strange;main.no 4
//want:context [main];main.main;main.strange;main.channel 4
//want:context [main];main.main;main.strange;main.pair 2
//want:context [main];main.main;main.strange;main.addPair 2
//want:context [main];main.main;main.strange;main.word 6
//want:context [main];main.main;main.strange;main.unsafely 1
//want:context [main];main.main;main.strange;main.unsafely;main.double 5
//go:noinline
func strange() {
	t := table{[3]func(int) int{double, double, double}, map[string]func(int) int{"a": double}}
	n := 0
	for i := range 3 {
		n = t.list[i](n) // 3
		n = t.m["a"](n)  // 6
		n = pickFn()(n)  // 9
	}
	fn(double).call(1)
	fn(double).call(2)
	for range 2 {
		n = double(double(double(1)) + double(double(2))) // 19
		n = addPair(pair())
	}
	n = [...]int{double(0), double(1)}[double(0)] // 22
	c := make(chan func(int) int, 1)
	c <- double
	n = (<-c)(n) // 23
	if yes() && no() || yes() {
		n++
	}
	if no() && yes() {
		n++
	}
	for i := 0; i < double(2); i += double(1) { // double(2): 5 times, … see below
		if no() || yes() {
			continue
		}
	}
	select {
	case channel() <- word():
	case <-channel():
	default:
	}
	switch word() {
	case word() + "x", "zzz":
	case word():
		n++
	}
	for range word() + word() {
		yes()
	}
	_ = channel()
	go1 := channel()
	_ = go1
	unsafely()
	lib.Touch(&n)
}

//go:noinline
func pickFn() func(int) int { return double }

//go:noinline
func yes() bool { return true }

//go:noinline
func no() bool { return false }

//go:noinline
func channel() chan string { return nil }

//go:noinline
func pair() (int, int) { return 1, 2 }

//go:noinline
func addPair(a, b int) int { return a + b }

//go:noinline
func word() string { return "w" }

// unsafely calls through a func value of another type.
//
//go:noinline
func unsafely() {
	f := double
	g := *(*func(uint) uint)(unsafe.Pointer(&f))
	for range 5 {
		g(1)
	}
}
