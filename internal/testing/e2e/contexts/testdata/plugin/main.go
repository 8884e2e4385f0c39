// Program plugin loads a package when it runs, which calls back. It prints the context of the last
// callback. With SPIN it works for so long in the plugin's own function.
package main

import (
	"fmt"
	"os"
	"plugin"
	"time"

	"github.com/stemma-go/stemma"
)

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
	d, _ := time.ParseDuration(os.Getenv("SPIN"))
	for end := time.Now().Add(d); ; {
		work.(func(func()))(back)
		if time.Now().After(end) {
			break
		}
	}
	fmt.Println(last)
}

var last stemma.ID

//go:noinline
func back() { last = stemma.Here() }
