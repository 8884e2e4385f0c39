package recordtest

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/ids"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory/memorytest"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
	"github.com/stemma-go/stemma/internal/record/raw"
)

// A Lucce plays the part of compiled code and of the runtime with engine lucce: functions with
// metadata and data as the compiler lays them out, and the sequences that it emits.
type Lucce struct {
	ids.Lucce
	Slow int  // how often the sequence left the fast path
	Once bool // entries of nodes are made at once, not where a context is captured

	Run      uint64 // of the segment
	Segments int    // that have ended
	Left     int    // that were prepared, and did not begin

	pairs uintptr // where the goroutine's ccStack is
	next  *ids.LucceNext
	slots []layout.Pair

	rec                    recorder.Recorder
	contexts               ids.Contexts
	head, funcs, log, node []byte
	image                  []byte // metadata and data
	used                   int
	maps                   [][]byte
	lost                   Lost
	t                      testing.TB
}

// A LucceFunc is a function of a Lucce.
type LucceFunc struct {
	Name  string
	Sites int
	data  uintptr
	entry uint64
}

// A LucceFrame is an invocation with its pair.
type LucceFrame struct {
	Func *LucceFunc
	C, V uint64
}

// Sizes of memory. Only what is used of it is touched.
const (
	lucceFuncs = 1 << 24
	lucceImage = 1 << 24
)

// NewLucce returns an encoder that makes fewer than budget entries in nodes; 0 is the default
// of package layout. Its memory is given back when the test ends.
func NewLucce(t testing.TB, budget uint64) *Lucce { return newLucce(t, budget, 0) }

// NewSmallLucce returns an encoder for a program that has few addresses: it has room for SmallSites call sites.
func NewSmallLucce(t testing.TB) *Lucce { return newLucce(t, 0, ids.MaxShift) }

// SmallSites is how many call sites the functions may have for which a small encoder has room.
const SmallSites = 1 << 16

func newLucce(t testing.TB, budget uint64, shift uint) *Lucce {
	l := &Lucce{Run: Run, t: t}
	t.Cleanup(func() {
		for _, m := range l.maps {
			_ = syscall.Munmap(m)
		}
	})
	mem := l.mem
	l.head, l.funcs, l.log, l.node, l.image = mem(layout.ContextsSize), mem(lucceFuncs),
		memorytest.Reserve(t, ids.LogSize), memorytest.Reserve(t, layout.InternedBytes), mem(lucceImage)
	known, pcs, arena := mem(recorder.KnownSize), mem(ids.PCSize), memorytest.Reserve(t, ids.ArenaSize)
	l.rec.Init(ptr(l.head), ptr(known), ptr(l.funcs), layout.ContextsSize, lucceFuncs)
	l.rec.Describe(Run, 1, 1, "go1.26.0", "/go", nil)
	l.contexts.Init(&l.rec, ptr(l.head), ptr(l.node), ptr(pcs), ptr(arena), Text, shift)
	l.Init(&l.contexts, ptr(l.log), shift)
	if budget != 0 {
		l.LimitInterned(budget)
	}
	return l
}

// mem returns zero bytes outside the heap.
func (l *Lucce) mem(size int) []byte {
	m, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		l.t.Fatal(err)
	}
	l.maps = append(l.maps, m)
	return m
}

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(&b[0]) }

// Segmented makes l end segments, with room for so many steps of a walk.
func (l *Lucce) Segmented(steps int) {
	l.next = new(ids.LucceNext)
	l.InitNext(l.next, 0)
	l.next.LimitSteps(steps)
}

// A LucceGoroutine is what began with From, as Began returns it, and its frames, outermost first: frame i goes on at
// the address Returns[i], in the site Sites[i], -1 for a fault.
type LucceGoroutine struct {
	From    [2]uint64
	Frames  []*LucceFrame
	Returns []uint64
	Sites   []int
}

// Rotate ends the segment, as the runtime does. Others may run while it is prepared; then they stop, as the goroutine
// that stopped returns. It returns the files of the segment that has ended, or nil if the next one did not begin.
func (l *Lucce) Rotate(r *rand.Rand, others func(), stopped func() *LucceGoroutine) fstest.MapFS {
	head, funcs, log, node := l.mem(layout.ContextsSize), l.mem(lucceFuncs),
		memorytest.Reserve(l.t, ids.LogSize), memorytest.Reserve(l.t, layout.InternedBytes)
	span := func(b []byte) memory.Span { return memory.NewSpan(ptr(b), uint64(len(b))) }
	n, run, copies := l.next, l.Run+1, span(funcs)
	n.Count()
	if !n.Begin(ptr(head), span(node), span(log), run) {
		l.t.Fatal("no memory for a segment")
	}
	early := func() {
		g := stopped()
		for k := r.IntN(4); k > 0 && g.From[1] != 0; k-- {
			n.StartPart(g.From[0], g.From[1], 1+r.IntN(9))
		}
	}
	early()
	copied, ok := l.rec.CopyFuncs(&copies, 0, r.Uint64N(1<<12))
	for left := uint64(1); ok && left > 0; {
		left, ok = n.CopyLog(1 + r.Uint64N(1<<10)*layout.LogEntrySize)
	}
	n.Ready(copied)
	others()
	early()
	complete := ok && n.Complete()
	if r.IntN(8) == 0 || n.Failed() || !complete {
		if !complete && !n.Damaged() {
			l.t.Fatal("no room for what the next segment has of this one")
		}
		n.End(func() {})
		memorytest.Release(log)
		memorytest.Release(node)
		l.Left++
		return nil
	}
	// The world is stopped.
	if _, all := l.rec.CopyFuncs(&copies, copied, 1<<32); !all {
		l.t.Fatal("no room for functions")
	}
	fs := l.FS()
	n.Switch(1, uint64(l.Segments)+1)
	l.rec.Move(ptr(head), copies)
	l.head, l.funcs, l.log, log, l.node, node, l.Run = head, funcs, log, l.log, node, l.node, run
	l.Segments++
	l.moved(stopped())
	n.End(func() {})
	memorytest.Release(log)
	memorytest.Release(node)
	return fs
}

// moved gives the frames of a goroutine new pairs.
func (l *Lucce) moved(g *LucceGoroutine) {
	if g.From[1] != 0 {
		g.From[0], g.From[1] = l.next.Start(g.From[0], g.From[1])
	}
	const most = 1 << 12 // frames; their slots are no part of the heap
	if l.slots == nil {
		l.slots = unsafe.Slice((*layout.Pair)(ptr(l.mem(most*int(unsafe.Sizeof(layout.Pair{}))))), most)
	}
	slots := l.slots[:len(g.Frames)]
	walked := make([]ids.Walked, len(g.Frames))
	for i, f := range g.Frames {
		index, _ := l.Learn(f.Func.data)
		walked[len(walked)-1-i] = ids.Walked{Frame: ids.Frame{Func: index, PC: uintptr(g.Returns[i]),
			Slot: uintptr(unsafe.Pointer(&slots[i].ID)), Site: int32(g.Sites[i])}}
	}
	const room = 7 // frames are walked part by part
	l.Rewrite(l.stack(), g.From, func(skip int) ([]ids.Walked, int) {
		return append([]ids.Walked(nil), walked[skip:min(skip+room, len(walked))]...), len(walked)
	})
	for i, f := range g.Frames {
		f.C, f.V = slots[i].ID, slots[i].Version
	}
}

// Began returns what the first function of a goroutine begins with that a go statement starts at a site.
func (l *Lucce) Began(from LucceFrame, site int) [2]uint64 {
	hi, lo := l.Capture(from, site)
	return [2]uint64{hi, lo}
}

// alloc returns the address of n zero bytes of the image.
func (l *Lucce) alloc(n int) uintptr {
	p := uintptr(unsafe.Pointer(&l.image[l.used]))
	l.used += (n + 63) &^ 63
	return p
}

// at returns what is at address p, which is no part of the heap.
func at[T any](p uintptr) *T { return (*T)(unsafe.Add(unsafe.Pointer(nil), p)) }

// cell returns a cell of the function's data.
func (f *LucceFunc) cell(k int) *uint64 {
	return at[uint64](f.data + layout.FuncDataSize + layout.AVSize*uintptr(k))
}

// id returns the function ID.
func (f *LucceFunc) id() uint64 { return at[layout.FuncData](f.data).Func }

// copyTo copies s to the address p.
func copyTo(p uintptr, s []byte) {
	copy(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), p)), len(s)), s)
}

// Func adds a function with a number of call sites: site k is in line k+1 of /src/m.go.
func (l *Lucce) Func(name string, sites int) *LucceFunc {
	const file = "/src/m.go"
	var sitesOf []Site
	for k := range sites {
		sitesOf = append(sitesOf, Site{Kind: layout.SiteCall, Line: k + 1, Cell: k + 1})
	}
	blob := describe(Func{Name: name, Line: 1, Files: []string{file}, Sites: sitesOf}).data
	f := &LucceFunc{Name: name, Sites: sites, entry: Text + 64 + uint64(l.used)}
	text := l.alloc(len(name) + len(file))
	copyTo(text, []byte(name+file))
	meta := l.alloc(layout.MetaSize + 2*layout.MetaStringSize + len(blob))
	*at[layout.Meta](meta) = layout.Meta{
		Entry: f.entry, NodeSize: uint32(layout.NodeBytes(sites, 1)), Strings: 2, BlobLen: uint32(len(blob)),
		Cells: uint32(sites),
	}
	*at[[2]layout.MetaString](meta + layout.MetaSize) = [2]layout.MetaString{
		{Addr: uint64(text), Len: uint64(len(name))},
		{Addr: uint64(text) + uint64(len(name)), Len: uint64(len(file))},
	}
	copyTo(meta+layout.MetaSize+2*layout.MetaStringSize, blob)
	f.data = l.alloc(layout.FuncDataSize + layout.AVSize*sites)
	at[layout.FuncData](f.data).Func = uint64(meta)
	for k := range sites {
		*f.cell(k) = uint64(f.data)
	}
	l.alloc(16 * (sites + 2)) // its code has as many addresses
	return f
}

// learn makes a function known, as the slow path does.
func (l *Lucce) learn(f *LucceFunc) uint32 {
	i, isNew := l.Learn(f.data)
	if isNew {
		w := l.BeginPCs(i, uint32(16*(f.Sites+2)), uint32(f.Sites))
		for k := range f.Sites {
			w.PC(uint32(16*(k+1)), uint32(k))
		}
		w.End()
	}
	return i
}

// Return returns the address that the call at a site returns to.
func (f *LucceFunc) Return(site int) uint64 { return f.entry + 16*uint64(site+1) }

// Root enters a function from a root.
func (l *Lucce) Root(f *LucceFunc, root uint64) LucceFrame {
	return l.begin([2]uint64{root, 0}, f)
}

// Go enters a function that a go statement at a site of another one starts.
func (l *Lucce) Go(from LucceFrame, site int, f *LucceFunc) LucceFrame {
	return l.begin(l.Began(from, site), f)
}

// begin enters the first function of a goroutine.
func (l *Lucce) begin(from [2]uint64, f *LucceFunc) LucceFrame {
	c, v, ok := l.TryRoot(from, f.data)
	if !ok {
		l.Slow++
		c, v = l.Lucce.Root(from, 0, f.id(), l.learn(f))
	}
	return LucceFrame{f, c, v}
}

// RootOn enters a function from a root whose frames lie on top of another one's.
func (l *Lucce) RootOn(below LucceFrame, f *LucceFunc, root uint64) LucceFrame {
	c, v := l.Lucce.Root([2]uint64{root, 0}, below.V, f.id(), l.learn(f))
	return LucceFrame{f, c, v}
}

// stack returns the goroutine's ccStack.
func (l *Lucce) stack() ids.PairStack {
	if l.Once {
		return ids.PairStack{}
	}
	return ids.PairStackOf(&l.pairs)
}

// Call enters a function from a site of another one, as compiled code does it and the
// slow path behind it.
func (l *Lucce) Call(from LucceFrame, site int, f *LucceFunc) LucceFrame {
	step := at[layout.Step](uintptr(*from.Func.cell(site))) // MOVQ ctx(R14), S; MOVQ (S), S
	if step.Callee == uint64(f.data) && from.C < step.Bound {
		shared := from.C >> layout.StepShift & step.Mask
		return LucceFrame{f, (from.C+shared)*step.Mul + step.Add, from.V}
	}
	l.Slow++
	caller, _ := l.Learn(from.Func.data)
	frame := ids.Frame{Func: caller, PC: uintptr(from.Func.Return(site)), Site: int32(site)}
	index, _ := l.SiteOf(&frame)
	if c, v, ok := l.TryCall(l.stack(), index, f.data, from.C, from.V); ok {
		return LucceFrame{f, c, v}
	}
	l.learn(f)
	c, v := l.Called(l.stack(), &frame, f.data, from.C, from.V)
	return LucceFrame{f, c, v}
}

// Fault enters a deferred function because of a run-time error behind a call.
func (l *Lucce) Fault(from LucceFrame, site int, f *LucceFunc) LucceFrame {
	caller, _ := l.Learn(from.Func.data)
	l.learn(f)
	pc := from.Func.Return(site) + 1
	if w, ok := l.rec.BeginFault(pc); ok {
		w.Frame(from.Func.Name, "/src/m.go", int32(1000+site))
		w.End("runtime.sigpanic")
	}
	c, v := l.Called(l.stack(), &ids.Frame{Func: caller, PC: uintptr(pc), Site: -1}, f.data, from.C, from.V)
	return LucceFrame{f, c, v}
}

// Capture returns the ID of the context in which an invocation calls something at a site.
func (l *Lucce) Capture(f LucceFrame, site int) (hi, lo uint64) {
	return l.CaptureID(l.stack(), f.C, f.V, uintptr(f.Func.Return(site)))
}

// Lose zeros a random page of the files.
func (l *Lucce) Lose(r *rand.Rand) {
	switch r.IntN(4) {
	case 0:
		l.lost.Page(r, l.head, layout.ContextsSize-1)
	case 1:
		l.lost.Page(r, l.funcs, l.funcsUsed())
	case 2:
		l.LoseLog(r)
	case 3:
		l.LoseNodes(r)
	}
}

// LoseLog zeros a random page of the log, LoseNodes of the interned entries.
func (l *Lucce) LoseLog(r *rand.Rand) { l.lost.Page(r, l.log, l.Stats().LogUsed) }
func (l *Lucce) LoseNodes(r *rand.Rand) {
	l.lost.Page(r, l.node, l.Lucce.Header().NodesUsed*layout.InternedSize)
}

func (l *Lucce) funcsUsed() uint64 { return raw.Load[layout.Header](l.head).FuncsUsed }

// FS returns the live directory as it is now, with what was on lost pages.
func (l *Lucce) FS() fstest.MapFS {
	l.lost.Restore()
	file := func(b []byte, used uint64) *fstest.MapFile {
		return &fstest.MapFile{Data: append([]byte(nil), b[:used]...)}
	}
	return fstest.MapFS{
		layout.FileIDs:   file(l.head, layout.ContextsSize),
		layout.FileFuncs: file(l.funcs, l.funcsUsed()+64),
		layout.FileLog:   file(l.log, l.Stats().LogUsed),
		layout.FileNodes: file(l.node, l.Lucce.Header().NodesUsed*layout.InternedSize),
	}
}

// String shows the pair.
func (f LucceFrame) String() string { return fmt.Sprintf("%s<%d,%d>", f.Func.Name, f.C, f.V) }
