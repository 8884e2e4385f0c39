// Package b needs package a.
package b

import (
	"example.com/e2e/initorder/a"
	"example.com/e2e/initorder/c"
)

//want:context [init];example.com/e2e/initorder/b.init.0 1
func init() {
	c.Note("b.init")
	a.V++
}

// Use is called by main.
//
//go:noinline
func Use() { a.V++ }
