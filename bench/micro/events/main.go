// Events measures what it costs to know the context of an event: with stemma.Here
// where the program is instrumented, and with what a program can do without it.
//
// It prints a line "NAME VALUE UNIT" for each figure. With -log it writes log lines
// with contexts to standard output instead.
package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stemma-go/stemma"
)

// repeats is how often a loop is timed; the median counts.
const repeats = 5

// budget is how long one timing takes at least.
var budget = 40 * time.Millisecond

func main() {
	lines := flag.Int("log", 0, "write `N` log lines")
	flag.DurationVar(&budget, "budget", budget, "least `time` of a loop")
	flag.Parse()
	if *lines > 0 {
		writeLog(*lines)
		return
	}
	for _, depth := range []int{0, 1, 10, 100, 1000} {
		at(depth, func() { show(fmt.Sprint("here/depth=", depth), here) })
		at(depth, func() { show(fmt.Sprint("callers/depth=", depth), callers) })
		at(depth, func() { show(fmt.Sprint("callers-64/depth=", depth), callers64) })
	}
	at(10, func() {
		plain := slog.NewJSONHandler(io.Discard, nil)
		show("slog/plain", func(n int) { logLines(slog.New(plain), n) })
		show("slog/context", func(n int) { logLines(slog.New(stemma.SlogHandler(plain)), n) })
		show("slog/stack", func(n int) { logStacks(slog.New(plain), n) })
	})
	runtime.KeepAlive(kept)
	runtime.KeepAlive(keptID)
}

// show times a loop and prints nanoseconds of CPU time per turn: other programs on the
// machine stretch the time on the clock.
func show(name string, loop func(n int)) {
	n := 1
	for {
		begin := cpu()
		loop(n)
		if cpu()-begin >= budget {
			break
		}
		n *= 2
	}
	var times []float64
	for range repeats {
		begin := cpu()
		loop(n)
		times = append(times, float64((cpu()-begin).Nanoseconds())/float64(n))
	}
	slices.Sort(times)
	fmt.Printf("%s %.3f ns\n", name, times[repeats/2])
}

// cpu returns the time that all threads have run, in the program and for it.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it cannot fail with these arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// at calls f below so many frames of recursion.
//
//go:noinline
func at(depth int, f func()) {
	if depth == 0 {
		f()
		return
	}
	at(depth-1, f)
	kept = 0 // no tail call, whatever the compiler may learn
}

// What is kept, so that nothing is optimized away.
var (
	kept   int
	keptID stemma.ID
	pcs    [2048]uintptr
)

func here(n int) {
	for range n {
		keptID = stemma.Here()
	}
}

func callers(n int) {
	for range n {
		kept = runtime.Callers(1, pcs[:])
	}
}

// callers64 stops where CPU profiles do.
func callers64(n int) {
	for range n {
		kept = runtime.Callers(1, pcs[:64])
	}
}

func logLines(l *slog.Logger, n int) {
	for i := range n {
		l.Info("paid", "order", i, "customer", "c-1234", "amount", 12.5)
	}
}

func logStacks(l *slog.Logger, n int) {
	for i := range n {
		l.Info("paid", "order", i, "customer", "c-1234", "amount", 12.5, "stack", stack())
	}
}

// stack is the names of the functions on the stack.
func stack() string {
	var b strings.Builder
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		b.WriteString(f.Function)
		b.WriteByte(';')
		if !more {
			return b.String()
		}
	}
}

// writeLog logs from 1024 contexts in turn.
func writeLog(n int) {
	l := slog.New(stemma.SlogHandler(slog.NewJSONHandler(os.Stdout, nil)))
	for i := range n {
		branch(l, i, 10)
	}
}

// branch has two call sites of itself: the bits of path choose the context.
//
//go:noinline
func branch(l *slog.Logger, path, depth int) {
	switch {
	case depth == 0:
		l.Info("paid", "order", path)
	case path>>(depth-1)&1 == 0:
		branch(l, path, depth-1)
	default:
		branch(l, path, depth-1)
		kept++
	}
}
