package ids

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// A PairStack is the ccStack of a goroutine with engine lucce. On it is where paths began since their id would have
// passed 63 bits: entries that are interned only if a context on top of them is captured. The zero PairStack has no
// room, and everything is interned at once.
//
// As with dacce, nothing is popped: a frame's version has its depth, and a push from a frame overwrites what was pushed
// by frames that have returned. An entry has the caller's id as its word, the step that did not take it as its place,
// and the number of the entry that the caller is behind as its kind, or 0 if that is the entry below. Entry 0
// has the number of entries as its word.
type PairStack struct{ base *uintptr }

// PairStackOf returns the ccStack whose address is in a word of g.
//
//go:nosplit
func PairStackOf(base *uintptr) PairStack { return PairStack{base} }

// entry returns the entry at depth d.
//
//go:nosplit
func (st PairStack) entry(d uint64) *layout.StackEntry {
	return (*layout.StackEntry)(unsafe.Add(unsafe.Pointer(nil), *st.base+uintptr(d*layout.StackEntrySize)))
}

// Room returns the number of entries that there is room for, with entry 0.
//
//go:nosplit
func (st PairStack) Room() uint64 {
	if st.base == nil || *st.base == 0 {
		return 0
	}
	return st.entry(0).Word
}

// push adds an entry for a call from an invocation with the pair c, v, whose id step s does not take. It
// needs no lock: nobody else looks at the ccStack of a goroutine that runs. ok is false if there is no room, or if
// another step could take the id.
//
//go:nosplit
func (st PairStack) push(s *layout.Step, c, v uint64) (id, version uint64, ok bool) {
	d, begin := v>>layout.VersionDepth+1, memory.Load64(&s.Begin)
	if begin == 0 || d >= st.Room() {
		return 0, 0, false
	}
	*st.entry(d) = layout.StackEntry{Word: c, Place: uint64(uintptr(unsafe.Pointer(s))), Kind: uint32(v)}
	return begin - 1, d << layout.VersionDepth, true
}

// growPairs makes room for an entry at depth d.
func (l *Lucce) growPairs(st PairStack, d uint64) bool {
	if st.base == nil || d >= layout.MaxDeep {
		return false
	}
	size := st.Room()
	if d < size {
		return true
	}
	p, n := l.stacks.get(&l.mem, d)
	if p == 0 {
		return false
	}
	copy(unsafe.Slice((*layout.StackEntry)(unsafe.Add(unsafe.Pointer(nil), p)), n),
		unsafe.Slice((*layout.StackEntry)(unsafe.Add(unsafe.Pointer(nil), *st.base)), size))
	l.stacks.put(*st.base, size)
	*st.base = p
	st.entry(0).Word = n
	return true
}

// FreePairs takes the memory of a ccStack.
func (l *Lucce) FreePairs(st PairStack) {
	l.stacks.put(*st.base, st.Room())
	*st.base = 0
}

// known returns the highest depth from that of the version v downwards whose entry is interned, or stands on an
// interned one, and the number of that one: for the entry itself, or for what it stands on. It stops at depth 0.
//
//go:nosplit
func (st PairStack) known(v uint64) (d uint64, n uint32, itself bool) {
	for d = v >> layout.VersionDepth; d > 0; d-- {
		if e := st.entry(d); e.Interned != 0 {
			return d, e.Interned, true
		} else if e.Kind != 0 {
			return d, e.Kind, false
		}
	}
	return 0, 0, true
}

// onTop returns the entry of nodes for that at depth d, on top of the entry parent.
//
//go:nosplit
func (st PairStack) onTop(d uint64, parent uint32) layout.Interned {
	e := st.entry(d)
	s := stepAt(uintptr(e.Place))
	return paired(parent, e.Word, layout.InternSite, uint64(s.Site), dataAt(uintptr(s.Callee)).Func)
}

// Version returns the number of the entry of nodes that the version v stands for. It interns what is not yet.
func (l *Lucce) Version(st PairStack, v uint64) uint32 {
	if n := uint32(v); n != 0 || v == 0 {
		return n
	}
	d, n, itself := st.known(v)
	if itself {
		d++
	}
	for ; d <= v>>layout.VersionDepth; d++ {
		n = l.intern(st.onTop(d, n))
		st.entry(d).Interned = n
	}
	return n
}

// TryVersion is Version for what is interned already, by this path or by another one. It needs no lock. It returns 0
// for what is not.
//
//go:nosplit
func (l *Lucce) TryVersion(st PairStack, v uint64) uint32 {
	d, n, itself := st.known(v)
	if itself {
		d++
	}
	for ; d <= v>>layout.VersionDepth; d++ {
		e := st.onTop(d, n)
		if n = l.lookup(&e); n == 0 {
			return 0
		}
		st.entry(d).Interned = n
	}
	return n
}
