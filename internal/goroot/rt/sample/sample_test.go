package sample

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/internal/testing/foldtest"
)

// newSamples returns a recorder with room for max nodes, in ordinary memory.
func newSamples(max int) *Samples {
	s, _ := newSamplesIn(max)
	return s
}

// newSamplesIn is newSamples, with the memory that stands for the file.
func newSamplesIn(max int) (*Samples, []uint64) {
	mem := func(n int) unsafe.Pointer { return unsafe.Pointer(&make([]uint64, n/8+1)[0]) }
	file := make([]uint64, (SmpEnd+max*SampleNodeSize)/8)
	s := new(Samples)
	s.Init(unsafe.Pointer(&file[0]), mem(BucketsSize), mem(1<<16), mem(KnownSize), uint32(max), 1<<16)
	return s, file
}

// weights adds up what a node and what all nodes have.
func (s *Samples) weight(n uint32, kind int) (ns, samples uint64) {
	p := s.node(n)
	return p.Weights[kind].Time, p.Weights[kind].Samples
}

// TestSamplesReference records random stacks from several goroutines at once
// and compares the tree with a plain map of stacks: with fewer children of each node than a list
// has, and with more, with recursion folded and in full, and with a page lost, from where on the cache is not used.
func TestSamplesReference(t *testing.T) {
	for _, children := range []int{2, 4, 12} {
		t.Run(fmt.Sprint(children), func(t *testing.T) { testSamplesReference(t, newSamples(1<<18), children) })
	}
	t.Run("folded", func(t *testing.T) {
		s := newSamples(1 << 18)
		s.FuncOf = testFuncOf
		testSamplesReference(t, s, 18)
	})
	t.Run("lost", func(t *testing.T) {
		s := newSamples(1 << 18)
		s.FuncOf = testFuncOf
		s.LostPage()
		testSamplesReference(t, s, 18)
	})
}

// testFuncOf gives each three addresses to a function: an ordinary one, an adapter or a wrapper.
func testFuncOf(pc uintptr) (fn uintptr, kind fold.Kind) { return pc / 3, fold.Kind(pc / 3 % 3) }

// foldedStack returns pcs, outermost first, as they are once recursion is folded: a call that leads back to a function
// on the path cuts the path there. What the innermost one calls nobody knows.
func foldedStack(pcs []uintptr, funcOf func(uintptr) (uintptr, fold.Kind)) (path []uintptr) {
	var functions []uintptr
	for i, pc := range pcs {
		if funcOf != nil && i < len(pcs)-1 {
			fn, _ := funcOf(pc)
			home := foldtest.HomeOf(functions, fn, func(fn uintptr) fold.Kind {
				_, kind := funcOf(3 * fn)
				return kind
			})
			functions, path = append(functions[:home], fn), path[:home]
		}
		path = append(path, pc)
	}
	return path
}

func testSamplesReference(t *testing.T, s *Samples, children int) {
	depth := 5
	if s.FuncOf != nil {
		depth = 12
	}
	want := make([]map[string]uint64, 8)
	var wg sync.WaitGroup
	for i := range want {
		want[i] = make(map[string]uint64)
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 5000 {
				pcs := make([]uintptr, 1+r.IntN(depth))
				for k := range pcs {
					pcs[k] = uintptr(layout.NumPseudo + 1 + r.IntN(children))
				}
				outward := slices.Clone(pcs)
				slices.Reverse(outward)
				key := ""
				for _, pc := range foldedStack(outward, s.FuncOf) {
					key = string(rune(pc)) + key
				}
				s.Add(s.Stack(0, pcs), layout.WeightCPU, 10, 1)
				s.Count(layout.StatSamples, 1)
				want[i][key]++
			}
		})
	}
	wg.Wait()
	sum := make(map[string]uint64)
	for _, m := range want {
		for k, n := range m {
			sum[k] += n
		}
	}
	if have, ticks := s.Stat(layout.StatSamples), s.Stat(layout.StatTicks); have != 8*5000 || ticks != 0 {
		t.Errorf("%d samples and %d ticks are counted, want %d and none", have, ticks, 8*5000)
	}
	have := make(map[string]uint64)
	for n := uint32(1); uint64(n) < s.header().Used; n++ {
		ns, count := s.weight(n, layout.WeightCPU)
		if ns != 10*count {
			t.Errorf("node %d: %d ns in %d samples", n, ns, count)
		}
		if count == 0 {
			continue
		}
		key := ""
		for at := n; at != 0; {
			parent, pc := s.Frame(at)
			key += string(rune(pc))
			at = parent
		}
		if have[key] != 0 {
			t.Errorf("two nodes for one context")
		}
		have[key] = count
	}
	if len(have) != len(sum) {
		t.Errorf("%d contexts, want %d", len(have), len(sum))
	}
	for k, n := range sum {
		if have[k] != n {
			t.Errorf("context %q: %d samples, want %d", k, have[k], n)
		}
	}
}

// TestSamplesAtOnce has threads look for the same children of a new node at the same moment: all get the same ones.
func TestSamplesAtOnce(t *testing.T) {
	const rounds, threads, children = 20_000, 4, 2 * fewChildren
	s := newSamples(2 * rounds * threads * children)
	var have [rounds][threads][children]uint32
	var arrived [rounds]atomic.Int32
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			for round := range rounds {
				parent := s.Child(0, uintptr(layout.NumPseudo+round))
				for arrived[round].Add(1); arrived[round].Load() < threads; {
					runtime.Gosched()
				}
				for k := range children {
					k := (k + i/2) % children
					have[round][i][k] = s.Child(parent, uintptr(layout.NumPseudo+k))
				}
			}
		})
	}
	wg.Wait()
	for round := range rounds {
		for i := range threads {
			if have[round][i] != have[round][0] {
				t.Fatalf("round %d: one thread has %d, another one %d", round, have[round][i], have[round][0])
			}
		}
	}
}

// TestSamplesOverflow fills the tree: what has no room is counted, and nothing is lost.
func TestSamplesOverflow(t *testing.T) {
	s := newSamples(16)
	for i := range 100 {
		s.Add(s.Stack(0, []uintptr{uintptr(100 + i)}), layout.WeightWait, 1, 1)
	}
	var sum uint64
	for n := range uint32(16) {
		_, count := s.weight(n, layout.WeightWait)
		sum += count
	}
	if _, over := s.weight(sampleOverflow, layout.WeightWait); sum != 100 || over != 86 ||
		s.Stat(layout.StatNodes) != 86 {
		t.Errorf("%d samples, %d in overflow, %d counted; want 100, 86, 86", sum, over, s.Stat(layout.StatNodes))
	}
}

// TestPlaces writes a place for each address once, until there is no more room.
func TestPlaces(t *testing.T) {
	s := newSamples(1 << 12)
	for i := range 2000 {
		s.Stack(0, []uintptr{uintptr(1000 + i/2)})
	}
	n := 0
	for {
		pc, ok := s.NextPlace()
		if !ok {
			break
		}
		if pc != uintptr(1000+n) {
			t.Fatalf("place of %d, want %d", pc, 1000+n)
		}
		n++
		w := s.BeginPlace(pc)
		w.Frame("a function with a long name, to fill the file", "file.go", 7, 3, false)
		w.End()
	}
	if n != 1000 {
		t.Errorf("%d places, want 1000", n)
	}
	written := uint64(0)
	for off := uintptr(0); uint64(off) < s.header().Places; written++ {
		off += uintptr((*layout.Place)(s.places.At(uint64(off))).Length)
	}
	if lost := s.Stat(layout.StatPlaces); lost == 0 || written+lost != 1000 {
		t.Errorf("%d places written and %d lost, want 1000 together, and some lost", written, lost)
	}
}

// TestPlacesBehindUnused describes an address behind a node that stays unused, because another
// thread was faster to make it.
func TestPlacesBehindUnused(t *testing.T) {
	s := newSamples(100)
	s.Child(0, 1000)
	unused := s.alloc()
	s.node(unused).PC, s.node(unused).Key = 1000, 0 // as Child leaves it
	s.Child(0, 2000)
	var have []uintptr
	for {
		pc, ok := s.NextPlace()
		if !ok {
			break
		}
		have = append(have, pc)
	}
	if len(have) != 2 || have[0] != 1000 || have[1] != 2000 {
		t.Errorf("places for %d, want 1000 and 2000", have)
	}
}

// TestPlacesOfSlow describes a node whose address comes late, when others have made many. One whose address never comes
// holds up no other for ever.
func TestPlacesOfSlow(t *testing.T) {
	s := newSamples(1000)
	places := func(calls int) (n int) {
		for ; calls > 0; calls-- {
			for {
				if _, ok := s.NextPlace(); !ok {
					break
				}
				n++
			}
		}
		return n
	}
	s.Child(0, 1000)
	slow := s.alloc()
	for i := range 100 {
		s.Child(0, uintptr(2000+i))
	}
	if n := places(50); n != 1 {
		t.Errorf("%d places while a node has no address, want 1", n)
	}
	s.node(slow).PC = 3000
	if n := places(1); n != 101 {
		t.Errorf("%d places when it has one, want 101", n)
	}
	for range 3 {
		s.alloc() // on a page that is lost
	}
	for i := range 100 {
		s.Child(0, uintptr(4000+i))
	}
	if n := places(2 * patience); n != 100 {
		t.Errorf("%d places behind nodes that get no address, want 100", n)
	}
}

func TestLatencyBucket(t *testing.T) {
	for _, ns := range []uint64{0, 1, 3, 4, 5, 7, 8, 9, 1000, 1 << 20, 3 << 30} {
		b := layout.LatencyBucket(ns)
		if lo := layout.LatencyFloor(b); lo > ns ||
			b < layout.LatencyBuckets-1 && layout.LatencyFloor(b+1) <= ns && layout.LatencyFloor(b+1) != lo {
			t.Errorf("%d ns: bucket %d from %d", ns, b, lo)
		}
	}
}
