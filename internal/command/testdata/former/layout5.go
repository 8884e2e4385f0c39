package main

//go:noinline
func leaf(n int) int { return n + 1 }

//go:noinline
func twice(n int) int { return leaf(n) + leaf(n) }

//go:noinline
func down(n int) int {
	if n == 0 {
		return leaf(n)
	}
	return down(n-1) + 1
}

func main() {
	sum := 0
	for i := range 1000 {
		sum += twice(i)
	}
	for range 10 {
		sum += down(7)
	}
	if sum == 0 {
		panic("none")
	}
}
