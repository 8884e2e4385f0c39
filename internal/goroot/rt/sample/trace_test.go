package sample

import (
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// A playedStack is a stack that is traced incrementally, as the runtime does it: its methods are the sequences of
// stemmaLocate, stemmaCaller and stemmaReturned where all frames may be patched.
type playedStack struct {
	t      *testing.T
	s      *Samples
	trace  Trace
	frames []playedFrame // outermost first
	looked []string      // frames that were looked at, in this step
	patch  int           // slots that were patched, in this step
}

// A playedFrame is a frame that stands at a place in its function.
type playedFrame struct {
	at      string
	patched bool // the slot that returns from here into the frame before
}

// pcOf returns the address of a place.
func pcOf(at string) uintptr { return uintptr(at[0])<<8 + uintptr(len(at)) }

// offOf returns where the slot of frame i is.
func offOf(i int) uintptr { return uintptr(64 * (i + 1)) }

// newPlayedStack returns a stack with nothing on it.
func newPlayedStack(t *testing.T) *playedStack {
	mem := func(n int) unsafe.Pointer {
		memory := make([]uint64, n/8+1)
		t.Cleanup(func() { runtime.KeepAlive(memory) }) // a Trace has integers for addresses
		return unsafe.Pointer(&memory[0])
	}
	p := &playedStack{t: t, s: newSamples(1 << 10)}
	p.trace.Init(p.s, 0, mem(PlainSize*8), 1, 2, mem(EntryPad+16*EntrySize), 16, mem(32*ObjSize), 32)
	return p
}

// call enters a function, at its place.
func (p *playedStack) call(at string) { p.frames = append(p.frames, playedFrame{at: at}) }

// goOn moves the innermost frame to another place of its function.
func (p *playedStack) goOn(at string) { p.frames[len(p.frames)-1].at = at }

// caller returns the ref of the frame that has called the innermost one, whose slot is patched from then on.
func (p *playedStack) caller() uint32 {
	top := len(p.frames) - 1
	f := &p.frames[top]
	switch {
	case f.patched:
		if p.trace.Top().Off != offOf(top) {
			p.t.Fatalf("the innermost entry is not that of %s", f.at)
		}
		return p.trace.Top().Ref
	case top == 0:
		return 0
	}
	f.patched = true
	p.patch++
	return p.trace.Push(offOf(top), 0, pcOf(p.frames[top-1].at), NoRef)
}

// sample takes a sample of the innermost frame.
func (p *playedStack) sample() {
	f := p.frames[len(p.frames)-1]
	p.looked = append(p.looked, f.at)
	p.trace.Sample(p.s, p.trace.Child(p.s, p.caller(), pcOf(f.at)-1), 1, 0)
}

// ret returns from the innermost function. If its slot is patched the frame behind it is looked at.
func (p *playedStack) ret() {
	top := len(p.frames) - 1
	f := p.frames[top]
	p.frames = p.frames[:top]
	if !f.patched {
		return
	}
	e := p.trace.Top()
	if e.Off != offOf(top) || !p.trace.Skeleton(e.Ref) {
		p.t.Fatalf("%s returned; its entry has offset %d, and is a skeleton: %v", f.at, e.Off, p.trace.Skeleton(e.Ref))
	}
	p.trace.Drop()
	p.looked = append(p.looked, p.frames[top-1].at)
	p.trace.Link(e.Ref, p.caller())
}

// marks returns the frames into which patched slots return, outermost first.
func (p *playedStack) marks() (list []string) {
	for i := range p.frames {
		if p.frames[i].patched {
			list = append(list, p.frames[i-1].at)
		}
	}
	if len(list) != p.trace.Len() {
		p.t.Errorf("%d slots are patched, and the trace has %d entries", len(list), p.trace.Len())
	}
	return list
}

// TestFigure8 takes the three samples of figure 5 in the seven steps of figure 8 (Hofer, Gnedt and Mössenböck): r
// has called a, which calls b, which calls c, and then u, which calls v. The places bb and bbb are behind these calls
// in b.
func TestFigure8(t *testing.T) {
	p := newPlayedStack(t)
	begin := p.s.Nodes()
	for _, at := range []string{"r", "a", "b", "c"} {
		p.call(at)
	}
	walked := 0 // frames that full walks would have looked at
	for i, step := range []struct {
		play   func()
		looked []string // frames that are looked at
		patch  int      // slots that are patched
		marks  []string // frames that patched slots return into: the innermost one is the current skeleton
	}{
		{p.sample, []string{"c"}, 1, []string{"b"}},
		{p.ret, []string{"b"}, 1, []string{"a"}},
		{func() { p.goOn("bb"); p.call("u"); p.call("v"); p.sample() }, []string{"v"}, 1, []string{"a", "u"}},
		{p.ret, []string{"u"}, 1, []string{"a", "bb"}},
		{p.ret, []string{"bb"}, 0, []string{"a"}},
		{func() { p.goOn("bbb"); p.sample() }, []string{"bbb"}, 0, []string{"a"}},
		{p.ret, []string{"a"}, 1, []string{"r"}},
	} {
		p.looked, p.patch = nil, 0
		if step.play(); i == 0 || i == 2 || i == 5 {
			walked += len(p.frames)
		}
		if !slices.Equal(p.looked, step.looked) || p.patch != step.patch {
			t.Errorf("step %d looks at %q and patches %d slots, want %q and %d", i+1, p.looked, p.patch, step.looked,
				step.patch)
		}
		if marks := p.marks(); !slices.Equal(marks, step.marks) {
			t.Errorf("after step %d patched slots return into %q, want %q", i+1, marks, step.marks)
		}
	}
	if walked != 12 { // seven of them are looked at here
		t.Errorf("full walks look at %d frames, want the 12 of figure 5", walked)
	}
	if done, _ := p.trace.Flush(p.s); done != 0 {
		t.Errorf("%d samples are done, and nobody knows who has called r", done)
	}
	p.ret()
	if done, _ := p.trace.Flush(p.s); done != 3 || p.trace.Len() != 0 || p.trace.Pending() != 0 {
		t.Errorf("%d samples are done, %d entries and %d objects are left; want 3, 0 and 0", done, p.trace.Len(),
			p.trace.Pending())
	}
	if n := p.s.Nodes() - begin; n != 8 {
		t.Errorf("%d nodes, want 8: r and a are those of three traces", n)
	}
	for _, stack := range [][]string{{"c", "b", "a", "r"}, {"v", "u", "bb", "a", "r"}, {"bbb", "a", "r"}} {
		var pcs []uintptr
		for _, at := range stack {
			pcs = append(pcs, pcOf(at)-1)
		}
		n := p.s.Stack(0, pcs)
		if _, samples := p.s.weight(n, layout.WeightCPU); samples != 1 {
			t.Errorf("%q has %d samples, want 1", stack, samples)
		}
	}
}
