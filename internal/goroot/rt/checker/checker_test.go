package checker

import (
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
)

const (
	frameSize = 96                   // bytes
	free      = walkFree / frameSize // frames
)

// A walker is a program in a verify build, as far as its checker sees it: how deep
// its stack is, and what the checker walks.
type walker struct {
	c               Checker
	every, left     int64
	entries         int64
	walks, frames   int64
	deep, deepWalks int64 // entries with a stack that is not free, and walks of it
}

func newWalker(every int64) *walker {
	w := &walker{every: every}
	rec := new(recorder.Recorder)
	rec.Init(unsafe.Pointer(&make([]uint64, 512)[0]), nil, nil, 0, 0)
	w.c.Init(rec, nil, nil, nil, nil)
	return w
}

// enter does what stemmaCheckDue and stemmaCheckWalk do at the entry of a function, depth
// frames deep. first tells that it makes a context.
func (w *walker) enter(depth int64, first bool) (walked bool) {
	w.entries++
	if depth*frameSize > walkFree {
		w.deep++
	}
	if w.left--; w.left > 0 && !first {
		return false
	}
	entered := w.every - w.left
	w.left = w.every
	if !w.c.Due(entered, uintptr(depth*frameSize)) {
		return false
	}
	w.walks++
	w.frames += depth
	if depth*frameSize > walkFree {
		w.deepWalks++
	}
	w.c.pay(depth)
	return true
}

// TestCheckDeep goes into a recursion a million calls deep and back, with calls of a leaf
// at each level. Checks at a fixed distance would walk 1,000 frames for each call.
func TestCheckDeep(t *testing.T) {
	for _, c := range []struct {
		name  string
		every int64
		first bool
	}{{"default", 1009, false}, {"each entry", 1, false}, {"each a context", 1009, true}} {
		t.Run(c.name, func(t *testing.T) {
			const levels = 1_000_000
			w := newWalker(c.every)
			seen := make(map[int64]bool) // of 10 parts of the recursion, those with a walk
			for d := int64(1); d <= levels; d++ {
				if w.enter(d, c.first) {
					seen[d*10/(levels+1)] = true
				}
			}
			for d := int64(levels); d > 0; d-- {
				if w.enter(d, c.first) {
					seen[d*10/(levels+1)] = true
				}
			}
			t.Logf("%d entries, %d walks, %d frames, %d left out", w.entries, w.walks, w.frames,
				w.c.rec.Header().Lost[layout.LostDeep])
			// What entries pay for, the last walk, and what is free where the stack is shallow.
			if limit := entryPays*w.entries + levels + 2*free*free; w.frames > limit {
				t.Errorf("%d frames walked at %d entries, want at most %d", w.frames, w.entries, limit)
			}
			if w.deepWalks < 20 || len(seen) < 5 {
				t.Errorf("%d walks of a deep stack, in %d parts of the recursion: it is hardly checked", w.deepWalks,
					len(seen))
			}
			if w.c.rec.Header().Lost[layout.LostDeep] == 0 {
				t.Error("checks were left out, but not counted")
			}
			// What is not deep is checked at once, whatever is still to be paid.
			w.c.debt = 1 << 20
			for range c.every - 1 {
				w.enter(10, false)
			}
			if before := w.walks; !w.enter(10, true) && w.walks == before {
				t.Error("a first entry of a shallow stack was left out")
			}
		})
	}
}

// TestCheckShallow has no deep stack: no check is left out.
func TestCheckShallow(t *testing.T) {
	w := newWalker(7)
	for i := range int64(70_000) {
		w.enter(i%50+1, false)
	}
	if lost := w.c.rec.Header().Lost[layout.LostDeep]; w.walks != 10_000 || lost != 0 {
		t.Errorf("%d walks of 10,000, %d left out", w.walks, lost)
	}
}
