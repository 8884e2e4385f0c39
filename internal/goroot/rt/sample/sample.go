// Package sample builds the tree of samples, traces stacks incrementally, and answers requests for samples.
package sample

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// This file is the record of the sampling engine: a calling context tree whose
// nodes are stack frames, and the places that describe their addresses.
//
// # Terminology
//
// A sample is one stack trace of one goroutine. A frame is a physical one: an
// address in a function, with the calls that are inlined there. The node of a
// frame is identified by its caller's node and its address; a sample is
// recorded by adding its weight to the node of its innermost frame. A place
// describes an address: the frames that are inlined at it, by function, file
// and line.
//
// # Concurrency
//
// Any number of threads find, create and count nodes at the same time, without
// locks: also where the runtime may hold any lock of its own. Places are written by
// one thread, the sampler.
//
// # Files of the live directory
//
//	samples  a layout.SampleHeader, then layout.SampleNodes; node 0 is the root
//	places   layout.Places, each with its frames
//	requests a layout.RequestsHeader, then layout.Requests, see requests.go

// Where the nodes of the file samples begin, and how large one is.
const (
	SmpEnd         = layout.SampleHeaderSize
	SampleNodeSize = layout.SampleNodeSize
)

// Sizes of a Samples' memory.
const (
	sampleBuckets = 1 << 19
	bucketsEnd    = sampleBuckets * 4
	BucketsSize   = bucketsEnd + cacheSize*cachedSize
	placesKnown   = 1 << 18
	KnownSize     = placesKnown * 8
)

// Samples is the recorder. It must be initialized with Init; all memory is the
// caller's, and zero. A page of the files may become zeros at any time, as in a
// Tree: what is in use is therefore counted here, and the header has a copy.
type Samples struct {
	used       uint64            // nodes that were handed out
	placesUsed uint64            // bytes of places; the sampler's own
	base       unsafe.Pointer    // file samples
	file       memory.SharedSpan // the same
	requests   requests          // file requests
	buckets    unsafe.Pointer    // heads of the hash chains, anonymous memory
	cache      unsafe.Pointer    // [cacheSize]cachedNodes, behind them
	lost       bool              // pages of the file were
	max        uint32

	// FuncOf returns a number for the function that an address is in, 0 if it is in none, and what it is to recursion.
	// If it is not nil, recursion is folded. It is set before there are samples.
	FuncOf func(pc uintptr) (fn uintptr, kind fold.Kind)

	// The sampler's own: the places.
	places  memory.Span
	known   unsafe.Pointer // set of addresses that have a place
	nknown  int
	scanned uint32 // nodes below have a place; who ends segments reads it, and placesUsed
	waits   int    // how often in a row NextPlace has waited for an address
}

// Init prepares the recorder. base has room for SmpEnd + max*SampleNodeSize
// bytes, buckets for BucketsSize, known for KnownSize.
func (s *Samples) Init(base, buckets, places, known unsafe.Pointer, max uint32, placesSize uintptr) {
	s.base, s.buckets, s.known = base, buckets, known
	s.cache = unsafe.Add(buckets, bucketsEnd)
	s.file, s.max = memory.SharedSpan{Span: memory.NewSpan(base, SmpEnd+uint64(max)*SampleNodeSize)}, max
	s.places = memory.NewSpan(places, uint64(placesSize))
	s.file.Need(SmpEnd + 2*SampleNodeSize)
	s.scanned = 1
	h := s.header()
	copy(h.Magic[:], layout.SampleMagic)
	h.Max = uint64(max)
	h.Version = layout.SampleVersion
	s.node(0).Parent = 1
	s.used, s.placesUsed = 1, 0
	memory.Store64(&h.Used, 1)
	s.Child(0, layout.PCOverflow) // node 1: there is always room for it
}

const sampleOverflow = 1

func (s *Samples) header() *layout.SampleHeader { return (*layout.SampleHeader)(s.base) }

// node returns the address of node n.
func (s *Samples) node(n uint32) *layout.SampleNode {
	return (*layout.SampleNode)(unsafe.Add(s.base, SmpEnd+uintptr(n)*SampleNodeSize))
}

// bucket returns the head of the hash chain of a parent and an address.
func (s *Samples) bucket(parent uint32, pc uintptr) *uint32 {
	return (*uint32)(unsafe.Add(s.buckets, unsafe.Sizeof(parent)*uintptr(sampleHash(parent, pc)%sampleBuckets)))
}

// Describe fills in what the header says about the program.
func (s *Samples) Describe(run uint64, pid uint32, start uint64, goVersion string, args []string) {
	h := s.header()
	h.Run, h.PID, h.Start = run, pid, start
	h.GoVerLen = uint32(copy(h.GoVer[:], goVersion))
	list := h.Args[:]
	n := 0
	for _, a := range args {
		if n+len(a)+1 > len(list) {
			break
		}
		n += copy(list[n:], a) + 1
	}
	h.ArgsLen = uint32(n)
}

// Configure notes how samples are taken from here on.
func (s *Samples) Configure(sampler, walk uint8, interval uint64, flags uint32) {
	h := s.header()
	h.Sampler, h.Walk = sampler, walk
	memory.Store64(&h.Interval, interval)
	h.Flags |= flags
}

// Count adds to a counter of the header.
func (s *Samples) Count(stat int, n uint64) { memory.Add64(&s.header().Stats[stat], n) }

// Stat reads a counter.
func (s *Samples) Stat(stat int) uint64 { return memory.Load64(&s.header().Stats[stat]) }

// Set sets a counter.
func (s *Samples) Set(stat int, v uint64) { memory.Store64(&s.header().Stats[stat], v) }

// Latency counts one sample that took ns nanoseconds from request to end.
func (s *Samples) Latency(ns uint64) { memory.Add64(&s.header().Latency[layout.LatencyBucket(ns)], 1) }

// fewChildren is how many children of a node are in its list. Others are found by the hash table: who has as many is
// rare, and to look at each of them would take longer.
const fewChildren = 4

// Child returns the node of the frame at pc that parent's frame called, and
// creates it if there is none. Without room it is the overflow node.
func (s *Samples) Child(parent uint32, pc uintptr) uint32 {
	e := s.cached(parent, pc)
	if n := e.find(parent, uint64(pc)); n != 0 && !s.lost {
		return n
	}
	n := s.listed(parent, pc)
	e.add(parent, uint64(pc), n)
	return n
}

// Call returns the home of the Child of parent at pc: the node that has the callees of that frame.
func (s *Samples) Call(parent uint32, pc uintptr) uint32 {
	if s.FuncOf == nil {
		return s.Child(parent, pc)
	}
	e := s.cached(parent, pc)
	if n := e.find(parent, uint64(pc)|cachedHome); n != 0 && !s.lost {
		return n
	}
	n := s.Home(s.listed(parent, pc))
	e.add(parent, uint64(pc)|cachedHome, n)
	return n
}

// LostPage notes that a page of the file has become zeros. From there on each node is looked at. It may run in a signal
// handler.
func (s *Samples) LostPage() { s.lost = true }

// is reports whether node n is that of the frame at pc that parent's frame called.
func (s *Samples) is(n, parent uint32, pc uintptr) bool {
	p := s.node(n)
	return p.Key == parent && p.PC == uint64(pc)
}

// listed is Child, by the list of the parent's children, and where that is long by the hash table.
func (s *Samples) listed(parent uint32, pc uintptr) uint32 {
	n, mine := s.among(&s.node(parent).Child, siblings, parent, pc, 0)
	if n == 0 {
		n, _ = s.among(s.bucket(parent, pc), bucketed, parent, pc, mine)
	}
	return n
}

// What a list of nodes has in common.
const (
	siblings = iota // they have one parent, and there are fewChildren of them at most
	bucketed        // they have one hash
)

// next returns where node n has the next one in a list of the given kind.
func (s *Samples) next(n uint32, kind int) *uint32 {
	p := s.node(n)
	if kind == siblings {
		return &p.Sibling
	}
	return &p.Next
}

// among is Child, by the list that begins at head. mine is a new node for it, or 0. If the node is not there and the
// list may have no further ones it returns 0, and the new node, if there is one by now.
func (s *Samples) among(head *uint32, kind int, parent uint32, pc uintptr, mine uint32) (n, left uint32) {
	first, stop, length := memory.Load32(head), uint32(0), 0
	for {
		// Lists only grow at their heads: what was looked at is not again, but counts. So the length
		// is known for sure where the new head takes the place of the one that was looked at.
		// A node on a lost page ends its list: node 0 is in none.
		for n := first; n != stop && n != 0; n = *s.next(n, kind) {
			if s.is(n, parent, pc) {
				s.drop(mine)
				return n, 0
			}
			length++
		}
		if kind == siblings && length >= fewChildren {
			return 0, mine
		}
		if mine == 0 {
			if mine = s.alloc(); mine == 0 {
				return sampleOverflow, 0
			}
		}
		p := s.node(mine)
		p.PC, p.Key, p.Sibling, p.Next = uint64(pc), parent, 0, 0
		*s.next(mine, kind) = first
		memory.StoreRel32(&p.Parent, parent+1)
		if memory.Cas32(head, first, mine) {
			return mine, 0
		}
		first, stop = memory.Load32(head), first
	}
}

// Home returns the node that has the callees of node n's frame: n itself, unless recursion is folded and the frame's
// function is on the path to n already. Then n has no children, and its home lies beside the node that the path has for
// the function: it is the same frame, called from where that one is. So the tree stays finite, and each context of
// functions is where a reader who folds (Ammons, Ball and Larus, PLDI 1997, section 4.1) would put it. As in the exact
// tree, package fold says which calls are folded.
func (s *Samples) Home(n uint32) uint32 {
	if s.FuncOf == nil {
		return n
	}
	p := s.node(n)
	// It may be on a page that was lost.
	if home := memory.Load32(&p.Home); home != 0 && s.node(home).PC == p.PC {
		return home
	}
	home := s.home(n)
	memory.StoreRel32(&p.Home, home)
	return home
}

// home finds the home of n. Whoever looks for it at the same time finds the same one.
func (s *Samples) home(n uint32) uint32 {
	p := s.node(n)
	f, kind := s.FuncOf(uintptr(p.PC))
	if f == 0 {
		return n
	}
	if on, ok := fold.Home(s, p.Key, f, kind); ok {
		return s.Child(s.node(on).Key, uintptr(p.PC))
	}
	return n
}

// Func returns the function of a node, for package fold.
func (s *Samples) Func(n uint32) uintptr {
	if n == 0 {
		return 0
	}
	f, _ := s.FuncOf(uintptr(s.node(n).PC))
	return f
}

// Kind returns what the function of a node is to recursion.
func (s *Samples) Kind(n uint32) fold.Kind {
	if n == 0 {
		return fold.None
	}
	_, kind := s.FuncOf(uintptr(s.node(n).PC))
	return kind
}

// Up returns the parent of a node, for package fold.
func (s *Samples) Up(n uint32) (parent uint32, ok bool) { return s.node(n).Key, n != 0 }

// drop leaves a new node unused: another thread was faster.
func (s *Samples) drop(mine uint32) {
	if mine != 0 {
		memory.StoreRel32(&s.node(mine).Parent, 0)
	}
}

// alloc returns a new node, 0 if there is no room.
func (s *Samples) alloc() uint32 {
	for {
		n := memory.Load64(&s.used)
		if n >= uint64(s.max) || !s.room(n+1) {
			s.Count(layout.StatNodes, 1)
			return 0
		}
		if memory.Cas64(&s.used, n, n+1) {
			s.publish(n + 1)
			return uint32(n)
		}
	}
}

// publish makes the header count n nodes at least. Threads may come here in another order than that of their nodes.
func (s *Samples) publish(n uint64) {
	used := &s.header().Used
	for have := memory.Load64(used); have < n && !memory.Cas64(used, have, n); have = memory.Load64(used) {
	}
}

// sampleLead is how much of the file is made usable before it is needed.
const sampleLead = 512 * SampleNodeSize

// room reports whether n nodes can be used, and makes room for some more.
func (s *Samples) room(n uint64) bool { return s.file.Room(SmpEnd+n*SampleNodeSize, sampleLead) }

// Close ends the record: there are no more nodes and requests than there are. It returns how many
// bytes of the files are in use.
func (s *Samples) Close() (samples, places, requests uint64) {
	s.max = 0
	return layout.SampleHeaderSize + memory.Load64(&s.used)*layout.SampleNodeSize, s.placesUsed, s.requests.close()
}

// sampleHash mixes a node's parent and address.
func sampleHash(parent uint32, pc uintptr) uint64 {
	h := (uint64(pc) ^ uint64(parent)<<40) * 0x9e3779b97f4a7c15
	h = (h ^ h>>29 ^ uint64(parent)) * 0xbf58476d1ce4e5b9
	return h >> 32
}

// Add adds weight in nanoseconds, of n samples, to a node.
func (s *Samples) Add(node uint32, kind int, ns, n uint64) {
	w := &s.node(node).Weights[kind]
	if ns != 0 {
		memory.Add64(&w.Time, ns)
	}
	memory.Add64(&w.Samples, n)
}

// Frame returns a node's parent and address.
func (s *Samples) Frame(node uint32) (parent uint32, pc uintptr) {
	p := s.node(node)
	return p.Key, uintptr(p.PC)
}

// Stack returns the node of the frames pcs, innermost first, below node base, which is its own home.
func (s *Samples) Stack(base uint32, pcs []uintptr) uint32 {
	for i := len(pcs) - 1; i >= 0; i-- {
		if i == 0 {
			return s.Child(base, pcs[i])
		}
		if base = s.Call(base, pcs[i]); base == sampleOverflow {
			return base
		}
	}
	return base
}

// patience is how often NextPlace waits for an address: for some hundred ticks. Who makes a node may have lost its CPU.
const patience = 200

// NextPlace returns an address that has no place yet, for the sampler to
// describe, or false if all have one that are known. It waits for a node that has no address yet, but not for ever: its
// page may be lost, see Child for nodes without a parent.
func (s *Samples) NextPlace() (pc uintptr, ok bool) {
	used := uint32(memory.Load64(&s.used))
	for ; s.scanned < used; memory.StoreRel32(&s.scanned, s.scanned+1) {
		p := s.node(s.scanned)
		pc := memory.Load64(&p.PC)
		switch {
		case pc != 0:
			s.waits = 0
		case s.waits < patience || s.scanned+64 > used:
			s.waits++
			return 0, false
		}
		if pc >= layout.NumPseudo && pc&layout.PCNode == 0 && s.learn(pc) {
			return uintptr(pc), true
		}
	}
	return 0, false
}

// learn adds pc to the known addresses and reports whether it is new.
func (s *Samples) learn(pc uint64) bool {
	if 2*s.nknown > placesKnown {
		s.Count(layout.StatPlaces, 1)
		return false
	}
	for h := pc * 0x9e3779b97f4a7c15 >> 40; ; h++ {
		e := (*uint64)(unsafe.Add(s.known, unsafe.Sizeof(pc)*uintptr(h%placesKnown)))
		switch *e {
		case pc:
			return false
		case 0:
			*e = pc
			s.nknown++
			return true
		}
	}
}

// A PlaceWriter writes one record of places.
type PlaceWriter struct {
	s          *Samples
	start, off uintptr
	frames     uint16
	wrappers   uint16
	full       bool
}

// BeginPlace begins the record of an address.
func (s *Samples) BeginPlace(pc uintptr) PlaceWriter {
	used := uintptr(s.placesUsed)
	w := PlaceWriter{s: s, start: used, off: used + layout.PlaceSize}
	if !s.places.Need(uint64(w.off)) {
		w.full = true
		return w
	}
	w.place().PC = uint64(pc)
	return w
}

// place returns the beginning of the record.
func (w *PlaceWriter) place() *layout.Place {
	return (*layout.Place)(w.s.places.At(uint64(w.start)))
}

// Frame adds a frame, from the innermost inlined one to the function itself. After all others come
// those of wrappers.
func (w *PlaceWriter) Frame(name, file string, line, start uint32, wrapper bool) {
	size := uintptr(layout.PlaceFrameSize + len(name) + len(file))
	if w.full || !w.s.places.Need(uint64(w.off+size+8)) {
		w.full = true
		return
	}
	p := w.s.places.At(uint64(w.off))
	*(*layout.PlaceFrame)(p) = layout.PlaceFrame{Line: line, Start: start, NameLen: uint32(len(name)),
		FileLen: uint32(len(file))}
	text := unsafe.Slice((*byte)(unsafe.Add(p, layout.PlaceFrameSize)), len(name)+len(file))
	copy(text[copy(text, name):], file)
	w.off += size
	if wrapper {
		w.wrappers++
	} else {
		w.frames++
	}
}

// End completes the record.
func (w *PlaceWriter) End() {
	if w.full {
		w.s.Count(layout.StatPlaces, 1)
		return
	}
	end := (w.off + 7) &^ 7
	w.place().Frames, w.place().Wrappers = w.frames, w.wrappers
	memory.StoreRel32(&w.place().Length, uint32(end-w.start))
	memory.Store64(&w.s.placesUsed, uint64(end))
	memory.Store64(&w.s.header().Places, uint64(end))
}
