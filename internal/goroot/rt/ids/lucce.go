package ids

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// A Lucce encodes contexts lazily and without a stack (Lucce, Salnikov-Tarnovski and Vojdani). The graph
// is numbered while it is found out: a callee that is entered by a new edge gives it
// the ids behind those that it has, as many as the caller has (numCC, sections 2
// and 5).
//
// Two things are not as in the paper's Algorithm 1.
//
// An edge keeps its ids. When numCC of the caller has grown, the edge gets further
// ids, next to its old ones if they are free, else as many as it needs behind all
// others; its old ones still mean what they meant. So any version
// of the graph is decoded by the newest one: lv is not needed to find the caller's, and
// a frame's version need not change with each call.
//
// Recursion does not make numCC grow without end. An edge that has grown a few times,
// or whose caller has no bound, gets all ids above the others that have a certain
// remainder, and the callee has no bound any more. So in recursion ids grow by the bits that it takes
// to tell the callee's in-edges apart, and the log does not.
//
// What is left of the version is where the path began: at a root, at a go
// statement, or where an id would have passed 63 bits. There an interned entry says
// what is further out, and ids begin again. Deep recursion has an
// entry of the last kind for each way into it. These are on a stack of the goroutine, see PairStack, and interned
// when a context on top of them is captured.
//
// Its methods must be called under the lock of the Contexts, unless they say otherwise. Those
// that need no lock do not split the stack: the entry of a function, which is no safe
// point, calls them on the stack of its goroutine.
type Lucce struct {
	*Contexts
	log      memory.Span
	logUsed  uint64        // bytes of log, as in the header
	steps    []layout.Step // by number; 0 is not used
	numSteps uint32
	rows     []row       // by function index
	stepMem  memory.Span // of steps
	rowMem   memory.Span // of rows
	edges    table       // steps by cell and callee
	entries  table       // interned entries by contents
	logEnded bool
}

// A row is how the in-edges of a function are numbered.
type row struct {
	num   uint64 // numCC: ids below are taken; it ends where the function is open
	begin uint64 // 1 + the id of paths that begin here
	open  bool   // ids from num on belong to groups
	edges uint32 // in-edges that were seen
	// The last group: id x of it is id offset + x*scale of the function.
	offset, scale uint64
	mod, next     uint32 // its remainders, and the next one that is free
	wide          bool   // it is a shared group
}

// Sizes and limits.
const (
	LogSize    = 1 << 30
	maxSteps   = 1 << 22
	maxGrown   = 3       // times that an edge grows before it gets a remainder
	maxNumCC   = 1 << 48 // numCC of a function without groups
	maxScale   = 1 << 40
	sharedMod  = 1<<layout.StepShift + 1
	LogEntries = LogSize / layout.LogEntrySize

	// LucceInterned is how many entries are interned at most, unless LimitInterned says otherwise.
	LucceInterned = 1 << 24
)

// Init makes l an encoder on top of c, which is initialised, with a log, of
// LogSize>>shift zero bytes.
func (l *Lucce) Init(c *Contexts, log unsafe.Pointer, shift uint) {
	c.rec.Header().Flags |= layout.HdrFlagLucce
	c.LimitInterned(LucceInterned)
	*l = Lucce{Contexts: c, log: memory.NewSpan(log, LogSize>>shift)}
	l.steps = tableOf[layout.Step](&c.mem, &l.stepMem, scaled(maxSteps, shift))
	l.rows = tableOf[row](&c.mem, &l.rowMem, c.max.funcs)
	needs(&l.stepMem, l.steps, 1)
	needs(&l.rowMem, l.rows, 1)
	l.edges.grow(&c.mem, nil)
	l.entries.grow(&c.mem, nil)
}

// Stats returns what only this engine counts.
func (l *Lucce) Stats() *layout.LucceHeader { return &l.Header().Lucce }

// Tables returns the addresses of the fields that lead the assembly to steps.
func (l *Lucce) Tables() (edges, steps uintptr) {
	return uintptr(unsafe.Pointer(&l.edges.base)), uintptr(unsafe.Pointer(&l.steps[0]))
}

// A table is a hash set of numbers that is read without a lock. At base is a
// layout.EdgeTable.
type table struct {
	base uintptr
	num  uint32
}

func (t *table) mask() uint32 { return uint32(tableAt(t.base).Mask) }

//go:nosplit
func tableAt(base uintptr) *layout.EdgeTable {
	return (*layout.EdgeTable)(unsafe.Add(unsafe.Pointer(nil), base))
}

// slot returns the place of hash h. It may be called without the lock, with one base throughout.
//
//go:nosplit
func slot(base uintptr, h uint32) *uint32 {
	mask := uint32(tableAt(base).Mask)
	return (*uint32)(unsafe.Add(unsafe.Pointer(nil), base+layout.EdgeTableSize+layout.EdgeSize*uintptr(h&mask)))
}

// grow makes room for one more number. Readers of the old memory miss what is new.
func (t *table) grow(mem *memory.Arena, hash func(uint32) uint32) bool {
	size := uint32(1 << 12)
	if t.base != 0 {
		if size = t.mask() + 1; 2*(t.num+1) <= size {
			return true
		}
		size *= 2
	}
	base := uintptr(mem.Alloc(layout.EdgeTableSize + layout.EdgeSize*uintptr(size)))
	if base == 0 {
		return false
	}
	tableAt(base).Mask = uint64(size - 1)
	if t.base != 0 {
		for i := range t.mask() + 1 {
			if v := *slot(t.base, i); v != 0 {
				put(base, hash(v), v)
			}
		}
	}
	memory.Store64((*uint64)(unsafe.Pointer(&t.base)), uint64(base))
	return true
}

func put(base uintptr, h, v uint32) {
	for *slot(base, h) != 0 {
		h++
	}
	memory.StoreRel32(slot(base, h), v)
}

// EdgeMul is what the hash of an edge is made with: the upper half of
// (cell*EdgeMul + callee) * EdgeMul.
const EdgeMul = 0x9E3779B97F4A7C15

// StepLog is the logarithm of the size of a step, which the assembly shifts by.
const StepLog = 6

const _ = -(1<<StepLog ^ layout.StepSize)

//go:nosplit
func edgeHash(cell, callee uint64) uint32 { return uint32((cell*EdgeMul + callee) * EdgeMul >> 32) }

// Find returns the step from a cell to the callee with the given data, or nil. It needs no lock.
//
//go:nosplit
func (l *Lucce) Find(cell, callee uintptr) *layout.Step {
	base := l.edges.base
	for h := edgeHash(uint64(cell), uint64(callee)); ; h++ {
		i := memory.Load32(slot(base, h))
		if i == 0 {
			return nil
		}
		if s := &l.steps[i]; s.Cell == uint64(cell) && s.Callee == uint64(callee) {
			return s
		}
	}
}

// apply returns the callee's id for a caller's id below the bound.
//
//go:nosplit
func apply(s *layout.Step, c uint64) uint64 {
	return (c+(c>>layout.StepShift&s.Mask))*s.Mul + s.Add
}

// TryCall is Call for what needs no change of the graph and no memory. It needs no lock. ok is
// false if Call must be called.
//
//go:nosplit
func (l *Lucce) TryCall(st PairStack, site uint32, data uintptr, c, v uint64) (id, version uint64, ok bool) {
	s := l.Find(l.av(site), data)
	if s == nil || c >= layout.IDLost {
		return 0, 0, false
	}
	if c < s.Bound {
		return apply(s, c), v, true
	}
	return st.push(s, c, v)
}

// Call returns the pair of the function with the given data, called from a site
// by an invocation with the pair c, v: the paper's Update.
func (l *Lucce) Call(st PairStack, site uint32, data uintptr, c, v uint64) (id, version uint64) {
	t := uint32(dataAt(data).Index)
	if t == 0 || c >= layout.IDLost {
		return l.cut(v)
	}
	cell := l.av(site)
	s := l.Find(cell, data)
	if s == nil || c >= s.Bound {
		if grown := l.number(s, site, t, c); grown != nil {
			s = grown
			l.publish(s, cell, data)
		}
	}
	if s != nil && c < s.Bound {
		return apply(s, c), v
	}
	if s != nil && l.begins(t) && l.growPairs(st, v>>layout.VersionDepth+1) {
		memory.StoreRel64(&s.Begin, l.rows[t].begin) // it is on record
		return l.pushed(st, s, c, v)
	}
	return l.Begin(st, layout.InternSite, uint64(site), dataAt(data).Func, t, c, v)
}

// pushed is push where it is known that there is room.
func (l *Lucce) pushed(st PairStack, s *layout.Step, c, v uint64) (id, version uint64) {
	id, version, _ = st.push(s, c, v)
	return id, version
}

// number gives an edge new ids: old is the step that it has, or nil. It returns nil
// if there is no step that takes the id c.
func (l *Lucce) number(old *layout.Step, site, t uint32, c uint64) *layout.Step {
	from, to := &l.rows[l.sites[site].caller], &l.rows[t]
	if old != nil && old.Grown > maxGrown {
		return nil // all ids are taken that it can have
	}
	if !l.logs(4) || !needs(&l.stepMem, l.steps, l.numSteps+2) || !l.edges.grow(&l.mem, l.hashStep) {
		return nil
	}
	s := &l.steps[l.numSteps+1]
	*s = layout.Step{Site: site}
	if old == nil {
		to.edges++ // group asks how many there are
	} else {
		s.Grown = old.Grown + 1
	}
	if !from.open && !to.open && s.Grown < maxGrown && from.num < maxNumCC-to.num {
		s.Add, s.Mul, s.Bound = to.num, 1, from.num
		if old != nil && old.Add+old.Bound == to.num {
			s.Add = old.Add // nothing is behind it: it gets longer
		}
		l.Append(layout.LogInterval, t, site, 0, s.Add, s.Bound)
		to.num = s.Add + s.Bound
		l.Header().MaxID = max(l.Header().MaxID, to.num-1)
	} else if !l.remainder(s, to, t, site) {
		if old == nil {
			to.edges-- // it is asked for again at its next call
		}
		return nil
	}
	if old == nil {
		l.Header().Edges++
	}
	return s
}

// remainder gives the step s into function t the next remainder of t's last group.
func (l *Lucce) remainder(s *layout.Step, r *row, t, site uint32) bool {
	if !r.open || r.next+1 == r.mod {
		if !l.group(r, t) {
			return false
		}
	}
	s.Grown = maxGrown + 1
	s.Add, s.Mul = r.offset+uint64(r.next)*r.scale, r.scale*uint64(r.mod)
	n := r.next
	if r.wide {
		s.Mask, s.Mul = ^uint64(0), r.scale
		r.next = r.mod - 1
	} else {
		r.next++
	}
	s.Bound = (layout.IDLimit - s.Add) / s.Mul
	if r.wide {
		s.Bound = s.Bound / sharedMod << layout.StepShift
	}
	l.Append(layout.LogRemainder, t, site, n, 0, 0)
	return true
}

// group begins the next group of function t. The first one has room for the in-edges that there are.
func (l *Lucce) group(r *row, t uint32) bool {
	mod := min(max(2*r.edges, 4), 1<<10)
	wide := false
	if r.open {
		if r.scale*uint64(r.mod) > maxScale {
			return false
		}
		r.offset += uint64(r.mod-1) * r.scale
		r.scale *= uint64(r.mod)
	} else {
		r.open, r.offset, r.scale = true, r.num, 1
		l.Stats().Open++
		if mod = r.edges + r.edges/2 + 1; r.edges == 1 {
			mod, wide = sharedMod, true
		}
		mod = min(mod, 1<<10)
	}
	r.mod, r.next, r.wide = mod, 0, wide
	if wide {
		mod = layout.LogShared
	}
	l.Stats().Groups++
	l.Append(layout.LogGroup, t, 0, mod, r.num, 0)
	return true
}

// publish makes the new step s known to callees, and to its site if it is the first one there.
func (l *Lucce) publish(s *layout.Step, cell, data uintptr) {
	old := l.Find(cell, data)
	s.Cell, s.Callee = uint64(cell), uint64(data)
	l.numSteps++
	l.Stats().Steps = uint64(l.numSteps)
	if old == nil {
		put(l.edges.base, l.hashStep(l.numSteps), l.numSteps)
		l.edges.num++
	} else {
		h := edgeHash(s.Cell, s.Callee)
		for &l.steps[*slot(l.edges.base, h)] != old {
			h++
		}
		memory.StoreRel32(slot(l.edges.base, h), l.numSteps)
	}
	if first := uintptr(*word(cell)); stepAt(first).Callee == 0 || first == uintptr(unsafe.Pointer(old)) {
		memory.StoreRel64(word(cell), uint64(uintptr(unsafe.Pointer(s))))
	}
}

func (l *Lucce) hashStep(i uint32) uint32 { return edgeHash(l.steps[i].Cell, l.steps[i].Callee) }

func stepAt(p uintptr) *layout.Step { return (*layout.Step)(unsafe.Add(unsafe.Pointer(nil), p)) }

// logs makes room for n entries of the log. A log that could not grow has ended: it must
// have no gaps.
func (l *Lucce) logs(n uint64) bool {
	if !l.logEnded && !l.log.Need(l.logUsed+n*layout.LogEntrySize) {
		l.logEnded = true
	}
	return !l.logEnded
}

// Append adds an entry to the log.
func (l *Lucce) Append(kind, function, site, n uint32, a, b uint64) {
	if !l.logs(1) {
		return
	}
	e := (*layout.LogEntry)(l.log.At(l.logUsed))
	*e = layout.LogEntry{Kind: kind, Func: function, Site: site, N: n, A: a, B: b}
	memory.StoreRel64(&l.logUsed, l.logUsed+layout.LogEntrySize)
	memory.StoreRel64(&l.Stats().LogUsed, l.logUsed)
}

// Learn is Enter, with an entry in the log for a function that is new.
func (l *Lucce) Learn(data uintptr) (f uint32, isNew bool) {
	if f = uint32(dataAt(data).Index); f != 0 {
		return f, false
	}
	if !needs(&l.rowMem, l.rows, l.numFuncs+1) {
		return l.refuse()
	}
	if f, isNew = l.enter(data); f != 0 {
		l.Append(layout.LogFunc, f, l.funcs[f].sites, l.funcs[f].cells, l.ID(f), 0)
	}
	return f, isNew
}

// Begin returns the pair of a function at which a path begins: what is further out is in an
// interned entry. t is the index of the function target, 0 for a fault.
func (l *Lucce) Begin(st PairStack, kind uint32, place, target uint64, t uint32, c, v uint64) (id, version uint64) {
	if c >= layout.IDLost {
		return l.cut(v)
	}
	i := l.intern(paired(l.Version(st, v), c, kind, place, target))
	version = v&^layout.VersionNumber | uint64(i)
	if t == 0 {
		return 0, version // a fault: nothing else leads there
	}
	if !l.begins(t) {
		return l.cut(v)
	}
	return l.rows[t].begin - 1, version
}

// begins makes function t have an id for paths that begin there.
func (l *Lucce) begins(t uint32) bool {
	r := &l.rows[t]
	if r.begin != 0 {
		return true
	}
	if !l.logs(2) || r.open && !l.remainderBegins(r, t) { // of a remainder as well
		return false
	}
	id := r.num
	if r.open {
		id = r.offset + uint64(r.next)*r.scale
		r.next++
	} else {
		r.num++
	}
	l.Append(layout.LogBegin, t, 0, 0, id, 0)
	memory.StoreRel64(&r.begin, id+1) // it is on record, see TryRoot
	return true
}

// remainderBegins has an open function have a whole remainder for the paths that begin there.
func (l *Lucce) remainderBegins(r *row, t uint32) bool {
	return r.next+1 < r.mod || l.group(r, t)
}

// cut returns the pair of an invocation whose context is not known, on top of one with the version v.
func (l *Lucce) cut(v uint64) (id, version uint64) {
	return layout.IDLost, v&^layout.VersionNumber | uint64(l.Cut())
}

// paired returns an entry on top of an invocation with the id c behind the entry parent.
//
//go:nosplit
func paired(parent uint32, c uint64, kind uint32, place, target uint64) layout.Interned {
	return layout.Interned{Parent: parent, Epoch: uint32(c >> 32), ID: uint32(c), Kind: kind, Place: place,
		Target: target}
}

// lookup returns the number of the entry with the contents of n, or 0. It needs no lock.
//
//go:nosplit
func (l *Lucce) lookup(n *layout.Interned) uint32 {
	return lookupIn(&l.internedFile, l.entries.base, n)
}

// lookupIn is lookup in a file of interned entries, with the base of its table.
//
//go:nosplit
func lookupIn(f *internedFile, base uintptr, n *layout.Interned) uint32 {
	if recent := f.recentOn(n.Parent); recent != nil {
		for k := memory.Load64(recent); k != 0; k >>= 32 {
			if *f.interned(uint32(k)) == *n {
				return uint32(k)
			}
		}
	}
	for h := hashInterned(n); ; h++ {
		i := memory.Load32(slot(base, h))
		if i == 0 {
			return 0
		}
		if *f.interned(i) == *n {
			f.noteRecent(n.Parent, i)
			return i
		}
	}
}

// intern returns the number of the entry with the contents of n.
func (l *Lucce) intern(n layout.Interned) uint32 {
	if n.Parent == l.maxNum-1 {
		return l.Cut()
	}
	if i := l.lookup(&n); i != 0 {
		return i
	}
	i, ok := l.internIn(&l.internedFile, &l.entries, &n)
	if !ok {
		return l.Cut()
	}
	return i
}

// internIn returns the number of an entry that is new in a file of interned entries. ok is false if there is no room
// for it.
func (l *Lucce) internIn(f *internedFile, entries *table, n *layout.Interned) (i uint32, ok bool) {
	i = uint32(f.internedUsed)
	if i >= l.budget || !f.internedRoom(i) ||
		!entries.grow(&l.mem, func(i uint32) uint32 { return hashInterned(f.interned(i)) }) {
		return 0, false
	}
	f.addInterned(n)
	put(entries.base, hashInterned(n), i)
	entries.num++
	f.noteRecent(n.Parent, i)
	return i, true
}

// Root returns the pair of the function with the ID target and the index t that begins a goroutine,
// or that a root calls. from is the ID of the go statement, or the number of a root and 0. below is the version of
// the frame on whose stack the root has its own, 0 if there is none: that keeps its ccStack.
func (l *Lucce) Root(from [2]uint64, below, target uint64, t uint32) (id, version uint64) {
	if t == 0 && !layout.IsFault(target) {
		return l.cut(below) // there was no room for the function
	}
	kind, place, c, v := l.fromOf(from)
	id, version = l.Begin(PairStack{}, kind, place, target, t, c, uint64(v))
	return id, below&^layout.VersionNumber | version
}

// fromOf takes apart what a goroutine began with.
//
//go:nosplit
func (l *Lucce) fromOf(from [2]uint64) (kind uint32, place, c uint64, v uint32) {
	if from[1] == 0 {
		return layout.InternRoot, from[0], 0, 0
	}
	place = l.text + from[1]&(1<<layout.IDPCBits-1)
	return layout.InternGo, place, from[0]&(1<<layout.IDIdBits-1) | from[1]>>layout.IDEpoch<<layout.IDIdBits,
		uint32(from[0] >> 32)
}

// TryRoot is Root for a path that has begun there before. It needs no lock. ok is false if Root
// must be called.
//
//go:nosplit
func (l *Lucce) TryRoot(from [2]uint64, data uintptr) (id, version uint64, ok bool) {
	t := uint32(dataAt(data).Index)
	kind, place, c, v := l.fromOf(from)
	if t == 0 || c >= layout.IDLost || l.rows[t].begin == 0 {
		return 0, 0, false
	}
	n := paired(v, c, kind, place, dataAt(data).Func)
	if i := l.lookup(&n); i != 0 {
		return l.rows[t].begin - 1, uint64(i), true
	}
	return 0, 0, false
}

// Called returns the pair of the function with the given data, called from the frame f, with the pair c, v.
func (l *Lucce) Called(st PairStack, f *Frame, data uintptr, c, v uint64) (id, version uint64) {
	if s, ok := l.cell(f); ok {
		return l.Call(st, s, data, c, v)
	}
	t := uint32(dataAt(data).Index)
	if t == 0 {
		return l.cut(v) // there was no room for the function
	}
	kind := uint32(layout.InternCall)
	if f.Site < 0 {
		kind = layout.InternFault
	}
	return l.Begin(st, kind, uint64(f.PC), dataAt(data).Func, t, c, v)
}

// Down returns the pair of the first of the frames, innermost first, of which
// the second has the pair c, v. from and below are as for Root.
func (l *Lucce) Down(st PairStack, from [2]uint64, below uint64, frames []Walked, c, v uint64) (id, version uint64) {
	f := &frames[0]
	fault := layout.FaultID(uint64(f.PC))
	switch {
	case f.Func == 0 && f.Slot != 0:
		return l.cut(v) // there was no room for the function
	case len(frames) == 1 && f.Func != 0:
		return l.Root(from, below, l.ID(f.Func), f.Func)
	case len(frames) == 1:
		return l.Root(from, below, fault, 0)
	case f.Func != 0:
		return l.Called(st, &frames[1].Frame, l.funcs[f.Func].data, c, v)
	}
	// A function that calls nothing has no data. A fault in it stands for it.
	return l.Begin(st, layout.InternCall, uint64(frames[1].PC), fault, 0, c, v)
}

// Rewrite gives all frames of a goroutine new pairs, as Dacce.Rewrite gives them new words. from is as for Root.
func (l *Lucce) Rewrite(st PairStack, from [2]uint64, walk func(skip int) (frames []Walked, total int)) {
	c, v := uint64(0), uint64(0)
	rewrite(walk, func(frames []Walked) {
		c, v = l.Down(st, from, 0, frames, c, v)
		if f := &frames[0]; f.Slot != 0 {
			*pairAt(f.Slot) = layout.Pair{Version: v, ID: c}
		}
	})
}

// pairAt returns the pair whose id is at address slot.
func pairAt(slot uintptr) *layout.Pair {
	return (*layout.Pair)(unsafe.Add(unsafe.Pointer(nil), slot-unsafe.Offsetof(layout.Pair{}.ID)))
}

// TryCapture is CaptureID for what fits an ID on top of entries that are interned. It needs no lock.
//
//go:nosplit
func (l *Lucce) TryCapture(st PairStack, c, v uint64, pc uintptr) (hi, lo uint64, ok bool) {
	rel, n := uint64(pc)-l.text, uint32(v)
	if n == 0 {
		n = l.TryVersion(st, v)
	}
	if n == 0 && v != 0 || c>>(layout.IDIdBits+layout.IDEpochBits) != 0 || rel == 0 || rel>>layout.IDPCBits != 0 {
		return 0, 0, false
	}
	return uint64(n)<<32 | c&(1<<layout.IDIdBits-1), layout.IDMark | c>>layout.IDIdBits<<layout.IDEpoch | rel, true
}

// CaptureID returns the ID of the context in which an invocation with the pair c, v calls
// something that returns to pc.
func (l *Lucce) CaptureID(st PairStack, c, v uint64, pc uintptr) (hi, lo uint64) {
	n := l.Version(st, v)
	if hi, lo, ok := l.TryCapture(st, c, v, pc); ok {
		return hi, lo
	}
	if c < layout.IDLost {
		n = l.intern(paired(n, c, layout.InternAt, uint64(pc), 0))
	}
	return uint64(n) << 32, layout.IDMark
}

// Left returns the cell and the pair that the call in the frame f leaves for its callee. ok is false if the frame has
// no pair, or the call no cell.
func (l *Lucce) Left(f *Frame) (cell uintptr, pair layout.Pair, ok bool) {
	s, ok := l.cell(f)
	if !ok || f.Slot == 0 {
		return 0, pair, false
	}
	return l.av(s), *pairAt(f.Slot), true
}

// SiteOf returns the index of a frame's site among all sites; ok is false if it has no cell.
func (l *Lucce) SiteOf(f *Frame) (site uint32, ok bool) { return l.cell(f) }

// UsedLog returns the bytes of log that are in use.
func (l *Lucce) UsedLog() uint64 { return l.logUsed }
