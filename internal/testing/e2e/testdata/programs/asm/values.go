package main

import (
	"path/filepath"
	"reflect"
	"runtime"
	"time"

	"example.com/e2e/asm/hidden"
)

// sleep is a native of another name in the program than where it is defined, and gosched one of
// the runtime; both are initialised without code.
var (
	sleep   = time.Sleep
	gosched = runtime.Gosched
)

//go:noinline
func call(f func()) { f() }

type tightType int

//go:noinline
//go:nosplit
func (t tightType) get(n int) int { return int(t) + n }

//go:noinline
func callName(f func(*runtime.Func) string, of *runtime.Func) string { return f(of) }

// Natives that are called through function values: variables, arguments, method expressions, and
// method values; in go statements, and deferred in a loop, where the compiler has no code of its own
// for the call.
//
//want:context [main];main.main;main.values;time.Sleep 5
//want:context [main];main.main;main.values;main.call;native runtime.Gosched 4
//want:context [main];main.main;main.values;main.call 9
//want:context [main];main.main;main.values;main.call;native runtime.GC 2
//want:context [main];main.main;main.values;main.call;native runtime.UnlockOSThread 3
//want:context [main];main.main;main.values;main.callName;native runtime.(*Func).Name 5
//want:context [main];main.main;main.values;main.applyInt;native main.tightType.get 2
//want:context [main];main.main;main.values;main.deferNatives;runtime.Gosched 6
//want:context [main];main.main;main.values;main.deferNatives;time.Sleep 6
//want:context [main];main.main;main.values;**;main.fits 1
//want:func runtime.Gosched 10
//want:func time.Sleep 11
//go:noinline
func values() {
	for range 3 {
		sleep(1)
		call(runtime.UnlockOSThread)
	}
	for range 4 {
		call(gosched)
	}
	call(runtime.GC)
	call(runtime.GC)
	of := runtime.FuncForPC(reflect.ValueOf(values).Pointer())
	for range 5 {
		callName((*runtime.Func).Name, of)
	}
	applyInt(tightType(1).get)
	applyInt(tightType(2).get)
	deferNatives()
	others := runtime.NumGoroutine()
	go time.Sleep(1)
	go time.Sleep(1)
	for more(others) {
	}
	if same() {
		fits()
	}
}

// more can be preempted where it begins. A loop of nothing but a call of the runtime can not, in an
// emulator that takes signals between blocks of instructions only: a plain program, too, hangs there.
//
//go:noinline
func more(others int) bool { return runtime.NumGoroutine() > others }

//go:noinline
func deferNatives() {
	for i := range 6 {
		defer runtime.Gosched()
		defer time.Sleep(time.Duration(i))
	}
}

// same reports whether the value of a native is the same wherever it is taken, and has its name, and that of another
// one its place.
//
//go:noinline
func same() bool {
	here, there := reflect.ValueOf(time.Sleep).Pointer(), reflect.ValueOf(hidden.Sleep).Pointer()
	gc := reflect.ValueOf(runtime.GC).Pointer()
	file, line := runtime.FuncForPC(gc).FileLine(gc)
	return here == there && runtime.FuncForPC(here).Name() == "time.Sleep" &&
		filepath.Base(file) == "mgc.go" && line > 1
}

//go:noinline
func fits() {}
