// Command wrapped calls methods through wrappers that the compiler makes: promoted methods, methods of values called
// through pointers, deferred calls, bodies that are inlined there and bodies that are not. One method has itself
// inlined. Loops have periods of 31 and 62 calls, so that a sample at each 31st call would be at the same place again
// and again.
package main

import "fmt"

type inner struct{ n int }

func (in *inner) add(k int) { in.n += k }

//go:noinline
func (in *inner) grow(k int) { in.n += k }

func (in *inner) nothing() {}

type outer struct {
	name string
	*inner
}

type value struct{ a, b int }

func (v value) sum() int { return v.a + v.b }

//go:noinline
func (v value) product() int { return v.a * v.b }

type adder interface {
	add(int)
	grow(int)
	nothing()
}

type summer interface {
	sum() int
	product() int
}

//go:noinline
func promoted(a adder) {
	for i := range 4 {
		a.add(i)
	}
	a.grow(1)
	a.nothing()
}

//go:noinline
func values(s summer) (n int) {
	for range 7 {
		n += s.sum()
	}
	return n + s.product()
}

// deferred defers calls that open code runs, and one in a loop, which the runtime runs.
//
//go:noinline
func deferred(in *inner, often bool) {
	defer in.add(1)
	defer in.grow(1)
	for range 2 {
		if often {
			defer in.add(2)
		}
	}
}

//go:noinline
func opened(in *inner) {
	defer in.add(1)
	defer in.grow(1)
}

//go:noinline
func leaf(n int) int { return n + 1 }

//go:noinline
func period(n int) {
	for i := range 30 {
		leaf(n + i)
	}
}

type tree struct {
	seen     int
	children []*tree
}

// grown returns a tree with three children at each node.
//
//go:noinline
func grown(depth int) *tree {
	t := &tree{}
	for range 3 {
		if depth > 1 {
			t.children = append(t.children, grown(depth-1))
		}
	}
	return t
}

// mark is small enough to be inlined into itself.
func (t *tree) mark(n int) {
	if t.seen < n {
		t.seen = n
		for _, c := range t.children {
			c.mark(n)
		}
	}
}

func main() {
	t := grown(4)
	in := &inner{}
	var a adder = outer{"outer", in}
	var s summer = &value{1, 2}
	for i := range 6000 {
		promoted(a)
		values(s)
		deferred(in, i%2 == 0)
		opened(in)
		period(i)
		period(i)
		t.mark(i + 1)
	}
	fmt.Println("ok")
}
