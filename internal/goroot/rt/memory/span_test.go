package memory_test

import (
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory/memorytest"
)

// TestSpan makes a span grow: by steps, not beyond its size, and where the memory for a
// whole step cannot be had, by what is needed.
func TestSpan(t *testing.T) {
	const minStep = 1 << 16 // by which a span grows at least
	mem := memorytest.Reserve(t, 1<<20)
	s := memory.NewSpan(unsafe.Pointer(&mem[0]), 1<<20)
	for _, n := range []uint64{1, 4096, 65536, 65537, 300_000, 1 << 20} {
		if !s.Need(n) || s.Usable() < n || s.Usable() > max(2*n, minStep+n) {
			t.Errorf("%d bytes are needed, %d can be used", n, s.Usable())
		}
		mem[n-1] = 1
	}
	if s.Need(1<<20 + 1) {
		t.Error("a span has grown beyond its size")
	}
	mem = memorytest.Reserve(t, 1<<20)
	memorytest.LimitReserved(mem, 3*4096)
	s = memory.NewSpan(unsafe.Pointer(&mem[0]), 1<<20)
	if !s.Need(5000) || s.Usable() != 2*4096 || s.Need(3*4096+1) || !s.Need(5000) {
		t.Errorf("%d bytes can be used of three pages", s.Usable())
	}
	tries := 0
	for range 1000 {
		before := memorytest.Refused
		s.Need(4 * 4096)
		tries += memorytest.Refused - before
	}
	if tries == 0 || tries > 12 {
		t.Errorf("it was tried %d times to grow, want few", tries)
	}
	memorytest.LimitReserved(mem, 1<<20)
	for range 2000 {
		s.Need(4 * 4096)
	}
	if s.Usable() < 4*4096 {
		t.Error("what failed once is not tried again")
	}
}
