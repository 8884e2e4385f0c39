// Program calls makes every kind of call that is neither deferred nor starts
// a goroutine.
package main

//stemma:default
//stemma:full -recursion=full
//stemma-full:noinline -inlined=off
//stemma:metrics -metrics=calls,alloc,wait

import (
	"example.com/e2e/calls/lib"
)

//want:context [main];main.main 1
func main() {
	static()
	closures()
	interfaces()
	methods()
	generics()
	genericValues()
	embedded()
	variadic()
	large()
	polymorphic()
	inlining()
	recursion()
	natives()
	strange()
}

//go:noinline
func leaf() {}

// Static calls from two sites of one function.
//
//want:context [main];main.main;main.static;main.leaf 30
//want:func main.static 1
//go:noinline
func static() {
	for range 10 {
		leaf()
	}
	for range 20 {
		leaf()
	}
	if lib.Never {
		leaf()
	}
}

// Closures: called directly, through variables, capturing and not, nested.
//
//want:context [main];main.main;main.closures;call main.closures.func1 7
//want:context [main];main.main;main.closures;main.closures.func2 5
//want:context@!noinline [main];main.main;main.closures;main.closures.func2;main.closures.func2.1 10
//want:context [main];main.main;main.closures;main.apply 3
//want:context [main];main.main;main.closures;main.apply;main.closures.func3 3
//want:context [main];main.main;main.closures;main.apply;main.leaf 0
//want:context [main];main.main;main.closures;main.makeAdder 1
//want:context [main];main.main;main.closures;main.makeAdder.func1 4
//want:context@default [main];main.main;main.closures;inlined main.closures.func4 2
//want:context@noinline [main];main.main;main.closures;main.closures.func4 0
//go:noinline
func closures() {
	x := 0
	f := func() { x++; lib.Touch(&x) }
	g := f
	if x > 0 {
		g = leaf
	}
	for range 7 {
		g()
	}
	var h func(int)
	h = func(n int) {
		in := func() { x += n; lib.Touch(&x) }
		keep(in)
		in()
		in()
	}
	keep(h)
	for i := range 5 {
		h(i)
	}
	for range 3 {
		apply(func() { x++ })
	}
	add := makeAdder(3)
	for range 4 {
		x = add(x)
	}
	once := func(n int) { x += n }
	once(1)
	once(2)
	lib.Touch(&x)
}

//go:noinline
func apply(f func()) { f() }

//go:noinline
func makeAdder(n int) func(int) int {
	return func(x int) int { return x + n }
}

var kept any

//go:noinline
func keep(x any) { kept = x }

type shape interface{ area() int }

type square struct{ side int }

//go:noinline
func (s square) area() int { return s.side * s.side }

type circle struct{ r int }

//go:noinline
func (c *circle) area() int { return 3 * c.r * c.r }

// Interface calls, also of a value method through a pointer in the interface,
// for which the compiler makes a wrapper.
//
//want:context [main];main.main;main.interfaces;main.sum 4
//want:context [main];main.main;main.interfaces;main.sum;main.square.area 16
//want:context [main];main.main;main.interfaces;main.sum;main.(*circle).area 8
//go:noinline
func interfaces() {
	list := []shape{square{1}, &circle{2}, square{3}, &circle{4}, &square{5}, &square{6}}
	for range 4 {
		sum(list)
	}
}

//go:noinline
func sum(list []shape) (n int) {
	for _, s := range list {
		n += s.area()
	}
	return n
}

// Method values and expressions, of values, pointers and interfaces.
//
//want:context [main];main.main;main.methods;main.square.area 9
//want:context [main];main.main;main.methods;main.(*circle).area 15
//want:context [main];main.main;main.methods;main.apply1;main.square.area 6
//want:context [main];main.main;main.methods;main.apply1;main.(*circle).area 6
//go:noinline
func methods() {
	s, c := square{2}, &circle{3}
	var sh shape = c
	mv, pv, iv := s.area, c.area, sh.area
	keep(mv)
	keep(pv)
	keep(iv)
	me, pe, ie, de := square.area, (*circle).area, shape.area, (*square).area
	keep(me)
	keep(pe)
	keep(ie)
	keep(de)
	for range 3 {
		mv()
		pv()
		iv()
		me(s)
		pe(c)
		ie(c)
		de(&s)
		sh.area()
		apply1(mv)
		apply1(pv)
		apply1(iv)
		apply1(s.area)
	}
}

//go:noinline
func apply1(f func() int) { f() }

// Generic functions and methods, instantiated with several types.
//
//want:context [main];main.main;main.generics;main.gmap[...] 3
//want:context [main];main.main;main.generics;main.gmap[...];main.double 6
//want:context [main];main.main;main.generics;main.gmap[...];main.shout 2
//want:context [main];main.main;main.generics;main.(*stack[...]).push 5
//want:context [main];main.main;main.generics;main.pushAll[...] 1
//want:context [main];main.main;main.generics;main.pushAll[...];main.(*stack[...]).push 2
//want:context [main];main.main;main.generics;main.total[...];main.square.area 3
//want:context [main];main.main;main.generics;main.total[...];main.(*circle).area 2
//want:context [main];main.main;main.generics;main.holder.push~ 0
//want:context [main];main.main;main.generics;main.viaIface;main.(*stack[...]).push 4
//want:context [main];main.main;main.generics;main.viaIface 4
//go:noinline
func generics() {
	gmap([]int{1, 2, 3}, double)
	gmap([]int{1, 2, 3}, double)
	gmap([]string{"a", "b"}, shout)
	var a stack[int]
	var b stack[string]
	a.push(1)
	a.push(2)
	b.push("x")
	pushAll(&a, []int{1, 2})
	total([]square{{1}, {2}, {3}})
	total([]*circle{{1}, {2}})
	h := holder[int]{&a}
	h.push(3)
	f := h.push
	keep(f)
	f(4)
	viaIface(&a)
	viaIface(h)
	viaIface(&h)
	viaIface(&holder[string]{&b})
}

// Values of generic functions and methods, and method expressions, which lead to wrappers with the types. Where the
// value is known the wrapper is inlined, and is no call.
//
//want:func@default main.(*couple[...]).first 12
//want:func main.(*couple[...]).second 12
//want:func main.twice[...] 7
//want:func@default example.com/e2e/calls/lib.(*Cell[...]).Get 9
//want:func example.com/e2e/calls/lib.Twin[...] 6
//want:context [main];main.main;main.genericValues;main.(*couple[...]).second 6
//want:context@default [main];main.main;main.genericValues;inlined main.(*couple[...]).first 9
//want:context [main];main.main;main.genericValues;main.methodOf[...];main.square.area 2
//want:func main.methodOf[...].func1 0
//want:func main.couple[...].get.func1 0
//want:func main.couple[...].get.func2 0
//go:noinline
func genericValues() {
	p, c := &couple[string]{"a", "b"}, &lib.Cell[int]{X: 1}
	for range 3 {
		first, second, expression := p.first, p.second, (*couple[string]).first
		first()
		second()
		expression(p)
		p.first()
		p.second()
		couple[int]{}.get()
		f := twice[string]
		f("a")
		twice(1.5)
		get, twin := c.Get, lib.Twin[string]
		get()
		(*lib.Cell[int]).Get(c)
		c.Get()
		twin("a")
		lib.Twin(1)
	}
	apply(func() { twice("b") })
	methodOf(square{2})
	methodOf(square{3})
}

type couple[T any] struct{ a, b T }

func (p *couple[T]) first() T { return p.a }

func (p *couple[T]) second() T { defer leaf(); return p.b }

//go:noinline
func (p couple[T]) get() {
	first, second := p.first, (*couple[T]).second
	first()
	second(&p)
	second(&p)
}

//go:noinline
func twice[T any](x T) [2]T { return [2]T{x, x} }

//go:noinline
func methodOf[T shape](x T) int { area := T.area; return area(x) }

//go:noinline
func viaIface(x any) {
	switch p := x.(type) {
	case interface{ push(int) }:
		p.push(1)
	case interface{ push(string) }:
		p.push("")
	}
}

type holder[T any] struct{ *stack[T] }

//go:noinline
func gmap[T any](list []T, f func(T) T) (out []T) {
	for _, x := range list {
		out = append(out, f(x))
	}
	return out
}

//go:noinline
func double(x int) int { return 2 * x }

//go:noinline
func shout(s string) string { return s + "!" }

type stack[T any] struct{ list []T }

//go:noinline
func (s *stack[T]) push(x T) { s.list = append(s.list, x) }

//go:noinline
func pushAll[T any](s *stack[T], list []T) {
	for _, x := range list {
		s.push(x)
	}
}

//go:noinline
func total[T shape](list []T) (n int) {
	for _, x := range list {
		n += x.area()
	}
	return n
}

type base struct{ n int }

//go:noinline
func (b base) value() int { leaf(); return b.n }

//go:noinline
func (b *base) pointer() int { leaf(); return b.n }

type byValue struct{ base }
type byPointer struct{ *base }
type byIface struct{ valuer }
type deep struct{ byPointer }
type valuer interface{ value() int }
type pointerer interface{ pointer() int }

// Promoted methods: direct, through method values, interfaces and embedded
// interfaces. Wrappers are no part of contexts.
//
//want:context [main];main.main;main.embedded;main.base.value 11
//want:context [main];main.main;main.embedded;main.base.value;main.leaf 11
//want:context [main];main.main;main.embedded;main.(*base).pointer 6
//want:context [main];main.main;main.embedded;main.(*base).pointer;main.leaf 6
//go:noinline
func embedded() {
	v := byValue{base{1}}
	p := byPointer{&base{2}}
	d := deep{p}
	i := byIface{v}
	v.value()
	v.pointer()
	p.value()
	p.pointer()
	d.value()
	i.value()
	for _, x := range []valuer{v, &v, p, &p, i, d} {
		x.value()
	}
	for _, x := range []pointerer{&v, p, &p} {
		x.pointer()
	}
	f, g := i.value, d.pointer
	keep(f)
	keep(g)
	f()
	g()
}

// Variadic calls.
//
//want:context [main];main.main;main.variadic;main.many 4
//want:context [main];main.main;main.variadic;main.many;main.double 6
//go:noinline
func variadic() {
	many()
	many(1)
	many(1, 2)
	many([]int{1, 2, 3}...)
}

//go:noinline
func many(list ...int) {
	for _, x := range list {
		double(x)
	}
}

type huge struct{ a [300]int }

// Large arguments and results, which travel in memory; and more than there are
// registers.
//
//want:context [main];main.main;main.large;main.(*huge).sum 3
//want:context [main];main.main;main.large;main.passHuge 3
//want:context [main];main.main;main.large;main.passHuge;main.double 3
//want:context [main];main.main;main.large;main.tooMany 5
//want:context [main];main.main;main.large;main.tooMany;main.leaf 5
//go:noinline
func large() {
	var h huge
	for range 3 {
		h = passHuge(h, 1)
		h.sum()
	}
	n, f := 0, 1.5
	for range 5 {
		n, f = tooMany(n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, f, 2, "a", nil)
	}
	keep(f)
}

//go:noinline
func (h *huge) sum() (n int) {
	for _, x := range h.a {
		n += x
	}
	return n
}

//go:noinline
func passHuge(h huge, n int) huge {
	h.a[n] = double(n)
	return h
}

//go:noinline
func tooMany(a, b, c, d, e, f, g, h, i, j, k, l int, x, y float64, s string, z any) (int, float64) {
	leaf()
	return a + b + c + d + e + f + g + h + i + j + k + l + len(s), x + y
}

// Call sites with 1, 2, 5, 100 and 3000 targets.
//
//want:context [main];main.main;main.polymorphic;main.site1;main.leaf 50
//want:context [main];main.main;main.polymorphic;main.site2;main.leaf 50
//want:context [main];main.main;main.polymorphic;main.site2;main.leaf2 50
//want:context [main];main.main;main.polymorphic;main.site5;main.leaf 20
//want:context [main];main.main;main.polymorphic;main.site5;main.leaf5 20
//want:context [main];main.main;main.polymorphic;main.site100;example.com/e2e/calls/lib.t~ 1000
//want:context [main];main.main;main.polymorphic;main.site100;example.com/e2e/calls/lib.t0 10
//want:context [main];main.main;main.polymorphic;main.site100;example.com/e2e/calls/lib.t99 10
//want:context [main];main.main;main.polymorphic;main.site3000;example.com/e2e/calls/lib.t~ 9000
//want:context [main];main.main;main.polymorphic;main.site3000;example.com/e2e/calls/lib.t0 3
//want:context [main];main.main;main.polymorphic;main.site3000;example.com/e2e/calls/lib.t2999 3
//go:noinline
func polymorphic() {
	for range 50 {
		site1(leaf)
		site2(leaf)
		site2(leaf2)
	}
	for range 20 {
		for _, f := range []func(){leaf, leaf2, leaf3, leaf4, leaf5} {
			site5(f)
		}
	}
	for range 10 {
		for _, f := range lib.Targets[:100] {
			site100(f)
		}
	}
	for range 3 {
		for _, f := range lib.Targets {
			site3000(f)
		}
	}
}

//go:noinline
func site1(f func()) { f() }

//go:noinline
func site2(f func()) { f() }

//go:noinline
func site5(f func()) { f() }

//go:noinline
func site100(f func()) { f() }

//go:noinline
func site3000(f func()) { f() }

//go:noinline
func leaf2() {}

//go:noinline
func leaf3() {}

//go:noinline
func leaf4() {}

//go:noinline
func leaf5() {}

// Inlined calls: nested, in loops, in conditions, and calls that they make.
//
//want:context@default [main];main.main;main.inlining;inlined main.in1 100
//want:context@default [main];main.main;main.inlining;inlined main.in1;inlined main.in2 100
//want:context@default [main];main.main;main.inlining;inlined main.in1;inlined main.in2;inlined main.in3 100
//want:context@default [main];main.main;main.inlining;inlined main.in1;inlined main.in2;main.leaf 50
//want:context@default [main];main.main;main.inlining;inlined main.pick 100
//want:context@default [main];main.main;main.inlining;inlined main.in3 34
//want:context@default [main];main.main;main.inlining;inlined main.early 10
//want:context@default [main];main.main;main.inlining;inlined main.early;inlined main.in3 5
//want:context@default [main];main.main;main.inlining;inlined main.square.side2 7
//want:context@default [main];main.main;main.inlining;inlined example.com/e2e/calls/lib.Small 9
//want:context@default [main];main.main;main.inlining;inlined example.com/e2e/calls/lib.Small;example.com/e2e/calls/lib.Big 9
//want:context@default [main];main.main;main.inlining;inlined main.ident[...] 4
//want:func@noinline main.in1 0
//want:func@noinline main.in3 0
//want:context [main];main.main;main.inlining;**;main.leaf 50
//go:noinline
func inlining() {
	x := 0
	for i := range 100 {
		x += in1(i)
		if pick(i, 3) {
			x += in3(i)
		}
	}
	for i := range 10 {
		x += early(i)
	}
	for range 7 {
		x += square{3}.side2()
	}
	for range 9 {
		x += lib.Small(x)
	}
	for range 4 {
		x += ident(x)
	}
	keep(x)
}

func in1(i int) int { return in2(i) + 1 }
func in2(i int) int {
	if i%2 == 0 {
		leaf()
	}
	return in3(i)
}
func in3(i int) int         { return i * i }
func pick(i, n int) bool    { return i%n == 0 }
func ident[T any](x T) T    { return x }
func (s square) side2() int { return 2 * s.side }
func early(i int) int {
	if i < 5 {
		return 0
	}
	return in3(i)
}

// Recursion, direct and mutual, folded and in full.
//
//want:func main.fib 177
//want:func main.even 6
//want:func main.odd 5
//want:context@default [main];main.main;main.recursion;main.fib 1
//want:context@default [main];main.main;main.recursion;main.fib;main.fib 176
//want:context@full [main];main.main;main.recursion;main.fib 1
//want:context@full [main];main.main;main.recursion;main.fib;main.fib 2
//want:context@full [main];main.main;main.recursion;main.fib;main.fib;main.fib 4
//want:context@full [main];main.main;main.recursion;main.fib;main.fib;main.fib;main.fib;main.fib;main.fib;main.fib;main.fib;main.fib;main.fib 2
//want:context@default [main];main.main;main.recursion;main.even 1
//want:context@default [main];main.main;main.recursion;main.even;main.odd;main.even 5
//want:context@default [main];main.main;main.recursion;main.even;main.odd 5
//want:context@default [main];main.main;main.recursion;main.even;main.leaf 1
//want:context@full [main];main.main;main.recursion;main.even;main.odd;main.even;main.odd 1
//want:context@full [main];main.main;main.recursion;main.even;main.odd;main.even;main.odd;main.even;main.odd;main.even;main.odd;main.even;main.odd;main.even;main.leaf 1
//want:context@default [main];main.main;main.recursion;main.selfVia 1
//want:context@default [main];main.main;main.recursion;main.selfVia;main.apply;main.selfVia.func1;main.selfVia 5
//want:context@default [main];main.main;main.recursion;main.selfVia;main.apply 5
//want:context@full [main];main.main;main.recursion;main.selfVia;main.apply;main.selfVia.func1 1
//want:context@default [main];main.main;main.recursion;main.selfVia;main.apply;main.selfVia.func1 5
//go:noinline
func recursion() {
	fib(10)
	even(10)
	selfVia(5)
}

//go:noinline
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

//go:noinline
func even(n int) bool {
	if n == 0 {
		leaf()
		return true
	}
	return odd(n - 1)
}

//go:noinline
func odd(n int) bool {
	if n == 0 {
		return false
	}
	return even(n - 1)
}

//go:noinline
func selfVia(n int) {
	if n == 0 {
		return
	}
	apply(func() { selfVia(n - 1) })
}
