package tree

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// A Calls writes the log of a recording build: every function entry of the
// program, in order, with go statements and the ends of goroutines. Its methods
// must be called under the lock of the Tree.
//
// Nothing is written when a function returns: a node names its whole path, so
// that the next entry shows which frames have gone.
//
// What it relies on is here, and the header has copies: pages of the file may become zeros at any time.
type Calls struct {
	file       memory.Span
	tree       *Tree
	goroutines uint32
	end        uint32 // why the log has ended, an layout.CallsEnd constant
	used       uint64 // bytes in use, with the header
}

// Init makes c write to size zeroed bytes at mem.
func (c *Calls) Init(t *Tree, mem unsafe.Pointer, size uint64) {
	*c = Calls{file: memory.NewSpan(mem, size), tree: t}
	c.file.Need(layout.CallsHeaderSize)
	copy(c.header().Magic[:], layout.CallsMagic)
	c.use(layout.CallsHeaderSize)
}

func (c *Calls) header() *layout.CallsHeader { return (*layout.CallsHeader)(c.file.At(0)) }

// Used returns the bytes of the log that are in use.
func (c *Calls) Used() uint64 { return c.used }

// Goroutine returns the number of a new goroutine.
func (c *Calls) Goroutine() uint32 {
	c.goroutines++
	return c.goroutines
}

// Enter logs that a goroutine has entered a node. It returns false once the log
// has ended: then nothing more will be in it, so that it has no gaps. A node past
// the budget has lost its path, and ends the log.
func (c *Calls) Enter(goroutine, node uint32) bool {
	if c.end == layout.CallsEndNone && (c.tree.inSink(node) || c.tree.node(node).Parent == overflowNode) {
		c.ends(layout.CallsEndNodes)
	}
	return c.put(goroutine, node|layout.CallEnter)
}

// Exit logs that a goroutine has ended.
func (c *Calls) Exit(goroutine uint32) { c.put(goroutine, layout.CallExit) }

// Go logs a go statement in a node. A reader meets both of its entries or none.
func (c *Calls) Go(goroutine, node, child uint32) {
	if c.room(2 * layout.CallSize) {
		c.write(0, goroutine, node|layout.CallGo)
		c.write(layout.CallSize, child, layout.CallChild)
		c.use(2 * layout.CallSize)
	}
}

// put writes an entry, and counts it as used after that.
func (c *Calls) put(goroutine, what uint32) bool {
	if !c.room(layout.CallSize) {
		return false
	}
	c.write(0, goroutine, what)
	c.use(layout.CallSize)
	return true
}

// room reports whether n more bytes can be written, and ends the log if not.
func (c *Calls) room(n uint64) bool {
	if c.end == layout.CallsEndNone && !c.file.Need(c.used+n) {
		c.ends(layout.CallsEndFull)
	}
	return c.end == layout.CallsEndNone
}

// use counts n more bytes, which have been written.
func (c *Calls) use(n uint64) {
	c.used += n
	memory.StoreRel64(&c.header().Used, c.used)
}

// ends ends the log.
func (c *Calls) ends(why uint32) { c.end, c.header().End = why, why }

// write writes an entry n bytes behind what is in use.
func (c *Calls) write(n uint64, goroutine, what uint32) {
	*(*layout.Call)(c.file.At(c.used + n)) = layout.Call{Goroutine: goroutine, What: what}
}
