// Program paths goes many ways through a recursion of four sites that is 150 levels deep: ids of 63 bits cannot tell
// them apart. On the way it panics and recovers, defers, and starts goroutines that do the same. It prints
// how many calls it made.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

const levels = 150

var (
	calls atomic.Int64
	all   sync.WaitGroup
)

// A walk is a series of random numbers.
type walk uint64

func (w *walk) next(n uint64) uint64 {
	*w ^= *w << 13
	*w ^= *w >> 7
	*w ^= *w << 17
	return uint64(*w) % n
}

// down calls itself by one of its sites until it is as deep as it may be, or turns back.
//
//go:noinline
func (w *walk) down(level int) {
	calls.Add(1)
	if level == levels {
		return
	}
	for range 1 + w.next(40)/39 { // now and then by two ways, one after the other
		switch w.next(4) {
		case 0:
			w.down(level + 1)
		case 1:
			w.down(level + 1)
			calls.Add(0)
		case 2:
			defer w.leave(level)
			w.down(level + 1)
		case 3:
			w.try(level + 1)
		}
	}
	switch w.next(500) {
	case 0:
		panic("turn back")
	case 1:
		w2 := *w
		if level < levels/2 {
			break
		}
		all.Go(func() { w2.down(levels / 2) })
	}
}

//go:noinline
func (w *walk) leave(level int) {
	calls.Add(1)
	if r := recover(); r != nil && level < levels-20 {
		w.try(levels - 20) // on top of frames that are left
	}
}

//go:noinline
func (w *walk) try(level int) {
	defer func() {
		_ = recover()
	}()
	w.down(level)
}

func main() {
	for i := range 60 {
		w := walk(i + 1)
		w.try(0)
	}
	all.Wait()
	fmt.Println(calls.Load() > 0)
}
