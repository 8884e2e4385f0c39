// Package hidden has functions that others link to.
package hidden

import (
	"time"
	_ "unsafe"
)

// Sleep is a native, taken in this package too.
var Sleep = time.Sleep

//go:linkname secret
//go:noinline
func secret(n int) int { return deep(n) + 1 }

//go:noinline
func deep(n int) int { return 2 * n }

// Pushed is defined in package main.
func Pushed()

// CallsPushed calls a function without a body.
//
//go:noinline
func CallsPushed() { Pushed() }

// Self is defined in package main.
func Self(n int)
