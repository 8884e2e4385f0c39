package sample

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
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

	groups       func(node, want uint32) // not nil: samples are taken in groups of frames
	known, found int                     // samples whose nodes were all in the cache, and others
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
		if m.groups != nil {
			m.sampleGroups(fn)
		} else {
			m.sample(fn)
		}
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
	base, old := uint32(0), false
	for i := len(m.stack) - 1; i >= 0; i-- {
		if m.bits[i] {
			base, old = m.t.Top().Ref, true
			break
		}
		m.bits[i] = true
		frames = append(frames, NewFrame{Place: m.slot(i), PC: m.stack[i], Sym: m.stack[i] - 1})
	}
	node := m.s.Child(m.t.Splice(m.s, base, frames, acctHi, m.all, old), fn)
	m.s.Add(node, layout.WeightCPU, 0, 1)
}

// edges returns the weight below the root by depth and innermost address.
func (m *acctMachine) edges() map[uintptr]uint64 {
	sum := make(map[uintptr]uint64)
	for n := uint32(2); uint64(n) < m.s.header().Used; n++ {
		_, pc := m.s.Frame(n)
		_, samples := m.s.weight(n, layout.WeightCPU)
		sum[pc] += samples
	}
	return sum
}

// TestAcctGroups samples random calls in groups of frames, known and not, and compares the node of each sample with the
// true stack: recursion is folded and in full, with the cache and without.
func TestAcctGroups(t *testing.T) {
	for _, tt := range []struct {
		name  string
		set   func(s *Samples)
		known bool
	}{
		{"folded", func(s *Samples) {
			s.FuncOf = func(pc uintptr) (uintptr, fold.Kind) { return pc / 20, fold.Kind(pc / 20 % 3) }
		}, true},
		{"full", func(s *Samples) {}, true},
		{"lost", func(s *Samples) { s.LostPage() }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newAcctMachine(1, false)
			tt.set(m.s)
			m.groups = func(node, want uint32) {
				if node != want {
					t.Fatalf("node %d, want %d", node, want)
				}
			}
			r := rand.New(rand.NewPCG(1, 2))
			var run func(depth int)
			run = func(depth int) {
				for range r.IntN(3) + 1 {
					m.every = 1 + r.Uint64N(5)
					m.call(uintptr(100+10*r.IntN(5)), uintptr(5000+r.IntN(7)), func() {
						if depth > 0 && r.IntN(40) < 39 {
							run(depth - 1 - r.IntN(2))
						}
					})
				}
			}
			for range 40 {
				run(12)
			}
			if m.known > 0 != tt.known || m.found == 0 || m.t.Len() != 0 {
				t.Errorf("%d samples were known, %d were not, %d entries are left", m.known, m.found, m.t.Len())
			}
		})
	}
}

// sampleGroups is sample, in groups.
func (m *acctMachine) sampleGroups(fn uintptr) {
	k, base, at := &Known{}, uint32(0), []int{}
	for i := len(m.stack) - 1; i >= 0; i-- {
		if m.bits[i] {
			base = m.t.Top().Ref
			break
		}
		f := NewFrame{Place: m.slot(i), PC: m.stack[i], Sym: m.stack[i] - 1}
		if m.stack[i]%30 == 0 {
			f.Place = 0 // it may not be patched
		}
		if !k.Add(f) {
			panic("too many frames")
		}
		at = append(at, i)
	}
	node := k.Find(m.s, base, fn)
	if node != 0 && m.t.HasRoom(k) {
		m.known++
		m.t.PushKnown(k, acctHi)
	} else {
		m.found++
		node = m.t.SpliceGroups(m.s, base, k.Frames[:k.N], fn, acctHi)
	}
	for i := groupFrames; i < k.N; i += groupFrames {
		m.bits[at[i]] = k.Frames[i].Place != 0
	}
	want := uint32(0)
	for _, ret := range m.stack {
		want = m.s.Call(want, ret-1)
	}
	m.groups(node, m.s.Child(want, fn))
}

// TestAcctFigure6 runs the paper's program: a calls b 10 times, which calls c 100 times,
// all of it many times over. Last-edge-only finds the true ratio of the edges,
// all-new-edges gives both about the same weight, less than two to one.
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
	every := newAcctMachine(1, true)
	program(every)
	e = every.edges()
	if ab, bc := e[b]+e[retC-1], e[c]; ab != 300*10 || bc != 300*10*100 {
		t.Errorf("all new edges, every call: a→b has %d, b→c %d, and each call makes one new edge", ab, bc)
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
		m.s.FuncOf = func(pc uintptr) (uintptr, fold.Kind) { return pc / 20, fold.Kind(pc / 20 % 3) }
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
