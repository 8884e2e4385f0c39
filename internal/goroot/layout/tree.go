package layout

// A Header is the first page of the files tree and cce.
type Header struct {
	Magic     [8]byte    // layout.Magic
	Version   uint32     // layout.Version
	Flags     uint32     // layout.HdrFlag bits
	Size      uint64     // bytes of the tree region that may be used
	Used      uint64     // bytes of the tree in use, from its header on
	FuncsSize uint64     // bytes of funcs that may be used
	FuncsUsed uint64     // bytes of funcs in use
	Shards    uint32     // number of shards that exist
	PID       uint32     // process ID
	Start     uint64     // start of the program, nanoseconds since 1970
	Lost      [15]uint64 // what was lost, by layout.Lost constant
	Run       uint64     // the run number, never 0
	ArgsLen   uint32     // bytes of Args
	GoVerLen  uint32     // bytes of GoVer
	GoVer     [56]byte   // the Go version
	Args      [3800]byte // command line, arguments separated by NUL, cut if longer
	Segment   uint64     // number of the segment, from 1 on; 0 of a record without rotation
	Dropped   uint64     // segments that were removed, since no more are kept
	Failed    uint64     // rotations that failed
	Began     uint64     // when the segment began, nanoseconds since 1970
	Ended     uint64     // when it ended; 0 of a live directory, whose number is that of the segment that is to come
}

// UnfinishedFiles are the files of a segment before it is complete. The last one then becomes tree.
var UnfinishedFiles = [...]string{"funcs", "shard.0", "tree.new"}

// FormerArgs is how many bytes of Args there were before [RotationVersion]: with what follows in the page.
const FormerArgs = 3840

// An EarlierHeader is the beginning of the files earlier.0 and earlier.1 of a program with rotation. Their shape is
// that of a shard: they have what all shards together had counted when a segment ended, in turn. One without a number
// was being written.
type EarlierHeader struct {
	Segment uint64 // number of the segment that ended, written last
	Ended   uint64 // when that was, nanoseconds since 1970
}

// A Node is the beginning of a node of the tree: its cells follow, 4 bytes each. Func is
// written first. A node without a parent is not complete (the root alone has itself as
// its parent).
type Node struct {
	Func   uint64 // function ID, a multiple of 8
	Parent uint32 // offset of the parent node
	Cell   uint32 // index of the cell of the parent through which this node was first entered, or layout.NoCell
}

// A Table is the beginning of a table of the tree: the nodes that one cell leads to. The
// offsets of nodes follow, 4 bytes each, open addressing by layout.Hash. Tag is written last.
type Table struct {
	Tag   uint32 // layout.TagTable
	Size  uint32 // bytes of the table
	Mask  uint32 // places for offsets, less one
	Count uint32 // offsets that are there
}

// An InuseHeader is the beginning of the file inuse, whose shape is that of a shard: at the offset of each node of
// allocations there are InuseCounts, of the objects that were reachable when the program counted them last.
type InuseHeader struct {
	Changes uint64 // odd while the program counts
	Counted uint64 // when it counted last, nanoseconds since 1970; 0 if it never has
}

// InuseCounts are the objects of one node of allocations that were reachable.
type InuseCounts struct {
	Objects uint64 // their number
	Bytes   uint64 // the bytes of the heap that they take
}

// A GoroutinesHeader is the beginning of the file goroutines. An entry for each g of the runtime follows.
type GoroutinesHeader struct {
	Entries uint64                     // written when there is an entry more
	Lost    uint64                     // goroutines without an entry, for want of room
	End     uint64                     // of the program, nanoseconds since 1970, or 0
	Reasons [GoroutineReasons][48]byte // what the numbers mean, then zero bytes; empty for none
}

// A Goroutine is an entry of the file goroutines. It means something if ID and Again are equal, and not 0.
type Goroutine struct {
	ID     uint64 // the number that package runtime prints, 0 for no goroutine
	Since  uint64 // when it began to do what it does, nanoseconds since 1970
	Start  uint32 // the offset of the cell of its go statement, or of its root
	At     uint32 // that of where it waits; Start if it runs, or nobody knows
	Reason uint16 // why it does not run, an index of Reasons; or GoroutineRuns
	_      [3]uint16
	Again  uint64 // ID, written last, and made 0 first
}

// GoroutineReasons is more than package runtime has reasons. GoroutineRuns stands for none.
const (
	GoroutineReasons = 64
	GoroutineRuns    = GoroutineReasons
)

const (
	CellSize    = 4 // of a node's cell, and of a table's offset
	CounterSize = 8 // of a counter in a shard
)

// NodeBytes returns the bytes of a node with cells and counters: its counters lie at the
// same offset in the shards.
func NodeBytes(cells, counters int) uint64 {
	return uint64(max(NodeSize+CellSize*cells, CounterSize*counters)+7) &^ 7
}

// Meta is the beginning of the metadata that the compiler emits for each instrumented
// function, in read-only memory; its address is the function ID. MetaAddrs follow, or in position-independent code
// MetaStrings, and the bytes of the blob, see [FuncRecord].
type Meta struct {
	Entry    uint64 // address of the function
	NodeSize uint32 // bytes of a node with its cells and counters, see NodeBytes
	Flags    uint32 // layout.MetaFlag bits
	Strings  uint32 // number of strings
	BlobLen  uint32 // bytes of the blob
	Recover  uint32 // the cell of the call of deferreturn that recovery jumps to, + 1, or 0
	Cells    uint32 // number of cells
}

// A MetaAddr is a string of the metadata of code that lies below 4 GiB.
type MetaAddr struct {
	Addr uint32 // of its length, an unsigned varint, and its bytes
}

// A MetaString is a string of the metadata of code that may lie anywhere.
type MetaString struct {
	Addr uint64 // of its bytes
	Len  uint64 // number of bytes
}

// A FuncRecord is the beginning of a record of funcs. The lengths of the strings follow, 4
// bytes each, the strings, the blob, and zero bytes up to a multiple of 8. Length is
// written last; a length of 0 ends the file.
//
// The blob describes the function in unsigned varints:
//
//	name string                          index of the function's symbol name
//	start line
//	number of files, then for each: string
//	number of inlined calls, then for each:
//	    parent + 1    the inlined call that it is in, 0 for the function itself
//	    callee string
//	    file          index into the files, of the call
//	    line
//	    counter + 1   0 if it has none
//	    file + 1      of the callee, 0 if it is not known
//	    line          where the callee begins, 0 if it is not known
//	number of sites, then for each:
//	    kind          one of the Site kinds
//	    inlined + 1   the innermost inlined call that the site is in
//	    file
//	    line
//	    callee string + 1   0 if the target is not known statically
//	    cell + 1      0 if it has none
//	    counter + 1   0 if it has none
//	number of weights, then for each:
//	    counter       what each increment of it stands for:
//	    inlined + 1   operations in this inlined call, 0 for the function itself,
//	    class         of this [OpClass],
//	    operations    so many, as a signed varint
//
// File 0 is the function's own. Several sites may share one counter: they are
// always executed together. Counter 0 is the node's own: such a site is
// executed once in each invocation.
//
// A record of kind RecFault describes a place where a run-time error rose or a
// signal struck: its ID stands for the runtime function that handles it, and
// its only cell is the one under which deferred calls run. Its blob is
//
//	name string                  the runtime function, runtime.sigpanic say
//	number of frames, then for each, innermost first:
//	    function string, file string, line
//
// where the frames are those of the parent node's function at the place.
//
// A record of kind RecAlloc stands for the allocations of a type. Its blob is the name of
// the type, a string that is empty for memory without a type. Its nodes have no cells;
// counter 0 counts allocations, counter 1 the bytes that they took. One of kind RecWait stands for the waits
// for a reason, which is its blob; counter 0 counts them, counter 1 adds up their nanoseconds.
//
// A record of kind RecLabels stands for labels that a goroutine has. Its strings are their keys and values in turn, and
// its blob is their number and the index of each string. Its nodes have one cell, below which lies what runs with these
// labels, and counter 0 counts how often they were set.
type FuncRecord struct {
	Length   uint32 // bytes of the record
	Kind     uint32 // what it describes: layout.RecFunc to layout.RecLabels
	ID       uint64 // function ID
	NodeSize uint32 // as in the metadata
	Flags    uint32 // layout.MetaFlag bits
	Strings  uint32 // number of strings
	BlobLen  uint32 // bytes of the blob
}

const (
	InlinedNumbers = 7 // how many numbers the blob has for an inlined call
	SiteNumbers    = 7 // how many it has for a site
	WeightNumbers  = 4 // how many it has for a weight
)

// An OpClass is a kind of operations of generic SSA that take about as long as each other. Calls are those of
// functions, not what they do; a move counts for each eight bytes. Classes from OpBytes to OpMark are no operations,
// but what a compiler adds to them, as far as it shows on any machine: tables of costs need them.
type OpClass uint8

// The classes of operations.
const (
	OpInt      OpClass = iota // integers and pointers
	OpBits                    // bits counted
	OpMul                     // multiplications of integers
	OpWide                    // carries, and products of two words
	OpDiv                     // divisions of integers, and remainders
	OpFloat                   // floating point
	OpFloatDiv                // divisions and square roots of floating point
	OpLoad
	OpStore
	OpMove   // eight bytes copied
	OpCheck  // of an index, or of a pointer that is used near by
	OpBranch // a conditional jump
	OpCall
	OpReturn // from a function that calls
	OpAtomic
	OpShift   // by a constant
	OpShiftBy // by an amount that is known to be less than the width
	OpShiftAny
	OpCompare // decides a branch, and nothing else
	OpBool    // a comparison that is a value
	OpExtend  // to a wider integer
	OpSelect  // one of two values
	OpPlace   // an address for loads and stores alone
	OpRotate
	OpZeros // how many there are at an end
	OpSwap  // of bytes
	OpNil   // a check of a pointer that is not used near by
	OpSlice // a check of a slice's ends
	OpClear // eight bytes cleared
	OpTable // a jump by a table
	OpLeave // a return from a function that calls nothing

	OpBytes    // a load that was joined with another one
	OpBarrier  // a store of a pointer that the collector is to hear of
	OpArgument // of a call
	OpResult   // of the function
	OpPhi      // a value that depends on where control comes from
	OpJump     // a block with one successor
	OpJoin     // a value that the successor of such a block needs in a register, and that is in none
	OpSymbol   // the address of a variable
	OpConstant // one that something is compared with, but for 0
	OpSpill    // a value stored until it is needed again
	OpReload   // a value loaded back
	OpFar      // an access to memory 2 KB or more from where a register points, but for the frame
	OpFrame    // an eighth of an access to the frame, of what is as far from its end
	OpPieces   // a store that was joined with another one
	OpBig      // a constant of more than 12 bits, in a block that uses it
	OpWord     // a signed number of 32 bits, in a register to be compared
	OpUword    // an unsigned one
	OpHalf     // one of 8 or 16 bits
	OpKept     // an operand that is needed again, of what writes its result over it where it can
	OpMark     // the beginning of an inlined call

	OpWiden // to a wider integer, of what was loaded
	OpZero  // to a wider integer, of an unsigned one of 16 or 32 bits
	NumOpClasses
)

// IsOperation reports whether c is one of operations.
func (c OpClass) IsOperation() bool { return c < OpBytes || c >= OpWiden }

// Family returns the class of operations that c is a finer part of. Families decide what is counted, so that finer
// classes cost a program nothing.
func (c OpClass) Family() OpClass {
	switch c {
	case OpShift, OpShiftBy, OpShiftAny, OpCompare, OpBool, OpExtend, OpSelect, OpPlace, OpWiden, OpZero:
		return OpInt
	case OpRotate, OpZeros, OpSwap:
		return OpBits
	case OpNil, OpSlice:
		return OpCheck
	case OpClear:
		return OpMove
	case OpTable:
		return OpBranch
	case OpLeave:
		return OpReturn
	}
	return c
}

// OpClassNames are the words for classes in reports and files.
var OpClassNames = [NumOpClasses]string{"int", "bits", "mul", "wide", "div", "float", "floatdiv", "load", "store",
	"move", "check", "branch", "call", "return", "atomic", "shift", "shiftby", "shiftany", "compare", "bool", "extend",
	"select", "place", "rotate", "zeros", "swap", "nil", "slice", "clear", "table", "leave", "bytes", "barrier",
	"argument", "result", "phi", "jump", "join", "symbol", "constant", "spill", "reload", "far", "frame", "pieces",
	"big", "word", "uword", "half", "kept", "mark", "widen", "zero"}

// A Check is the beginning of a record of check, which is written in a verify build only:
// CheckFrames follow, innermost first. It says that so many times, when the node was
// entered (Cell is 0), or when it was about to be left through a cell, a walk of the stack
// found these frames. They reach down to where the goroutine, or the runtime for it,
// began. Length is written last. The last record, of a program that ended of its own will, says how many
// goroutines were running or ready to run, and may have been stopped anywhere.
type Check struct {
	Length uint32 // bytes of the record
	Node   uint32 // offset of the node
	Events uint64 // how many times
	Frames uint32 // number of frames
	// index of the cell + 1, 0 on entry; layout.CheckID in a CheckOfID, layout.CheckEnd in the last one
	Cell      uint32
	StartNode uint32 // offset of the node that the goroutine began in
	StartCell uint32 // and the cell of it
}

// A CheckOfID is the beginning of a record of check where contexts are encoded: a walk found
// these frames where the ID was captured. They reach down to where the goroutine
// began: at the go statement with the start ID, or at a root if that is 0. If the ID's
// return address is the entry of a function, it was captured on entry.
type CheckOfID struct {
	Length  uint32 // bytes of the record
	Zero    uint32 // 0
	Events  uint64 // how many times
	Frames  uint32 // number of frames
	Mark    uint32 // layout.CheckID
	Hi      uint64 // the ID, upper word
	Lo      uint64 // the ID, lower word
	StartHi uint64 // the ID of the go statement, upper word
	StartLo uint64 // the ID of the go statement, lower word
}

// A CheckFrame is a frame of a record of check. Its strings are in the file strings, each
// behind a CheckString.
type CheckFrame struct {
	Func  uint32 // offset in strings
	File  uint32 // offset in strings
	Line  uint32 // line
	Flags uint32 // layout.CheckInlined, layout.CheckWrapper
}

// A CheckString is the beginning of a string of the file strings. Its bytes follow, and zero
// bytes up to a multiple of 4.
type CheckString struct {
	Len uint32 // number of bytes
}
