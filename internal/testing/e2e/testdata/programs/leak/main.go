// Command leak keeps a known number of objects that one function has allocated in three contexts, and drops others,
// while the collector runs. It prints what runtime.MemStats and the heap profile say is left. With COUNT it counts
// what is reachable in the middle, then drops all of it, and ends without counting again.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	_ "unsafe" // for go:linkname
)

// Whatever is stored here is reachable.
var (
	few, some, many []*node
	large           [][]byte
	tinies          []*tiny
	parted          [8][]*node
	sink            any
)

type node struct {
	next *node
	v    [5]int
}

type tiny struct{ a, b uint16 }

// alloc is the function that allocates; who calls it keeps the object, or not.
//
//go:noinline
func alloc() *node { return &node{} }

//go:noinline
func fewOf() { few = append(few, alloc()) }

//go:noinline
func someOf() { some = append(some, alloc()) }

//go:noinline
func manyOf() { many = append(many, alloc()) }

//go:noinline
func dropped() { sink = alloc() }

//go:noinline
func work() {
	for i := range 30000 {
		switch {
		case i%1000 == 0:
			fewOf()
		case i%10 == 1:
			someOf()
		case i%3 == 0:
			manyOf()
		}
		dropped()
		sink = new(tiny)
	}
	for range 1000 {
		tinies = append(tinies, new(tiny))
	}
	for range 20 {
		large = append(large, make([]byte, 100<<10))
		sink = make([]byte, 1<<20)
	}
}

// parallel keeps objects of eight goroutines.
func parallel() {
	var wg sync.WaitGroup
	for i := range parted {
		wg.Go(func() {
			for k := range 20000 {
				if k%4 == 0 {
					parted[i] = append(parted[i], alloc())
				} else {
					dropped()
				}
			}
		})
	}
	wg.Wait()
}

//go:linkname recording runtime.stemmaRecordingAPI2
var recording *struct {
	State      func() (dir, problem string)
	CountInuse func() bool
}

// profiled has room for the records of all calls that allocate, text for the numbers that are printed: when they are
// known nothing more is allocated.
var (
	profiled [4096]runtime.MemProfileRecord
	text     [256]byte
	stats    runtime.MemStats
)

func main() {
	runtime.MemProfileRate = 1
	work()
	parallel()
	fmt.Printf("few %d some %d many %d large %d\n", len(few), len(some), len(many), len(large))
	if os.Getenv("COUNT") != "" {
		if !recording.CountInuse() {
			panic("it is not counted")
		}
		few, some, many, large = nil, nil, nil, nil
		syscall.Exit(0)
	}
	sink = nil
	runtime.GC()
	runtime.GC()
	objects, bytes := fromAlloc()
	runtime.ReadMemStats(&stats)
	b := text[:0]
	for _, n := range []uint64{stats.HeapObjects, stats.HeapAlloc, objects, bytes} {
		b = append(strconv.AppendUint(b, n, 10), ' ')
	}
	syscall.Write(1, append(b, '\n'))
}

// fromAlloc returns what the heap profile has of the objects that alloc has allocated.
func fromAlloc() (objects, bytes uint64) {
	n, _ := runtime.MemProfile(profiled[:], false)
	for _, r := range profiled[:n] {
		for _, pc := range r.Stack() {
			if f := runtime.FuncForPC(pc - 1); f != nil && f.Name() == "main.alloc" {
				objects += uint64(r.InUseObjects())
				bytes += uint64(r.InUseBytes())
			}
		}
	}
	return objects, bytes
}
