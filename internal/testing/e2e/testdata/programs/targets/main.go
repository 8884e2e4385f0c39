// Program targets calls 3000 functions from one site, many times.
package main

import "example.com/e2e/calls/lib"

const rounds = 20_000

//want:context [main];main.main;main.call;example.com/e2e/calls/lib.t~ 60_000_000
//want:context [main];main.main;main.call;example.com/e2e/calls/lib.t2999 20_000
func main() {
	for range rounds {
		for _, f := range lib.Targets {
			call(f)
		}
	}
}

//go:noinline
func call(f func()) { f() }
