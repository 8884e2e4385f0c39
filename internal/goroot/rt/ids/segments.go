package ids

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// # Segments
//
// A segment of context IDs is a record as any other, with a run number of its own. Edges, weights, steps and the ids
// that code makes stay when one ends, so that nothing is learned anew. Numbers of interned entries begin anew, and with
// dacce those of epochs.
//
// What a goroutine keeps over the end is where it began: the ID of its go statement, which the new segment cannot
// decode. With dacce that context is decoded, by the epoch that it is of, and interned in the new segment, call by
// call. No id is in it, and so no epoch needs to be on record for it. With lucce the new segment has the whole log, and
// the entries that lead to that context are copied. The frames get new words, or pairs, when the goroutine goes on.

// A Next is the segment that comes next, and later the one that has begun last. It knows what contexts of the one
// before are in it.
//
// Count, Load, Start, StartPart, Lost and Complete need the lock of the Contexts. The rest does not: Begin and End are
// called while nobody re-encodes, Switch while the world is stopped.
type Next interface {
	// Count notes what is known of functions, for what is prepared.
	Count()
	// Begin prepares the segment that comes next, with the run number run, in head and in the file nodes and that which
	// says how ids are encoded, whose memory is zero. It reports whether there is memory.
	Begin(head unsafe.Pointer, nodes, encoding memory.Span, run uint64) bool
	// Ready makes what was prepared a record, to those who find its files. It has so many bytes of function records.
	Ready(funcs uint64)
	// Failed reports whether there was no room for an entry of the next segment, which has not begun.
	Failed() bool
	// Load loads an epoch of the segment before, or some functions and sites of it, and reports whether it has done.
	Load(epoch uint32, some int) bool
	// Start returns the ID that the context of a go statement, which the segment before knows by hi and lo, has in the
	// next one. It takes as long as it takes: mostly StartPart has been there before, or a start with the same context.
	Start(hi, lo uint64) (newHi, newLo uint64)
	// StartPart makes Start find the context at once, or does some of the work for that, and reports whether it has
	// done.
	StartPart(hi, lo uint64, some int) bool
	// Lost is Start where the segment before that of the go statement is forgotten: what is further out is cut.
	Lost(hi, lo uint64) (newHi, newLo uint64)
	// Complete makes what was prepared say how all ids are encoded that there are. It reports false if there is no
	// room.
	Complete() bool
	// Switch makes the next segment begin, at a time in nanoseconds since 1970, which so many were before. The recorder
	// writes its header from now on. Nothing that is instrumented may run, and all goroutines must get new words, or
	// pairs, as when a re-encoding is published.
	Switch(now, before uint64)
	// Former returns how many bytes of interned entries, and of how ids are encoded, the segment before has.
	Former() (nodes, encoding uint64)
	// End forgets the segment before, or what was prepared for the next one. Its files may be gone. It calls rest now
	// and then.
	End(rest func())
}

// next is what each Next has: the header and the interned entries.
type next struct {
	contexts *Contexts
	other    internedFile // the segment that comes next; when that has begun, the one before
	begun    bool
	failed   bool     // an entry had no room
	head     []byte   // a copy of both pages of cce
	moved    []uint32 // by entry of the segment before: its number in the next one, 0 if it is not there yet
	movedMem memory.Span
}

// init makes n ready. It is called once, when c is new.
func (n *next) init(c *Contexts, shift uint) {
	n.contexts = c
	n.other = internedFile{maxNum: c.maxNum,
		recent: c.mem.Array(layout.InternedBytes/layout.InternedSize>>shift, unsafe.Sizeof(*c.recentOn(0)))}
	n.moved = tableOf[uint32](&c.mem, &n.movedMem, uint32(layout.InternedBytes/layout.InternedSize>>shift))
	if head := c.mem.Alloc(layout.ContextsSize); head != nil {
		n.head = unsafe.Slice((*byte)(head), layout.ContextsSize)
		n.keepHead()
	}
}

// keepHead keeps a copy of the header, unless it is on a lost page.
func (n *next) keepHead() {
	if is := (*layout.Header)(n.contexts.head); string(is.Magic[:]) == layout.Magic && n.contexts.Header().Text != 0 {
		copy(n.head, unsafe.Slice((*byte)(n.contexts.head), layout.ContextsSize))
	}
}

// begin prepares head and nodes of the next segment. It returns the second page, in which what one engine counts is as
// in the segment before.
func (n *next) begin(head unsafe.Pointer, nodes memory.Span, run uint64) *layout.ContextsHeader {
	n.other.head, n.other.internedMem, n.other.internedUsed = head, nodes, 1
	n.begun, n.failed = false, false
	c := n.other.Header()
	if n.head == nil {
		return c
	}
	n.keepHead()
	h := (*layout.Header)(head)
	copy(unsafe.Slice((*byte)(head), layout.ContextsSize)[len(h.Magic):], n.head[len(h.Magic):])
	pages := h.Lost[layout.LostPages] // of function records, which are copied as they are
	h.Run, h.Lost = run, [len(h.Lost)]uint64{layout.LostPages: pages}
	c.NodesUsed, c.Slow, c.Truncated = 1, 0, 0
	return c
}

// Ready implements Next.
func (n *next) Ready(funcs uint64) {
	h := (*layout.Header)(n.other.head)
	h.FuncsUsed = funcs // what was interned may name functions that have come
	copy(h.Magic[:], layout.Magic)
}

// Failed implements Next.
func (n *next) Failed() bool { return n.failed }

// switchTo exchanges what the two segments have of a header and of interned entries, see Switch.
func (n *next) switchTo(now, before uint64) {
	c := n.contexts
	h := (*layout.Header)(n.other.head)
	h.FuncsUsed = c.rec.UsedFuncs()
	h.Segment, h.Began, h.Ended = before+1, now, 0
	ended := (*layout.Header)(c.head)
	ended.Segment, ended.Ended = before, now
	was, is := c.Header(), n.other.Header()
	is.Functions, is.Edges = was.Functions, was.Edges // more may have come
	c.internedFile, n.other = n.other, c.internedFile
	n.begun = true
}

// end is End for what is moved, and for entries that are recent.
func (n *next) end(rest func()) {
	clearSlowly(unsafe.Slice((*uint32)(n.other.recent.At(0)), n.other.recent.Usable()/4), rest)
	clearSlowly(n.moved[:min(n.movedMem.Usable()/4, uint64(len(n.moved)))], rest)
}

// clearSlowly makes words zero, and calls rest now and then.
func clearSlowly(words []uint32, rest func()) {
	const piece = 1 << 16
	for len(words) > 0 {
		some := min(len(words), piece)
		clear(words[:some])
		words = words[some:]
		rest()
	}
}

// before returns the interned entries of the segment before.
func (n *next) before() *internedFile {
	if n.begun {
		return &n.other
	}
	return &n.contexts.internedFile
}

// move notes that an entry of the segment before is entry number to of the next one. It reports false if there is no
// room for that.
func (n *next) move(node, to uint32) bool {
	if to >= n.contexts.maxNum-1 || !needs(&n.movedMem, n.moved, node+1) {
		return false
	}
	n.moved[node] = to
	return true
}

// movedTo returns what move has noted for an entry, or 0.
func (n *next) movedTo(node uint32) uint32 {
	if uint64(node+1)*uint64(unsafe.Sizeof(node)) > n.movedMem.Usable() {
		return 0
	}
	return n.moved[node]
}

// noRoom notes that an entry had no room, and returns the number of what stands for it.
func (n *next) noRoom() uint32 {
	n.failed = true
	if n.begun {
		return n.contexts.Cut()
	}
	return n.contexts.maxNum - 1
}
