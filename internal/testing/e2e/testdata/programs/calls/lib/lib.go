// Package lib is called from another package.
package lib

// Never is false, which the compiler does not know.
var Never bool

// Touch keeps its argument alive and changes nothing.
//
//go:noinline
func Touch(p *int) { *p += 0 }

// Small is inlined, Big is not.
func Small(x int) int { return Big(x) + 1 }

// Big is called by Small.
//
//go:noinline
func Big(x int) int { return x / 2 }

// TouchString keeps its argument alive and changes nothing.
//
//go:noinline
func TouchString(p *string) { *p += "" }

// TouchBytes keeps its argument alive and changes nothing.
//
//go:noinline
func TouchBytes(p *[]byte) { *p = (*p)[:len(*p)] }

// Cell has a method that is inlined.
type Cell[T any] struct{ X T }

// Get is inlined, Twin is not.
func (c *Cell[T]) Get() T { return c.X }

// Twin returns x twice.
//
//go:noinline
func Twin[T any](x T) [2]T { return [2]T{x, x} }
