package ids

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// # Segments
//
// A segment of context IDs is a record as any other, with a run number of its own. Edges, weights and the ids that code
// adds up stay when one ends, so that nothing is learned anew. Numbers of interned entries and of epochs begin anew.
//
// What a goroutine keeps over the end is where it began: the ID of its go statement, which the new segment cannot
// decode. So that context is decoded, by the epoch that it is of, and interned in the new segment, call by call. No id
// is in it, and so no epoch needs to be on record for it.

// A Next is the segment that comes next, and later the one that has begun last. It knows what contexts of the one
// before are in it.
//
// Count, Load, Start and Lost need the lock of the Contexts. The rest does not: Begin, WriteEpoch and End are called
// while nobody re-encodes, Switch while the world is stopped.
type Next struct {
	// EntryAt returns where the function begins that has an instruction at pc, 0 if none does.
	EntryAt func(pc uint64) uint64
	// ReturnOf returns an address that a call of a function returns to: that in a cell, of the function that begins at
	// entry; 0 if there is none.
	ReturnOf func(entry uint64, cell uint32) uint64

	d *Dacce

	// The segment that comes next; when that has begun, the one before.
	other     internedFile
	epochs    memory.Span
	used      uint64 // bytes of epochs
	internals index
	begun     bool

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
	moved   []uint32 // by entry of the segment before: its number in the next one, 0 if it is not there yet
	starts  []start  // contexts of go statements that were asked for last
	walks   [2]walk  // of StartPart, and of Start
	failed  bool     // an entry had no room
	head    []byte   // a copy of both pages of cce

	codeMem, addMem, targetMem, callerMem, followingMem, returnMem, movedMem memory.Span
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
func (d *Dacce) InitNext(n *Next, shift uint) {
	n.d = d
	n.other = internedFile{maxNum: d.maxNum,
		recent: d.mem.Array(layout.InternedBytes/layout.InternedSize>>shift, unsafe.Sizeof(*d.recentOn(0)))}
	n.codes = tableOf[code](&d.mem, &n.codeMem, d.max.funcs)
	n.adds = tableOf[uint32](&d.mem, &n.addMem, d.max.sites)
	n.targets = tableOf[uint32](&d.mem, &n.targetMem, d.max.sites)
	n.callers = tableOf[uint32](&d.mem, &n.callerMem, d.max.funcs+layout.NumKeys)
	n.following = tableOf[uint32](&d.mem, &n.followingMem, d.max.sites)
	n.moved = tableOf[uint32](&d.mem, &n.movedMem, uint32(layout.InternedBytes/layout.InternedSize>>shift))
	n.returns = tableOf[uint32](&d.mem, &n.returnMem, d.max.sites)
	for i := range n.walks {
		n.walks[i].steps = tableOf[step](&d.mem, &n.walks[i].stepMem, scaled(mostSteps, shift))
	}
	if p, head := d.mem.Alloc(numStarts*unsafe.Sizeof(start{})), d.mem.Alloc(layout.ContextsSize); head != nil {
		n.starts = unsafe.Slice((*start)(p), numStarts)
		n.head = unsafe.Slice((*byte)(head), layout.ContextsSize)
		n.keepHead()
	}
}

// Count notes what is known of functions, for Begin and WriteEpoch.
func (n *Next) Count() { n.numFuncs, n.numSites = n.d.numFuncs, n.d.numSites }

// Begin makes n the segment that comes next, with the run number run, in head and in the files nodes and epochs, whose
// memory is zero. It reports whether there is memory.
func (n *Next) Begin(head unsafe.Pointer, nodes, epochs memory.Span, run uint64) bool {
	d := n.d
	n.other.head, n.other.internedMem, n.other.internedUsed = head, nodes, 1
	n.epochs, n.used, n.begun = epochs, 0, false
	n.keepHead()
	h := (*layout.Header)(head)
	copy(unsafe.Slice((*byte)(head), layout.ContextsSize)[len(h.Magic):], n.head[len(h.Magic):])
	pages := h.Lost[layout.LostPages] // of function records, which are copied as they are
	h.Run, h.Lost = run, [len(h.Lost)]uint64{layout.LostPages: pages}
	c := n.other.Header()
	c.NodesUsed, c.Slow, c.Truncated = 1, 0, 0
	of := &c.Dacce
	of.EpochsUsed, of.Epoch, of.Encodes, of.EncodeTime, of.MaxPause, of.Rewrites = 0, 0, 0, 0, 0, 0
	of.Pushes, of.Depths, of.MaxDepth = 0, 0, 0
	if !needs(&n.codeMem, n.codes, n.numFuncs) || !needs(&n.addMem, n.adds, n.numSites) ||
		!needs(&n.targetMem, n.targets, n.numSites) || !needs(&n.followingMem, n.following, n.numSites) ||
		!needs(&n.returnMem, n.returns, n.numSites) ||
		!needs(&n.callerMem, n.callers, d.max.funcs+layout.NumKeys) || n.starts == nil {
		return false
	}
	n.failed, n.walks[0].lo = false, 0
	n.reset()
	return n.other.internedRoom(0)
}

// keepHead keeps a copy of the header, unless it is on a lost page.
func (n *Next) keepHead() {
	if is := (*layout.Header)(n.d.head); string(is.Magic[:]) == layout.Magic && n.d.Header().Text != 0 {
		copy(n.head, unsafe.Slice((*byte)(n.d.head), layout.ContextsSize))
	}
}

// Failed reports whether there was no room for an entry of the next segment, which has not begun. It needs the lock.
func (n *Next) Failed() bool { return n.failed }

// reset loads epoch 0.
func (n *Next) reset() {
	clear(n.codes[:n.numFuncs])
	clear(n.adds[:n.numSites])
	n.epoch, n.off, n.loading, n.linked, n.damaged = 0, 0, 0, false, false
}

// Ready makes what was prepared a record, to those who find its files.
func (n *Next) Ready() {
	h := (*layout.Header)(n.other.head)
	copy(h.Magic[:], layout.Magic)
}

// Former returns how many bytes of interned entries and of dictionaries the segment before has.
func (n *Next) Former() (nodes, epochs uint64) { return n.other.UsedInterned(), n.used }

// WriteEpoch writes the first dictionary of the next segment, which has all of the current epoch. It reports false if
// there is no room for it. It calls rest now and then.
func (n *Next) WriteEpoch(now uint64, rest func()) bool {
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

// Switch makes the next segment begin, at a time in nanoseconds since 1970, which so many were before. The recorder
// writes its header from now on. Nothing that is instrumented may run, and all goroutines must get new words, as when a
// re-encoding is published.
func (n *Next) Switch(now, before uint64) {
	d := n.d
	d.pushed += d.Stats().Pushes
	h := (*layout.Header)(n.other.head)
	h.FuncsUsed = d.rec.UsedFuncs()
	h.Segment, h.Began, h.Ended = before+1, now, 0
	ended := (*layout.Header)(d.head)
	ended.Segment, ended.Ended = before, now
	was, is := d.Header(), n.other.Header()
	is.Functions, is.Edges = was.Functions, was.Edges // more may have come
	d.internedFile, n.other = n.other, d.internedFile
	d.internals, n.internals = n.internals, d.internals
	d.epochs, n.epochs = n.epochs, d.epochs
	d.epochsUsed, n.used = n.used, d.epochsUsed
	d.epoch = 1
	n.begun = true
}

// before returns the interned entries and the dictionaries of the segment before, and how many bytes these have.
func (n *Next) before() (f *internedFile, epochs *memory.Span, used uint64) {
	if n.begun {
		return &n.other, &n.epochs, n.used
	}
	return &n.d.internedFile, &n.d.epochs, n.d.epochsUsed
}

// End forgets the segment before, or what was prepared for the next one. Its files may be gone. It calls rest now and
// then.
func (n *Next) End(rest func()) {
	const piece = 1 << 16
	for _, words := range [...][]uint32{
		unsafe.Slice((*uint32)(n.other.recent.At(0)), n.other.recent.Usable()/4),
		n.moved[:min(n.movedMem.Usable()/4, uint64(len(n.moved)))],
		unsafe.Slice((*uint32)(n.internals.slots), n.internals.size()),
	} {
		for len(words) > 0 {
			some := min(len(words), piece)
			clear(words[:some])
			words = words[some:]
			rest()
		}
	}
	n.internals.num = 0
	clear(n.starts)
}

// Load loads an epoch of the segment before, or some functions and sites of it, and reports whether it has done.
func (n *Next) Load(epoch uint32, some int) bool {
	if epoch < n.epoch || epoch == n.epoch && n.loading != 0 {
		n.reset()
	}
	_, epochs, used := n.before()
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
func (n *Next) loadHead(epochs *memory.Span, used uint64) {
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

func (n *Next) loadFunc(e *layout.EpochFunc) {
	n.damaged = n.damaged || e.NumCC == 0
	if f, ok := n.function(e.Func); ok {
		n.codes[f] = code{e.Key, e.NumCC}
	}
}

func (n *Next) loadSite(e *layout.EpochSite) {
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
func (n *Next) function(id uint64) (f uint32, ok bool) {
	if id == 0 {
		n.damaged = true
		return 0, false
	}
	f = n.d.Entered(uintptr(metaAt(id).Entry))
	return f, f != 0 && f < n.numFuncs
}

// link finds the sites that call each function, or have each key, in the epoch that is loaded.
func (n *Next) link() {
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
func (n *Next) caller(f, id uint32) (s, callers uint32, ok bool) {
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

// Start returns the ID that the context of a go statement, which the segment before knows by hi and lo, has in the next
// one. It takes as long as it takes: mostly StartPart has been there before, or a start with the same context.
func (n *Next) Start(hi, lo uint64) (newHi, newLo uint64) {
	known := &n.starts[mix(hi, lo)%numStarts]
	if known.hi != hi || known.lo != lo {
		w := &n.walks[1]
		for n.begin(w, hi, lo); !n.walk(w, 1<<30); {
		}
	}
	node := known.node
	if known.hi != hi || known.lo != lo { // it had no room
		node = n.d.maxNum - 1
	}
	return uint64(node) << 32, 1<<layout.IDEpoch | lo&(1<<layout.IDEpoch-1)
}

// StartPart makes Start find the context at once, or does some of the work for that, and reports whether it has done.
func (n *Next) StartPart(hi, lo uint64, some int) bool {
	if known := &n.starts[mix(hi, lo)%numStarts]; known.hi == hi && known.lo == lo {
		return true
	}
	w := &n.walks[0]
	if w.hi != hi || w.lo != lo {
		n.begin(w, hi, lo)
	}
	return n.walk(w, some)
}

// Lost is Start where the segment before that of the go statement is forgotten: what is further out is cut.
func (n *Next) Lost(lo uint64) (newHi, newLo uint64) {
	node := n.d.intern(0, 0, layout.InternCut, layout.CutSegment, 0)
	return uint64(node) << 32, 1<<layout.IDEpoch | lo&(1<<layout.IDEpoch-1)
}

// begin begins a walk from a context of the segment before.
func (n *Next) begin(w *walk, hi, lo uint64) {
	w.hi, w.lo, w.num, w.to, w.lost, w.learned = hi, lo, 0, 0, false, 0
	c := context{epoch: uint32(lo >> layout.IDEpoch), id: uint32(hi), node: uint32(hi >> 32)}
	if rel := lo & (1<<layout.IDPCBits - 1); rel != 0 {
		w.first = n.at(c, n.d.text+rel, layout.InternGo)
	} else if f, _, _ := n.before(); uint64(c.node) < f.internedUsed && f.interned(c.node).Kind == layout.InternAt {
		e := f.interned(c.node)
		w.first = n.at(context{epoch: e.Epoch, id: e.ID, node: e.Parent}, e.Place, layout.InternGo)
	} else {
		w.to = n.cut() // it is cut there
	}
	w.c = w.first
}

// walk takes some steps of a walk, and reports whether it has ended. Then Start knows what it has found.
func (n *Next) walk(w *walk, some int) bool {
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
			n.end(w)
			return true
		}
	}
	return false
}

// end ends a walk.
func (n *Next) end(w *walk) {
	if w.lost { // the innermost steps, in which no entry is met
		w.to = n.cut()
	}
	old, _, _ := n.before()
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
func (n *Next) at(c context, place uint64, kind uint32) context {
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
func (n *Next) out(w *walk, some *int) {
	c := &w.c
	old, _, _ := n.before()
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
func (n *Next) add(w *walk, s step) bool {
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
func (n *Next) back(w *walk) {
	s := &w.steps[w.num]
	w.to = n.intern(layout.Interned{Parent: w.to, Kind: s.kind, Place: s.place, Target: s.target})
	if s.node != 0 {
		n.learn(w, s.node)
	}
}

// learn notes which entry of the next segment an entry of the one before is.
func (n *Next) learn(w *walk, node uint32) {
	if w.to < n.d.maxNum-1 && needs(&n.movedMem, n.moved, node+1) {
		n.moved[node] = w.to
		w.learned++
	}
}

// throughEdge makes the context its caller's, and notes the call, if an edge leads to it that was encoded. Else the
// outer part is cut. Where it has to load an epoch first, and that takes more steps than some, nothing changes.
func (n *Next) throughEdge(w *walk, some *int) {
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
func (n *Next) returnOf(s uint32) uint64 {
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

func (n *Next) movedTo(node uint32) uint32 {
	if uint64(node+1)*uint64(unsafe.Sizeof(node)) > n.movedMem.Usable() {
		return 0
	}
	return n.moved[node]
}

// cut returns the entry for what the next segment does not know.
func (n *Next) cut() uint32 {
	return n.intern(layout.Interned{Kind: layout.InternCut, Place: layout.CutSegment})
}

// intern returns the number of an entry of the next segment, in its first epoch.
func (n *Next) intern(e layout.Interned) uint32 {
	e.Epoch = 1
	f, internals := &n.d.internedFile, &n.d.internals
	if !n.begun {
		f, internals = &n.other, &n.internals
	}
	i, ok := n.d.internIn(f, internals, &e)
	if ok {
		return i
	}
	n.failed = true
	if n.begun {
		return n.d.Cut()
	}
	return n.d.maxNum - 1
}
