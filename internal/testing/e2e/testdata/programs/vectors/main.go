//go:build goexperiment.simd && (amd64 || (arm64 && go1.27))

// Program vectors has functions that return vectors, which lie in registers, and compares each with what it was made
// of.
package main

import (
	"fmt"
	"os"
)

// down returns a vector through n frames, each of which returns to another place. What it calls on the way is long
// enough to be sampled.
//
//go:noinline
func down(n int, p *numbers) vector {
	switch n {
	case 1:
		return down(n-1, p)
	case 2:
		return down(n-1, p)
	case 3:
		return down(n-1, p)
	case 4:
		return down(n-1, p)
	case 5:
		return down(n-1, p)
	case 6:
		return down(n-1, p)
	case 7:
		return down(n-1, p)
	case 8:
		return down(n-1, p)
	case 9:
		return down(n-1, p)
	case 10:
		return down(n-1, p)
	case 11:
		return down(n-1, p)
	case 12:
		return down(n-1, p)
	case 13:
		return down(n-1, p)
	case 14:
		return down(n-1, p)
	case 15:
		return down(n-1, p)
	case 16:
		return down(n-1, p)
	case 17:
		return down(n-1, p)
	case 18:
		return down(n-1, p)
	case 19:
		return down(n-1, p)
	}
	kept = fmt.Sprint(p[0], n)
	return load(p)
}

var kept string

func main() {
	bad := 0
	for i := range 20_000 {
		var p, got numbers
		for k := range p {
			p[k] = float64(i + k)
		}
		v := down(i%20, &p)
		if store(v, &got); got != p {
			bad++
		}
	}
	fmt.Println("changed", bad)
	if bad > 0 {
		os.Exit(1)
	}
}
