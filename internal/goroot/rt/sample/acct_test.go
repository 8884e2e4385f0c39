package sample

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// A machine plays a program and its stack for the accumulator: it calls and
// returns, and every nth call takes a sample.
type acctMachine struct {
	s      *Samples
	t      Trace
	memory [][]uint64 // of t, which has integers for addresses
	stack  []uintptr  // return addresses, a word each; hi is where it begins
	bits   []bool     // the trampoline is in the slot
	calls  uint64
	every  uint64
	all    bool
}

const acctHi = 1 << 20

func newAcctMachine(every uint64, all bool) *acctMachine {
	m := &acctMachine{s: newSamples(1 << 12), every: every, all: all}
	mem := func(n int) unsafe.Pointer {
		m.memory = append(m.memory, make([]uint64, n/8+1))
		return unsafe.Pointer(&m.memory[len(m.memory)-1][0])
	}
	m.t.Init(m.s, 0, mem(PlainSize*8), 1, 2, mem(EntryPad+1000*EntrySize), 1000, mem(16*ObjSize), 16)
	return m
}

func (m *acctMachine) slot(i int) uintptr { return acctHi - uintptr(i+1)*8 }

// call enters function fn, from the return address ret, runs body and returns.
func (m *acctMachine) call(ret, fn uintptr, body func()) {
	m.stack = append(m.stack, ret)
	m.bits = append(m.bits, false)
	if m.calls++; m.calls%m.every == 0 {
		m.sample(fn)
	}
	body()
	i := len(m.stack) - 1
	if m.bits[i] { // the trampoline
		m.t.Drop()
	}
	m.stack, m.bits = m.stack[:i], m.bits[:i]
}

// sample is what the runtime does at the entry of fn.
func (m *acctMachine) sample(fn uintptr) {
	var frames []NewFrame
	base := uint32(0)
	for i := len(m.stack) - 1; i >= 0; i-- {
		if m.bits[i] {
			base = m.t.Top().Ref
			break
		}
		m.bits[i] = true
		frames = append(frames, NewFrame{m.slot(i), m.stack[i], m.stack[i] - 1})
	}
	node := m.s.Child(m.t.Splice(m.s, base, frames, acctHi, m.all), fn)
	m.s.Add(node, rt.WeightCPU, 0, 1)
}

// edges returns the weight below the root by depth and innermost address.
func (m *acctMachine) edges() map[uintptr]uint64 {
	sum := make(map[uintptr]uint64)
	for n := uint32(2); uint64(n) < m.s.header().Used; n++ {
		_, pc := m.s.Frame(n)
		_, samples := m.s.weight(n, rt.WeightCPU)
		sum[pc] += samples
	}
	return sum
}

// TestAcctFigure6 runs the paper's program: a calls b 10 times, which calls c 100 times,
// all of it many times over. Last-edge-only finds the true ratio of the edges,
// all-new-edges gives both the same weight, as the paper shows.
func TestAcctFigure6(t *testing.T) {
	const retA, retB, retC, a, b, c = 11, 101, 201, 1000, 1001, 1002
	program := func(m *acctMachine) {
		for range 300 {
			m.call(retA, a, func() {
				for range 10 {
					m.call(retB, b, func() {
						for range 100 {
							m.call(retC, c, func() {})
						}
					})
				}
			})
		}
	}
	last := newAcctMachine(307, false)
	program(last)
	e := last.edges()
	if ratio := float64(e[c]) / float64(max(e[b], 1)); math.Abs(ratio-100) > 60 {
		t.Errorf("last edge: %d samples in c, %d in b: ratio %.0f, want 100", e[c], e[b], ratio)
	}
	all := newAcctMachine(307, true)
	program(all)
	e = all.edges()
	// The edge a → b gets weight when b is sampled, and when a frame of b is new.
	ab, bc := e[b]+e[retC-1], e[c]
	if ratio := float64(bc) / float64(max(ab, 1)); ratio > 2 {
		t.Errorf("all new edges: a→b has %d, b→c %d: ratio %.1f, and the strategy is wrong in that it finds 1", ab,
			bc, ratio)
	}
	if n := last.t.Len(); n != 0 {
		t.Errorf("%d entries are left", n)
	}
}

// TestAcctSplice samples random calls and compares each sample's context with the
// true stack, and the entries with the sampled frames.
func TestAcctSplice(t *testing.T) {
	t.Run("full", func(t *testing.T) { testAcctSplice(t, newAcctMachine(1, false)) })
	t.Run("folded", func(t *testing.T) {
		m := newAcctMachine(1, false)
		m.s.FuncOf = func(pc uintptr) uintptr { return pc / 20 }
		testAcctSplice(t, m)
	})
}

func testAcctSplice(t *testing.T, m *acctMachine) {
	seed := uint64(1)
	rnd := func(n uint64) uint64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return seed >> 33 % n
	}
	var run func(depth int)
	run = func(depth int) {
		for range rnd(4) {
			m.every = 1 + rnd(5)
			fn := uintptr(5000 + rnd(7))
			m.call(uintptr(100+10*rnd(5)), fn, func() {
				at := uint32(0)
				for _, ret := range m.stack {
					at = m.s.Call(at, ret-1)
				}
				if n := m.t.Len(); n > 0 && m.bits[len(m.bits)-1] && m.t.Top().Ref != at {
					t.Fatalf("the innermost entry has node %d, want %d", m.t.Top().Ref, at)
				}
				if depth > 0 {
					run(depth - 1)
				}
			})
			bits := 0
			for _, b := range m.bits {
				if b {
					bits++
				}
			}
			if bits != m.t.Len() {
				t.Fatalf("%d frames are sampled, %d entries", bits, m.t.Len())
			}
		}
	}
	for range 2000 {
		run(8)
	}
}

func TestDecay(t *testing.T) {
	c := []int32{100, 50, 1, -5}
	Decay(c, 100)
	if c[0] != 100 || c[1] != 75 || c[2] != 51 || c[3] != 48 {
		t.Errorf("have %v", c)
	}
	for range 20 {
		Decay(c, 100)
	}
	if c[3] != 100 {
		t.Errorf("a counter that is not used ends at %d, want 100", c[3])
	}
}
