package ids_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/encoder"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/ids"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory/memorytest"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// # The computer
//
// A computer plays the part of compiled code, of the assembly and of package
// runtime on a Dacce: functions with data and metadata as the compiler lays them
// out, goroutines with frames and slots, natives between them, and re-encodings at
// any moment at which the real program may be stopped. What it does is written
// out as it stands in ssagen/stemma_dacce.go, runtime/stemma_dacce_amd64.s and
// runtime/stemma_dacce.go.
//
// Beside the words it knows the truth: the frames. Each captured ID is kept with
// the stack as text, and must decode to it by the bytes that the Dacce has written.

// What code looks like: function i begins at text + i*codeSize, call k returns to
// offset callStep*(k+1), and faults rise 8 bytes behind.
const (
	text     = 0x401000
	codeSize = 1024
	callStep = 16
	fault    = 8
	natives  = text + 1<<24 // the code of natives, and of leaves behind it
	leaves   = text + 1<<25
	noWord   = layout.NoWord
	maxDepth = 48 // physical frames of a goroutine in a random program
)

// A function has data, unless it is a leaf, which calls nothing.
type function struct {
	index int
	name  string
	leaf  bool
	entry uint64
	data  *layout.FuncData
	av    []uint64 // behind data
	meta  []uint64
	calls []call // sites with a cell; the last one captures
	goes  int    // go statements
}

// A call is a site: what it may call, with how many natives in between at most.
type call struct {
	dynamic bool
	targets []*function
	natives int
	least   int // at least so many: the compiler takes a native that calls back for the target
}

// A frame is one on a real stack. It is a native if it has no function.
type frame struct {
	f     *function
	slot  *uint64
	ret   uint64 // return address, in the frame further out
	c     bool   // a native that does not keep the frame pointer
	saved struct{ ctx, epoch uint64 }
}

type goroutine struct {
	ctx, pushes, epoch uint64
	base, cap          uintptr
	start, from        uint64
	frames             []frame
	slots              []uint64
	began              []string // the truth about where it began
	gone               bool
	segment            int // that its words, and where it began, are of
}

type captured struct {
	id    ctxid.ID
	truth []string
}

type computer struct {
	t      testing.TB
	r      *rand.Rand
	c      *ids.Dacce
	rec    *recorder.Recorder
	mem    map[string][]byte
	funcs  []*function
	leaves []*function
	gs     []*goroutine
	epoch  uint64 // the number of publications
	phase  int    // of a re-encoding
	calm   int    // one in so many moments is used for re-encoding
	every  int    // one in so many entries is checked
	clock  uint64
	stamp  uint64
	ids    []captured
	done   int  // ids that were decoded
	cut    int  // contexts whose outer part is missing
	limits bool // contexts may be cut
	room   int  // for frames of a walk of a whole stack
	parts  int  // stacks that had more
	ended  func()
	lost   recordtest.Lost
	slow   int
	fast   int
	firsts int // first functions of goroutines that needed no lock
	over   int // entries by a loop that had no more ids

	counted int // calls along edges that are not encoded and are counted where they return

	recalled int // captures of contexts that were pushed again

	next     *ids.DacceNext // nil where segments do not end
	number   uint64         // the run number of the segment
	segment  int            // how many came before
	former   []former       // segments that have ended, and whose memory is still there
	segments int            // how many have
	asked    int            // starts that were asked for before the segment that needs them had begun
	moved    int            // starts that were needed
	failed   int            // segments that did not begin
}

var memSizes = map[string]int{
	"cce": layout.ContextsSize, "known": recorder.KnownSize, "funcs": 1 << 24, "epochs": ids.EpochsSize,
	"nodes": layout.InternedBytes, "pcs": ids.PCSize, "mem": ids.ArenaSize,
}

// spans are those that can be used only as far as was asked for.
var spans = map[string]bool{"funcs": true, "epochs": true, "nodes": true, "mem": true}

// testRun is the run number of all computers.
const testRun = 42

func newComputer(t testing.TB, seed uint64) *computer {
	m := &computer{t: t, r: rand.New(rand.NewPCG(seed, 2)), mem: map[string][]byte{}, calm: 300, every: 40,
		room: 1 << 20}
	for name, size := range memSizes {
		if spans[name] {
			m.mem[name] = memorytest.Reserve(t, size)
			continue
		}
		m.mem[name] = mapped(t, size)
	}

	m.number = testRun
	m.c, m.rec = ids.NewDacce(m.mem["cce"], m.mem["known"], m.mem["funcs"], m.mem["epochs"], m.mem["nodes"],
		m.mem["pcs"], m.mem["mem"], text)
	m.rec.Describe(testRun, 1, 1, "go1.26", "", []string{"test"})
	m.stamp = m.c.Stamp()
	return m
}

// mapped returns zeroed memory.
func mapped(t testing.TB, size int) []byte {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// close gives the memory back.
func (m *computer) close() {
	for name, b := range m.mem {
		if spans[name] {
			memorytest.Release(b)
		} else if err := syscall.Munmap(b); err != nil {
			m.t.Error(err)
		}
	}
}

func addr[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

func at(p uintptr) *uint64 { return (*uint64)(unsafe.Add(unsafe.Pointer(nil), p)) }

// function adds a function with n sites that have a cell.
func (m *computer) function(n int) *function {
	f := &function{index: len(m.funcs), calls: make([]call, n)}
	f.name, f.entry = fmt.Sprintf("main.f%d", f.index), uint64(text+codeSize*(f.index+1))
	f.goes = m.r.IntN(2)
	m.funcs = append(m.funcs, f)
	return f
}

// leaf adds a function that calls nothing.
func (m *computer) leaf() {
	i := len(m.leaves)
	m.leaves = append(m.leaves,
		&function{name: fmt.Sprintf("main.leaf%d", i), leaf: true, entry: uint64(leaves + codeSize*i)})
}

// emit makes the data and the metadata of f, as emitData and stemmaMeta.emit do.
func (f *function) emit() {
	words := make([]uint64, layout.FuncDataSize/layout.AVSize+len(f.calls))
	f.data, f.av = (*layout.FuncData)(unsafe.Pointer(&words[0])), words[layout.FuncDataSize/layout.AVSize:]
	for i, c := range f.calls {
		f.av[i] = layout.KeyUnknown << layout.WordKey
		if c.dynamic {
			f.av[i] |= layout.Dynamic
		}
	}
	blob := []byte{0, 0, 1, 1, 0, byte(len(f.calls) + f.goes)} // name, line, one file, no inlined calls
	for i := range len(f.calls) + f.goes {
		kind, cell := byte(layout.SiteCall), i+1
		if i >= len(f.calls) {
			kind, cell = layout.SiteGo, 0
		}
		blob = append(blob, kind, 0, 0, byte(i+1), 0, byte(cell), 0)
	}
	blob = append(blob, 0) // no weights
	file := "main.go"
	b := raw.Append(nil, layout.Meta{
		Entry: f.entry, NodeSize: uint32(layout.NodeBytes(len(f.calls), 1)),
		Strings: 2, BlobLen: uint32(len(blob)), Cells: uint32(len(f.calls)),
	})
	for _, s := range []string{f.name, file} {
		b = raw.Append(b, layout.MetaString{Addr: uint64(addr(unsafe.StringData(s))), Len: uint64(len(s))})
	}
	b = append(b, blob...)
	f.meta = make([]uint64, len(b)/8+1) // aligned
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&f.meta[0])), len(b)), b)
	f.data.Func = uint64(addr(&f.meta[0]))
}

func (f *function) ptr() uintptr { return addr(f.data) }

// ret returns the address that call k returns to.
func (f *function) ret(k int) uint64 { return f.entry + callStep*uint64(k+1) }

// here is the site that captures.
func (f *function) here() int { return len(f.calls) - 1 }

// site returns the index of the site whose call returns to pc, or -1.
func (f *function) site(pc uint64) int {
	if f.leaf || (pc-f.entry)%callStep != 0 || pc == f.entry {
		return -1
	}
	return int((pc-f.entry)/callStep) - 1
}

// place describes a frame of f that stands at pc.
func (f *function) place(pc uint64) string {
	line := f.site(pc) + 1
	if line == 0 && pc != f.entry {
		line = 100
	}
	return fmt.Sprintf("%s:%d", f.name, line)
}

// goroutine adds a goroutine that begins at a root.
func (m *computer) goroutine() *goroutine {
	root := uint64(m.r.IntN(layout.NumRoots - 1))
	g := &goroutine{ctx: noWord, epoch: m.epoch, segment: m.segment, start: root, slots: make([]uint64, 1024)}
	g.began = []string{"root " + layout.RootNames[root]}
	for i := range g.slots {
		g.slots[i] = m.r.Uint64()
	}
	m.gs = append(m.gs, g)
	return g
}

func (g *goroutine) top() *frame { return &g.frames[len(g.frames)-1] }

// push adds a frame.
func (g *goroutine) push(f *function, ret uint64) *frame {
	g.frames = append(g.frames, frame{f: f, ret: ret, slot: &g.slots[len(g.frames)]})
	return g.top()
}

// entry returns the entry of the ccStack at a depth.
func (g *goroutine) entry(d uint64) *layout.StackEntry {
	return (*layout.StackEntry)(unsafe.Add(unsafe.Pointer(nil), g.base+uintptr(d*layout.StackEntrySize)))
}

func (g *goroutine) stack() ids.Stack { return ids.StackOf(&g.base, &g.cap, g.start, g.from) }

// truth returns the stack of n frames whose innermost one stands at pc.
func (g *goroutine) truth(n int, pc uint64) []string {
	var list []string
	via := ""
	for i := n - 1; i >= 0; i-- {
		if fr := &g.frames[i]; fr.f != nil {
			list = append(list, via+fr.f.place(pc))
			via = "call "
		} else if pc == 0 {
			panic("no address")
		}
		if f := g.frames[i]; f.f != nil || pc != 0 {
			pc = f.ret
		}
		if i > 0 && g.frames[i-1].f != nil && g.frames[i-1].f.site(pc) < 0 {
			via = "fault "
		}
	}
	return append(list, g.began...)
}

// walk is stemmaWalk: the instrumented frames among the first n. The innermost of
// these stands at pc. Frames of functions that were not entered yet hold no word.
func (m *computer) walk(g *goroutine, n int, pc uint64, all bool) (frames []ids.Walked, linked bool) {
	linked = true
	through := false
	for i := n - 1; i >= 0; i-- {
		fr := &g.frames[i]
		if fr.c {
			linked = false
		}
		w, ok := m.walked(fr, pc)
		pc = fr.ret
		if !ok {
			through = true
			continue
		}
		w.Through, through = through, false
		frames = append(frames, w)
		if w.Slot != 0 && !all {
			break
		}
	}
	return frames, linked
}

// walked is stemmaWalked.
func (m *computer) walked(fr *frame, pc uint64) (w ids.Walked, ok bool) {
	if fr.f == nil {
		return w, false
	}
	w.PC, w.Site = uintptr(pc), -1
	if !fr.f.leaf {
		if w.Func = m.c.Entered(uintptr(fr.f.entry)); w.Func == 0 && !m.c.Crowded() {
			return w, false
		}
		w.Slot, w.Site = addr(fr.slot), int32(fr.f.site(pc))
	}
	if w.Site < 0 {
		if rec, ok := m.rec.BeginFault(pc); ok {
			rec.Frame(fr.f.name, "main.go", 100)
			rec.End("runtime.sigpanic")
		}
	}
	return w, true
}

// enter is what f does on entry: its frame is the top one.
func (m *computer) enter(g *goroutine, f *function) {
	w := g.ctx - f.data.Key
	if w >= f.data.Limit {
		w = m.encode(g, f)
	} else {
		m.fast++
	}
	*g.top().slot = w
	if m.r.IntN(m.every) == 0 { // what the checker does
		st := g.stack()
		hi, lo := m.c.Capture(&st, w, uintptr(f.entry))
		m.keep(hi, lo, g.truth(len(g.frames), f.entry))
	}
}

// encode is stemmaDacceEnter, the assembly.
func (m *computer) encode(g *goroutine, f *function) uint64 {
	i := len(g.frames) - 1
	for ; ; i-- {
		_, through, ok := m.c.LookupPC(uintptr(g.frames[i].ret))
		if !ok {
			return m.encodeSlow(g, f)
		}
		if !through {
			break
		}
	}
	pc, caller := g.frames[i].ret, &g.frames[i-1]
	w, av := *caller.slot, caller.f.av[caller.f.site(pc)]
	counted := false
	if av>>layout.WordKey != layout.KeyPush {
		r := w + av - f.data.Key
		if r < f.data.Limit {
			return r
		}
		if r>>layout.WordKey != 0 || f.data.Limit == 0 {
			target, n := m.c.Count(uintptr(pc))
			if target == 0 || target != f.data.Index || n%layout.SeenEdgeStep == 0 {
				return m.encodeSlow(g, f)
			}
			m.counted++
			counted = true
		} else {
			m.over++
		}
	}
	if f.data.Index == 0 {
		return m.encodeSlow(g, f)
	}
	if !counted {
		g.pushes++
	}
	d := w&layout.MaxDeep + 1
	if g.pushes >= layout.PushStep || d >= layout.MaxDeep || d >= uint64(g.cap) {
		return m.encodeSlow(g, f)
	}
	*g.entry(d) = layout.StackEntry{Word: w, Place: pc, Target: f.data.Func}
	return d
}

// encodeSlow is stemmaDacceEnterGo.
func (m *computer) encodeSlow(g *goroutine, f *function) uint64 {
	if len(g.frames) == 1 && g.pushes < layout.PushStep {
		st := g.stack()
		if w, ok := m.c.TryFirst(&st, f.ptr()); ok {
			m.firsts++
			return w
		}
	}
	m.slow++
	hits := uint64(1)
	if g.pushes >= layout.PushStep {
		g.pushes, hits = 0, layout.PushStep
	}
	i, isNew := m.c.Enter(f.ptr())
	if isNew {
		w := m.c.BeginPCs(i, codeSize-64, uint32(len(f.calls)+f.goes))
		for k := range len(f.calls) + f.goes {
			w.PC(uint32(f.ret(k)-f.entry), uint32(k))
		}
		w.End()
	}
	if i == 0 {
		return m.c.Refused()
	}
	st := g.stack()
	if w, ok := m.near(g, &st, f, hits); ok {
		return w
	}
	return m.far(g, &st, f, hits)
}

// near is stemmaDacceNear.
func (m *computer) near(g *goroutine, st *ids.Stack, f *function, hits uint64) (uint64, bool) {
	through := false
	for i := len(g.frames) - 1; ; i-- {
		pc := uintptr(g.frames[i].ret)
		s, pass, known := m.c.LookupPC(pc)
		if !known {
			return 0, false
		}
		if !pass {
			slot := g.frames[i-1].slot
			fr := m.c.FrameOf(s, pc, addr(slot))
			return m.c.Called(st, *slot, &fr, f.ptr(), through, hits), true
		}
		through = true
	}
}

// far is stemmaDacceFar.
func (m *computer) far(g *goroutine, st *ids.Stack, f *function, hits uint64) uint64 {
	n := len(g.frames) - 1
	frames, linked := m.walk(g, n, g.top().ret, false)
	if len(frames) == 0 {
		return m.c.PushRoot(st, 0, f.ptr())
	}
	w := m.down(st, frames)
	if len(frames) == 1 && linked {
		for i := n; ; i-- {
			if i > 0 && addr(g.frames[i-1].slot) == frames[0].Slot {
				m.c.LearnPC(uintptr(g.frames[i].ret), &frames[0].Frame)
				break
			}
			m.c.LearnPC(uintptr(g.frames[i].ret), nil)
		}
	}
	return m.c.Called(st, w, &frames[0].Frame, f.ptr(), frames[0].Through, hits)
}

// down returns the word of the first of the frames. The last may hold one.
func (m *computer) down(st *ids.Stack, frames []ids.Walked) (w uint64) {
	last := len(frames) - 1
	if slot := frames[last].Slot; slot != 0 {
		w = *at(slot)
	} else {
		w = m.c.Down(st, 0, frames[last:])
	}
	for i := last - 1; i >= 0; i-- {
		w = m.c.Down(st, w, frames[i:])
	}
	return w
}

// resume is stemmaResume: g stands with the innermost of n frames at pc.
func (m *computer) resume(g *goroutine, n int, pc uint64) {
	if g.epoch == m.epoch {
		return
	}
	m.begunAt(g)
	frames, _ := m.walk(g, n, pc, true)
	if len(frames) > m.room {
		m.parts++
	}
	st := g.stack()
	m.c.Rewrite(&st, func(skip int) ([]ids.Walked, int) {
		// stemmaWalkFrom, which has room for so many.
		return slices.Clone(frames[skip:min(skip+m.room, len(frames))]), len(frames)
	})
	g.ctx, g.epoch = noWord, m.epoch
}

// moment is one at which g may be stopped, with the innermost of n frames at pc:
// now and then others do the next part of a re-encoding.
func (m *computer) moment(g *goroutine, n int, pc uint64) {
	if m.r.IntN(m.calm) == 0 {
		m.reencode()
	}
	m.resume(g, n, pc)
}

// reencode does the next part of a re-encoding.
func (m *computer) reencode() {
	m.clock += 1e5 + m.r.Uint64N(1e6)
	if m.phase == 0 && m.next != nil && m.r.IntN(3) == 0 {
		m.rotate()
		return
	}
	switch m.phase {
	case 0:
		if _, _, edges := m.c.Encoding(); len(edges) > 0 { // a random weight
			for range m.r.IntN(10) {
				m.c.Hit(m.r.IntN(len(edges)), 1<<m.r.IntN(40))
			}
		}
		m.c.Snapshot(m.clock)
	case 1:
		if m.r.IntN(8) == 0 {
			m.c.Plan(func() {})
			m.checkOrder()
		} else {
			m.c.PlanSlowly(func() { m.others() })
		}
	case 2:
		if !m.c.Write(m.clock) {
			m.t.Fatal("no room for a dictionary")
		}
	case 3:
		m.publish()
	}
	m.phase = (m.phase + 1) % 4
}

// others lets all goroutines run for a while, in the middle of a plan.
func (m *computer) others() {
	if m.r.IntN(2) == 0 {
		return
	}
	calm := m.calm
	m.calm = 1 << 30
	for range m.r.IntN(20) {
		// A goroutine in the middle of a call is not one of the others.
		g := m.goroutine()
		for range m.r.IntN(10) {
			m.step(g)
		}
		g.gone = true
	}
	m.calm = calm
}

// nextEpoch begins an epoch a second after the last one, at once.
func (m *computer) nextEpoch() {
	m.t.Helper()
	m.clock += 1e9
	m.c.Snapshot(m.clock)
	m.c.Plan(func() {})
	if !m.c.Write(m.clock) {
		m.t.Fatal("no room for a dictionary")
	}
	m.publish()
}

// publish is stemmaPublish. Whoever is not running is rewritten when it runs again,
// or at once.
func (m *computer) publish() {
	m.c.Publish()
	m.stamp = m.c.Stamp()
	m.epoch++
	m.checkEncoding()
	if len(m.ids)-m.done > 500 {
		m.decode(m.done)
	}
}

// stands returns where g, which is not running, was stopped.
func (g *goroutine) stands() uint64 {
	if len(g.frames) == 0 {
		return 0
	}
	if f := g.top().f; f != nil {
		return f.entry + fault
	}
	return natives
}

// call makes the top frame call something: leave a word, perhaps pass through
// natives, enter.
func (m *computer) call(g *goroutine) {
	fr := g.top()
	if fr.f == nil {
		// A native calls again: stemmaPut.
		if g.ctx = fr.saved.ctx; fr.saved.epoch != g.epoch {
			g.ctx = noWord
		}
		m.callee(g, m.anyTarget(g), natives+16*m.r.Uint64N(8))
		return
	}
	k := m.r.IntN(len(fr.f.calls) - 1)
	m.callSite(g, k, m.r.IntN(len(fr.f.calls[k].targets)))
}

// callSite calls a target of site k of the top frame's function.
func (m *computer) callSite(g *goroutine, k, target int) {
	fr := g.top()
	c := &fr.f.calls[k]
	g.ctx = *fr.slot + fr.f.av[k]
	ret := fr.f.ret(k)
	m.moment(g, len(g.frames), ret)
	for range c.least + m.r.IntN(c.natives+1) {
		ret = m.native(g, ret)
	}
	if c.dynamic && m.r.IntN(30) == 0 {
		m.callLeaf(g, ret)
		return
	}
	m.callee(g, c.targets[target], ret)
}

// again goes the same way from the top frame a few times and captures at its end.
func (m *computer) again(g *goroutine) {
	n, seed := len(g.frames), m.r.Uint64()
	for range 3 {
		g.frames = g.frames[:n]
		for way := rand.New(rand.NewPCG(seed, 1)); len(g.frames) < maxDepth && g.top().f != nil && !g.top().f.leaf &&
			way.IntN(8) > 0; {
			k := way.IntN(len(g.top().f.calls) - 1)
			m.callSite(g, k, way.IntN(len(g.top().f.calls[k].targets)))
		}
		m.capture(g)
	}
}

// native enters a native, which saves what was left for it, and returns an address
// in it. One in eight is C, with code of its own.
func (m *computer) native(g *goroutine, ret uint64) uint64 {
	fr := g.push(nil, ret)
	fr.saved.ctx, fr.saved.epoch = g.ctx, g.epoch
	k := m.r.Uint64N(8)
	fr.c = k == 0
	if fr.c {
		return natives + 4096
	}
	return natives + 16*k
}

// callee calls f, which may be stopped before it has a frame, or before it holds a
// word.
func (m *computer) callee(g *goroutine, f *function, ret uint64) {
	m.moment(g, len(g.frames), ret)
	g.push(f, ret)
	if m.r.IntN(2) == 0 {
		m.moment(g, len(g.frames), f.entry+4)
	}
	m.enter(g, f)
}

// anyTarget returns a target of the site that the innermost frame of a function
// stands at; or anything, if that is not a site.
func (m *computer) anyTarget(g *goroutine) *function {
	for i := len(g.frames) - 1; i > 0; i-- {
		if f := g.frames[i-1].f; f != nil {
			if k := f.site(g.frames[i].ret); k >= 0 {
				list := f.calls[k].targets
				return list[m.r.IntN(len(list))]
			}
			break
		}
	}
	return m.funcs[m.r.IntN(len(m.funcs))]
}

// callLeaf calls a function that calls nothing, in which a fault may rise.
func (m *computer) callLeaf(g *goroutine, ret uint64) {
	f := m.leaves[m.r.IntN(len(m.leaves))]
	if m.r.IntN(2) == 0 {
		return
	}
	g.push(f, ret)
	m.fault(g)
}

// fault makes the top frame's function fail: runtime.gopanic calls a deferred
// function.
func (m *computer) fault(g *goroutine) {
	fr := g.top()
	pc := fr.f.entry + callStep*uint64(m.r.IntN(4)) + fault
	g.ctx = noWord
	ret := m.native(g, pc)
	m.callee(g, m.funcs[m.r.IntN(len(m.funcs))], ret)
}

// unwind leaves frames until n are left, as a recovered panic does: the frame that
// goes on calls deferred functions, and has left no word.
func (m *computer) unwind(g *goroutine, n int) {
	g.frames = g.frames[:n]
	g.ctx = noWord
	fr := g.top()
	if fr.f == nil || fr.f.leaf || len(g.frames) >= maxDepth {
		return
	}
	for k, c := range fr.f.calls[:fr.f.here()] {
		if c.dynamic {
			m.callee(g, c.targets[m.r.IntN(len(c.targets))], m.native(g, fr.f.ret(k)))
			return
		}
	}
}

// spawn executes a go statement in the top frame.
func (m *computer) spawn(g *goroutine) {
	fr := g.top()
	if fr.f == nil || fr.f.leaf || fr.f.goes == 0 || len(m.gs) > 64 {
		return
	}
	n, pc := len(g.frames), fr.f.ret(len(fr.f.calls))
	g.ctx = *fr.slot
	m.moment(g, n, pc)
	// stemmaDacceNewG
	w := g.ctx
	if w>>layout.WordKey != 0 {
		w = *fr.slot
	}
	st := g.stack()
	hi, lo := m.c.Capture(&st, w, uintptr(pc))
	m.keep(hi, lo, g.truth(n, pc))
	child := m.goroutine()
	child.start, child.from = hi, lo
	child.began = g.truth(n, pc)
	child.began[0] = "go " + child.began[0]
	if m.r.IntN(2) == 0 {
		m.begin(child)
	}
}

// begin makes a goroutine call its first function.
func (m *computer) begin(g *goroutine) {
	g.ctx = noWord
	m.callee(g, m.funcs[m.r.IntN(len(m.funcs))], natives+8192)
}

// capture is stemmaHere, in assembly and in Go.
func (m *computer) capture(g *goroutine) {
	fr := g.top()
	if fr.f == nil || fr.f.leaf {
		return
	}
	n, k := len(g.frames), fr.f.here()
	pc := fr.f.ret(k)
	g.ctx = *fr.slot + fr.f.av[k]
	m.moment(g, n, pc)
	const unknown = layout.KeyUnknown<<layout.WordKey | layout.Dynamic
	w := g.ctx - unknown
	d := w & layout.MaxDeep
	if d != 0 && w>>layout.WordKey == 0 && d < uint64(g.cap) {
		if node := g.entry(d).Interned; node != 0 {
			m.keep(uint64(node)<<32|w>>layout.WordID, m.stamp|(pc-text), g.truth(n, pc))
			return
		}
	}
	st := g.stack()
	if w>>layout.WordKey == 0 {
		if node := m.c.Recall(&st, w); node != 0 {
			m.recalled++
			m.keep(uint64(node)<<32|w>>layout.WordID, m.stamp|(pc-text), g.truth(n, pc))
			return
		}
	}
	frames, _ := m.walk(g, n, pc, false)
	hi, lo := m.c.Capture(&st, m.down(&st, frames), frames[0].PC)
	m.keep(hi, lo, g.truth(n, pc))
}

// captureAt is stemmaAt: a capture of a frame further out.
func (m *computer) captureAt(g *goroutine) {
	n := 1 + m.r.IntN(len(g.frames))
	if n == len(g.frames) || g.frames[n-1].f == nil || g.frames[n-1].f.leaf {
		return
	}
	pc := g.frames[n].ret
	if g.frames[n-1].f.site(pc) < 0 {
		return
	}
	st := g.stack()
	hi, lo := m.c.Capture(&st, *g.frames[n-1].slot, uintptr(pc))
	m.keep(hi, lo, g.truth(n, pc))
}

func (m *computer) keep(hi, lo uint64, truth []string) {
	m.ids = append(m.ids, captured{ctxid.ID{Hi: hi, Lo: lo, Run: m.number}, truth})
}

// step lets g do something.
func (m *computer) step(g *goroutine) {
	m.resume(g, len(g.frames), g.stands())
	n := len(g.frames)
	if n == 0 {
		m.begin(g)
		return
	}
	if g.top().f != nil && g.top().f.leaf {
		g.frames = g.frames[:n-1]
		return
	}
	switch x := m.r.IntN(100); {
	case n >= maxDepth || x < 22:
		g.frames = g.frames[:m.r.IntN(n)] // return, or Goexit
	case x < 30:
		g.frames = g.frames[:n-1]
	case x < 34:
		m.unwind(g, 1+m.r.IntN(n))
	case x < 37 && g.top().f != nil:
		m.fault(g)
	case x < 40:
		m.spawn(g)
	case x < 50:
		m.capture(g)
	case x < 53:
		m.captureAt(g)
	case x < 56 && g.top().f != nil:
		m.again(g)
	default:
		m.call(g)
	}
}

// run lets random goroutines take steps. Some end, and others are left alone for
// long, so that epochs pass.
func (m *computer) run(steps int) {
	for range steps {
		if len(m.gs) == 0 {
			m.goroutine()
		}
		g := m.gs[m.r.IntN(len(m.gs))]
		switch {
		case m.r.IntN(100) == 0:
			m.exit(g)
		case m.r.IntN(100) == 0:
			m.goroutine()
		}
		for range m.r.IntN(30) {
			if g.gone {
				break
			}
			m.step(g)
		}
	}
}

// exit ends a goroutine and frees its ccStack.
func (m *computer) exit(g *goroutine) {
	if g.gone = true; len(m.gs) < 3 {
		m.goroutine()
	}
	st := g.stack()
	m.c.FreeStack(&st)
	m.gs = slices.DeleteFunc(m.gs, func(g *goroutine) bool { return g.gone })
}

// files are what the program would have left, with what was on lost pages.
func (m *computer) files() fstest.MapFS {
	m.lost.Restore()
	used := m.used()
	head := slices.Clone(m.mem["cce"])
	fsys := fstest.MapFS{}
	for name, n := range used {
		fsys[name] = &fstest.MapFile{Data: m.mem[name][:n], Mode: 0o644}
	}
	fsys["cce"].Data = head
	return fsys
}

// used returns how much of each file is in use.
func (m *computer) used() map[string]uint64 {
	h, c := raw.Load[layout.Header](m.mem["cce"]), m.c.Header()
	return map[string]uint64{
		"cce": layout.ContextsSize, "funcs": h.FuncsUsed, "epochs": c.Dacce.EpochsUsed,
		"nodes": c.NodesUsed * layout.InternedSize,
	}
}

// decode decodes the IDs from number first on, and compares.
func (m *computer) decode(first int) {
	m.t.Helper()
	p, err := record.Open(m.files())
	if err != nil {
		m.t.Fatal(err)
	}
	d := decode.New(p)
	for i, c := range m.ids[first:] {
		s, err := d.Decode(c.id)
		if err != nil {
			m.t.Fatalf("context %d, %x: %v; want\n%s", first+i, c.id, err, strings.Join(c.truth, "\n"))
		}
		have := decoded(s)
		if s.Cut() != "" && m.limits {
			m.cut++
			if n := len(have); n <= len(c.truth) && slices.Equal(have, c.truth[:n]) {
				continue
			}
		}
		if !slices.Equal(have, c.truth) {
			m.t.Fatalf("context %d, %x: have\n\t%s\nwant\n\t%s", first+i, c.id, strings.Join(have, "\n\t"),
				strings.Join(c.truth, "\n\t"))
		}
	}
	m.done = len(m.ids)
}

var vias = map[decode.Via]string{decode.ViaCall: "call ", decode.ViaGo: "go ", decode.ViaFault: "fault "}

// decoded renders a stack as truth does. A cut one ends with what is known.
func decoded(s decode.Stack) (list []string) {
	for _, f := range s.Frames {
		list = append(list, fmt.Sprintf("%s:%d", f.Func, f.Line))
	}
	for l := s.Up; ; l = l.Up {
		if l.Up == nil {
			if l.Via == decode.ViaRoot {
				list = append(list, "root "+l.End)
			}
			return list
		}
		for _, f := range l.Frames {
			list = append(list, fmt.Sprintf("%s%s:%d", vias[l.Via], f.Func, f.Line))
		}
	}
}

// checkEncoding checks what decoding and the entry sequence rely on: intervals are
// disjoint and lead in circles by loops only (encoder.ReadSiteTables), ids fit, a dynamic
// site and the functions that it was planned for have one key, which is not 0.
func (m *computer) checkEncoding() {
	m.t.Helper()
	funcs, sites, edges := m.c.Encoding()
	planned, seen := m.c.Planned()
	funcs = funcs[:planned]
	p := &encoder.Program{Funcs: len(funcs)}
	key, num := make([]uint16, len(funcs)), make([]uint32, len(funcs))
	largest := uint32(0)
	for i, f := range funcs {
		largest = max(largest, max(f.NumCC, 1)-1)
		key[i], num[i] = uint16(f.Key), f.NumCC
		if f.Key >= layout.NumKeys || f.NumCC >= layout.MaxNum {
			m.t.Fatalf("function %d: key %d, numCC %d", i, f.Key, f.NumCC)
		}
	}
	if have := m.c.Header().MaxID; planned > 0 && have != uint64(largest) {
		m.t.Fatalf("largest id %d, want %d", have, largest)
	}
	var values []encoder.SiteValue
	for i, s := range sites {
		kind := encoder.Static
		if s.Dynamic {
			kind = encoder.Dynamic
		}
		p.Sites = append(p.Sites, encoder.SiteInfo{Caller: encoder.Func(s.Caller), Kind: kind})
		if s.Add == layout.NoAddition {
			continue
		}
		if s.Dynamic && s.Target != funcs[s.First].Key {
			// It became dynamic after the plan was begun, or it has another key.
			if s.Target != s.First {
				m.t.Fatalf("site %d has key %d, its target %d", i, s.Target, funcs[s.First].Key)
			}
			p.Sites[i].Kind = encoder.Static
		}
		values = append(values, encoder.SiteValue{Call: encoder.Call{Site: encoder.Site(i),
			Func: encoder.Func(s.First)}, Value: s.Add})
	}
	for _, e := range edges[:seen] {
		if s := sites[e.Site]; s.Dynamic && s.Add != layout.NoAddition && p.Sites[e.Site].Kind == encoder.Dynamic {
			if k := funcs[e.Target].Key; k == 0 || k != s.Target {
				m.t.Fatalf("site %d has key %d, and called function %d of key %d", e.Site, s.Target, e.Target, k)
			}
		}
	}
	if _, err := encoder.ReadSiteTables(p, key, num, values); err != nil {
		m.t.Fatal(err)
	}
}

// checkOrder checks that the plan takes the edges that a first plan would take, whatever the order that the one before
// has left, and that its own order is topological.
func (m *computer) checkOrder() {
	m.t.Helper()
	have := m.c.PlannedEdges()
	m.c.PlanAnew()
	want := m.c.PlannedEdges()
	if len(have) != len(want) {
		m.t.Fatalf("%d edges, want %d", len(have), len(want))
	}
	for i, e := range have {
		if w := want[i]; e.Taken != w.Taken || e.Loop != w.Loop {
			m.t.Fatalf("site %d: %v, in a first plan %v", e.Site, e, w)
		}
		if e.Taken && e.From >= e.To {
			m.t.Fatalf("site %d was taken, and leads from place %d to %d", e.Site, e.From, e.To)
		}
	}
}

// program makes functions that call each other at random. Targets of dynamic sites
// overlap, so that groups grow together.
func (m *computer) program() {
	for range 3 + m.r.IntN(30) {
		m.function(2 + m.r.IntN(6))
	}
	for range 3 {
		m.leaf()
	}
	forward := m.r.IntN(3) // in how many of three sites targets lie behind the caller
	for _, f := range m.funcs {
		for k := range f.calls {
			c := &f.calls[k]
			c.dynamic = k == f.here() || m.r.IntN(3) == 0
			n := 1
			switch {
			case c.dynamic:
				n += m.r.IntN(4)
				c.natives = m.r.IntN(3)
			case m.r.IntN(8) == 0:
				n, c.least = 3, 1
			}
			for range n {
				to := m.r.IntN(len(m.funcs))
				if m.r.IntN(3) < forward && f.index+1 < len(m.funcs) {
					to = f.index + 1 + m.r.IntN(min(8, len(m.funcs)-f.index-1))
				}
				c.targets = append(c.targets, m.funcs[to])
			}
		}
		f.emit()
	}
}

// encodeRandom runs a random program. It returns the computer, after all its IDs
// were decoded.
func encodeRandom(t testing.TB, seed uint64, steps int, prepare func(*computer)) *computer {
	m := newComputer(t, seed)
	defer m.close()
	m.program()
	if prepare != nil {
		prepare(m)
	}
	for range 1 + m.r.IntN(6) {
		m.goroutine()
	}
	m.calm = 2 << m.r.IntN(9)
	m.run(steps)
	if m.segments == 0 {
		m.done = 0 // once more, at the end
	}
	m.decode(m.done)
	if m.ended != nil {
		m.ended()
	}
	return m
}

// TestEncode runs random programs.
func TestEncode(t *testing.T) {
	var ids, slow, fast, firsts, recalled, over, counted int
	epochs := uint64(0)
	rounds := level.Rounds(20, 60)
	for seed := range uint64(rounds) {
		m := encodeRandom(t, seed, 400, nil)
		firsts, over, counted = firsts+m.firsts, over+m.over, counted+m.counted
		ids, slow, fast, recalled, epochs = ids+len(m.ids), slow+m.slow, fast+m.fast, recalled+m.recalled,
			epochs+m.epoch
	}
	t.Logf("%d contexts, %d of them recalled, %d epochs, %d entries on the fast path, %d through Go, "+
		"%d of goroutines, %d pushed at the end of a loop, %d counted and pushed",
		ids, recalled, epochs, fast, slow, firsts, over, counted)
	if fast < slow/4 || epochs < 16*uint64(rounds) || min(recalled, firsts, counted) < 16*rounds ||
		over < rounds {
		t.Error("the fast path or re-encodings are hardly tested")
	}
}

// TestPushesAreNoMisses has a function that calls itself by three sites. A loop has one of them; the others are pushed
// so often that they are counted many times. No encoding would spare that, and so it makes none due.
func TestPushesAreNoMisses(t *testing.T) {
	m := newComputer(t, 1)
	defer m.close()
	m.calm, m.every = 1<<40, 1<<40
	f := m.function(4)
	for k := range 3 {
		f.calls[k].targets = []*function{f}
	}
	f.calls[3].dynamic = true
	f.emit()
	g := m.goroutine()
	g.push(f, natives)
	m.enter(g, f)
	calls := func(times int) {
		for range times {
			for site := range 3 {
				m.callSite(g, site, 0)
				g.frames = g.frames[:1]
			}
		}
	}
	calls(100)
	if m.c.Missed() == 0 {
		t.Error("calls before there is a plan are no misses")
	}
	m.nextEpoch()
	*g.top().slot = 1 // as a re-encoding rewrites it
	slow := m.slow
	calls(20 * layout.PushStep)
	if missed, times := m.c.Missed(), m.slow-slow; missed != 0 || times < 30 || times > 50 {
		t.Errorf("%d misses of pushes that were counted %d times, want 0 and 40", missed, times)
	}
}

// TestEncodeLost loses pages of the record while the program goes on: IDs must be those
// that the whole record decodes.
func TestEncodeLost(t *testing.T) {
	for seed := range level.Rounds[uint64](15, 40) {
		m := newComputer(t, seed)
		m.program()
		m.goroutine()
		m.calm = 64
		for range 20 {
			m.run(20)
			m.lose("cce", "funcs", "epochs", "nodes")
		}
		m.decode(0)
		m.close()
	}
}

// lose loses a page of each of these files.
func (m *computer) lose(names ...string) {
	used := m.used()
	used["cce"]-- // there is no page behind it
	for name, n := range used {
		if n > 0 && slices.Contains(names, name) {
			m.lost.Page(m.r, m.mem[name], n-1)
		}
	}
}

func leftOut(h *layout.ContextsHeader) uint64   { return h.Dacce.LeftOut }
func truncated(h *layout.ContextsHeader) uint64 { return h.Truncated }

// limited are encoders with too little room for something, and the header field
// that shows that they met the limit.
var limited = []struct {
	name    string
	shows   func(*layout.ContextsHeader) uint64
	prepare func(*computer)
}{
	{"ids", leftOut, func(m *computer) { m.c.Limit(16, 0, 0) }},
	{"rare", leftOut, func(m *computer) { m.c.Limit(0, 2, 0) }},
	{"keys", func(h *layout.ContextsHeader) uint64 { return h.Dacce.Back },
		func(m *computer) { m.c.Limit(0, 0, 2) }},
	{"nodes", truncated, func(m *computer) { m.limits = true; m.c.LimitInterned(30) }},
	{"memory", truncated, func(m *computer) { m.limits = true; m.c.Exhaust(1 << 12) }},
	{"stacks", truncated, func(m *computer) { m.limits = true; m.c.LimitStacks(1 << 12) }},
	{"functions", truncated, func(m *computer) { m.limits = true; m.c.LimitFuncs(6) }},
	{"sites", truncated, func(m *computer) { m.limits = true; m.c.LimitSites(20) }},
}

// TestEncodeLimited runs random programs on encoders that meet a limit: what is
// decoded is cut with a reason then, but never wrong.
func TestEncodeLimited(t *testing.T) {
	for _, l := range limited {
		t.Run(l.name, func(t *testing.T) {
			met, cut, ids := 0, 0, 0
			for seed := range uint64(12) {
				shown := uint64(0)
				m := encodeRandom(t, seed, 200, func(m *computer) {
					l.prepare(m)
					m.ended = func() { shown = l.shows(m.c.Header()) }
				})
				if shown != 0 {
					met++
				}
				cut, ids = cut+m.cut, ids+len(m.ids)
			}
			t.Logf("%d of %d contexts are cut", cut, ids)
			if met < 6 {
				t.Errorf("the limit was met in %d of 12 programs", met)
			}
		})
	}
}

// TestEncodeParts rewrites stacks that have more frames than a walk has room for.
func TestEncodeParts(t *testing.T) {
	parts := 0
	for seed := range uint64(20) {
		m := encodeRandom(t, seed, 200, func(m *computer) { m.room = 2 + int(seed%5) })
		parts += m.parts
	}
	if parts < 100 {
		t.Errorf("%d stacks were rewritten in parts, want many", parts)
	}
}

// TestEncodeDeep calls a function from itself more often than a ccStack has
// entries, without ids for that. Contexts from there on are cut, with the reason, those further out are
// complete, and a re-encoding in the middle changes nothing.
func TestEncodeDeep(t *testing.T) {
	level.NeedMore(t)
	m := newComputer(t, 1)
	defer m.close()
	m.c.Limit(2, 0, 0)
	f := m.function(2)
	f.calls[0].targets, f.calls[1].dynamic = []*function{f}, true
	f.emit()
	g := m.goroutine()
	const levels = layout.MaxDeep + 1000
	g.slots = make([]uint64, levels+10)
	m.calm = 1 << 40
	m.every = 1 << 40
	g.push(f, natives)
	m.enter(g, f)
	depth := map[ctxid.ID]int{}
	for n := 1; n <= levels; n++ {
		if n == 3 || n == 3000 || n >= layout.MaxDeep-2 && n <= layout.MaxDeep || n == levels {
			st := g.stack()
			hi, lo := m.c.Capture(&st, *g.top().slot, uintptr(f.ret(1)))
			depth[ctxid.ID{Hi: hi, Lo: lo, Run: testRun}] = n
		}
		if n == 2000 {
			for range 4 {
				m.reencode()
			}
			m.resume(g, n, f.ret(0))
		}
		m.call(g)
	}
	p, err := record.Open(m.files())
	if err != nil {
		t.Fatal(err)
	}
	d := decode.New(p)
	for id, n := range depth {
		s, err := d.Decode(id)
		if err != nil {
			t.Fatalf("depth %d: %v", n, err)
		}
		if cut := s.Cut() != ""; cut != (n >= layout.MaxDeep) || !cut && len(s.Path()) != n {
			t.Errorf("depth %d: decoded to %d frames, cut: %q", n, len(s.Path()), s.Cut())
		}
	}
}

// TestEncodeLoop calls a function from itself by way of another one. Once that is encoded, hundreds of levels are
// one entry of the ccStack, and each context is complete.
func TestEncodeLoop(t *testing.T) {
	m := newComputer(t, 1)
	defer m.close()
	f, h := m.function(2), m.function(2)
	f.calls[0].targets, f.calls[1].dynamic = []*function{h}, true
	h.calls[0].targets, h.calls[1].dynamic = []*function{f}, true
	f.emit()
	h.emit()
	g := m.goroutine()
	const levels = 10_000
	g.slots = make([]uint64, levels+10)
	m.calm, m.every = 1<<40, 1<<40
	g.push(f, natives)
	m.enter(g, f)
	for n := 1; n <= levels; n++ {
		if n == 100 {
			for range 4 {
				m.reencode()
			}
			m.resume(g, n, g.top().f.ret(0))
		}
		if n%97 == 0 || n == levels {
			m.capture(g)
		}
		m.call(g)
	}
	m.decode(0)
	if depth := *g.top().slot & layout.MaxDeep; depth > levels/100 {
		t.Errorf("%d levels have %d entries", levels, depth)
	}
	if m.over == 0 || len(m.ids) < levels/97 {
		t.Errorf("%d contexts, %d loops came to an end", len(m.ids), m.over)
	}
}

// TestEncodeForgets calls a function from itself by two sites. One of them can have ids: the one that is pushed
// most, first the first, later the second, which is called less often than the first was before.
func TestEncodeForgets(t *testing.T) {
	m := newComputer(t, 1)
	defer m.close()
	f := m.function(3)
	f.calls[0].targets, f.calls[1].targets, f.calls[2].dynamic = []*function{f}, []*function{f}, true
	f.emit()
	g := m.goroutine()
	m.calm = 1 << 40
	g.push(f, natives)
	m.enter(g, f)
	m.callSite(g, 0, 0)
	m.callSite(g, 1, 0)
	encoded := func(edge int, hits uint64, after float64) (site int) {
		m.c.Hit(edge, hits)
		m.clock += uint64(after * 1e9)
		m.c.Snapshot(m.clock)
		m.c.Plan(func() {})
		if !m.c.Write(m.clock) {
			t.Fatal("no room for a dictionary")
		}
		m.publish()
		site = -1
		_, sites, _ := m.c.Encoding()
		for i, s := range sites {
			if s.Add != layout.NoAddition {
				site = i
			}
		}
		return site
	}
	for i, step := range []struct {
		edge, want int
		hits       uint64
		after      float64
	}{{0, 0, 100e6, 1}, {1, 0, 10e6, 1}, {1, 0, 10e6, 1}, {1, 1, 400e6, 40}, {0, 0, 100e6, 1}} {
		if have := encoded(step.edge, step.hits, step.after); have != step.want {
			t.Errorf("step %d: site %d has ids, want %d", i, have, step.want)
		}
	}
}

// TestEncodeHottest calls a function from four others: of the edges into it the most-called one adds nothing,
// and the others add more the less often they were called.
func TestEncodeHottest(t *testing.T) {
	m := newComputer(t, 1)
	defer m.close()
	m.calm = 1 << 40
	const callers = 4
	for range callers + 2 {
		f := m.function(callers + 1)
		f.calls[callers].dynamic = true
	}
	first, target := m.funcs[0], m.funcs[callers+1]
	for i, f := range m.funcs[1 : callers+1] {
		first.calls[i].targets, f.calls[0].targets = []*function{f}, []*function{target}
	}
	for _, f := range m.funcs {
		f.emit()
	}
	g := m.goroutine()
	g.push(first, natives)
	m.enter(g, first)
	for i := range callers {
		m.callSite(g, i, 0)
		m.callSite(g, 0, 0)
		g.frames = g.frames[:1]
	}
	for round, order := range [][callers]int{{2, 0, 3, 1}, {3, 1, 2, 0}, {0, 1, 2, 3}} { // callers, the hottest first
		for rank, i := range order {
			m.c.Hit(2*i+1, 1<<(10*round+20-rank)) // edges are in the order in which they were called first
		}
		m.clock += 100e9
		m.c.Snapshot(m.clock)
		m.c.Plan(func() {})
		if !m.c.Write(m.clock) {
			t.Fatal("no room for a dictionary")
		}
		m.publish()
		_, sites, edges := m.c.Encoding()
		if len(edges) != 2*callers {
			t.Fatalf("%d edges, want %d", len(edges), 2*callers)
		}
		for rank, i := range order {
			if add := sites[edges[2*i+1].Site].Add; add != uint32(rank) {
				t.Errorf("round %d: the edge of rank %d adds %d", round, rank, add)
			}
		}
	}
}

// TestEncodePrice has a function with a hot caller and a cold one of 256 contexts, which have no room beside those of
// what the function calls: the cold edge is left out, and the hot ones are not.
func TestEncodePrice(t *testing.T) {
	m := newComputer(t, 1)
	defer m.close()
	m.c.Limit(300, 0, 0)
	m.calm = 1 << 40
	const doubled, hot, target = 8, 9, 10 // functions: those before double the contexts
	for i := range target + 1 {
		f := m.function(5)
		f.calls[4].dynamic = true
		if i > 0 {
			m.funcs[i-1].calls[0].targets, m.funcs[i-1].calls[1].targets = []*function{f}, []*function{f}
		}
	}
	m.funcs[0].calls[2].targets = m.funcs[doubled].calls[0].targets
	m.funcs[hot].calls[2].targets = m.funcs[hot].calls[0].targets
	for _, f := range m.funcs {
		f.emit()
	}
	g := m.goroutine()
	g.push(m.funcs[0], natives)
	m.enter(g, m.funcs[0])
	weights := make([]uint64, 0, 2*target)
	call := func(site int, weight uint64) {
		m.callSite(g, site, 0)
		weights = append(weights, weight)
	}
	call(2, 1e6)
	g.frames = g.frames[:1]
	for depth := range doubled {
		call(1, 1000)
		g.frames = g.frames[:depth+1]
		call(0, 1000)
	}
	call(0, 1) // the cold one
	for site := range 3 {
		call(site, 1e6)
		g.frames = g.frames[:len(g.frames)-1]
	}
	for edge, hits := range weights {
		m.c.Hit(edge, hits)
	}
	m.nextEpoch()
	_, sites, edges := m.c.Encoding()
	if len(edges) != len(weights) {
		t.Fatalf("%d edges, want %d", len(edges), len(weights))
	}
	for i, e := range edges {
		if encoded, want := sites[e.Site].Add != layout.NoAddition, weights[i] > 1; encoded != want {
			t.Errorf("edge %d of weight %d is encoded: %v, want %v", i, weights[i], encoded, want)
		}
	}
}

// TestEncodeRefined makes one plan after the other of random programs that have too few ids. Each looks at one setting
// more than the last one: in the end they push about as many calls as a plan that looks at all.
func TestEncodeRefined(t *testing.T) {
	begin, refined, best := uint64(0), uint64(0), uint64(0)
	for seed := range uint64(40) {
		encodeRandom(t, seed, 300, func(m *computer) {
			m.c.Limit(64, 0, 0)
			m.ended = func() {
				_, _, edges := m.c.Encoding()
				for i := range edges {
					m.c.Hit(i, 1<<m.r.IntN(20))
				}
				m.c.Unrefine()
				begin += m.c.Replan(&m.clock, 1e6, 1, false)
				refined += m.c.Replan(&m.clock, 1e6, 150, false)
				best += m.c.Replan(&m.clock, 1e6, 1, true)
			}
		})
	}
	t.Logf("%d calls a second are pushed at first, %d when plans were refined, %d if all settings are looked at", begin,
		refined, best)
	if refined > best+best/50 || begin < best+best/20 {
		t.Errorf("%d calls a second are pushed in the end, want about %d, and %d at first", refined, best, begin)
	}
}

// FuzzEncode runs random programs with and without limits.
func FuzzEncode(f *testing.F) {
	f.Add(uint64(1), uint16(200), uint8(0))
	f.Add(uint64(171), uint16(135), uint8(179)) // all goroutines end
	for i := range limited {
		f.Add(uint64(i), uint16(200), uint8(i+1))
	}
	f.Fuzz(func(t *testing.T, seed uint64, steps uint16, limit uint8) {
		prepare := func(*computer) {}
		if n := int(limit) % (len(limited) + 1); n > 0 {
			prepare = limited[n-1].prepare
		}
		encodeRandom(t, seed, int(steps%1000), prepare)
	})
}
