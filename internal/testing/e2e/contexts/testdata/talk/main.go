// Program talk logs lines with the IDs of contexts that are new: each line has a way of
// its own through two functions that call each other, half of them in a goroutine of
// its own. A line says when it was written, what its ID is, and the way.
//
//	talk lines lines-a-second seed
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/stemma-go/stemma"
)

const depth = 24

//go:noinline
func a(way uint64, left int) int { return step(way, left) + 1 }

//go:noinline
func b(way uint64, left int) int { return step(way, left) + 2 }

func step(way uint64, left int) int {
	switch {
	case left == 0:
		return say()
	case way&1 == 0:
		return a(way>>1, left-1)
	default:
		return b(way>>1, left-1)
	}
}

// What say writes beside the ID.
var line struct {
	number int
	way    string
}

//go:noinline
func say() int {
	id := stemma.Here()
	n, err := fmt.Printf("line=%d time=%d ctx=%s way=%s\n", line.number, time.Now().UnixNano(), id, line.way)
	if err != nil {
		os.Exit(1)
	}
	return n
}

func number(i int) int {
	n, err := strconv.Atoi(os.Args[i])
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	lines, rate, seed := number(1), number(2), number(3)
	begin := time.Now()
	for i := range lines {
		way := uint64(i+seed<<20) * 0x9E3779B97F4A7C15 >> 20
		line.number, line.way = i, ""
		for k := range depth {
			line.way += string(rune('a' + way>>k&1))
		}
		if i%2 == 0 {
			step(way, depth)
		} else {
			var wg sync.WaitGroup
			wg.Go(func() { step(way, depth) })
			wg.Wait()
		}
		if rate > 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(i+1) * time.Second / time.Duration(rate))))
		}
	}
}
