// Command ops has flow graphs of all shapes: how often each block of them is executed follows from counters on some
// of their edges.
package main

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"sort"
	"strings"
)

func main() {
	numbers := make([]int, 1000)
	for i := range numbers {
		numbers[i] = i * 7919 % 1000
	}
	sum := 0
	for n := 0; n <= 300; n += 100 {
		sum += straight(n) + loop(numbers[:n]) + nested(numbers[:n]) + doWhile(n) + jumps(n) + tangled(n)
	}
	for i := range 40 {
		sum += table(i) + texts(fmt.Sprint("w", i)) + len(kinds(i)) + searched(numbers, i)
	}
	sum += ranged(500) + int(floats(100)) + deferred(20) + generic([]int8{3, 1, 2}) + generic([]string{"b", "a"})
	words := strings.Fields(strings.Repeat("one two three ", 50))
	sort.Strings(words)
	fmt.Println(sum, len(words), recovered(30), exits(10), faulted(50))
	fmt.Println(kept(3, 4), mixed(5, []byte("12345678")), compared(1, 1, 1), widened(2, new(int16)), again(9, 4))
	fmt.Println(distant(new(apart)), roomy(3), pieces(make([]byte, 4)), stored(new([2]int)), later(30))
	for _, n := range []number{new(word), new(word), new(text)} {
		n.double()
	}
	fmt.Println(never(1000), always(1000), within(1000, 500))
	forever()
}

// stored writes before it calls: what tells the callee of its context comes between.
//
//go:noinline
func stored(p *[2]int) int {
	p[0] = 1
	p[1] = 2
	return straight(3)
}

// later defers calls in the body of an iterator's loop: the call that does so ends a block, and has a result.
//
//go:noinline
func later(n int) (s int) {
	for i := range upTo(n) {
		defer func() { s += i }()
	}
	return 0
}

// No machine selects where there is so much on the ways.
//
//go:noinline
func heavy(n, limit, y int) (s int) {
	for x := range n {
		var z int
		if x < limit {
			z = x * y * y
		} else {
			z = ^y
		}
		s += z
	}
	return s
}

//go:noinline
func never(n int) int { return heavy(n, 0, 7) + 1 }

//go:noinline
func always(n int) int { return heavy(n, n, 7) + 2 }

// within has a selection on the way to another one.
//
//go:noinline
func within(n, y int) (s int) {
	for x := range n {
		z := x
		if x*7919&15 > 3 {
			if y > x {
				z = y
			}
		}
		s += z
	}
	return s
}

// The methods of word and text are inlined into wrappers, through which an interface calls them.
type number interface{ double() int }

type word int

func (w word) double() int { return int(w)*int(w) + 1 }

type text string

func (s text) double() int { return 2 * len(s) }

//go:noinline
func straight(n int) int { return n*n + n }

// kept needs b behind the call: it is stored before, and loaded back.
//
//go:noinline
func kept(a, b int) int { return straight(a) + b }

// mixed loads eight bytes at once, where the machine can.
//
//go:noinline
func mixed(x uint64, b []byte) uint64 { return bits.RotateLeft64(x, 9) ^ binary.LittleEndian.Uint64(b) }

// compared compares numbers of fewer bits than a register has.
//
//go:noinline
func compared(a int32, b uint32, c int8) int {
	if a < 5 && b < 1<<20 && c < 7 {
		return 1
	}
	return 2
}

//go:noinline
func widened(a uint32, b *int16) int64 { return int64(a) + int64(*b) }

// again needs a for the subtraction, and once more.
//
//go:noinline
func again(a, b uint64) uint64 { return a - b ^ a }

// apart is larger than a short distance.
type apart struct {
	room [4000]byte
	last int
}

//go:noinline
func distant(a *apart) int { return a.last }

// roomy has a frame that is larger than a short distance, and needs a behind two calls.
//
//go:noinline
func roomy(a int) int {
	var room [8000]byte
	fill(&room)
	return straight(a) + int(room[a])
}

//go:noinline
func fill(room *[8000]byte) { room[3] = 5 }

// pieces stores four bytes at once, where the machine can, in an inlined call.
//
//go:noinline
func pieces(b []byte) int {
	binary.LittleEndian.PutUint32(b, 77)
	return len(b)
}

//go:noinline
func loop(a []int) (s int) {
	for _, x := range a {
		if x%3 == 0 {
			s += x
		} else if x > 500 {
			s -= 2
		}
	}
	return s
}

// nested has a loop in a loop, exits from both, and calls in between.
//
//go:noinline
func nested(a []int) (s int) {
outer:
	for i := range a {
		for k := i; k < len(a); k++ {
			switch {
			case a[k] == 13:
				break outer
			case a[k] > 900:
				continue outer
			}
			s += inlined(a[k])
		}
		s += straight(i)
	}
	return s
}

func inlined(n int) int {
	if n&1 == 0 {
		return n / 2
	}
	return 3*n + 1
}

//go:noinline
func doWhile(n int) (s int) {
	for {
		s += n * s
		n--
		if n <= 0 {
			return s
		}
	}
}

// jumps is a loop that is entered in two places.
//
//go:noinline
func jumps(n int) (s int) {
	if n > 100 {
		goto middle
	}
top:
	s++
middle:
	s += n
	n--
	if n > 0 {
		goto top
	}
	return s
}

// tangled has conditions with and, or and not.
//
//go:noinline
func tangled(n int) (s int) {
	for i := 0; i < n || s < 0; i++ {
		if (i%2 == 0 || i%3 == 0) && !(i%5 == 0 && s > 100) {
			s++
		}
		if i%7 == 0 || straight(i) > 1000 && s%2 == 0 {
			s += 2
		}
	}
	return s
}

//go:noinline
func table(n int) int {
	switch n {
	case 0:
		return 3
	case 1:
		return 1
	case 2:
		return 4
	case 3, 4:
		return straight(n)
	case 5:
		n++
		fallthrough
	case 6:
		return 9
	case 7:
		return 2
	case 8:
		return 6
	case 9, 10, 11, 12:
		return 5
	}
	return 0
}

//go:noinline
func texts(s string) int {
	switch s {
	case "w1":
		return 1
	case "w2", "w3":
		return 2
	case "w20":
		return 3
	}
	n := 0
	for _, r := range s + "aäß" {
		n += int(r)
	}
	return n
}

//go:noinline
func kinds(i int) string {
	var v any
	switch i % 4 {
	case 0:
		v = i
	case 1:
		v = fmt.Sprint(i)
	case 2:
		v = []byte("x")
	}
	switch v := v.(type) {
	case int:
		return strings.Repeat("i", v%3)
	case string:
		return v
	case nil:
		return "nil"
	}
	return ""
}

//go:noinline
func searched(a []int, want int) int {
	return sort.Search(len(a), func(i int) bool { return a[i] >= want })
}

func upTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

//go:noinline
func ranged(n int) (s int) {
	for i := range upTo(n) {
		if i == 400 {
			break
		}
		if i%9 == 0 {
			continue
		}
		s += i
	}
	return s
}

//go:noinline
func floats(n int) (s float64) {
	for i := range n {
		s += math.Sqrt(float64(i)) / 3
		if s > 200 {
			s /= 2
		}
	}
	return s
}

//go:noinline
func deferred(n int) (s int) {
	for i := range n {
		if i%3 == 0 {
			defer func() { s++ }()
		}
	}
	defer func() { s += 2 }()
	return n
}

func generic[T interface{ ~int8 | ~string }](a []T) (s int) {
	for i := range a {
		for k := range a[:i] {
			if a[k] < a[i] {
				s++
			}
		}
	}
	return s
}

// recovered is left by panics: those frames count as if they had gone on.
//
//go:noinline
func recovered(n int) (s int) {
	for i := range n {
		s += attempt(make([]int, n/2), i)
	}
	return s
}

//go:noinline
func attempt(a []int, i int) (s int) {
	defer func() {
		if recover() != nil {
			s = 1
		}
	}()
	for k := range a {
		s += a[k] + k
	}
	return a[i]
}

// faulted calls what faults.
//
//go:noinline
func faulted(n int) (s int) {
	for i := range n {
		func() {
			defer func() { recover() }()
			s += faults([]int{1, 2, 3, 4, 5, 6, 7, 8}, nil, i)
		}()
	}
	return s
}

// faults is left by a fault behind branches between which it calls nothing: those came to what they have counted.
//
//go:noinline
func faults(a []int, p *int, i int) (s int) {
	for _, v := range a {
		if v*i > 3 {
			s += i
			if s&3 != 1 {
				s ^= v * 3
				if v > 5 {
					s += *p
					if s > 100 {
						s -= i * 5
					} else {
						s += v * i
					}
				} else {
					s++
				}
			}
		}
	}
	return s
}

// exits calls a loop that only a panic ends.
//
//go:noinline
func exits(n int) (s int) {
	for i := range n {
		func() {
			defer func() { recover() }()
			for k := 0; ; k++ {
				if k > i {
					panic(k)
				}
				s++
			}
		}()
	}
	return s
}

// forever never returns in a goroutine that never ends.
func forever() {
	ready, never := make(chan bool), make(chan bool)
	go func() {
		for i := 0; ; i++ {
			if i == 5 {
				ready <- true
				<-never
			}
		}
	}()
	<-ready
}
