package recordtest

import (
	"runtime"
	"testing"
)

// Bounded fails the test unless read allocates in proportion to n bytes of input. A
// reader makes records of up to a few hundred bytes of what takes one, and has buffers.
func Bounded(t *testing.T, n int, read func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	read()
	runtime.ReadMemStats(&after)
	if have, want := after.TotalAlloc-before.TotalAlloc, uint64(64<<20+1000*n); have > want {
		t.Fatalf("%d bytes were allocated for %d bytes of input, want at most %d", have, n, want)
	}
}
