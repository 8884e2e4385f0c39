// Snapshot measures how long a program takes to read its own counts, as an endpoint does that is scraped.
//
// It formats the Go files below the directory that its argument is, until it has so many contexts as -contexts says.
// Then it takes 50 snapshots, and prints a line "NAME VALUE UNIT" for each figure.
package main

import (
	"flag"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stemma-go/stemma"
)

const snapshots = 50

func main() {
	want := flag.Int("contexts", 100_000, "take snapshots of `N` contexts, or some more")
	flag.Parse()
	have, err := fill(flag.Arg(0), *want)
	if err != nil {
		fmt.Fprintln(os.Stderr, "snapshot:", err)
		os.Exit(1)
	}
	var times, cpu [snapshots]float64
	for i := range snapshots {
		runtime.GC() // what one snapshot leaves behind is not in the time of the next
		began, used := time.Now(), cpuTime()
		if _, err = stemma.Snapshot(); err != nil {
			fmt.Fprintln(os.Stderr, "snapshot:", err)
			os.Exit(1)
		}
		times[i], cpu[i] = milliseconds(time.Since(began)), milliseconds(cpuTime()-used)
	}
	fmt.Println("contexts", have, "contexts")
	show("snapshot/", times[:])
	show("snapshot/cpu-", cpu[:])
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Println("load", strings.Fields(string(load) + " ?")[0], "processes")
}

// show prints the least, the median and the most of some times.
func show(name string, times []float64) {
	slices.Sort(times)
	fmt.Println(name+"least", times[0], "ms")
	fmt.Println(name+"median", times[len(times)/2], "ms")
	fmt.Println(name+"most", times[len(times)-1], "ms")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// cpuTime returns how long the process was on CPU, in user mode and in the kernel.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0 // which no version of Linux returns
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// fill formats files until there are as many contexts as wanted, and returns how many there are.
func fill(dir string, want int) (have int, err error) {
	files := 0
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		_, _ = format.Source(text) // some are tests of syntax errors
		if files++; files%20 != 0 {
			return nil
		}
		p, err := stemma.Snapshot()
		if err != nil {
			return err
		}
		counted, err := stemma.Contexts(p, "calls")
		if err != nil {
			return err
		}
		have = 0
		for range counted {
			have++
		}
		if have >= want {
			return filepath.SkipAll
		}
		return nil
	})
	return have, err
}
