package tree

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory/memorytest"
)

// TestMakers finds the functions below which the newest contexts are, through wrappers, among many others that make
// few, and not those that made many before.
func TestMakers(t *testing.T) {
	m := newMachine(t, 1<<27, true)
	var few []*meta
	for range 3 * candidates {
		few = append(few, m.function(1))
	}
	old, most, some, wrapper, leaf := m.function(1), m.function(1), m.function(1), m.function(1), m.function(1)
	wrapper.Flags = layout.MetaFlagWrapper
	// Each of a chain of nodes of a function leads to the next one through the callee that is asked for.
	chain := func(from uint32, f, through *meta) (n uint32) {
		m.call(from, 0)
		if through != nil {
			m.call(m.enter(through), 0)
		}
		return m.enter(f)
	}
	m.ctx = CellOf(RootNode, layout.RootMain)
	a, b := m.enter(old), uint32(0)
	for range 2 * newest {
		a = chain(a, old, nil)
	}
	m.ctx = CellOf(RootNode, layout.RootInit)
	a = m.enter(most)
	m.ctx = CellOf(RootNode, layout.RootTimer)
	b = m.enter(some)
	for i := range newest {
		switch {
		case i%10 < 5:
			a = chain(a, most, nil)
		case i%10 < 8:
			b = chain(b, some, wrapper)
		default:
			m.call(m.enter(few[i%len(few)]), 0)
			m.enter(leaf)
			m.ctx = CellOf(a, 0)
			a = m.enter(most)
		}
	}
	var list [3]Maker
	looked := m.tree.Makers(list[:])
	if looked != newest {
		t.Errorf("%d nodes were looked at, want %d", looked, newest)
	}
	if list[0].Func != most.id() || list[0].Made < looked*4/10 {
		t.Errorf("first: %+v of %d, want the function that makes half of them", list[0], looked)
	}
	if list[1].Func != some.id() {
		t.Errorf("second: %+v, want what calls through wrappers", list[1])
	}
	for _, k := range list {
		if k.Func == wrapper.id() || k.Func == old.id() && k.Made > looked/4 {
			t.Errorf("makers: %+v, of which one is a wrapper or makes none", list)
		}
	}
	if m.tree.Made() < 3*newest {
		t.Errorf("%d nodes were made", m.tree.Made())
	}
}

// TestLostWhileWalking zeros pages from some place on, as a file loses them that is cut, at any moment of what the
// builder does: it goes on.
func TestLostWhileWalking(t *testing.T) {
	memorytest.MustEnd(t, func() {
		for seed := range uint64(10) {
			r := rand.New(rand.NewPCG(seed, 4))
			m := newMachine(t, 1<<25, seed%2 == 0)
			for range 60 {
				m.function(1 + r.IntN(3))
			}
			var stop atomic.Bool
			done := make(chan bool)
			go func() {
				defer close(done)
				for r := rand.New(rand.NewPCG(seed, 5)); !stop.Load(); {
					pages := r.IntN(9) + 1
					for i := pages; i > 0; i-- {
						for k := range memorytest.LostPage / 8 {
							atomic.StoreUint64(&m.mem[(i-1)*memorytest.LostPage/8+k], 0)
						}
					}
				}
			}()
			m.ctx = CellOf(RootNode, layout.RootMain)
			for range 30_000 {
				f := m.metas[r.IntN(len(m.metas))]
				n := m.enter(f)
				if m.call(n, r.IntN(f.cells)); r.IntN(8) == 0 {
					m.ctx = CellOf(RootNode, layout.RootMain)
				}
			}
			stop.Store(true)
			<-done
		}
	})
}
