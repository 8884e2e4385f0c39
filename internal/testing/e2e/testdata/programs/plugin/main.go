// Program plugin loads a package when it runs.
package main

import (
	"fmt"
	"os"
	"plugin"
)

//want:context [main];main.main 1
func main() {
	p, err := plugin.Open(os.Getenv("PLUGIN"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	work, err := p.Lookup("Work")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for range 5 {
		work.(func(func()))(back)
	}
}

//
//want:context [main];main.main;**;~.Work;main.back 10
//want:context [main];main.main;**;~.Work;main.back;main.leaf 10
//go:noinline
func back() { leaf() }

//go:noinline
func leaf() {}
