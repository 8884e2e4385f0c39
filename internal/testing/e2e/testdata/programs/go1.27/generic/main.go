// Program generic calls methods that have type parameters of their own (go1.27).
package main

type list[T any] struct{ items []T }

//want:context [main];main.main;main.list[...].fold[...] 3
//want:context [main];main.main;main.list[...].fold[...];main.main.func1 3
//want:context [main];main.main;main.box.get[...] 2
//want:context [main];main.main;main.(*box).set[...] 1
//want:context [main];main.main;main.(*box).set[...];main.leaf 1
func main() {
	l := list[int]{[]int{1, 2, 3}}
	n := 0
	for range 3 {
		n += l.fold[int](0, func(a, x int) int { n++; return a + x })
	}
	var b box
	b.set[string]("x")
	f := b.get[int]
	_, _, _ = n, f(1), b.get[string]("y")
}

//go:noinline
func (l list[T]) fold[A any](a A, f func(A, T) A) A { return f(a, l.items[0]) }

type box struct{ n int }

//go:noinline
func (b box) get[T any](x T) T { return x }

//go:noinline
func (b *box) set[T any](x T) { leaf() }

//go:noinline
func leaf() {}
