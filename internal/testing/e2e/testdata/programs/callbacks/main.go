// Callbacks calls C once, which calls back a million times.
package main

/*
extern int step(int);
static int steps(int n) {
	int sum = 0;
	for (int i = 0; i < n; i++) sum += step(i);
	return sum;
}
*/
import "C"

import "fmt"

//export step
func step(i C.int) C.int { return odd(i) }

//go:noinline
func odd(i C.int) C.int { return bit(i) }

//go:noinline
func bit(i C.int) C.int { return i & 1 }

func main() { fmt.Println(C.steps(1_000_000)) }
