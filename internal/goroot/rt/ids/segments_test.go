package ids_test

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/ids"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory/memorytest"
	"github.com/stemma-go/stemma/internal/testing/level"
)

// A former is the memory of a segment that has ended.
type former map[string][]byte

// rotates makes m end segments.
func (m *computer) rotates() {
	m.next = &ids.DacceNext{
		EntryAt: func(pc uint64) uint64 {
			for _, list := range [...][]*function{m.funcs, m.leaves} {
				for _, f := range list {
					if pc-f.entry < codeSize {
						return f.entry
					}
				}
			}
			return 0
		},
		ReturnOf: func(entry uint64, cell uint32) uint64 { return entry + callStep*uint64(cell+1) },
	}
	m.c.InitNext(m.next, 0)
}

// fresh returns the memory of a segment.
func (m *computer) fresh() former {
	mem := former{"cce": mapped(m.t, layout.ContextsSize)}
	for _, name := range [...]string{"funcs", "epochs", "nodes"} {
		mem[name] = memorytest.Reserve(m.t, memSizes[name])
	}
	return mem
}

// span returns the memory of a file.
func (f former) span(name string) memory.Span {
	return memory.NewSpan(unsafe.Pointer(&f[name][0]), uint64(len(f[name])))
}

// rotate ends a segment, as stemmaRotateIDs does.
func (m *computer) rotate() {
	m.forget()
	m.next.Count()
	mem, run := m.fresh(), m.r.Uint64()|1
	if !m.next.Begin(unsafe.Pointer(&mem["cce"][0]), mem.span("nodes"), mem.span("epochs"), run) {
		m.t.Fatal("no memory for a segment")
	}
	funcs := mem.span("funcs")
	copied, ok := m.rec.CopyFuncs(&funcs, 0, m.r.Uint64N(1<<16))
	if ok = ok && m.next.WriteEpoch(m.clock, func() {}); !ok {
		m.t.Fatal("no room for what the next segment begins with")
	}
	m.next.Ready(copied)
	ask := func() {
		for _, g := range m.gs {
			if g.from != 0 && m.r.IntN(2) == 0 {
				for !m.next.Load(uint32(g.from>>layout.IDEpoch), 1+m.r.IntN(5)) {
				}
				for m.r.IntN(4) > 0 && !m.next.StartPart(g.start, g.from, 1+m.r.IntN(5)) {
				}
				if m.r.IntN(4) == 0 {
					m.next.Start(g.start, g.from)
				}
				m.asked++
			}
		}
	}
	if m.r.IntN(2) == 0 {
		ask()
		m.others()
		ask()
	}
	if m.next.Failed() && !m.limits {
		m.t.Fatal("an entry had no room")
	}
	if m.r.IntN(8) == 0 || m.next.Failed() { // it is left, and tried again
		if m.next.Failed() {
			m.failed++
		}
		m.next.End(func() {})
		return
	}
	// The world is stopped.
	if _, ok = m.rec.CopyFuncs(&funcs, copied, 1<<32); !ok {
		m.t.Fatal("no room for functions")
	}
	m.decode(m.done)
	m.next.Switch(m.clock, uint64(m.segments)+1)
	m.rec.Move(unsafe.Pointer(&mem["cce"][0]), funcs)
	m.former = append(m.former, former{})
	for name, b := range mem {
		m.former[0][name], m.mem[name] = m.mem[name], b
	}
	m.number, m.stamp = run, m.c.Stamp()
	m.segment++
	m.segments++
	m.epoch++
}

// begunAt makes where g began known in its segment.
func (m *computer) begunAt(g *goroutine) {
	if g.segment != m.segment && g.from != 0 {
		g.start, g.from = m.next.Start(g.start, g.from)
		m.moved++
	}
	g.segment = m.segment
}

// forget makes all goroutines known in the segment that has begun, and gives back the memory of the one before.
func (m *computer) forget() {
	for _, g := range m.gs {
		m.begunAt(g)
	}
	if len(m.former) == 0 {
		return
	}
	m.next.End(func() {})
	for name, b := range m.former[0] {
		if spans[name] {
			memorytest.Release(b)
		} else if err := syscall.Munmap(b); err != nil {
			m.t.Error(err)
		}
	}
	m.former = m.former[:0]
}

// TestSegmentsRelay lets goroutines start each other in a chain that is longer than a walk has room for, by some or not
// at all: nothing of it is cut.
func TestSegmentsRelay(t *testing.T) {
	const steps = 16
	for _, length := range []int{1, steps - 1, steps, steps + 1, 10 * steps, 10*steps + 1, 333} {
		m := newComputer(t, uint64(length))
		f := m.function(2)
		f.calls[0].targets, f.calls[1].dynamic = []*function{f}, true
		f.goes = 1
		f.emit()
		m.rotates()
		m.next.LimitSteps(steps)
		m.calm = 1 << 40
		m.every = 1 << 40
		for range 3 {
			last := m.goroutine()
			for range length {
				m.resume(last, len(last.frames), last.stands())
				last.push(f, natives+8192)
				m.enter(last, f)
				pc := f.ret(len(f.calls))
				st := last.stack()
				hi, lo := m.c.Capture(&st, *last.top().slot, uintptr(pc))
				child := m.goroutine()
				child.start, child.from = hi, lo
				child.began = last.truth(1, pc)
				child.began[0] = "go " + child.began[0]
				m.exit(last)
				last = child
			}
			last.push(f, natives+8192)
			m.enter(last, f)
			for range 3 {
				for segments := m.segments; m.segments == segments; {
					m.rotate()
				}
				m.resume(last, len(last.frames), last.stands())
				m.capture(last)
				m.decode(m.done)
			}
		}
		if m.cut > 0 {
			t.Errorf("a chain of %d: %d contexts are cut", length, m.cut)
		}
		m.close()
	}
}

// TestSegmentsLimited ends segments of encoders without room for all: contexts are cut with a reason, and never wrong.
// A segment that has no room for where goroutines began does not begin.
func TestSegmentsLimited(t *testing.T) {
	met, failed := 0, 0
	for _, l := range limited {
		for seed := range uint64(12) {
			shown := uint64(0)
			m := encodeRandom(t, seed, 300, func(m *computer) {
				m.rotates()
				l.prepare(m)
				m.ended = func() { shown = l.shows(m.c.Header()) }
			})
			if failed += m.failed; shown != 0 {
				met++
			}
		}
	}
	t.Logf("%d programs met a limit, %d segments did not begin", met, failed)
	if met < 20 || failed < 10 {
		t.Error("want many")
	}
}

// TestSegmentsLost loses pages of interned entries and of dictionaries while segments end: what is decoded by these is
// cut, and never wrong. Other files are copied as they are.
func TestSegmentsLost(t *testing.T) {
	segments, cut := 0, 0
	for seed := range level.Rounds[uint64](15, 60) {
		m := newComputer(t, seed)
		m.program()
		m.goroutine()
		m.rotates()
		m.limits, m.calm = true, 40
		for range 20 {
			m.run(20)
			m.lose("nodes", "epochs")
		}
		m.decode(m.done)
		segments, cut = segments+m.segments, cut+m.cut
		m.close()
	}
	t.Logf("%d segments, %d contexts are cut", segments, cut)
	if segments < 50 || cut == 0 {
		t.Error("want many")
	}
}

// TestSegments ends segments of random programs at moments at which a re-encoding may be published, and decodes all IDs
// by the segment that they are of. The memory of a segment is gone when the next one but one begins.
func TestSegments(t *testing.T) {
	segments, asked, moved := 0, 0, 0
	for seed := range level.Rounds[uint64](30, 300) {
		m := encodeRandom(t, seed, 400, func(m *computer) {
			m.rotates()
			if seed%2 == 0 {
				m.next.LimitSteps(maxDepth + m.r.IntN(maxDepth))
			}
		})
		segments, asked, moved = segments+m.segments, asked+m.asked, moved+m.moved
		if m.cut > 0 {
			t.Errorf("seed %d: %d contexts are cut", seed, m.cut)
		}
	}
	t.Logf("%d segments, %d starts were asked for early, %d were needed", segments, asked, moved)
	if segments < 200 || moved < 500 || asked < 500 {
		t.Error("want many")
	}
}
