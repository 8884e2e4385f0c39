package ids

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// A LucceNext is a Next of engine lucce. CopyLog may be called without the lock.
type LucceNext struct {
	next
	l *Lucce

	// Of the segment that comes next; when that has begun, of the one before.
	log     memory.Span
	used    uint64 // bytes of log
	damaged bool   // the log has lost a page
	entries table

	walks [2]entryWalk // of StartPart, and of Start
}

// An entryWalk is on its way from an entry of the segment before outwards to one that the next segment has, or back.
type entryWalk struct {
	first, at uint32   // where it began, 0 if it has ended; how far it has come
	passed    []uint32 // entries, from the innermost
	num       int      // of them
	to        uint32   // on the way back: the entry of the next segment for all that is further out; else 0
	lost      bool     // there was no room for the innermost entries: it must be walked once more
	learned   int      // entries that are known by now
	mem       memory.Span
}

// InitNext makes n ready to be the next segment of l. It is called once, when l is new.
func (l *Lucce) InitNext(n *LucceNext, shift uint) {
	n.l = l
	n.init(l.Contexts, shift)
	n.entries.grow(&l.mem, nil)
	for i := range n.walks {
		n.walks[i].passed = tableOf[uint32](&l.mem, &n.walks[i].mem, scaled(mostSteps, shift))
	}
}

// LimitSteps leaves room for so many entries of a walk. It is for tests.
func (n *LucceNext) LimitSteps(steps int) {
	for i := range n.walks {
		n.walks[i].passed = n.walks[i].passed[:steps]
	}
}

// Count implements Next: the log has all.
func (n *LucceNext) Count() {}

// Begin implements Next.
func (n *LucceNext) Begin(head unsafe.Pointer, nodes, log memory.Span, run uint64) bool {
	n.log, n.used, n.damaged = log, 0, false
	n.begin(head, nodes, run).Lucce.LogUsed = 0
	n.walks[0].first = 0
	return n.entries.base != 0 && n.head != nil && n.other.internedRoom(0)
}

// CopyLog copies the log to that of the next segment, at most so many bytes of what is missing there. It reports how
// many still are, and whether there was room, and all was there: see Damaged.
func (n *LucceNext) CopyLog(most uint64) (left uint64, ok bool) {
	all := memory.Load64(&n.l.logUsed)
	end := min(all, n.used+most)
	if !n.log.Need(end) {
		return all - n.used, false
	}
	entries := unsafe.Slice((*layout.LogEntry)(n.log.At(n.used)), (end-n.used)/layout.LogEntrySize)
	copy(entries, unsafe.Slice((*layout.LogEntry)(n.l.log.At(n.used)), len(entries)))
	for i := range entries {
		n.damaged = n.damaged || entries[i].Kind == 0
	}
	n.used += uint64(len(entries)) * layout.LogEntrySize
	return all - n.used, !n.damaged
}

// Damaged reports whether a page of the log is lost in memory. Then no segment begins: what is in the file decodes all
// that was on record before, and a copy without a part of the log would decode nothing.
func (n *LucceNext) Damaged() bool { return n.damaged }

// Complete implements Next.
func (n *LucceNext) Complete() bool {
	_, ok := n.CopyLog(LogSize)
	return ok
}

// Switch implements Next.
func (n *LucceNext) Switch(now, before uint64) {
	l := n.l
	is := n.other.Header()
	is.MaxID, is.Lucce = l.Header().MaxID, *l.Stats()
	is.Lucce.LogUsed = n.used
	n.switchTo(now, before)
	l.log, n.log = n.log, l.log
	l.logUsed, n.used = n.used, l.logUsed
	l.entries, n.entries = n.entries, l.entries
}

// Former implements Next.
func (n *LucceNext) Former() (nodes, log uint64) { return n.other.UsedInterned(), n.used }

// End implements Next.
func (n *LucceNext) End(rest func()) {
	n.end(rest)
	clearSlowly(unsafe.Slice(slot(n.entries.base, 0), n.entries.mask()+1), rest)
	n.entries.num = 0
}

// Load implements Next: there are no epochs.
func (n *LucceNext) Load(uint32, int) bool { return true }

// Start implements Next. The id is what it was.
func (n *LucceNext) Start(hi, lo uint64) (newHi, newLo uint64) {
	for w := &n.walks[1]; ; {
		if to, done := n.walk(w, uint32(hi>>32), 1<<30); done {
			return uint64(to)<<32 | hi&(1<<32-1), lo
		}
	}
}

// StartPart implements Next.
func (n *LucceNext) StartPart(hi, _ uint64, some int) bool {
	_, done := n.walk(&n.walks[0], uint32(hi>>32), some)
	return done
}

// Lost implements Next.
func (n *LucceNext) Lost(hi, lo uint64) (newHi, newLo uint64) {
	return uint64(n.l.intern(cutEntry))<<32 | hi&(1<<32-1), lo
}

// cutEntry is the entry for what the next segment does not know.
var cutEntry = layout.Interned{Kind: layout.InternCut, Place: layout.CutSegment}

// walk takes some steps from an entry of the segment before. When it is done it returns the entry of the next segment.
func (n *LucceNext) walk(w *entryWalk, node uint32, some int) (to uint32, done bool) {
	if to = n.movedTo(node); to != 0 || uint64(node) >= n.before().internedUsed || node == 0 {
		if to == 0 {
			to = node // nothing, or what had no room
		}
		return to, true
	}
	if w.first != node {
		w.first = node
		w.begin()
	}
	for ; some > 0; some-- {
		switch {
		case w.to == 0:
			n.out(w)
		case w.num > 0:
			w.num--
			n.back(w)
		case w.lost && w.learned > 0:
			w.begin()
		case w.lost: // the innermost entries, without room to note any
			w.first = 0
			return n.intern(cutEntry), true
		default:
			w.first = 0
			return w.to, true
		}
	}
	return 0, false
}

func (w *entryWalk) begin() { w.at, w.num, w.to, w.lost, w.learned = w.first, 0, 0, false, 0 }

// out takes a step outwards. The way ends at an entry that is known in the next segment, or that has none further out.
func (n *LucceNext) out(w *entryWalk) {
	if w.to = n.movedTo(w.at); w.to != 0 {
		return
	}
	switch e := n.before().interned(w.at); {
	case *e == layout.Interned{}: // its page was lost
		w.to = n.intern(cutEntry)
		return
	case e.Parent == 0:
		w.to = n.intern(*e)
		n.learn(w, w.at)
		return
	case w.num == len(w.passed) || !needs(&w.mem, w.passed, uint32(w.num+1)):
		w.num, w.lost = 0, true
		if !needs(&w.mem, w.passed, 1) {
			w.to = n.intern(cutEntry)
			return
		}
	}
	w.passed[w.num] = w.at
	w.num++
	w.at = n.before().interned(w.at).Parent
}

// back takes a step inwards.
func (n *LucceNext) back(w *entryWalk) {
	e := *n.before().interned(w.passed[w.num])
	e.Parent = w.to
	w.to = n.intern(e)
	n.learn(w, w.passed[w.num])
}

// learn notes which entry of the next segment an entry of the one before is.
func (n *LucceNext) learn(w *entryWalk, node uint32) {
	if n.move(node, w.to) {
		w.learned++
	}
}

// intern returns the number of an entry of the next segment.
func (n *LucceNext) intern(e layout.Interned) uint32 {
	if e.Parent == n.l.maxNum-1 {
		return e.Parent
	}
	f, entries := &n.l.internedFile, &n.l.entries
	if !n.begun {
		f, entries = &n.other, &n.entries
	}
	if i := lookupIn(f, entries.base, &e); i != 0 {
		return i
	}
	i, ok := n.l.internIn(f, entries, &e)
	if !ok {
		return n.noRoom()
	}
	return i
}
