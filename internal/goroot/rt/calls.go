package rt

import "unsafe"

// A Calls writes the log of a recording build: every function entry of the
// program, in order, with go statements and the ends of goroutines. Its methods
// must be called under the lock of the Tree.
//
// Nothing is written when a function returns: a node names its whole path, so
// that the next entry tells which frames have gone.
type Calls struct {
	mem        unsafe.Pointer // the file
	size       uint64
	tree       *Tree
	goroutines uint32
}

// The header of calls.
const (
	CallsMagic  = "stemcal\x01"
	CallsUsed   = 8  // u64: bytes in use, with the header
	CallsEnd    = 16 // u32: why the log ended before the program, a CallsEnd constant
	CallsHeader = 64
)

// Why a log ended before the program.
const (
	CallsEndNone  = iota
	CallsEndFull  // no room for another entry
	CallsEndNodes // no room for another node
	NumCallsEnds
)

// An entry of calls: { u32 goroutine; u32 what }. The low three bits of what tell
// its kind; what is above them, a multiple of 8, is the offset of a node.
// Goroutines are numbered from 1 on.
const (
	CallsEntry = 8
	CallsKinds = 7

	CallEnter = 0 // the node was entered
	CallExit  = 1 // the goroutine has ended
	CallGo    = 2 // a go statement in the node; the next entry names what it started
	CallChild = 3 // the goroutine that was started
)

// Init makes c write to size zeroed bytes at mem.
func (c *Calls) Init(t *Tree, mem unsafe.Pointer, size uint64) {
	*c = Calls{mem: mem, size: size, tree: t}
	copy(unsafe.Slice((*byte)(mem), len(CallsMagic)), CallsMagic)
	*c.used() = CallsHeader
}

func (c *Calls) used() *uint64 { return (*uint64)(unsafe.Add(c.mem, CallsUsed)) }
func (c *Calls) end() *uint32  { return (*uint32)(unsafe.Add(c.mem, CallsEnd)) }

// Goroutine returns the number of a new goroutine.
func (c *Calls) Goroutine() uint32 {
	c.goroutines++
	return c.goroutines
}

// Enter logs that a goroutine has entered a node. It returns false once the log
// has ended: then nothing more will be in it, so that it has no gaps. A node past
// the budget has lost its path, and ends the log.
func (c *Calls) Enter(goroutine, node uint32) bool {
	if *c.end() == CallsEndNone && (c.tree.inSink(node) || *c.tree.u32(node + NodeParent) == overflowNode) {
		*c.end() = CallsEndNodes
	}
	return c.put(goroutine, node|CallEnter)
}

// Exit logs that a goroutine has ended.
func (c *Calls) Exit(goroutine uint32) { c.put(goroutine, CallExit) }

// Go logs a go statement in a node. A reader meets both of its entries or none.
func (c *Calls) Go(goroutine, node, child uint32) {
	if c.room(2 * CallsEntry) {
		c.write(0, goroutine, node|CallGo)
		c.write(CallsEntry, child, CallChild)
		storeRel64(c.used(), *c.used()+2*CallsEntry)
	}
}

// put writes an entry, and counts it as used after that.
func (c *Calls) put(goroutine, what uint32) bool {
	if !c.room(CallsEntry) {
		return false
	}
	c.write(0, goroutine, what)
	storeRel64(c.used(), *c.used()+CallsEntry)
	return true
}

// room reports whether n more bytes can be written, and ends the log if not.
func (c *Calls) room(n uint64) bool {
	if *c.end() == CallsEndNone && *c.used()+n > c.size {
		*c.end() = CallsEndFull
	}
	return *c.end() == CallsEndNone
}

// write writes an entry n bytes behind what is in use.
func (c *Calls) write(n uint64, goroutine, what uint32) {
	*(*uint64)(unsafe.Add(c.mem, uintptr(*c.used()+n))) = uint64(goroutine) | uint64(what)<<32
}
