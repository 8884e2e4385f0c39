package rt

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestSpan makes a span grow: by steps, not beyond its size, and where the memory for a
// whole step cannot be had, by what is needed.
func TestSpan(t *testing.T) {
	mem := Reserve(t, 1<<20)
	s := NewSpan(unsafe.Pointer(&mem[0]), 1<<20)
	for _, n := range []uint64{1, 4096, 65536, 65537, 300_000, 1 << 20} {
		if !s.Need(n) || s.have < n || s.have > max(2*n, spanMinStep+n) {
			t.Errorf("%d bytes are needed, %d can be used", n, s.have)
		}
		mem[n-1] = 1
	}
	if s.Need(1<<20 + 1) {
		t.Error("a span has grown beyond its size")
	}
	mem = Reserve(t, 1<<20)
	LimitReserved(mem, 3*4096)
	s = NewSpan(unsafe.Pointer(&mem[0]), 1<<20)
	if !s.Need(5000) || s.have != 2*4096 || s.Need(3*4096+1) || !s.Need(5000) {
		t.Errorf("%d bytes can be used of three pages", s.have)
	}
	tries := 0
	for range 1000 {
		before := refused
		s.Need(4 * 4096)
		tries += refused - before
	}
	if tries == 0 || tries > 12 {
		t.Errorf("it was tried %d times to grow, want few", tries)
	}
	LimitReserved(mem, 1<<20)
	for range 2000 {
		s.Need(4 * 4096)
	}
	if s.have < 4*4096 {
		t.Error("what failed once is not tried again")
	}
}

// TestTreeStopsGrowing takes the memory from trees that grow, at random moments: what is new
// then is counted in overflow nodes or nowhere, and that is said; the tree stays valid. The
// memory behind what can be used is not touched: it cannot be.
func TestTreeStopsGrowing(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		m := newMachine(t, 1<<25, seed%3 == 0)
		LimitReserved(asBytes(m.mem), uint64(1+r.IntN(100))<<14)
		if seed%4 == 0 {
			LimitReserved(asBytes(m.funcs), uint64(1+r.IntN(10))<<12)
		}
		for range 2 + r.IntN(300) {
			m.function(1 + r.IntN(6)).Recover = 1
		}
		var stack []lostFrame
		for range 30_000 {
			stack = m.lostStep(r, stack)
		}
		m.validate()
		lost := uint64(0)
		for _, n := range m.tree.rec.header().Lost {
			lost += n
		}
		if full := refused > 0 && m.tree.region.tries > 0; full && lost == 0 {
			t.Errorf("seed %d: a tree of %d bytes could not grow, and nothing is lost", seed, m.tree.used)
		}
	}
}
