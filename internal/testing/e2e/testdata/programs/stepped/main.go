// Command stepped does work on one thread whose instructions can be counted one by one.
package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
)

func main() {
	runtime.LockOSThread()
	fmt.Println(work(12))
}

//go:noinline
func work(n int) int {
	sum := 0
	numbers := make([]int, 0, 64)
	for i := range n * 5 {
		numbers = append(numbers, i*7919%100)
		sum += straight(i, n) + branches(i) + table(i) + fib(i%6)
	}
	sum += sorted(slices.Clone(numbers)) + matrix(n) + texts(n) + deferred(numbers) + small([]uint8("stepped through"))
	l := &list{}
	for _, x := range numbers {
		l = l.push(x)
	}
	copied := large{}
	fill(&copied, large{x: [40]int{3: 7}})
	divided(&copied.y, -7, n)
	cleared(&copied, n)
	return sum + copied.x[3] + copied.y[0] + int(added(n)) + l.sum() + selected(numbers, 40) + calls(numbers, straight) + int(floats(numbers))
}

//go:noinline
func straight(a, b int) int { return a*3 + b<<2 - a&b }

//go:noinline
func branches(n int) (s int) {
	if n&1 == 0 {
		s += 3
	} else if n%3 == 0 {
		s -= n
	}
	for i := n; i > 0; i /= 2 {
		if i == 7 {
			continue
		}
		if s > 1000 {
			break
		}
		s += i
	}
	return s
}

//go:noinline
func table(n int) int {
	switch n % 12 {
	case 0:
		return n
	case 1:
		return n + 5
	case 2:
		return n * n
	case 3:
		return -n
	case 4:
		return n ^ 3
	case 5:
		return n &^ 9
	case 6:
		return n | 64
	case 7:
		return n >> 1
	case 8:
		return n / 3
	}
	return 1
}

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func sorted(list []int) int {
	slices.Sort(list)
	return list[len(list)/2]
}

//go:noinline
func matrix(n int) int {
	var m [12][12]int
	for i := range n {
		for k := range n {
			for j := range n {
				m[i][k] += (i + j) * (k - j)
			}
		}
	}
	return m[3][4]
}

//go:noinline
func texts(n int) int {
	var b strings.Builder
	for i := range n {
		b.WriteString("word")
		b.WriteByte(byte('a' + i))
	}
	return strings.Count(b.String(), "d") + strings.IndexByte(b.String(), 'z')
}

//go:noinline
func deferred(list []int) (s int) {
	defer func() { s *= 2 }()
	for _, x := range list {
		s += x
	}
	return s
}

//go:noinline
func small(b []uint8) int {
	h := uint8(0)
	for _, c := range b {
		h = h<<3 ^ c + h
	}
	return int(h)
}

type large struct{ x, y [40]int }

//go:noinline
func fill(to *large, from large) {
	if from.x[3] > 0 {
		*to = from
	} else {
		*to = large{}
	}
}

//go:noinline
func divided(to *[40]int, a, b int) {
	to[0] = a / b
	to[1] ^= a
	to[2] += a % b
	to[3] *= b
}

// cleared calls before it clears.
//
//go:noinline
func cleared(l *large, n int) {
	straight(n, 20)
	l.y = [40]int{}
	l.y[0] = n
}

//go:noinline
func added(n int) int64 {
	var x atomic.Int64
	for i := range n {
		x.Add(int64(i))
	}
	return x.Load()
}

type list struct {
	value int
	next  *list
}

//go:noinline
func (l *list) push(x int) *list { return &list{x, l} }

//go:noinline
func (l *list) sum() (s int) {
	for ; l.next != nil; l = l.next {
		s += l.value
	}
	return s
}

//go:noinline
func selected(list []int, limit int) (s int) {
	for _, x := range list {
		s += min(x, limit)
	}
	return s
}

//go:noinline
func calls(list []int, f func(a, b int) int) (s int) {
	for i, x := range list {
		s += f(i, x)
	}
	return s
}

//go:noinline
func floats(list []int) (s float64) {
	for _, x := range list {
		if f := float64(x) * 1.5; f > 20 {
			s += f / 3
		}
	}
	return s
}
