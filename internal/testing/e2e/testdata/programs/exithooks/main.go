// Program exithooks returns, or calls os.Exit if EXIT is set: both run exit hooks, several from one context.
package main

import (
	"fmt"
	"os"
	_ "unsafe"
)

//stemma:default -ldflags=-checklinkname=0

// A hook is an exithook.Hook.
type hook struct {
	f         func()
	onFailure bool
}

//go:linkname addHook internal/runtime/exithook.Add
func addHook(hook)

//want:context [main];main.main 1
//want:func main.first 1
//want:func main.second 1
//want:func main.leaf 4
func main() {
	addHook(hook{f: second})
	addHook(hook{f: first})
	at := "[main]"
	if os.Getenv("EXIT") != "" {
		at = "[main];main.main;main.end;os.Exit;native os.runtime_beforeExit"
	}
	for _, hook := range []string{"main.first", "main.second"} {
		fmt.Printf("want:context %s;%s 1\n", at, hook)
		fmt.Printf("want:context %s;%s;main.leaf 2\n", at, hook)
	}
	if os.Getenv("EXIT") != "" {
		end()
	}
}

//go:noinline
func end() { os.Exit(0) }

//go:noinline
func first() { leaf(); leaf() }

//go:noinline
func second() { leaf(); leaf() }

//go:noinline
func leaf() {}
