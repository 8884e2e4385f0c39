// Package main is loaded by program plugin.
package main

// Work calls back twice.
//
//want:context [main];main.main;~.Work 5
//want:context [main];main.main;~.Work;~.helper 15
func Work(f func()) {
	f()
	f()
	for range 3 {
		helper()
	}
}

//go:noinline
func helper() {}

//want:context [main];main.main;**;~.init.0;~.helper 1
func init() { helper() }
