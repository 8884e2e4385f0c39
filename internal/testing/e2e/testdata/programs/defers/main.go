// Program defers defers, panics, recovers and exits goroutines.
package main

//stemma:default
//stemma-full:full -recursion=full
//stemma-full:metrics -metrics=calls,alloc,wait

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

func main() {
	openCoded()
	looped()
	heap()
	conditional()
	panics()
	endless()
	depths()
	repanics()
	nested()
	inDeferred()
	runtimeErrors()
	faultsBehindCalls()
	exits()
	results()
	rangeFuncs()
	order()
	deferTargets()
	afterRecovery()
	printsPanic()
}

var sink int

//go:noinline
func leaf() { sink++ }

//go:noinline
func leafA() { sink++ }

//go:noinline
func leafB() { sink++ }

//go:noinline
func add(n int) { sink += n }

// Open-coded defers run from the function's own exit code.
//
//want:context [main];main.main;main.openCoded;main.open 10
//want:context [main];main.main;main.openCoded;main.open;defer main.add 10
//want:context [main];main.main;main.openCoded;main.open;defer main.leafA 10
//want:context [main];main.main;main.openCoded;main.open;main.leaf 10
//want:context [main];main.main;main.openCoded;main.open;~main.open.func1 10
//want:context [main];main.main;main.openCoded;main.open;~main.open.func1;main.leafB 10
//go:noinline
func openCoded() {
	for i := range 10 {
		open(i)
	}
}

//go:noinline
func open(n int) {
	defer leafA()
	defer add(n)
	defer func() { leafB() }()
	leaf()
}

// Defers in a loop are kept in a list and run by runtime.deferreturn.
//
//want:context [main];main.main;main.looped;main.loop 4
//want:context [main];main.main;main.looped;main.loop;main.loop.func1 20
//want:context [main];main.main;main.looped;main.loop;main.loop.func1;main.leaf 20
//want:context [main];main.main;main.looped;main.loop;defer main.add 20
//want:context [main];main.main;main.looped;main.loop;call main.add 0
//go:noinline
func looped() {
	for range 4 {
		loop(5)
	}
}

//go:noinline
func loop(n int) {
	for i := range n {
		defer func() { leaf() }()
		defer add(i)
	}
}

// More than eight defers are not open-coded.
//
//want:context [main];main.main;main.heap;main.ten;defer main.leafA 30
//want:context [main];main.main;main.heap;main.ten;main.leaf 3
//go:noinline
func heap() {
	for range 3 {
		ten()
	}
}

//go:noinline
func ten() {
	defer leafA()
	defer leafA()
	defer leafA()
	defer leafA()
	defer leafA()
	defer leafA()
	defer leafA()
	defer leafA()
	defer leafA()
	defer leafA()
	leaf()
}

// Conditional open-coded defers.
//
//want:context [main];main.main;main.conditional;main.cond;defer main.leafA 5
//want:context [main];main.main;main.conditional;main.cond;defer main.leafB 4
//go:noinline
func conditional() {
	for i := range 10 {
		cond(i)
	}
}

//go:noinline
func cond(i int) {
	if i%2 == 0 {
		defer leafA()
	}
	if i%3 == 0 {
		defer leafB()
	}
}

// A panic runs deferred functions below it.
//
//want:context [main];main.main;main.panics;main.guard 6
//want:context [main];main.main;main.panics;main.guard;main.thrower 6
//want:context [main];main.main;main.panics;main.guard;main.thrower;native runtime.gopanic 6
//want:context [main];main.main;main.panics;main.guard;main.thrower;runtime.gopanic;main.leafA 6
//want:context [main];main.main;main.panics;main.guard;main.thrower;runtime.gopanic;main.guard.func1 6
//want:context [main];main.main;main.panics;main.guard;main.thrower;runtime.gopanic;main.guard.func1;main.leafB 6
//want:context [main];main.main;main.panics;main.guard;defer main.leaf 6
//want:context [main];main.main;main.panics;main.add 6
//go:noinline
func panics() {
	for i := range 6 {
		guard(i)
		add(1)
	}
}

//go:noinline
func guard(i int) {
	defer leaf() // runs after the recovery, from deferreturn
	defer func() {
		leafB()
		recover()
	}()
	thrower(i)
	leafB()
}

// What is deferred before the recovery runs below the end of the function, whatever its last instruction belongs to.
//
//want:context [main];main.main;main.endless;main.neverReturns 3
//want:context [main];main.main;main.endless;main.neverReturns;defer main.leafA 3
//want:context [main];main.main;main.endless;main.neverReturns;defer main.(*sinkType).leave 3
//go:noinline
func endless() {
	for range 3 {
		neverReturns(&sink)
	}
}

type sinker interface{ leave() }

type sinkType struct{ to *int }

//go:noinline
func (s *sinkType) leave() { *s.to++ }

//go:noinline
func neverReturns(to *int) {
	var s sinker = &sinkType{to}
	if sink < 0 {
		s = nil
	}
	defer leafA()
	defer s.leave()
	defer func() { recover() }()
	panic("never returns")
}

//go:noinline
func thrower(i int) {
	defer leafA()
	panic(i)
}

// Recovery at several depths: the frames between are skipped.
//
//want:context [main];main.main;main.depths;main.catch 5
//want:context [main];main.main;main.depths;main.catch;**;native runtime.gopanic 5
//want:context [main];main.main;main.depths;main.catch;**;runtime.gopanic;main.catch.func1 5
//want:context@default [main];main.main;main.depths;main.catch;main.down;native runtime.gopanic;main.catch.func1 5
//want:context@full [main];main.main;main.depths;main.catch;main.down;native runtime.gopanic;main.catch.func1 1
//want:context@full [main];main.main;main.depths;main.catch;main.down;main.down;main.down;runtime.gopanic 1
//want:context@default [main];main.main;main.depths;main.catch;main.down 5
//want:context@default [main];main.main;main.depths;main.catch;main.down;main.down 20
//want:context [main];main.main;main.depths;**;main.down 25
//want:context [main];main.main;main.depths;main.leafA 5
//go:noinline
func depths() {
	for i := range 5 {
		catch(2 * i)
		leafA()
	}
}

//go:noinline
func catch(depth int) {
	defer func() { recover() }()
	down(depth)
	leafB()
}

//go:noinline
func down(n int) {
	if n == 0 {
		panic("bottom")
	}
	down(n - 1)
	leafB()
}

// A deferred function panics again after it has recovered.
//
//want:context [main];main.main;main.repanics;main.rethrow 3
//want:context [main];main.main;main.repanics;main.rethrow;main.rethrow.func1 3
//want:context [main];main.main;main.repanics;main.rethrow;main.rethrow.func2 0
//want:context [main];main.main;main.repanics;main.rethrow;main.inner;native runtime.gopanic;main.inner.func1 3
//want:context [main];main.main;main.repanics;main.rethrow;main.inner;native runtime.gopanic;main.inner.func1;main.leafA 3
//want:context [main];main.main;main.repanics;main.rethrow;main.inner;native runtime.gopanic;main.inner.func1;native runtime.gopanic 3
//want:context [main];main.main;main.repanics;main.rethrow;main.inner;native runtime.gopanic;main.inner.func1;native runtime.gopanic;main.rethrow.func2 3
//go:noinline
func repanics() {
	for range 3 {
		rethrow()
	}
}

//go:noinline
func rethrow() {
	func() { leaf() }()
	defer func() {
		leafB()
		recover()
	}()
	inner()
}

//go:noinline
func inner() {
	defer func() {
		r := recover()
		leafA()
		panic(r)
	}()
	panic("first")
}

// Panics while a panic is under way, recovered from the inside out.
//
//want:context [main];main.main;main.nested;main.nest;native runtime.gopanic;main.nest.func1 4
//want:context [main];main.main;main.nested;main.nest;native runtime.gopanic;main.nest.func1;main.swallow 4
//want:context [main];main.main;main.nested;main.nest;native runtime.gopanic;main.nest.func1;main.swallow;main.swallow.func1 0
//want:context [main];main.main;main.nested;main.nest;native runtime.gopanic;main.nest.func1;main.swallow;native runtime.gopanic;main.swallow.func1 4
//want:context [main];main.main;main.nested;main.nest;native runtime.gopanic;main.nest.func1;main.leafA 4
//want:context [main];main.main;main.nested;main.nest;main.leafB 0
//go:noinline
func nested() {
	for range 4 {
		nest()
	}
}

//go:noinline
func nest() {
	defer func() {
		swallow()
		leafA()
		recover()
	}()
	panic("outer")
}

//go:noinline
func swallow() {
	defer func() { recover() }()
	panic("inner")
}

// A deferred function panics while the function returns; an earlier one of the
// same function recovers.
//
//want:context [main];main.main;main.inDeferred;main.late 3
//want:context [main];main.main;main.inDeferred;main.late;main.late.func2 3
//want:context [main];main.main;main.inDeferred;main.late;main.late.func2;native runtime.gopanic;main.late.func1 3
//want:context [main];main.main;main.inDeferred;main.late;defer main.leafA 3
//go:noinline
func inDeferred() {
	for range 3 {
		late()
	}
}

//go:noinline
func late() {
	defer leafA()
	defer func() { recover() }()
	defer func() { panic("late") }()
	leaf()
}

type point struct{ x, y int }

// Run-time errors hang at the place of the fault.
//
//want:context [main];main.main;main.runtimeErrors;main.try 24
//want:context [main];main.main;main.runtimeErrors;main.try;main.nilDeref 3
//want:context [main];main.main;main.runtimeErrors;main.try;main.nilDeref;fault runtime.sigpanic 3
//want:context [main];main.main;main.runtimeErrors;main.try;main.nilDeref;runtime.sigpanic;main.try.func1 3
//want:context [main];main.main;main.runtimeErrors;main.try;main.outOfRange;~;main.try.func1 3
//want:context [main];main.main;main.runtimeErrors;main.try;main.badSlice;~;main.try.func1 3
//want:context [main];main.main;main.runtimeErrors;main.try;main.divide;~;main.try.func1 3
//want:context [main];main.main;main.runtimeErrors;main.try;main.assert;~;main.try.func1 3
//want:context [main];main.main;main.runtimeErrors;main.try;main.nilMap;~;main.try.func1 3
//want:context [main];main.main;main.runtimeErrors;main.try;main.nilFunc;~;main.try.func1 3
//want:context [main];main.main;main.runtimeErrors;main.try;main.closed;~;main.try.func1 3
//want:func main.try.func1 24
//want:context **;main.try.func1;main.leafA 24
//want:func main.leafZ 0
//go:noinline
func runtimeErrors() {
	for range 3 {
		for _, f := range []func(){nilDeref, outOfRange, badSlice, divide, assert, nilMap, nilFunc, closed} {
			try(f)
		}
	}
}

//go:noinline
func try(f func()) {
	defer func() {
		leafA()
		if recover() == nil {
			fmt.Fprintln(os.Stderr, "no panic")
		}
	}()
	f()
	leafZ()
}

//go:noinline
func leafZ() {}

var (
	nilPoint *point
	zero     int
	five         = 5
	list         = []int{1, 2, 3}
	iface    any = "text"
	noMap    map[string]int
	noFunc   func()
)

//go:noinline
func nilDeref() { nilPoint.y = 3; leafZ() }

//go:noinline
func outOfRange() { list[five]++; leafZ() }

//go:noinline
func badSlice() { list = list[five:]; leafZ() }

//go:noinline
func divide() { five /= zero; leafZ() }

//go:noinline
func assert() { zero = iface.(int); leafZ() }

//go:noinline
func nilMap() { noMap["a"] = 1; leafZ() }

//go:noinline
func nilFunc() { noFunc(); leafZ() }

//go:noinline
func closed() {
	c := make(chan int)
	close(c)
	close(c)
	leafZ()
}

// An instruction behind a call faults: it is where the call returns to, and in another line.
//
//want:context [main];main.main;main.faultsBehindCalls;main.behindCall 6
//want:context [main];main.main;main.faultsBehindCalls;main.behindCall;main.given;main.leaf 6
//want:context [main];main.main;main.faultsBehindCalls;main.behindCall;~;main.recoverFault 3
//want:context [main];main.main;main.faultsBehindCalls;main.behindCall;defer main.recoverFault 3
//go:noinline
func faultsBehindCalls() {
	for range 3 {
		behindCall(&point{})
		behindCall(nil)
	}
}

//go:noinline
func behindCall(p *point) (y int) {
	defer recoverFault()
	q := given(p)
	y = q.y
	return
}

//go:noinline
func given(p *point) *point { leaf(); return p }

//go:noinline
func recoverFault() {
	recover()
	leafB()
}

// Goexit runs the deferred functions below it.
//
//want:context [main];main.main;main.exits;go main.quitter 4
//want:context [main];main.main;main.exits;go main.quitter;main.quit 4
//want:context [main];main.main;main.exits;go main.quitter;main.quit;native runtime.Goexit 4
//want:context [main];main.main;main.exits;go main.quitter;main.quit;runtime.Goexit;main.leafA 4
//want:context [main];main.main;main.exits;go main.quitter;main.quit;runtime.Goexit;main.quitter.func1 4
//want:context [main];main.main;main.exits;go main.quitter;main.quit;runtime.Goexit;main.quitter.func1;main.leafB 4
//want:context [main];main.main;main.exits;go main.stubborn;main.panicky;native runtime.gopanic;main.stubborn.func2;native runtime.Goexit;main.leafA 2
//go:noinline
func exits() {
	done := make(chan bool)
	for range 4 {
		go quitter(done)
		<-done
	}
	for range 2 {
		go stubborn(done)
		<-done
		go pending(done)
		<-done
	}
}

// pending recovers a panic beyond Goexit, which then goes on.
//
//want:context [main];main.main;main.exits;go main.pending;main.beyond;main.quitAndPanic;runtime.Goexit;main.leafA 4
//want:context [main];main.main;main.exits;go main.pending;main.beyond;main.quitAndPanic;runtime.Goexit;main.pending.func1 2
//go:noinline
func pending(done chan bool) {
	defer func() {
		leafB()
		done <- true
	}()
	defer leafA()
	beyond()
	leafZ()
}

//go:noinline
func beyond() {
	defer leafA()
	defer func() { recover() }()
	quitAndPanic()
	leafZ()
}

//go:noinline
func quitAndPanic() {
	defer panicky()
	runtime.Goexit()
}

//go:noinline
func quitter(done chan bool) {
	defer func() {
		leafB()
		done <- true
	}()
	quit()
	leafZ()
}

//go:noinline
func quit() {
	defer leafA()
	runtime.Goexit()
	leafZ()
}

// stubborn exits while a panic is under way.
//
//go:noinline
func stubborn(done chan bool) {
	defer func() { done <- true }()
	defer leafA()
	defer func() { runtime.Goexit() }()
	panicky()
}

//go:noinline
func panicky() { panic("p") }

// Named results that deferred functions change.
//
//want:context [main];main.main;main.results;main.named 4
//want:context [main];main.main;main.results;main.named;~main.named.func1 2
//want:context [main];main.main;main.results;main.named;main.down;native runtime.gopanic;main.named.func1 2
//go:noinline
func results() {
	for i := range 4 {
		if n, err := named(i); n != 10*i || (err == nil) != (i%2 == 0) {
			fmt.Fprintln(os.Stderr, "named", n, err)
		}
	}
}

//go:noinline
func named(i int) (n int, err error) {
	defer func() {
		n *= 10
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	n = i
	if i%2 == 1 {
		down(0)
	}
	return n, nil
}

//go:noinline
func seq(n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		defer leafA()
		for i := range n {
			if !yield(i) {
				leafB()
				return
			}
		}
	}
}

// Range over functions, with defer, return, break and continue inside.
//
//want:context [main];main.main;main.rangeFuncs;main.seq 6
//want:context [main];main.main;main.rangeFuncs;main.early;main.seq 3
//want:context [main];main.main;main.rangeFuncs;main.early;main.seq.func1;main.early-range1;main.add 9
//want:context [main];main.main;main.rangeFuncs;main.early;main.seq.func1;main.leafB 3
//want:context [main];main.main;main.rangeFuncs;main.early;main.seq.func1;~main.leafA 3
//want:context [main];main.main;main.rangeFuncs;main.deferring;main.seq.func1;main.deferring-range1 12
//want:context [main];main.main;main.rangeFuncs;main.deferring;defer main.leafB 12
//want:context [main];main.main;main.rangeFuncs;main.deferring;main.leaf 3
//go:noinline
func rangeFuncs() {
	for range 3 {
		early()
		deferring()
	}
	n := 0
	for range 6 {
		keep(seq(n))
	}
}

var kept any

//go:noinline
func keep(x any) { kept = x }

//go:noinline
func early() int {
	for i := range seq(10) {
		add(i)
		if i == 2 {
			return i
		}
	}
	return 0
}

//go:noinline
func deferring() {
	for range seq(4) {
		defer leafB()
	}
	leaf()
}

var trace []string

// The order of calls is unchanged by instrumentation.
//
//go:noinline
func order() {
	func() {
		defer note("1")
		for i := range 3 {
			defer note(fmt.Sprint("loop", i))
		}
		defer func() { note(fmt.Sprint(recover())) }()
		defer note("2")
		panic("p")
	}()
	if have := strings.Join(trace, " "); have != "2 p loop2 loop1 loop0 1" {
		fmt.Fprintln(os.Stderr, "order", have)
	}
}

//go:noinline
func note(s string) { trace = append(trace, s) }

type method struct{ n int }

//go:noinline
func (m method) value() { sink += m.n }

//go:noinline
func (m *method) pointer() { sink += m.n }

type doer interface{ pointer() }

type embeds struct{ doer }

//go:noinline
func generic[T any](x T) { leaf() }

// Deferred calls of every kind of target.
//
//want:context [main];main.main;main.deferTargets;main.targets;main.method.value 6
//want:context [main];main.main;main.deferTargets;main.targets;main.(*method).pointer 6
//want:context [main];main.main;main.deferTargets;main.targets;main.generic[...] 2
//want:context [main];main.main;main.deferTargets;main.targets;main.generic[...];main.leaf 2
//want:context [main];main.main;main.deferTargets;main.loopTargets;main.method.value 6
//want:context [main];main.main;main.deferTargets;main.loopTargets;main.(*method).pointer 6
//want:context [main];main.main;main.deferTargets;main.loopTargets;main.generic[...] 6
//want:context [main];main.main;main.deferTargets;main.loopTargets;main.generic[...];main.leaf 6
//want:context [main];main.main;main.deferTargets;main.loopTargets;main.leafA 2
//want:context [main];main.main;main.deferTargets;main.targets;~main.deferTargets.func1 2
//go:noinline
func deferTargets() {
	f := func() { sink++ }
	for range 2 {
		targets(f)
		loopTargets(leafA)
	}
}

//go:noinline
func targets(f func()) {
	m := method{1}
	mv := m.value
	keep(mv)
	defer m.value()
	defer mv()
	defer method.value(m)
	defer m.pointer()
	defer doer(&m).pointer()
	defer embeds{&m}.pointer()
	defer generic(1)
	defer f()
}

//go:noinline
func loopTargets(f func()) {
	m := method{1}
	mv := m.value
	keep(mv)
	for range 1 {
		defer m.value()
		defer mv()
		defer method.value(m)
		defer m.pointer()
		defer doer(&m).pointer()
		defer embeds{&m}.pointer()
		defer generic(1)
		defer generic("x")
		defer f()
	}
	defer generic(2.5)
	_ = f
}

// Code after a recovered call runs in the right context, several times over.
//
//want:context [main];main.main;main.afterRecovery;main.leafA 5
//want:context [main];main.main;main.afterRecovery;main.afterRecovery.func1 5
//want:context [main];main.main;main.afterRecovery;main.afterRecovery.func1;main.down;native runtime.gopanic;main.afterRecovery.func1.1 5
//want:context [main];main.main;main.afterRecovery;main.afterRecovery.func1;defer main.leafB 10
//go:noinline
func afterRecovery() {
	for range 5 {
		func() {
			defer leafB()
			defer leafB()
			defer func() { recover() }()
			down(0)
		}()
		leafA()
	}
}

type chatty struct{}

//go:noinline
func (chatty) Error() string { leaf(); return "chatty" }

// A panic value's Error method runs when it is printed.
//
//want:context [main];main.main;main.printsPanic;**;fmt.Sprint;**;main.chatty.Error;main.leaf 2
//go:noinline
func printsPanic() {
	for range 2 {
		func() {
			defer func() { keep(fmt.Sprint(recover())) }()
			panic(chatty{})
		}()
	}
}
