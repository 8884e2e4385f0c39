//go:build cgo

package main

// static unsigned spin(unsigned n) {
//	volatile unsigned x = 1;
//	for (unsigned i = 0; i < n; i++) x = x * 31 + i;
//	return x;
// }
import "C"

func init() {
	kinds["c"] = func() { sink += int(C.spin(20_000)) }
}
