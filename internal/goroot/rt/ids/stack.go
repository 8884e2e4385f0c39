package ids

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// A Stack is the ccStack of a goroutine. Its fields lie in g, where the assembly
// finds them.
type Stack struct {
	base, cap *uintptr
	from      [2]uint64 // what a goroutine's bottom entry says, see StackOf
}

// StackOf returns the ccStack whose fields are at the given addresses in g, with
// the context of the go statement: the two halves of its ID, or the number of a
// root and 0.
func StackOf(base, cap *uintptr, hi, lo uint64) Stack { return Stack{base, cap, [2]uint64{hi, lo}} }

// entry returns the entry at depth d.
//
//go:nosplit
func (st *Stack) entry(d uint64) *layout.StackEntry {
	return (*layout.StackEntry)(unsafe.Add(unsafe.Pointer(nil), *st.base+uintptr(d*layout.StackEntrySize)))
}

// Push adds an entry above that of the word w and returns the word of its target.
func (c *Dacce) Push(st *Stack, w, place, target uint64, kind uint32) uint64 {
	d := w&layout.MaxDeep + 1
	if d >= layout.MaxDeep || d >= uint64(*st.cap) && !c.growStack(st, d) {
		return c.Refused() // where there is no memory, as if it were full
	}
	*st.entry(d) = layout.StackEntry{Word: w, Place: place, Target: target, Kind: kind}
	return d
}

// PushRoot returns the word of the function with the data target, which nothing
// instrumented called: the first of a goroutine, or one that a root calls. below is
// the word of the frame on whose stack the root has its own, 0 if there is none.
func (c *Dacce) PushRoot(st *Stack, below uint64, target uintptr) uint64 {
	return c.pushRoot(st, below, dataAt(target).Func)
}

func (c *Dacce) pushRoot(st *Stack, below, id uint64) uint64 {
	kind, place := st.root()
	return c.Push(st, below&layout.MaxDeep, place, id, kind)
}

// root returns what an entry of a root says.
//
//go:nosplit
func (st *Stack) root() (kind uint32, place uint64) {
	if st.from[1] != 0 {
		return layout.InternGo, 0
	}
	return layout.InternRoot, st.from[0]
}

// TryFirst is PushRoot for the first function of a goroutine. It needs no lock: nobody else looks at the
// ccStack of a goroutine that runs. ok is false if PushRoot must be called: the ccStack has no memory yet, or the
// function is not known.
//
//go:nosplit
func (c *Dacce) TryFirst(st *Stack, target uintptr) (w uint64, ok bool) {
	if *st.cap < 2 || dataAt(target).Index == 0 {
		return 0, false
	}
	kind, place := st.root()
	*st.entry(1) = layout.StackEntry{Place: place, Target: dataAt(target).Func, Kind: kind}
	return 1, true
}

// A Walked is an instrumented frame that a walk of a stack found.
type Walked struct {
	Frame
	Through bool // others lie between the frame and what it called
}

// Rewrite gives all frames of a goroutine new words. The function walk returns those of its stack, innermost first, but
// for the first skip of them, as far as there is room for them, and how many the stack has in all. Where there is room
// for a part only, the outermost ones come first, part by part: two frames must have room.
func (c *Dacce) Rewrite(st *Stack, walk func(skip int) (frames []Walked, total int)) {
	c.Stats().Rewrites++
	w := uint64(0)
	rewrite(walk, func(frames []Walked) {
		w = c.Down(st, w, frames)
		c.rewritten++
		if f := &frames[0]; f.Slot != 0 {
			*word(f.Slot) = w
		}
	})
}

// rewrite calls frame for each frame of a stack, outermost first, with those further out behind it, as far as there is
// room for them: at least one. The function walk is that of Rewrite.
func rewrite(walk func(skip int) (frames []Walked, total int), frame func(frames []Walked)) {
	frames, total := walk(0)
	room := len(frames)
	if room < min(total, 2) {
		return
	}
	for end := total; end > 0; {
		skip := max(end-room, 0)
		known := 0 // of the frames of this part the last one, which was the first of the part before
		if end != total {
			known = 1
		}
		if skip+known > 0 {
			frames, _ = walk(skip)
		}
		frames = frames[:end-skip]
		for i := len(frames) - 1 - known; i >= 0; i-- {
			frame(frames[i:])
		}
		if skip == 0 {
			return
		}
		end = skip + 1
	}
}

// Down returns the word of the first of the frames, innermost first, of which
// the second has the word w.
func (c *Dacce) Down(st *Stack, w uint64, frames []Walked) uint64 {
	f := &frames[0]
	switch {
	case f.Func == 0 && f.Slot != 0:
		return c.Refused()
	case len(frames) == 1 && f.Func != 0:
		return c.PushRoot(st, 0, c.funcs[f.Func].data)
	case len(frames) == 1:
		return c.pushRoot(st, 0, layout.FaultID(uint64(f.PC)))
	case f.Func != 0:
		return c.Called(st, w, &frames[1].Frame, c.funcs[f.Func].data, frames[1].Through, 0)
	}
	// A function that calls nothing has no data. A fault in it stands for it.
	return c.Push(st, w, uint64(frames[1].PC), layout.FaultID(uint64(f.PC)), layout.InternCall)
}

// growStack makes room for an entry at depth d. The old memory is kept for others.
func (c *Dacce) growStack(st *Stack, d uint64) bool {
	p, n := c.stacks.get(&c.mem, d)
	if p == 0 {
		return false
	}
	copy(unsafe.Slice((*layout.StackEntry)(unsafe.Add(unsafe.Pointer(nil), p)), n),
		unsafe.Slice((*layout.StackEntry)(unsafe.Add(unsafe.Pointer(nil), *st.base)), *st.cap))
	c.FreeStack(st)
	*st.base, *st.cap = p, uintptr(n)
	return true
}

// FreeStack takes the memory of a ccStack that is not needed any more.
func (c *Dacce) FreeStack(st *Stack) {
	c.stacks.put(*st.base, uint64(*st.cap))
	*st.base, *st.cap = 0, 0
}

// stackPool is the memory of ccStacks. Each has a power of two of entries.
type stackPool struct {
	free [32]uintptr // by the logarithm of their size; the first word of each leads to the next
	left uintptr     // bytes that new ones may take
}

// get returns room for entries up to depth d, and how many they are; or 0 if there is no memory.
func (s *stackPool) get(mem *memory.Arena, d uint64) (p uintptr, n uint64) {
	log := 3
	for uint64(1)<<log <= d {
		log++
	}
	p = s.free[log]
	switch size := uintptr(layout.StackEntrySize) << log; {
	case p != 0:
		s.free[log] = uintptr(*word(p))
	case s.left < size:
		return 0, 0
	default:
		if p = uintptr(mem.Alloc(size)); p == 0 {
			return 0, 0
		}
		s.left -= size
	}
	return p, 1 << log
}

// put takes back what get has returned; n may be 0.
func (s *stackPool) put(p uintptr, n uint64) {
	if n == 0 {
		return
	}
	log := 0
	for 1<<log < n {
		log++
	}
	*word(p) = uint64(s.free[log])
	s.free[log] = p
}

// Intern returns the interned entry of the entry on which the word w stands, 0 if there is
// none. It fills the entries below that are not interned yet, so that the next
// time it is one load.
func (c *Dacce) Intern(st *Stack, w uint64) uint32 {
	top := w & layout.MaxDeep
	if top == 0 {
		return 0
	}
	if top == layout.MaxDeep || top >= uint64(*st.cap) {
		return c.intern(0, 0, layout.InternCut, layout.CutDepth, 0)
	}
	d, n := st.interned(top)
	for d++; d <= top; d++ {
		below := n
		if n = c.recallEntry(st, d, below); n == 0 {
			n = c.internEntry(st, d, below)
			if k := c.recentOn(below); k != nil && uint32(*k) != n && n < c.maxNum-1 {
				c.noteRecent(below, n)
			}
		}
		st.entry(d).Interned = n
	}
	return n
}

// Recall is Intern for entries whose interned ones are recent, as they are where a recursion
// goes the same ways again and again. It needs no lock, and returns 0 if one is
// not recent. Nothing may re-encode meanwhile.
//
//go:nosplit
func (c *Dacce) Recall(st *Stack, w uint64) uint32 {
	top := w & layout.MaxDeep
	if top == 0 || top >= uint64(*st.cap) {
		return 0
	}
	d, n := st.interned(top)
	for d++; d <= top; d++ {
		if n = c.recallEntry(st, d, n); n == 0 {
			return 0
		}
		st.entry(d).Interned = n
	}
	return n
}

// interned returns the depth of the highest entry from top downwards that has an interned
// one, and its number; or 0 and 0.
//
//go:nosplit
func (st *Stack) interned(top uint64) (d uint64, n uint32) {
	for d = top; d > 0; d-- {
		if n = st.entry(d).Interned; n != 0 {
			return d, n
		}
	}
	return 0, 0
}

// recallEntry returns the interned entry for that at depth d, on top of the interned parent,
// if it is recent, and else 0. A bottom entry that a go statement made is not
// recalled: it has another place than its interned one.
//
//go:nosplit
func (c *Dacce) recallEntry(st *Stack, d uint64, parent uint32) uint32 {
	e := st.entry(d)
	if e.Kind == layout.InternGo {
		return 0
	}
	recent := c.recentOn(parent)
	if recent == nil {
		return 0
	}
	id, epoch := uint32(e.Word>>layout.WordID), uint32(c.Epoch())
	for k := memory.Load64(recent); k != 0; k >>= 32 {
		if n := c.interned(uint32(k)); n.Place == e.Place && n.Target == e.Target && n.ID == id && n.Epoch == epoch &&
			n.Kind == e.Kind {
			return uint32(k)
		}
	}
	return 0
}

// internEntry returns the interned entry for that at depth d on top of the interned parent.
func (c *Dacce) internEntry(st *Stack, d uint64, parent uint32) uint32 {
	e := st.entry(d)
	if e.Kind != layout.InternGo {
		return c.intern(parent, uint32(e.Word>>layout.WordID), e.Kind, e.Place, e.Target)
	}
	hi, lo := st.from[0], st.from[1]
	place := c.text + lo&(1<<layout.IDPCBits-1)
	return c.internAt(uint32(hi>>32), uint32(hi), uint32(lo>>layout.IDEpoch), layout.InternGo, place, e.Target)
}

func (c *Dacce) intern(parent, id, kind uint32, place, target uint64) uint32 {
	return c.internAt(parent, id, uint32(c.Epoch()), kind, place, target)
}

// internAt returns the number of the interned entry with the given contents.
func (c *Dacce) internAt(parent, id, epoch, kind uint32, place, target uint64) uint32 {
	n, ok := c.internIn(&c.internedFile, &c.internals,
		&layout.Interned{Parent: parent, Epoch: epoch, ID: id, Kind: kind, Place: place, Target: target})
	if !ok {
		return c.Cut()
	}
	return n
}

// internIn returns the number that the entry n has in a file of interned entries, which internals finds. ok is false if
// there is no room for it.
func (c *Dacce) internIn(f *internedFile, internals *index, n *layout.Interned) (i uint32, ok bool) {
	if !internals.grow(&c.mem, func(i uint32) uint32 { return hashInterned(f.interned(i)) }) {
		return 0, false
	}
	h := hashInterned(n)
	for ; ; h++ {
		i := *internals.at(h)
		if i == 0 {
			break
		}
		if *f.interned(i) == *n {
			return i, true
		}
	}
	i = uint32(f.internedUsed)
	if i >= c.budget || !f.internedRoom(i) {
		return 0, false
	}
	f.addInterned(n)
	*internals.at(h) = i
	internals.num++
	return i, true
}

// Capture returns the ID of the context in which the frame with the word w calls
// something that returns to pc.
func (c *Dacce) Capture(st *Stack, w uint64, pc uintptr) (hi, lo uint64) {
	n := c.Intern(st, w)
	id := uint32(w >> layout.WordID)
	rel := uint64(pc) - c.text
	if rel == 0 || rel>>layout.IDPCBits != 0 {
		n, id, rel = c.intern(n, id, layout.InternAt, uint64(pc), 0), 0, 0
	}
	return uint64(n)<<32 | uint64(id), c.Stamp() | rel
}

// Stamp returns what the lower half of an ID has beside the return address: the
// epoch and the mark.
//
//go:nosplit
func (c *Dacce) Stamp() uint64 { return c.Epoch()<<layout.IDEpoch | layout.IDMark }
