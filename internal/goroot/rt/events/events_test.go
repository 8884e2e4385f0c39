package events

import (
	"math/bits"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory/memorytest"
)

// newCounts returns counts with memory of the given size.
func newCounts(size int) (*Counts, []uint64) {
	file, index := make([]uint64, size/8), make([]uint64, CountsArena(uintptr(size))/8+8)
	c := new(Counts)
	c.Init(unsafe.Pointer(&file[0]), unsafe.Pointer(&index[0]), uintptr(size))
	c.Reset()
	return c, file
}

type countKey struct {
	kind, size uint32
	hi, lo     uint64
}

// sums returns all entries as a reader finds them.
func (c *Counts) sums(t *testing.T) map[countKey]layout.Count {
	t.Helper()
	list := map[countKey]layout.Count{}
	used := c.header().Used
	for i := range uint32(used) {
		e := *c.entry(i)
		k := countKey{e.Kind, e.Size, e.Hi, e.Lo}
		if e.Kind == 0 {
			continue
		}
		if _, ok := list[k]; ok {
			t.Fatalf("entry %d is there twice: %+v", i, k)
		}
		list[k] = e
	}
	return list
}

// TestCounts compares with a map. The index grows several times.
func TestCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	c, _ := newCounts(1 << 23)
	want := map[countKey]layout.Count{}
	for range 1_000_000 {
		value := r.Uint64() >> r.IntN(64)
		k := countKey{1 + r.Uint32N(5), 0, r.Uint64N(40) << 32, 1 + r.Uint64N(10)}
		if r.IntN(10) == 0 {
			value = 0
		}
		k.size = uint32(bits.Len64(value))
		c.Add(k.kind, value, k.hi, k.lo)
		e := want[k]
		want[k] = layout.Count{Kind: k.kind, Size: k.size, Hi: k.hi, Lo: k.lo, Count: e.Count + 1,
			Sum: e.Sum + value, Max: max(e.Max, value)}
	}
	have := c.sums(t)
	if len(have) != len(want) || len(want) < 10*countsFirst {
		t.Fatalf("%d entries, want %d, of which there should be many", len(have), len(want))
	}
	for k, e := range want {
		if have[k] != e {
			t.Fatalf("%+v: have %+v, want %+v", k, have[k], e)
		}
	}
}

// TestCountsFull counts more contexts than there is room for: nothing is lost but the
// contexts of what had no room, and nothing is written outside.
func TestCountsFull(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	c, _ := newCounts(CountsMin)
	var count, sum [5]uint64
	for i := range uint64(100_000) {
		kind, value := r.Uint32N(5), r.Uint64()>>r.IntN(64)>>8
		c.Add(kind+1, value, i, i)
		count[kind]++
		sum[kind] += value
	}
	spilt := uint64(0)
	for k, e := range c.sums(t) {
		count[k.kind-1] -= e.Count
		sum[k.kind-1] -= e.Sum
		if k.hi == 0 {
			spilt += e.Count
		}
	}
	if count != [5]uint64{} || sum != [5]uint64{} {
		t.Errorf("%v events with sum %v are lost", count, sum)
	}
	if have := c.header().Spilt; have == 0 || have != spilt-1 && have != spilt {
		t.Errorf("%d events are said to have no context, %d have none", have, spilt)
	}
	if end := layout.CountsHeaderSize + uint64(c.used)*layout.CountSize; end > c.file.Size() {
		t.Errorf("%d entries in a file of %d bytes", c.used, c.file.Size())
	}
}

// TestCountsLost loses pages while events are counted: later ones are counted right.
func TestCountsLost(t *testing.T) {
	memorytest.MustEnd(t, func() {
		r := rand.New(rand.NewPCG(3, 1))
		c, file := newCounts(1 << 20)
		for round := range 50 {
			for i := range uint64(2000) {
				c.Add(1, 8, i%400, 1)
			}
			memorytest.LosePage(file, r.IntN(1+int(c.used)*layout.CountSize/memorytest.LostPage))
			if round%10 == 9 {
				before := c.entry(c.used - 1).Count
				c.Add(1, 8, c.entry(c.used-1).Hi, 1)
				if have := c.entry(c.used - 1).Count; have != before+1 {
					t.Fatalf("round %d: %d events, want %d", round, have, before+1)
				}
			}
		}
	})
}
