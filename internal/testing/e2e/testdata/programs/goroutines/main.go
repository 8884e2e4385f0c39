// Program goroutines starts goroutines and has the runtime and the standard
// library call it back.
package main

//stemma:default
//stemma-full:full -recursion=full

import (
	"fmt"
	"iter"
	"os"
	"os/signal"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	generations()
	targets()
	reflection()
	callbacks()
	onces()
	pools()
	finalizers()
	timers()
	iterators()
	signals()
	contexts()
	tests()
}

//go:noinline
func leaf() {}

//go:noinline
func add(a, b int) int { return a + b }

var kept any

//go:noinline
func keep(x any) { kept = x }

// Three generations: the go statement's context is the ancestry of all below.
//
//want:context [main];main.main;main.generations;go main.child 3
//want:context [main];main.main;main.generations;go main.child;go main.grandchild 6
//want:context [main];main.main;main.generations;go main.child;go main.grandchild;main.spawn 6
//want:context [main];main.main;main.generations;go main.child;go main.grandchild;main.spawn;go main.spawn.func1 18
//want:context [main];main.main;main.generations;go main.child;go main.grandchild;main.spawn;go main.spawn.func1;main.leaf 18
//want:context@default [main];main.main;main.generations;go main.relay 1
//want:context@default [main];main.main;main.generations;go main.relay;go main.relay 9
//want:context@full [main];main.main;main.generations;go main.relay;go main.relay;go main.relay 1
//want:func main.relay 10
//go:noinline
func generations() {
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go child(&wg)
	}
	wg.Wait()
	wg.Add(1)
	go relay(9, &wg)
	wg.Wait()
}

//go:noinline
func child(wg *sync.WaitGroup) {
	defer wg.Done()
	for range 2 {
		wg.Add(1)
		go grandchild(wg)
	}
}

//go:noinline
func grandchild(wg *sync.WaitGroup) {
	spawn(wg)
	wg.Done()
}

//go:noinline
func spawn(wg *sync.WaitGroup) {
	for range 3 {
		wg.Add(1)
		go func() {
			leaf()
			wg.Done()
		}()
	}
}

//go:noinline
func relay(n int, wg *sync.WaitGroup) {
	if n == 0 {
		wg.Done()
		return
	}
	go relay(n-1, wg)
}

// A worker is not so small that it shares a block with others, which would keep it alive.
type worker struct {
	n    int
	next *worker
}

//go:noinline
func (w worker) value(c chan int) { c <- add(w.n, 1) }

//go:noinline
func (w *worker) pointer(c chan int) { c <- add(w.n, 2) }

type runner interface{ pointer(chan int) }

type embeds struct{ runner }

//go:noinline
func generic[T any](x T, c chan int) { c <- add(1, 1) }

// go statements with every kind of target.
//
//want:context [main];main.main;main.targets;go main.worker.value 9
//want:context [main];main.main;main.targets;go main.worker.value;main.add 9
//want:context [main];main.main;main.targets;go main.(*worker).pointer 9
//want:context [main];main.main;main.targets;go main.(*worker).pointer;main.add 9
//want:context [main];main.main;main.targets;go main.generic[...] 6
//want:context [main];main.main;main.targets;go main.generic[...];main.add 6
//want:context [main];main.main;main.targets;go main.targets.func1 3
//want:context [main];main.main;main.targets;go main.targets.func2 3
//want:context [main];main.main;main.targets;sync.(*WaitGroup).Go;**;main.targets.func3 3
//want:context [main];main.main;main.targets;sync.(*WaitGroup).Go;**;main.targets.func3;main.leaf 3
//go:noinline
func targets() {
	c := make(chan int)
	f := func() { c <- 1 }
	var wg sync.WaitGroup
	for range 3 {
		w := worker{n: 1}
		mv := w.value
		keep(mv)
		go w.value(c)
		go mv(c)
		go worker.value(w, c)
		go w.pointer(c)
		go runner(&w).pointer(c)
		go embeds{&w}.pointer(c)
		go generic(1, c)
		go generic("x", c)
		go f()
		go func(n int) { c <- n }(7)
		for range 10 {
			<-c
		}
		wg.Go(func() { leaf() })
		wg.Wait()
	}
}

// Calls through package reflect.
//
//want:context [main];main.main;main.reflection;reflect.Value.Call;reflect.Value.call;runtime.reflectcall;main.add 5
//want:context [main];main.main;main.reflection;reflect.Value.Call;reflect.Value.call;**;main.worker.value 4
//want:context [main];main.main;main.reflection;reflect.Value.Call;reflect.Value.call;**;main.worker.value;main.add 4
//want:context [main];main.main;main.reflection;main.twice 2
//want:context [main];main.main;main.reflection;main.twice;**;main.reflection.func1 4
//want:context [main];main.main;main.reflection;main.twice;**;main.reflection.func1;main.leaf 8
//want:context [main];main.main;main.reflection;main.callValue;**;main.Public.Method 3
//want:context [main];main.main;main.reflection;main.callValue;**;main.Public.Method;main.leaf 3
//want:context [main];main.main;main.reflection;main.callIface;**;main.Public.Method 2
//want:context [main];main.main;main.reflection;**;main.sumAll 1
//go:noinline
func reflection() {
	v := reflect.ValueOf(add)
	args := []reflect.Value{reflect.ValueOf(1), reflect.ValueOf(2)}
	for range 5 {
		v.Call(args)
	}
	c := make(chan int, 10)
	mv := reflect.ValueOf(worker{n: 1}.value)
	for range 4 {
		mv.Call([]reflect.Value{reflect.ValueOf(c)})
	}
	made := reflect.MakeFunc(reflect.TypeFor[func(int, int) int](), func(args []reflect.Value) []reflect.Value {
		leaf()
		leaf()
		return args[:1]
	}).Interface().(func(int, int) int)
	twice(made)
	twice(made)
	for range 3 {
		callValue(reflect.ValueOf(Public{}).Method(0))
	}
	callIface(reflect.ValueOf(Public{}).Method(0).Interface().(func(int) string))
	callIface(reflect.ValueOf(&Public{}).MethodByName("Method").Interface().(func(int) string))
	reflect.ValueOf(sumAll).CallSlice([]reflect.Value{reflect.ValueOf([]int{1, 2})})
}

//go:noinline
func sumAll(list ...int) (n int) {
	for _, x := range list {
		n = add(n, x)
	}
	return n
}

//go:noinline
func callValue(v reflect.Value) { v.Call([]reflect.Value{reflect.ValueOf(3)}) }

//go:noinline
func callIface(f func(int) string) { keep(f(4)) }

// Public has a method that package reflect can call.
type Public struct{}

// Method is called by way of package reflect.
//
//go:noinline
func (Public) Method(n int) string { leaf(); return "x" }

//go:noinline
func twice(f func(int, int) int) {
	f(1, 2)
	f(3, 4)
}

type byLen []string

func (s byLen) Len() int      { return len(s) }
func (s byLen) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

//go:noinline
func (s byLen) Less(i, j int) bool { lessCalls++; return len(s[i]) < len(s[j]) }

var lessCalls, cmpCalls, mapCalls int

// Callbacks from sort, slices and strings. The program counts them itself.
//
//want:context [main];main.main;main.callbacks;**;strings.Map;**;main.callbacks.func3 11
//go:noinline
func callbacks() {
	words := strings.Fields("the quick brown fox jumps over the lazy dog and runs away from here to there now")
	w := slices.Clone(words)
	less := 0
	sort.Slice(w, func(i, j int) bool { less++; return w[i] < w[j] })
	fmt.Println("want:context [main];main.main;main.callbacks;sort.Slice;**;main.callbacks.func1", less)
	w = slices.Clone(words)
	slices.SortFunc(w, func(a, b string) int { cmpCalls++; return strings.Compare(a, b) })
	fmt.Println("want:context [main];main.main;main.callbacks;**;slices.~;main.callbacks.func2", cmpCalls)
	sort.Sort(byLen(slices.Clone(words)))
	sort.Stable(sort.Reverse(byLen(slices.Clone(words))))
	fmt.Println("want:context [main];main.main;main.callbacks;**;main.byLen.Less", lessCalls)
	strings.Map(func(r rune) rune { mapCalls++; return r }, "hello world")
}

// sync.Once, OnceFunc and OnceValue.
//
//want:context [main];main.main;main.onces;sync.(*Once).doSlow;main.onces.func1 0
//want:context [main];main.main;main.onces;**;sync.(*Once).doSlow;main.onces.func1 1
//want:context [main];main.main;main.onces;**;main.onces.func2 1
//want:context [main];main.main;main.onces;**;main.onces.func2;main.leaf 1
//want:context@default [main];main.main;main.onces;~sync.(*Once).Do 5
//go:noinline
func onces() {
	var o sync.Once
	for range 5 {
		o.Do(func() { leaf() })
	}
	f := sync.OnceFunc(func() { leaf() })
	for range 5 {
		f()
	}
}

// sync.Pool's New.
//
//want:context [main];main.main;main.pools;sync.(*Pool).Get;main.pools.func1 3
//want:context [main];main.main;main.pools;sync.(*Pool).Get;main.pools.func1;main.leaf 3
//go:noinline
func pools() {
	p := sync.Pool{New: func() any { leaf(); return new(int) }}
	for range 3 {
		keep(p.Get())
	}
}

// Finalizers and cleanups hang under roots of their own.
//
//want:context [finalizer];main.finalize 5
//want:context [finalizer];main.finalize;main.leaf 5
//want:context [finalizer];main.finalizers.func1 4
//want:context [finalizer];main.(*worker).finish 3
//want:context [cleanup];**;main.cleanup 6
//want:context [cleanup];**;main.cleanup;main.leaf 6
//go:noinline
func finalizers() {
	for range 5 {
		makeGarbage()
	}
	for i := range 6 {
		p := new([4]int)
		runtime.AddCleanup(p, cleanup, i)
	}
	for range 4 {
		p := &struct{ a [40]int }{}
		runtime.SetFinalizer(p, func(*struct{ a [40]int }) { ended.Add(1) })
	}
	for range 3 {
		w := &worker{n: 1}
		runtime.SetFinalizer(w, (*worker).finish)
	}
	for range 1000 {
		if ended.Load() == 18 {
			return
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	fmt.Fprintln(os.Stderr, "finalizers", ended.Load())
}

var ended atomic.Int32

//go:noinline
func makeGarbage() {
	p := &struct{ a [30]int }{}
	runtime.SetFinalizer(p, finalize)
}

//go:noinline
func finalize(*struct{ a [30]int }) { leaf(); ended.Add(1) }

//go:noinline
func (w *worker) finish() { ended.Add(1) }

//go:noinline
func cleanup(int) { leaf(); ended.Add(1) }

// Timers: AfterFunc runs on a goroutine that the runtime's timer started.
//
//want:context [timer];time.goFunc;go main.timers.func1 7
//want:context [timer];time.goFunc;go main.timers.func1;main.leaf 7
//want:context [timer];time.sendTime >=3
//go:noinline
func timers() {
	var wg sync.WaitGroup
	for range 7 {
		wg.Add(1)
		time.AfterFunc(time.Microsecond, func() { leaf(); wg.Done() })
	}
	wg.Wait()
	tick := time.NewTicker(time.Millisecond)
	for range 3 {
		<-tick.C
	}
	tick.Stop()
	<-time.After(time.Microsecond)
}

//go:noinline
func count(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			leaf()
			if !yield(i) {
				return
			}
		}
	}
}

// iter.Pull runs the iterator on a coroutine.
//
//want:context **;main.count.func1 3
//want:context **;main.count.func1;main.leaf 12
//want:context [main];main.main;main.iterators;**;iter.Pull~;**;main.count.func1;main.leaf 7
//want:context [main];main.main;main.iterators;**;slices.Collect[...];**;main.count.func1;main.leaf 5
//want:context [main];main.main;main.iterators;main.afterNext 4
//go:noinline
func iterators() {
	next, stop := iter.Pull(count(100))
	for range 4 {
		next()
		afterNext()
	}
	stop()
	next, stop = iter.Pull(count(3))
	for {
		if _, ok := next(); !ok {
			break
		}
	}
	stop()
	keep(slices.Collect(count(5)))
}

//go:noinline
func afterNext() {}

// Signals arrive through a goroutine of package os/signal.
//
//want:context [main];main.main;main.signals;main.onSignal 3
//want:func os/signal.loop 1
//want:context **;os/signal.loop;**;os/signal.process 3
//go:noinline
func signals() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	for range 3 {
		syscall.Kill(syscall.Getpid(), syscall.SIGUSR1)
		<-c
		onSignal()
	}
	signal.Stop(c)
}

//go:noinline
func onSignal() {}
