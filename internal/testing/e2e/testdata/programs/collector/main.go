// Program collector makes garbage so fast that its goroutine has to help the
// collector and to end its phases, while another goroutine waits.
package main

import "fmt"

type tree struct{ left, right *tree }

func grow(depth int) *tree {
	if depth == 0 {
		return new(tree)
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

var kept *tree

func main() {
	go func() { select {} }()
	for range 8000 {
		kept = grow(10)
	}
	fmt.Println(kept.left != nil)
}
