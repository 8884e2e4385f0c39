// Package a is initialised before package b.
package a

import "example.com/e2e/initorder/c"

// V is initialised by a call.
//
//want:context [init];example.com/e2e/initorder/a.init 1
//want:context [init];example.com/e2e/initorder/a.init;example.com/e2e/initorder/a.value 1
//want:context [init];example.com/e2e/initorder/a.init;example.com/e2e/initorder/a.value;example.com/e2e/initorder/c.Note 1
var V = value()

//go:noinline
func value() int { c.Note("a.var"); return 1 }

//want:context [init];example.com/e2e/initorder/a.init.0 1
//want:context [init];example.com/e2e/initorder/a.init.0;example.com/e2e/initorder/c.Note 1
func init() { c.Note("a.init") }

// Use is called by main.
//
//want:context [main];main.main;example.com/e2e/initorder/a.Use 1
//go:noinline
func Use() { V++ }
