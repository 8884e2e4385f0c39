// Program initorder is initialised: packages, variables and init functions.
package main

import (
	"fmt"
	"os"
	"strings"

	"example.com/e2e/initorder/a"
	"example.com/e2e/initorder/b"
	"example.com/e2e/initorder/c"
)

// Variables are initialised by the package's init function.
//
//want:context [init];main.init 1
//want:context [init];main.init;main.first 1
//want:context [init];main.init;main.first;main.second 1
//want:context [init];main.init;main.second 1
//want:context [init];main.init;main.init.func1 1
//want:context [init];main.init;main.init.func1;main.leaf 1
//want:context [init];main.init;example.com/e2e/initorder/c.New 1
var (
	x = first()
	y = second()
	z = func() int { leaf(); return 3 }()
	w = c.New("main")
)

//go:noinline
func first() int { c.Note("main.first"); return second() + 1 }

//go:noinline
func second() int { return 2 }

//go:noinline
func leaf() { c.Note("main.leaf") }

// Two init functions and goroutines that they start.
//
//want:context [init];main.init.0 1
//want:context [init];main.init.0;main.leaf 3
//want:context [init];main.init.1 1
//want:context [init];main.init.1;main.leaf 2
//want:context [init];main.init.1;go main.init.1.func1 1
//want:context [init];main.init.1;go main.init.1.func1;main.second 1
func init() {
	for range 3 {
		leaf()
	}
}

func init() {
	leaf()
	leaf()
	done := make(chan int)
	go func() { done <- second() }()
	<-done
}

// The first context of all: package runtime's dependencies are native, then
// packages come in the order of their dependencies.
//
//want:context [main];main.main 1
//want:func main.main 1
//want:context [main];main.main;main.check 1
//want:context [main];main.main;main.init.0 0
func main() {
	check()
	_ = x + y + z
	_ = w
	a.Use()
	b.Use()
}

//go:noinline
func check() {
	want := "c.init c.init2 a.var a.init b.init main.first main.leaf c.New:main main.leaf main.leaf main.leaf main.leaf main.leaf"
	if have := strings.Join(c.Notes, " "); have != want {
		fmt.Fprintln(os.Stderr, have)
	}
}
