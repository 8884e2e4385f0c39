// Package checker writes down the stacks that a verify build compares its contexts with.
package checker

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
	"github.com/stemma-go/stemma/internal/goroot/rt/tree"
)

// A Checker writes the stacks that the checker walks to the files check and
// strings. Equal stacks of one node are written once and counted. Its methods
// must be called under the lock of the Tree.
type Checker struct {
	rec              *recorder.Recorder
	check, strings   memory.Span    // the files
	seen             unsafe.Pointer // a hash table of the offsets of records
	names            unsafe.Pointer // a hash table of the addresses and offsets of strings
	used, usedString uintptr
	begin            uintptr // of the record being written
	head             uintptr // bytes of its fixed part
	hash             uint64
	full             bool
	frames           int64 // of the record being written
	debt             int64 // entries until a deep stack is walked again
	deep             bool  // the stack being walked has a price
	random           uint64
}

// Stacks of up to walkFree bytes are walked without a price: that is some hundreds of
// frames. Of deeper ones an entry pays for up to entryPays frames.
const (
	walkFree  = 1 << 15
	entryPays = 4
)

// Sizes of the memory that a Checker needs, in bytes.
const (
	RecordsSize = 1 << 31
	StringsSize = 1 << 26
	SeenSize    = 1 << 26
	NamesSize   = 1 << 24
)

// Init makes c write to zeroed memory of the sizes above.
func (c *Checker) Init(rec *recorder.Recorder, check, strings, seen, names unsafe.Pointer) {
	*c = Checker{rec: rec, check: memory.NewSpan(check, RecordsSize-8), strings: memory.NewSpan(strings, StringsSize),
		seen: seen, names: names, usedString: layout.CheckStringSize}
	rec.Header().Flags |= layout.HdrFlagCheck
}

// Due reports whether a stack of the given size is to be walked, entered function
// entries after the last time that it was asked. A walk takes time in proportion to the
// depth of the stack, so that checks at a fixed distance take quadratic time in a deep
// recursion. So a walk of a deep stack is paid for with entries, and until that is done
// deep stacks are left out, and counted.
func (c *Checker) Due(entered int64, stack uintptr) bool {
	c.debt = max(c.debt-entered, 0)
	c.deep = stack > walkFree
	if c.deep && c.debt > 0 {
		c.rec.Lost(layout.LostDeep)
		return false
	}
	return true
}

// pay notes the price of a walk of that many frames. Part of it is by chance: with fixed
// distances a loop as long would be checked at one of its entries only.
func (c *Checker) pay(frames int64) {
	if !c.deep {
		return
	}
	c.random = c.random*6364136223846793005 + 1442695040888963407
	c.debt += (frames + int64(c.random>>33)%frames) / entryPays
}

// Used returns the bytes of the two files that are in use.
func (c *Checker) Used() (check, strings uint64) { return uint64(c.used) + 8, uint64(c.usedString) }

// Begin begins the record of a stack that was found when node of t was entered, or,
// if cell is not 0, when the cell at that offset was left for a callee. start
// is the offset of the cell that the goroutine began with.
func (c *Checker) Begin(t *tree.Tree, node, cell, start uint32) {
	owner := t.Owner(start)
	head := layout.Check{Node: node, StartNode: owner, StartCell: tree.CellIndex(owner, start)}
	if cell != 0 {
		head.Cell = tree.CellIndex(node, cell) + 1
	}
	c.start()
	c.putAll(unsafe.Pointer(&head), unsafe.Sizeof(head))
	c.head = unsafe.Sizeof(head)
}

func (c *Checker) start() {
	c.begin, c.full, c.hash, c.frames = c.used, false, 0xcbf29ce484222325, 0
}

// BeginID begins the record of a stack that was found where the context with the
// given ID was captured. start is the ID of the go statement, 0 for a root.
func (c *Checker) BeginID(hi, lo, startHi, startLo uint64) {
	head := layout.CheckOfID{Mark: layout.CheckID, Hi: hi, Lo: lo, StartHi: startHi, StartLo: startLo}
	c.start()
	c.putAll(unsafe.Pointer(&head), unsafe.Sizeof(head))
	c.head = unsafe.Sizeof(head)
}

// Ended writes the last record: the program ends, while so many goroutines are not waiting.
func (c *Checker) Ended(goroutines uint64) {
	c.start()
	head := layout.Check{Cell: layout.CheckEnd}
	c.putAll(unsafe.Pointer(&head), unsafe.Sizeof(head))
	if c.full {
		c.used = c.begin
		c.rec.Lost(layout.LostChecks)
		return
	}
	rec := c.at(c.begin)
	rec.Events = goroutines
	memory.StoreRel32(&rec.Length, uint32(unsafe.Sizeof(head)))
}

// Frame adds a frame, innermost first. The file is empty if no one knows the place.
func (c *Checker) Frame(function, file string, line uint32, inlined, wrapper bool) {
	c.frames++
	f := layout.CheckFrame{Func: c.str(function), File: c.str(file), Line: line}
	if inlined {
		f.Flags |= layout.CheckFrameInlined
	}
	if wrapper {
		f.Flags |= layout.CheckFrameWrapper
	}
	c.putAll(unsafe.Pointer(&f), unsafe.Sizeof(f))
}

// putAll appends the size bytes of a record's part.
func (c *Checker) putAll(part unsafe.Pointer, size uintptr) {
	for _, v := range unsafe.Slice((*uint32)(part), size/unsafe.Sizeof(uint32(0))) {
		c.put(v)
	}
}

func (c *Checker) put(v uint32) {
	if !c.check.Need(uint64(c.used + unsafe.Sizeof(v))) {
		c.full = true
		return
	}
	*(*uint32)(c.check.At(uint64(c.used))) = v
	c.used += unsafe.Sizeof(v)
	c.hash = (c.hash ^ uint64(v)) * 0x100000001b3
}

// str returns the offset of s in the file of strings. Names of functions and
// files lie in the program's tables, so equal ones have the same address.
func (c *Checker) str(s string) uint32 {
	addr := uint64(uintptr(unsafe.Pointer(unsafe.StringData(s))))
	const mask = NamesSize/16 - 1
	for h := addr * 0x9E3779B97F4A7C15 >> 40; ; h++ {
		e := pairOf(c.names, h&mask)
		if e[0] == addr && e[1]>>32 == uint64(len(s)) {
			return uint32(e[1])
		}
		if e[0] != 0 {
			continue
		}
		off := c.usedString
		if !c.strings.Need(uint64(off + layout.CheckStringSize + uintptr(len(s)))) {
			c.full = true
			return 0
		}
		(*layout.CheckString)(c.strings.At(uint64(off))).Len = uint32(len(s))
		copy(unsafe.Slice((*byte)(c.strings.At(uint64(off+layout.CheckStringSize))), len(s)), s)
		c.usedString = (off + layout.CheckStringSize + uintptr(len(s)) + 3) &^ 3
		*e = [2]uint64{addr, uint64(len(s))<<32 | uint64(off)}
		return uint32(off)
	}
}

// at returns the record at an offset. What is used of it here is the same in a
// layout.CheckOfID.
func (c *Checker) at(off uintptr) *layout.Check { return (*layout.Check)(c.check.At(uint64(off))) }

// pairOf returns entry i of a hash table.
func pairOf(table unsafe.Pointer, i uint64) *[2]uint64 {
	return (*[2]uint64)(unsafe.Add(table, uintptr(i)*unsafe.Sizeof([2]uint64{})))
}

// End counts the record, and keeps it if it is the first of its kind.
func (c *Checker) End() {
	c.pay(c.frames)
	size := c.used - c.begin
	rec := c.at(c.begin)
	if c.full || size < c.head {
		c.used = c.begin
		c.rec.Lost(layout.LostChecks)
		return
	}
	rec.Frames = uint32(size-c.head) / layout.CheckFrameSize
	const mask = SeenSize/16 - 1
	for h, n := c.hash>>20, 0; n < 64; h, n = h+1, n+1 {
		e := pairOf(c.seen, h&mask)
		if e[0] == 0 {
			*e = [2]uint64{c.hash, uint64(c.begin) + 1}
			break
		}
		if e[0] == c.hash {
			c.used = c.begin
			clear(unsafe.Slice((*byte)(unsafe.Pointer(rec)), size))
			c.at(uintptr(e[1]-1)).Events++
			return
		}
	}
	rec.Events = 1
	memory.StoreRel32(&rec.Length, uint32(size))
}
