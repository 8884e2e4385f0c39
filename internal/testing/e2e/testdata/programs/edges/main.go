// Program edges lets 64 goroutines find the same call graph at once: 16 functions with three
// call sites each, every one of which calls any of the 16, along paths that differ from
// goroutine to goroutine. What each path returns is known beforehand.
package main

import (
	"fmt"
	"sync"
)

const (
	workers = 64
	paths   = 400
	length  = 40
)

func main() {
	var wait sync.WaitGroup
	sums := make([]int, workers)
	begin := make(chan bool)
	for i := range workers {
		wait.Go(func() {
			<-begin
			r := uint32(i)*2654435761 + 1
			for range paths {
				var path [length]byte
				for k := range path {
					r = r*1664525 + 1013904223
					path[k] = byte(r >> 20)
				}
				sums[i] += table[path[0]%16](path[1:])
			}
		})
	}
	close(begin)
	wait.Wait()
	total := 0
	for _, s := range sums {
		total += s
	}
	fmt.Println(total, total == workers*paths*length)
}

var table [16]func([]byte) int

func init() {
	table = [16]func([]byte) int{f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15}
}

//go:noinline
func f0(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f1(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f2(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f3(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f4(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f5(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f6(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f7(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f8(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f9(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f10(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f11(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f12(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f13(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f14(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}

//go:noinline
func f15(p []byte) int {
	if len(p) == 0 {
		return 1
	}
	next := table[p[0]%16]
	switch p[0] / 16 % 3 {
	case 0:
		return next(p[1:]) + 1
	case 1:
		return 1 + next(p[1:])
	}
	defer func() { next = nil }()
	return next(p[1:]) + 1
}
