// Program asm calls functions in assembly, linknamed ones and such as must not
// split the stack, and is called back by them.
package main

//stemma:default
//stemma-full:full -recursion=full

import (
	"math"
	"strings"
	_ "unsafe"

	"example.com/e2e/asm/hidden"
)

func main() {
	static()
	dynamic()
	callsBack()
	linknamed()
	nosplits()
	selfLinked()
	std()
	values()
}

//go:noinline
func leaf() {}

//go:noinline
func leaf2() {}

//go:noinline
func leaf3() {}

// asmAdd is in assembly and calls nothing.
func asmAdd(a, b int) int

// asmTwice calls f twice; it has a frame.
func asmTwice(f func())

// asmBoth calls f, then h; it has a frame.
func asmBoth(f, h func())

// asmNamed calls the Go function named twice, by name.
func asmNamed()

// asmJump jumps to the Go function jumped.
func asmJump()

// Assembly leaves are counted where they are called.
//
//want:context [main];main.main;main.static;main.asmAdd 10
//want:context [main];main.main;main.static;main.leaf 5
//go:noinline
func static() {
	n := 0
	for i := range 10 {
		n = asmAdd(n, i)
	}
	for range 5 {
		leaf()
	}
}

//go:noinline
func apply(f func(int, int) int) { f(1, 2) }

// Assembly through func values.
//
//want:context [main];main.main;main.dynamic;main.apply;main.asmAdd 7
//want:context [main];main.main;main.dynamic;main.apply 7
//go:noinline
func dynamic() {
	for range 7 {
		apply(asmAdd)
	}
}

// Assembly that calls back, several times from one call. What it calls by name hangs below it. From the
// second callback through a function value on, contexts hang below the callback before (docs/reference/limits.md); folded, what a
// function calls that is called back again hangs below its first call.
//
//want:context [main];main.main;main.callsBack;~main.asmTwice 6
//want:context [main];main.main;main.callsBack;main.asmTwice;main.leaf 4
//want:context@default [main];main.main;main.callsBack;main.asmTwice;main.nest 2
//want:context@default [main];main.main;main.callsBack;main.asmTwice;main.nest;main.nest 2
//want:context@default [main];main.main;main.callsBack;main.asmTwice;main.nest;main.leaf 4
//want:context@default [main];main.main;main.callsBack;main.asmTwice;main.nest;main.leaf2 4
//want:context [main];main.main;main.callsBack;~main.asmNamed 3
//want:context [main];main.main;main.callsBack;main.asmNamed;main.named 6
//want:context [main];main.main;main.callsBack;main.asmNamed;main.named;main.leaf3 6
//want:context [main];main.main;main.callsBack;~main.asmJump 2
//want:context [main];main.main;main.callsBack;main.asmJump;main.jumped 2
//want:context [main];main.main;main.callsBack;main.asmJump;main.jumped;main.leaf3 2
//want:context@default [main];main.main;main.callsBack;main.viaValue;main.asmTwice;main.nest 2
//want:context@default [main];main.main;main.callsBack;main.viaValue;main.asmTwice;main.nest;main.nest 2
//want:context@default [main];main.main;main.callsBack;main.viaValue;main.asmTwice;main.nest;main.leaf2 4
//want:context [main];main.main;main.callsBack;main.leaf2 3
//want:func main.nest 15
//go:noinline
func callsBack() {
	for range 2 {
		asmTwice(leaf)
		asmTwice(nest)
		asmTwice(func() { leaf2() })
		viaValue(asmTwice)
	}
	for range 3 {
		asmNamed()
		leaf2()
	}
	asmJump()
	asmJump()
	asmBoth(nest, other)
}

// What assembly calls second hangs below what it called first: the limit.
//
//want:context [main];main.main;main.callsBack;main.asmBoth;main.nest 1
//want:context [main];main.main;main.callsBack;main.asmBoth;main.nest;main.other 1
//want:context [main];main.main;main.callsBack;main.asmBoth;main.nest;main.other;main.leaf3 1
//go:noinline
func other() { leaf3() }

//go:noinline
func viaValue(f func(func())) { f(nest) }

//go:noinline
func nest() {
	leaf()
	leaf2()
}

//go:noinline
func named() { leaf3() }

//go:noinline
func jumped() { leaf3() }

//go:linkname pulled example.com/e2e/asm/hidden.secret
func pulled(n int) int

// Pull: declared here, defined in package hidden. Push: declared in package
// hidden, defined here.
//
//want:context [main];main.main;main.linknamed;example.com/e2e/asm/hidden.secret 6
//want:context [main];main.main;main.linknamed;example.com/e2e/asm/hidden.secret;example.com/e2e/asm/hidden.deep 6
//want:context [main];main.main;main.linknamed;main.pulled 0
//want:context [main];main.main;main.linknamed;example.com/e2e/asm/hidden.CallsPushed;main.pushed 0
//want:context [main];main.main;main.linknamed;example.com/e2e/asm/hidden.CallsPushed;example.com/e2e/asm/hidden.Pushed 4
//want:context [main];main.main;main.linknamed;example.com/e2e/asm/hidden.CallsPushed;example.com/e2e/asm/hidden.Pushed;main.leaf3 4
//want:context [main];main.main;main.linknamed;main.applyInt;example.com/e2e/asm/hidden.secret 2
//go:noinline
func linknamed() {
	for range 6 {
		pulled(1)
	}
	for range 4 {
		hidden.CallsPushed()
	}
	applyInt(pulled)
	applyInt(pulled)
}

//go:noinline
func applyInt(f func(int) int) { f(2) }

//go:linkname pushed example.com/e2e/asm/hidden.Pushed
func pushed() { leaf3() }

// Functions that must not split the stack are natives, what they call hangs
// below them.
//
//want:context [main];main.main;main.nosplits;native main.tight 5
//want:context [main];main.main;main.nosplits;main.tight;main.leaf 5
//want:context [main];main.main;main.nosplits;main.tight;main.leaf2 5
//want:context [main];main.main;main.nosplits;main.tight;main.leaf3 15
//want:context [main];main.main;main.nosplits;native main.tightOuter 3
//want:context [main];main.main;main.nosplits;main.tightOuter;~main.nest 6
//want:context [main];main.main;main.nosplits;native main.tightLeaf 8
//want:context [main];main.main;main.nosplits;main.leaf 1
//go:noinline
func nosplits() {
	for range 5 {
		tight()
	}
	for range 3 {
		tightOuter()
	}
	n := 0
	for range 8 {
		n = tightLeaf(n)
	}
	leaf()
}

//go:noinline
//go:nosplit
func tight() {
	leaf()
	leaf2()
	for range 3 {
		leaf3()
	}
}

//go:noinline
//go:nosplit
func tightOuter() {
	tightInner()
	nest()
	nest()
}

//go:noinline
//go:nosplit
func tightInner() { leaf() }

//go:noinline
//go:nosplit
func tightLeaf(n int) int { return n + 1 }

var letters = "abc"

// Assembly of the standard library, on every architecture.
//
//want:context [main];main.main;main.std;**;~bytealg.IndexByteString 3
//want:context [main];main.main;main.std;**;~math.archExp 4
//go:noinline
func std() {
	x := 1.5
	for range 3 {
		x += float64(strings.IndexByte(letters, 'c'))
	}
	for range 4 {
		x = math.Exp(x) / 100
	}
	if x == 12345 {
		leaf()
	}
}

// A recursion through a declaration without a body is folded like any other.
//
//want:func example.com/e2e/asm/hidden.Self 7
//want:context@default [main];main.main;main.selfLinked;example.com/e2e/asm/hidden.Self 1
//want:context@default [main];main.main;main.selfLinked;example.com/e2e/asm/hidden.Self;example.com/e2e/asm/hidden.Self 6
//want:context@full [main];main.main;main.selfLinked;example.com/e2e/asm/hidden.Self;example.com/e2e/asm/hidden.Self 1
//go:noinline
func selfLinked() { hidden.Self(6) }

//go:linkname self example.com/e2e/asm/hidden.Self
func self(n int) {
	if n > 0 {
		hidden.Self(n - 1)
	}
}
