package ids

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// A DacceNext is a Next of engines dacce and pcce. WriteEpoch is called while nobody re-encodes.
type DacceNext struct {
	next

	// EntryAt returns where the function begins that has an instruction at pc, 0 if none does.
	EntryAt func(pc uint64) uint64
	// ReturnOf returns an address that a call of a function returns to: that in a cell, of the function that begins at
	// entry; 0 if there is none.
	ReturnOf func(entry uint64, cell uint32) uint64

	d *Dacce

	// Of the segment that comes next; when that has begun, of the one before.
	epochs    memory.Span
	used      uint64 // bytes of epochs
	internals index

	// The epoch whose dictionary is loaded, and where the next one is on record. Of the one that is being loaded so
	// many functions and sites are still to come.
	epoch              uint32
	off                uint64
	loading            uint32 // its number, 0 for none
	left               [2]uint32
	damaged            bool // the dictionaries behind it are not known
	numFuncs, numSites uint32
	codes              []code   // by function
	adds               []uint32 // by site: the addition + 1, 0 for a site that is not encoded
	targets            []uint32 // by site: a function, or a key with targetKey
	callers, following []uint32 // by function or key: the first site that calls it, + 1; by site: the next one
	linked             bool     // they are of this epoch

	returns []uint32 // by site: how far behind the entry an address is that its call returns to, 0 if that is not known
	starts  []start  // contexts of go statements that were asked for last
	walks   [2]walk  // of StartPart, and of Start

	codeMem, addMem, targetMem, callerMem, followingMem, returnMem memory.Span
}

// targetKey marks a target that is a key.
const targetKey = 1 << 31

// A step is a call on the way to a context, or another way to enter a function.
type step struct {
	place, target uint64 // as in an Interned
	node          uint32 // the entry of the segment before that says it, 0 for none
	kind          uint32
}

// A start is a context of a go statement in the segment before, and the entry that it is on top of in the next one.
type start struct {
	hi, lo uint64
	node   uint32
}

// A walk is on its way from a context of the segment before to what is known of it in the next one, or back.
type walk struct {
	hi, lo  uint64  // the ID that was asked for; lo is 0 if the walk has ended
	first   context // of it
	c       context // how far it has come
	steps   []step  // from the innermost
	num     int     // of them
	to      uint32  // on the way back: the entry of the next segment for all that is further out; else 0
	lost    bool    // there was no room for the innermost steps: it must be walked once more
	learned int     // entries that are known by now
	stepMem memory.Span
}

const (
	mostSteps = 1 << 18
	numStarts = 1 << 16
)

// InitNext makes n ready to be the next segment of d. It is called once, when d is new.
func (d *Dacce) InitNext(n *DacceNext, shift uint) {
	n.d = d
	n.init(d.Contexts, shift)
	n.codes = tableOf[code](&d.mem, &n.codeMem, d.max.funcs)
	n.adds = tableOf[uint32](&d.mem, &n.addMem, d.max.sites)
	n.targets = tableOf[uint32](&d.mem, &n.targetMem, d.max.sites)
	n.callers = tableOf[uint32](&d.mem, &n.callerMem, d.max.funcs+layout.NumKeys)
	n.following = tableOf[uint32](&d.mem, &n.followingMem, d.max.sites)
	n.returns = tableOf[uint32](&d.mem, &n.returnMem, d.max.sites)
	for i := range n.walks {
		n.walks[i].steps = tableOf[step](&d.mem, &n.walks[i].stepMem, scaled(mostSteps, shift))
	}
	if p := d.mem.Alloc(numStarts * unsafe.Sizeof(start{})); p != nil {
		n.starts = unsafe.Slice((*start)(p), numStarts)
	}
}

// Count implements Next.
func (n *DacceNext) Count() { n.numFuncs, n.numSites = n.d.numFuncs, n.d.numSites }

// Begin implements Next.
func (n *DacceNext) Begin(head unsafe.Pointer, nodes, epochs memory.Span, run uint64) bool {
	d := n.d
	n.epochs, n.used = epochs, 0
	of := &n.begin(head, nodes, run).Dacce
	of.EpochsUsed, of.Epoch, of.Encodes, of.EncodeTime, of.MaxPause, of.Rewrites = 0, 0, 0, 0, 0, 0
	of.Pushes, of.Depths, of.MaxDepth = 0, 0, 0
	if !needs(&n.codeMem, n.codes, n.numFuncs) || !needs(&n.addMem, n.adds, n.numSites) ||
		!needs(&n.targetMem, n.targets, n.numSites) || !needs(&n.followingMem, n.following, n.numSites) ||
		!needs(&n.returnMem, n.returns, n.numSites) ||
		!needs(&n.callerMem, n.callers, d.max.funcs+layout.NumKeys) || n.starts == nil || n.head == nil {
		return false
	}
	n.walks[0].lo = 0
	n.reset()
	return n.other.internedRoom(0)
}

// reset loads epoch 0.
func (n *DacceNext) reset() {
	clear(n.codes[:n.numFuncs])
	clear(n.adds[:n.numSites])
	n.epoch, n.off, n.loading, n.linked, n.damaged = 0, 0, 0, false, false
}

// Former implements Next.
func (n *DacceNext) Former() (nodes, epochs uint64) { return n.other.UsedInterned(), n.used }

// WriteEpoch writes the first dictionary of the next segment, which has all of the current epoch. It reports false if
// there is no room for it. It calls rest now and then.
func (n *DacceNext) WriteEpoch(now uint64, rest func()) bool {
	const piece = 1 << 12
	d := n.d
	w := epochWriter{mem: &n.epochs}
	if rec := w.at(layout.EpochSize); rec != nil {
		*(*layout.Epoch)(rec) = layout.Epoch{Epoch: 1, Time: now, MaxID: uint32(d.Header().MaxID)}
	}
	var funcs, sites uint32
	for f := uint32(1); f < n.numFuncs; f++ {
		if d.codes[f] != (code{}) {
			w.function(d, f, d.codes[f])
			funcs++
		}
		if f%piece == 0 {
			rest()
		}
	}
	for s := range n.numSites {
		if s%piece == 0 {
			rest()
		}
		c := &d.calls[s]
		if c.add == layout.NoAddition {
			continue
		}
		target := uint64(c.target)
		if !c.keyed {
			target = d.ID(c.target)
		}
		w.site(d, s, c.add, target)
		sites++
	}
	if !w.end(funcs, sites) {
		return false
	}
	n.used = w.off
	n.other.Header().Dacce.EpochsUsed = w.off
	n.other.Header().Dacce.Epoch = 1
	return true
}

// Complete implements Next: all was written by WriteEpoch.
func (n *DacceNext) Complete() bool { return true }

// Switch implements Next.
func (n *DacceNext) Switch(now, before uint64) {
	d := n.d
	d.pushed += d.Stats().Pushes
	n.switchTo(now, before)
	d.internals, n.internals = n.internals, d.internals
	d.epochs, n.epochs = n.epochs, d.epochs
	d.epochsUsed, n.used = n.used, d.epochsUsed
	d.epoch = 1
}

// epochsBefore returns the dictionaries of the segment before, and how many bytes these have.
func (n *DacceNext) epochsBefore() (epochs *memory.Span, used uint64) {
	if n.begun {
		return &n.epochs, n.used
	}
	return &n.d.epochs, n.d.epochsUsed
}

// End implements Next.
func (n *DacceNext) End(rest func()) {
	n.end(rest)
	clearSlowly(unsafe.Slice((*uint32)(n.internals.slots), n.internals.size()), rest)
	n.internals.num = 0
	clear(n.starts)
}

// Load implements Next.
func (n *DacceNext) Load(epoch uint32, some int) bool {
	if epoch < n.epoch || epoch == n.epoch && n.loading != 0 {
		n.reset()
	}
	epochs, used := n.epochsBefore()
	for ; n.epoch < epoch && !n.damaged; some-- {
		if some <= 0 {
			return false
		}
		switch {
		case n.loading == 0:
			n.loadHead(epochs, used)
		case n.left[0] > 0:
			n.left[0]--
			n.loadFunc((*layout.EpochFunc)(epochs.At(n.off)))
			n.off += layout.EpochFuncSize
		case n.left[1] > 0:
			n.left[1]--
			n.loadSite((*layout.EpochSite)(epochs.At(n.off)))
			n.off += layout.EpochSiteSize
		default:
			n.epoch, n.loading = n.loading, 0
		}
	}
	return true
}

// loadHead begins to load the next epoch. All that is read here may be zero, where a page was lost.
func (n *DacceNext) loadHead(epochs *memory.Span, used uint64) {
	n.linked = false
	h := (*layout.Epoch)(epochs.At(n.off))
	if n.off+layout.EpochSize > used || h.Epoch != n.epoch+1 || uint64(h.Length) > used-n.off ||
		uint64(h.Length) != layout.EpochSize+layout.EpochFuncSize*uint64(h.Funcs)+layout.EpochSiteSize*uint64(h.Sites) {
		n.damaged = true
		return
	}
	n.loading, n.left = h.Epoch, [2]uint32{h.Funcs, h.Sites}
	n.off += layout.EpochSize
}

func (n *DacceNext) loadFunc(e *layout.EpochFunc) {
	n.damaged = n.damaged || e.NumCC == 0
	if f, ok := n.function(e.Func); ok {
		n.codes[f] = code{e.Key, e.NumCC}
	}
}

func (n *DacceNext) loadSite(e *layout.EpochSite) {
	n.damaged = n.damaged || e.Target == 0 && e.Addition != layout.NoAddition
	f, ok := n.function(e.Func)
	if !ok || e.Cell >= n.d.funcs[f].cells {
		return
	}
	s := n.d.funcs[f].sites + e.Cell
	if n.adds[s] = e.Addition + 1; e.Addition == layout.NoAddition { // then it is 0
		return
	}
	n.targets[s] = uint32(e.Target) | targetKey
	if e.Target >= layout.NumKeys {
		if n.targets[s], ok = n.function(e.Target); !ok {
			n.adds[s] = 0
		}
	}
}

// function returns the index of the function with the given ID. ok is false if a page was lost.
func (n *DacceNext) function(id uint64) (f uint32, ok bool) {
	if id == 0 {
		n.damaged = true
		return 0, false
	}
	f = n.d.Entered(uintptr(metaAt(id).Entry))
	return f, f != 0 && f < n.numFuncs
}

// link finds the sites that call each function, or have each key, in the epoch that is loaded.
func (n *DacceNext) link() {
	if n.linked {
		return
	}
	n.linked = true
	keys := n.d.max.funcs
	clear(n.callers[:n.numFuncs])
	clear(n.callers[keys : keys+layout.NumKeys])
	for s := range n.numSites {
		if n.adds[s] == 0 {
			continue
		}
		at := n.targets[s]
		if at&targetKey != 0 {
			at = keys + at&^targetKey
		}
		n.following[s], n.callers[at] = n.callers[at], s+1
	}
}

// caller returns the site by which function f was called in the context id, and the id of the caller's context.
func (n *DacceNext) caller(f, id uint32) (s, callers uint32, ok bool) {
	if f >= n.numFuncs {
		return 0, 0, false
	}
	n.link()
	heads := [...]uint32{f, f}
	if key := n.codes[f].key; key != 0 && key < layout.NumKeys {
		heads[1] = n.d.max.funcs + key
	}
	for i, head := range heads {
		if i == 1 && head == f {
			break
		}
		for at := n.callers[head]; at != 0; at = n.following[at-1] {
			if rest := id - (n.adds[at-1] - 1); rest < n.codes[n.d.sites[at-1].caller].num && id >= n.adds[at-1]-1 {
				return at - 1, rest, true
			}
		}
	}
	return 0, 0, false
}

// Start implements Next.
func (n *DacceNext) Start(hi, lo uint64) (newHi, newLo uint64) {
	known := &n.starts[mix(hi, lo)%numStarts]
	if known.hi != hi || known.lo != lo {
		w := &n.walks[1]
		for n.beginWalk(w, hi, lo); !n.walk(w, 1<<30); {
		}
	}
	node := known.node
	if known.hi != hi || known.lo != lo { // it had no room
		node = n.d.maxNum - 1
	}
	return uint64(node) << 32, 1<<layout.IDEpoch | lo&(1<<layout.IDEpoch-1)
}

// StartPart implements Next.
func (n *DacceNext) StartPart(hi, lo uint64, some int) bool {
	if known := &n.starts[mix(hi, lo)%numStarts]; known.hi == hi && known.lo == lo {
		return true
	}
	w := &n.walks[0]
	if w.hi != hi || w.lo != lo {
		n.beginWalk(w, hi, lo)
	}
	return n.walk(w, some)
}

// Lost implements Next.
func (n *DacceNext) Lost(_, lo uint64) (newHi, newLo uint64) {
	node := n.d.intern(0, 0, layout.InternCut, layout.CutSegment, 0)
	return uint64(node) << 32, 1<<layout.IDEpoch | lo&(1<<layout.IDEpoch-1)
}

// beginWalk begins a walk from a context of the segment before.
func (n *DacceNext) beginWalk(w *walk, hi, lo uint64) {
	w.hi, w.lo, w.num, w.to, w.lost, w.learned = hi, lo, 0, 0, false, 0
	c := context{epoch: uint32(lo >> layout.IDEpoch), id: uint32(hi), node: uint32(hi >> 32)}
	if rel := lo & (1<<layout.IDPCBits - 1); rel != 0 {
		w.first = n.at(c, n.d.text+rel, layout.InternGo)
	} else if f := n.before(); uint64(c.node) < f.internedUsed && f.interned(c.node).Kind == layout.InternAt {
		e := f.interned(c.node)
		w.first = n.at(context{epoch: e.Epoch, id: e.ID, node: e.Parent}, e.Place, layout.InternGo)
	} else {
		w.to = n.cut() // it is cut there
	}
	w.c = w.first
}

// walk takes some steps of a walk, and reports whether it has ended. Then Start knows what it has found.
func (n *DacceNext) walk(w *walk, some int) bool {
	for ; some > 0; some-- {
		switch {
		case w.to == 0:
			n.out(w, &some)
		case w.num > 0:
			w.num--
			n.back(w)
		case w.lost && w.learned > 0:
			w.c, w.to, w.lost, w.learned = w.first, 0, false, 0
		default:
			n.endWalk(w)
			return true
		}
	}
	return false
}

// endWalk ends a walk.
func (n *DacceNext) endWalk(w *walk) {
	if w.lost { // the innermost steps, in which no entry is met
		w.to = n.cut()
	}
	old := n.before()
	if node := w.hi >> 32; w.lo&(1<<layout.IDPCBits-1) == 0 && node < old.internedUsed && w.to < n.d.maxNum-1 {
		if e := old.interned(uint32(node)); e.Kind == layout.InternAt {
			w.to = n.intern(layout.Interned{Parent: w.to, Kind: layout.InternAt, Place: e.Place})
		}
	}
	if w.to < n.d.maxNum-1 {
		n.starts[mix(w.hi, w.lo)%numStarts] = start{w.hi, w.lo, w.to}
	}
	w.lo = 0
}

// A context is that of a function in the segment before.
type context struct {
	epoch, id, node uint32
	target          uint64 // the function's ID, or that of a fault in it
	f               uint32 // its index, 0 if it has none
}

// at gives the context of what calls, or fails, at a place its function.
func (n *DacceNext) at(c context, place uint64, kind uint32) context {
	pc := place
	if kind != layout.InternFault {
		pc-- // a call may be the last instruction of its function
	}
	c.target = layout.FaultID(pc)
	if c.f = n.d.Entered(uintptr(n.EntryAt(pc))); c.f != 0 {
		c.target = n.d.ID(c.f)
	}
	return c
}

// out takes a step outwards, unless it has to load an epoch first and that takes more steps than some.
//
// The way ends at an entry that is known in the next segment, at a root, or where a context cannot be decoded: there
// the outer part is cut.
func (n *DacceNext) out(w *walk, some *int) {
	c := &w.c
	old := n.before()
	if uint64(c.node) >= old.internedUsed {
		w.to = n.cut()
		return
	}
	e := old.interned(c.node)
	if c.id != 0 || c.node == 0 || e.Kind == layout.InternAt || e.Kind != layout.InternCut && e.Target != c.target {
		if c.id == 0 && c.node != 0 && e.Kind == layout.InternCall && e.Place == 0 {
			w.to = n.cut() // its page was lost
			return
		}
		n.throughEdge(w, some)
		return
	}
	if w.to = n.movedTo(c.node); w.to != 0 {
		return
	}
	if e.Kind == layout.InternCut {
		w.to = n.intern(layout.Interned{Kind: layout.InternCut, Place: e.Place})
		return
	}
	if e.Kind == layout.InternRoot {
		w.to = n.intern(layout.Interned{Kind: e.Kind, Place: e.Place, Target: e.Target})
		n.learn(w, c.node)
		return
	}
	from, place := e, e.Place
	if e.Kind == layout.InternGo && uint64(e.Parent) < old.internedUsed && e.Parent != 0 {
		if p := old.interned(e.Parent); p.Kind == layout.InternAt { // it has the address of the go statement
			place, from = p.Place, p
		}
	}
	if n.add(w, step{place: place, target: e.Target, node: c.node, kind: e.Kind}) {
		*c = n.at(context{epoch: from.Epoch, id: from.ID, node: from.Parent}, place, e.Kind)
	}
}

// add adds a step to a walk. Where there is no room for one more, those before it are lost. Without any room it cuts
// the outer part, and returns false.
func (n *DacceNext) add(w *walk, s step) bool {
	if w.num == len(w.steps) || !needs(&w.stepMem, w.steps, uint32(w.num+1)) {
		w.num, w.lost = 0, true
		if !needs(&w.stepMem, w.steps, 1) {
			w.to = n.cut()
			return false
		}
	}
	w.steps[w.num] = s
	w.num++
	return true
}

// back takes a step inwards: the call of step number w.num.
func (n *DacceNext) back(w *walk) {
	s := &w.steps[w.num]
	w.to = n.intern(layout.Interned{Parent: w.to, Kind: s.kind, Place: s.place, Target: s.target})
	if s.node != 0 {
		n.learn(w, s.node)
	}
}

// learn notes which entry of the next segment an entry of the one before is.
func (n *DacceNext) learn(w *walk, node uint32) {
	if n.move(node, w.to) {
		w.learned++
	}
}

// throughEdge makes the context its caller's, and notes the call, if an edge leads to it that was encoded. Else the
// outer part is cut. Where it has to load an epoch first, and that takes more steps than some, nothing changes.
func (n *DacceNext) throughEdge(w *walk, some *int) {
	c := &w.c
	if c.f == 0 {
		w.to = n.cut()
		return
	}
	if n.epoch != c.epoch || n.loading != 0 {
		if !n.Load(c.epoch, *some) {
			*some = 0
			return
		}
	}
	s, id, ok := n.caller(c.f, c.id)
	place := uint64(0)
	if ok && n.epoch == c.epoch {
		place = n.returnOf(s)
	}
	if place == 0 {
		w.to = n.cut()
		return
	}
	if n.add(w, step{place: place, target: c.target, kind: layout.InternCall}) {
		from := n.d.sites[s].caller
		c.id, c.f, c.target = id, from, n.d.ID(from)
	}
}

// returnOf returns an address that the call at a site returns to, 0 if there is none.
func (n *DacceNext) returnOf(s uint32) uint64 {
	from := n.d.sites[s]
	entry := uint64(n.d.funcs[from.caller].entry)
	if n.returns[s] == 0 {
		if at := n.ReturnOf(entry, from.cell); at > entry {
			n.returns[s] = uint32(at - entry)
		}
	}
	if n.returns[s] == 0 {
		return 0
	}
	return entry + uint64(n.returns[s])
}

// cut returns the entry for what the next segment does not know.
func (n *DacceNext) cut() uint32 {
	return n.intern(layout.Interned{Kind: layout.InternCut, Place: layout.CutSegment})
}

// intern returns the number of an entry of the next segment, in its first epoch.
func (n *DacceNext) intern(e layout.Interned) uint32 {
	e.Epoch = 1
	f, internals := &n.d.internedFile, &n.d.internals
	if !n.begun {
		f, internals = &n.other, &n.internals
	}
	i, ok := n.d.internIn(f, internals, &e)
	if !ok {
		return n.noRoom()
	}
	return i
}
