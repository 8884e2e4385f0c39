package layout

import "unsafe"

// G is what the runtime's g has behind all that it has in plain Go, so that libraries that
// read a g, and profilers, find what they look for.
type G struct {
	// offset of the cell that the caller left; with the engines that encode contexts the word that it left
	Ctx   uint64
	Func  uint64 // argument of the slow path: the function ID, or the address of its data
	Node  uint64 // its result: the offset of the node, the word or the id
	Start uint64 // offset of the cell that the goroutine began with, or the upper half of the ID of the go statement

	Stack  uint64 // the ccStack, of StackEntries; entry 0 is not used. With engine lucce the caller's id
	Cap    uint64 // entries in it. With engine lucce the caller's version
	Pushes uint64 // pushes of the goroutine
	Epoch  uint64 // the epoch of the words in its frames
	From   uint64 // the lower half of the ID of the go statement; Start is the upper
}

// GWords is where a G lies in g. Go 1.26 and 1.27 have a g of as many bytes; the first four
// words share a cache line. The runtime does not compile if its g is another one.
const GWords = 456

// Where its fields lie in g, without a type, as the compiler needs them.
const (
	GCtx     = GWords
	GFunc    = GWords + 8
	GNode    = GWords + 16
	GStart   = GWords + 24
	GStack   = GWords + 32
	GCap     = GWords + 40
	GFrom    = GWords + 64
	GID      = GStack // the caller's id, with engine lucce
	GVersion = GCap   // and its version
)

const (
	_ = -(GCtx ^ (GWords + unsafe.Offsetof(G{}.Ctx)))
	_ = -(GFunc ^ (GWords + unsafe.Offsetof(G{}.Func)))
	_ = -(GNode ^ (GWords + unsafe.Offsetof(G{}.Node)))
	_ = -(GStart ^ (GWords + unsafe.Offsetof(G{}.Start)))
	_ = -(GStack ^ (GWords + unsafe.Offsetof(G{}.Stack)))
	_ = -(GCap ^ (GWords + unsafe.Offsetof(G{}.Cap)))
	_ = -(GFrom ^ (GWords + unsafe.Offsetof(G{}.From)))
)
