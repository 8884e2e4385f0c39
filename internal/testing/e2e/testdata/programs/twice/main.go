//go:debug panicnil=1

// Program twice makes natives call function values of the program, one behind the other: a panic without a value
// is counted by a setting of package runtime, which asks package internal/godebug for a function and calls that, too.
// Metrics are read by a method value of the runtime, which calls one of the program.
package main

import (
	"fmt"
	_ "math/rand" // which has settings
	"os"
	"runtime/metrics"
)

func main() {
	for n := range 4 {
		try(n)
	}
	events := []metrics.Sample{{Name: "/godebug/non-default-behavior/panicnil:events"}}
	metrics.Read(events)
	if n := events[0].Value.Uint64(); n != 4 {
		fmt.Println(n, "panics are known")
		os.Exit(1)
	}
}

//want:context **;native runtime/metrics.runtime_readMetrics;inlined sync/atomic.(*Uint64).Load 1

//want:func main.try 4
func try(n int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(r)
			os.Exit(1)
		}
	}()
	down(n)
}

//want:func main.down 10
func down(n int) {
	if n > 0 {
		down(n - 1)
	}
	panic(nil)
}

//want:context [main];main.main;main.try;main.down;native runtime.gopanic;internal/godebug.(*Setting).IncNonDefault 1
//want:context **;native runtime.gopanic;main.try.func1 4
