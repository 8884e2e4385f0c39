package layout

import "unsafe"

// G is the part of the runtime's g that compiled code and the assembly use. It lies behind all that g has in plain Go,
// so that libraries that read a g, and profilers, find what they look for.
//
// Some words mean other things to some engines. Those have a view of their own: [G.Pair], [G.Countdown], [G.Logged].
type G struct {
	// offset of the cell that the caller left; with dacce and pcce its word; with lucce the cell's address
	Ctx   uintptr
	Tree  uintptr // Base, where no instruction has room for it: it is loaded together with Ctx. Elsewhere a seed
	Func  uintptr // argument of the slow path: the function ID, or the address of its data
	Node  uintptr // its result: the offset of the node, the word or the id
	Start uintptr // offset of the cell that the goroutine began with, or the upper half of the ID of the go statement

	Stack  StackWords
	Pushes uintptr // pushes of the goroutines that had this g, for the weights of edges
	Epoch  uintptr // the epoch of the words in its frames
	From   uintptr // the lower half of the ID of the go statement; Start is the upper
	Shard  uintptr // where the thread counts, as the sum of a node's offset, where g says it. Elsewhere a seed
}

// StackWords are where the ccStack of a goroutine is, with dacce.
type StackWords struct {
	Base uintptr // its address, of StackEntries; entry 0 is not used
	Cap  uintptr // entries in it
}

// PairWords are what a caller leaves with engine lucce, and where the goroutine's ccStack is, instead of the
// StackWords and of Pushes.
type PairWords struct {
	ID      uintptr // the caller's id
	Version uintptr // and its version
	Base    uintptr // the address of the ccStack, of StackEntries, see ids.PairStack
}

// Pair is the view of engine lucce.
//
//go:nosplit
func (w *G) Pair() *PairWords { return (*PairWords)(unsafe.Pointer(&w.Stack)) }

// CountdownWords are what the accumulator has, with the trigger calls, instead of Ctx and what follows it.
type CountdownWords struct {
	Left int64      // calls that are not sampled
	_    [3]uintptr // as in G
	Seed uint64     // what the next length is drawn from; 0 before the first
}

// Countdown is the view of the accumulator.
//
//go:nosplit
func (w *G) Countdown() *CountdownWords { return (*CountdownWords)(unsafe.Pointer(w)) }

// Logged is the view of the log of calls, instead of From: the goroutine's number in it, 0 for none.
//
//go:nosplit
func (w *G) Logged() *uintptr { return &w.From }

// GWords is where a G lies in g. Go 1.26 and 1.27 have a g of as many bytes; the first five
// words share a cache line. The runtime does not compile if its g is another one.
const GWords = 456

// Where its fields lie in g, as the compiler and the assembly need them.
const (
	GCtx     = GWords + int64(unsafe.Offsetof(G{}.Ctx))
	GTree    = GWords + int64(unsafe.Offsetof(G{}.Tree))
	GFunc    = GWords + int64(unsafe.Offsetof(G{}.Func))
	GNode    = GWords + int64(unsafe.Offsetof(G{}.Node))
	GStack   = GWords + int64(unsafe.Offsetof(G{}.Stack)+unsafe.Offsetof(StackWords{}.Base))
	GCap     = GWords + int64(unsafe.Offsetof(G{}.Stack)+unsafe.Offsetof(StackWords{}.Cap))
	GPushes  = GWords + int64(unsafe.Offsetof(G{}.Pushes))
	GShard   = GWords + int64(unsafe.Offsetof(G{}.Shard))
	GID      = GWords + int64(unsafe.Offsetof(G{}.Stack)+unsafe.Offsetof(PairWords{}.ID))
	GVersion = GWords + int64(unsafe.Offsetof(G{}.Stack)+unsafe.Offsetof(PairWords{}.Version))
	GPairs   = GWords + int64(unsafe.Offsetof(G{}.Stack)+unsafe.Offsetof(PairWords{}.Base))
)

const _ = -(unsafe.Offsetof(G{}.Stack) + unsafe.Offsetof(PairWords{}.Base) ^ unsafe.Offsetof(G{}.Pushes))
