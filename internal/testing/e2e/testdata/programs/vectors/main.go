//go:build goexperiment.simd && amd64

// Program vectors has functions that return vectors, which lie in registers, and compares each with what it was made
// of.
package main

import (
	"fmt"
	"os"
	"simd/archsimd"
)

// down returns a vector through n frames, each of which returns to another place. What it calls on the way is long
// enough to be sampled.
//
//go:noinline
func down(n int, p *[4]float64) archsimd.Float64x4 {
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
	return archsimd.LoadFloat64x4(p)
}

var kept string

func main() {
	bad := 0
	for i := range 20_000 {
		p := [4]float64{float64(i), float64(i + 1), float64(i + 2), float64(i + 3)}
		v := down(i%20, &p)
		var got [4]float64
		if v.Store(&got); got != p {
			bad++
		}
	}
	fmt.Println("changed", bad)
	if bad > 0 {
		os.Exit(1)
	}
}
