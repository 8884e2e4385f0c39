package sample

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// This file is the bookkeeping of incremental stack tracing, after section 5 of
// "Lightweight Java Profiling with Partial Safepoints and Incremental Stack Tracing"
// (Hofer, Gnedt and Mössenböck, ICPE 2015).
//
// # Terminology
//
// A slot is the word of a stack that holds a return address. A patched slot
// holds the address of the trampoline instead; its entry has the true address. The place of
// a slot is the word below the stack pointer of the frame that it returns into: the slot itself where calls push
// return addresses, and above it where functions store the link register at the bottom of their frames.
// The frame that a slot returns into is a skeleton frame: its address is known, but
// nobody has looked yet at who called it. When the return is intercepted, the
// skeleton's caller becomes known, and is patched in turn. So each frame is
// looked at once, when it is returned into, however many samples it is in.
//
// A ref stands for a frame in its context. It is either resolved, a node of the
// tree, or pending, a frame object: the frame's address and the ref of its
// caller, which for a skeleton is NoRef. The current skeleton of the paper is
// the ref of the innermost entry. Where it is resolved already, intercepting a
// return creates nothing: the caller's ref is the node's parent.
//
// # Order of stores
//
// A signal handler may unwind the stack between any two stores. So an entry is
// written before its slot is patched, and a slot is restored before its entry is
// dropped.
//
// # Memory
//
// A Trace lies outside the Go heap and holds addresses as integers. Its arrays grow only
// when a sample is taken. Intercepting a return takes at most as many entries as it
// gives back; when the objects are used up, the rest of the stack is walked at once.

// Offsets of the fields of a Trace that the trampoline's assembly uses.
const (
	TraceN       = unsafe.Offsetof(Trace{}.n)
	TraceEntries = unsafe.Offsetof(Trace{}.entries)
	TraceNObjs   = unsafe.Offsetof(Trace{}.nobjs)
	TraceObjs    = unsafe.Offsetof(Trace{}.objs)
	TraceMaxObjs = unsafe.Offsetof(Trace{}.maxObjs)
	TraceNodes   = unsafe.Offsetof(Trace{}.nodes)
	TracePlain   = unsafe.Offsetof(Trace{}.plain)
	TraceTramp   = unsafe.Offsetof(Trace{}.tramp)
	TraceGoexit  = unsafe.Offsetof(Trace{}.goexit)
	TraceReturns = unsafe.Offsetof(Trace{}.Returns)
	TraceStride  = unsafe.Offsetof(Trace{}.Stride)
	TraceTarget  = unsafe.Offsetof(Trace{}.Target)
	TraceSP      = unsafe.Offsetof(Trace{}.SP)
	TraceBP      = unsafe.Offsetof(Trace{}.BP)
	TraceSave    = unsafe.Offsetof(Trace{}.save)
	TraceSaveLen = unsafe.Sizeof(Trace{}.save)
	ObjTime      = unsafe.Offsetof(Object{}.ns)
	ObjCount     = unsafe.Offsetof(Object{}.count)
)

// Sizes.
const (
	TraceSize = 1184
	EntrySize = 32
	EntryPad  = 64 // zero bytes in front of the first entry
	ObjSize   = 32
	// PlainSize is the number of words of the table of plain return addresses.
	PlainSize = 4096

	// The logarithms that the assembly shifts by.
	EntryLog      = 5
	ObjLog        = 5
	SampleNodeLog = 6
)

// Refs.
const (
	RefBit = 31 // is set in a ref of an object
	refObj = 1 << RefBit
	NoRef  = 1<<32 - 1
)

// A Trace is the state of incremental tracing for one goroutine.
type Trace struct {
	n       uint64  // entries
	entries uintptr // [capEntries]Entry, outermost first
	nobjs   uint64
	objs    uintptr // [maxObjs]Object
	maxObjs uint64

	nodes  uintptr // address of node 0 of the tree
	plain  uintptr // [PlainSize]uintptr: return addresses into plain frames
	tramp  uintptr // what is in a patched slot
	goexit uintptr // the return address of an outermost frame

	Returns uint64  // intercepted by the fast path since the last Flush
	Target  uintptr // for the slow path: where to return to
	SP, BP  uintptr // the registers behind the return
	G       uintptr // the goroutine

	capEntries uint64
	Next       uintptr // in a list
	save       [saveSize]byte
	Completed  int64   // when all that was pending was completed last
	Stride     uintptr // of the marker: how many entries the fast path drops; 0 if the slow path does it
}

// saveSize is the bytes for the registers that may hold results: at most 80 for general ones, and fifteen of 64 bytes.
const saveSize = 1040

const (
	_ = -(unsafe.Sizeof(Trace{}) ^ TraceSize)
	_ = -(unsafe.Sizeof(Entry{}) ^ EntrySize)
	_ = -(unsafe.Sizeof(Object{}) ^ ObjSize)
	_ = -(1<<EntryLog ^ EntrySize)
	_ = -(1<<ObjLog ^ ObjSize)
	_ = -(1<<SampleNodeLog ^ SampleNodeSize)
)

// An Entry is a patched slot.
type Entry struct {
	Off   uintptr // stack.hi - the slot's place: a copy of the stack does not change it
	PC    uintptr // the true return address
	Ref   uint32  // of the frame that PC is in
	_     uint32
	Below uintptr // how far the slot is below its place
}

// An Object is a frame whose context is not yet known.
type Object struct {
	PC     uintptr // as a node has it
	Parent uint32  // ref of the caller, or NoRef
	Node   uint32  // when resolved: the node + 1
	ns     uint64  // of a sample; of a request its number
	count  uint32  // samples, or requested
	expect uint32  // in a check: the node + 1 that it must become
}

// requested is instead of an object's count: it is of a sample that the program asked for, which
// has no weight.
const requested = 1 << 31

// Init prepares t. plain has PlainSize words.
func (t *Trace) Init(s *Samples, g uintptr, plain unsafe.Pointer, tramp, goexit uintptr, entries unsafe.Pointer,
	ne int, objs unsafe.Pointer, no int) {
	t.nodes, t.plain = uintptr(unsafe.Pointer(s.node(0))), uintptr(plain)
	t.tramp, t.goexit, t.G = tramp, goexit, g
	t.SetEntries(entries, ne)
	t.objs, t.maxObjs = uintptr(objs), uint64(no)
}

// SetEntries gives t a larger array of entries; the old one is not used any
// more when it returns. mem has room for n entries behind EntryPad zero bytes.
func (t *Trace) SetEntries(mem unsafe.Pointer, n int) {
	first := unsafe.Add(mem, EntryPad)
	for i := range t.n {
		*(*Entry)(unsafe.Add(first, i*EntrySize)) = *t.entry(i)
	}
	t.entries, t.capEntries = uintptr(first), uint64(n)
}

// pointer is p as a pointer: what it points to is not in the Go heap.
func pointer(p *uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(p)) }

func (t *Trace) entry(i uint64) *Entry {
	return (*Entry)(unsafe.Add(pointer(&t.entries), i*EntrySize))
}

func (t *Trace) obj(i uint32) *Object {
	return (*Object)(unsafe.Add(pointer(&t.objs), uintptr(i)*ObjSize))
}

// Len returns the number of patched slots; Cap how many there may be.
func (t *Trace) Len() int { return int(t.n) }
func (t *Trace) Cap() int { return int(t.capEntries) }

// Entry returns entry i, the outermost being 0.
func (t *Trace) Entry(i int) Entry { return *t.entry(uint64(i)) }

// Pending returns the number of frame objects, and Room how many more fit.
func (t *Trace) Pending() int { return int(t.nobjs) }
func (t *Trace) Room() int    { return int(t.maxObjs - t.nobjs) }

// Find returns the true return address of a patched slot, 0 if there is no
// such entry. It may run in a signal handler.
func (t *Trace) Find(off uintptr) uintptr {
	lo, hi := uint64(0), t.n
	for lo < hi {
		mid := (lo + hi) / 2
		if e := t.entry(mid); e.Off == off {
			return e.PC
		} else if e.Off < off {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return 0
}

// Push writes the entry of a slot that is about to be patched, which is below its place: the frame at pc,
// whose ref is given, or NoRef to make it a skeleton.
func (t *Trace) Push(off, below, pc uintptr, ref uint32) uint32 {
	if ref == NoRef {
		ref = t.Object(pc-1, NoRef)
	}
	*t.entry(t.n) = Entry{Off: off, Below: below, PC: pc, Ref: ref}
	t.n++
	return ref
}

// Top returns the innermost entry; there must be one.
func (t *Trace) Top() Entry { return *t.entry(t.n - 1) }

// Drop removes the innermost entry, whose slot is restored.
func (t *Trace) Drop() { t.n-- }

// Object returns a pending ref for the frame at pc. There must be Room.
func (t *Trace) Object(pc uintptr, parent uint32) uint32 {
	i := uint32(t.nobjs)
	*t.obj(i) = Object{PC: pc, Parent: parent}
	t.nobjs++
	return i | refObj
}

// Child returns the ref of the frame at pc that the frame parent called.
func (t *Trace) Child(s *Samples, parent uint32, pc uintptr) uint32 {
	if parent&refObj == 0 {
		return s.Child(parent, pc)
	}
	return t.Object(pc, parent)
}

// Resolved reports whether a ref is a node.
func Resolved(ref uint32) bool { return ref&refObj == 0 }

// Link makes parent the caller of the frame ref, which was a skeleton. A resolved
// frame has its caller already.
func (t *Trace) Link(ref, parent uint32) {
	if ref&refObj != 0 {
		t.obj(ref &^ refObj).Parent = parent
	}
}

// Skeleton reports whether the caller of ref is not known.
func (t *Trace) Skeleton(ref uint32) bool {
	return ref&refObj != 0 && t.obj(ref&^refObj).Node == 0 && t.obj(ref&^refObj).Parent == NoRef
}

// Sample adds a sample, of weight nanoseconds, whose innermost frame is ref,
// which Child has returned last. expect is 0, or what a check has found: the node + 1.
// It returns false if a check differs.
func (t *Trace) Sample(s *Samples, ref uint32, ns uint64, expect uint32) bool {
	if ref&refObj == 0 {
		s.Add(ref, layout.WeightCPU, ns, 1)
		return expect == 0 || expect == ref+1
	}
	o := t.obj(ref &^ refObj)
	o.ns, o.count, o.expect = ns, 1, expect
	return true
}

// Request notes that request n is about ref, a frame object which Child has returned last. expect is
// as in Sample.
func (t *Trace) Request(n uint64, ref uint32, expect uint32) {
	o := t.obj(ref &^ refObj)
	o.ns, o.count, o.expect = n, requested, expect
}

// SetRef replaces the ref of entry i.
func (t *Trace) SetRef(i int, ref uint32) { t.entry(uint64(i)).Ref = ref }

// Resolve returns the node of a ref, or false if a caller of it is a skeleton.
// Callers are resolved from the outermost one on, a few at a time, since there is
// no memory to remember a long chain.
func (t *Trace) Resolve(s *Samples, ref uint32) (uint32, bool) {
	for {
		var path [32]uint32
		n, at := 0, ref
		for at != NoRef && at&refObj != 0 && t.obj(at&^refObj).Node == 0 {
			path[n%len(path)] = at &^ refObj
			n++
			at = t.obj(at &^ refObj).Parent
		}
		if at == NoRef {
			return 0, false
		}
		node := at
		if at&refObj != 0 {
			node = t.obj(at&^refObj).Node - 1
		}
		if n == 0 {
			return node, true
		}
		for i := n - 1; i >= max(0, n-len(path)); i-- {
			o := t.obj(path[i%len(path)])
			node = s.Child(node, o.PC)
			o.Node = node + 1
		}
		if n <= len(path) {
			return node, true
		}
	}
}

// Flush moves the weights of all objects that can be resolved into the tree,
// and gives the objects back if no entry needs them. It returns how many
// samples were completed, and how many of them a check found to differ.
func (t *Trace) Flush(s *Samples) (done, wrong uint64) {
	all := true
	for i := range uint32(t.nobjs) {
		o := t.obj(i)
		if o.count == 0 && o.Parent == NoRef {
			all = all && o.Node != 0
			continue
		}
		node, ok := t.Resolve(s, i|refObj)
		if !ok {
			all = false
			continue
		}
		if o.count == 0 {
			continue
		}
		if o.expect != 0 && o.expect != node+1 {
			wrong++
		}
		if o.count == requested {
			s.Answer(o.ns, node)
		} else {
			s.Add(node, layout.WeightCPU, o.ns, uint64(o.count))
			done += uint64(o.count)
		}
		o.count = 0
	}
	for i := range t.n {
		e := t.entry(i)
		if node, ok := t.Resolve(s, e.Ref); ok {
			e.Ref = node
		} else {
			all = false
		}
	}
	if all {
		t.nobjs = 0
	}
	if t.Returns > 0 {
		s.Count(layout.StatReturns, t.Returns)
		t.Returns = 0
	}
	return done, wrong
}
