// Patched has functions that call nothing, as libraries patch them while they run.
package main

import "fmt"

type point struct{ x, y int }

func one() int { return 1 }

func two() (a, b int) {
	a, b = 1, 2
	return b, a
}

func three() (a, b, c int) { return 1, 2, 3 }

func slice() []byte { return nil }

func zero() {}

func origin() point {
	p := point{1, 2}
	p.x--
	p.y -= 2
	return p
}

func add(a, b int) int { return a + b }

func closure() func() int {
	n := 3
	return func() int { n++; return n }
}

func main() {
	zero()
	fmt.Println(one(), origin(), add(1, 2), closure()(), slice())
	fmt.Println(two())
	fmt.Println(three())
}
