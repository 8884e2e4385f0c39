package layout

// Base is the address of the tree region. It is below 1<<31, so that it fits
// the displacement of an x86 address, and above where a non-PIE executable
// ends and the kernel begins the C heap: up to 1 GiB further, at random.
const Base = 0x60000000

// HeapBase returns where the heap of Go begins if it was to begin at base, a random address: beyond the tree region,
// which is at most 4 GiB. Otherwise 16 of the 2^20 places, or 2^21, that Go chooses from are where a tree of 1 GiB must
// be.
func HeapBase(base uint64) uint64 {
	const end = Base + 1<<32
	if base < end {
		return base + end
	}
	return base
}

// CounterBase is what a displacement of a counter begins with, before 8*c. Where a thread's segment base cannot be set
// it is 0, and the shard that all Ps then share lies here: below Base, as long as an executable leaves room.
const CounterBase = 0x40000000

// Names of files: the tree, the main file of such records; what counts for a P, with its number behind it; and what is
// still reachable.
const (
	FileTree  = "tree"
	FileShard = "shard."
	FileInuse = "inuse"
)

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

// An object in the tree region is a layout.Node or a layout.Table. The low three bits of
// its first word tell which: 0 for a node (the word is a function ID), else a Tag.
const (
	TagTable = 1

	// NoCell is the cell of a node that was not entered through a call site:
	// a place of a fault, see RecFault.
	NoCell = 1<<32 - 1
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

// RootFunc is the function ID of the root node, which lies behind the header. Its cells are
// the named roots below; its record in funcs is an ordinary one.
const RootFunc = 8

// OverflowFunc is the function ID of the node under which overflow nodes hang: one
// for each function, entered when the node budget is used up.
const OverflowFunc = 16

// BypassFunc is the function ID of the node below which lies what the program does not want to be recorded. Readers
// leave it out.
const BypassFunc = 24

// Cells of the root node: where calls come from that no instrumented function made.
const (
	RootMain      = iota // runtime.main calls main.main
	RootInit             // package initialisation
	RootGo               // goroutines started by the runtime
	RootTimer            // timers, on g0
	RootFinalizer        // finalizers
	RootCleanup          // cleanups
	RootCgo              // callbacks from threads that C created
	RootGC               // callbacks of the garbage collector
	RootOther            // whatever is left: the first context of every g
	RootOverflow         // the overflow node
	NumRoots
)

// RootNames are the names of the root's cells, as reports show them.
var RootNames = [NumRoots]string{"main", "init", "go", "timer", "finalizer", "cleanup", "cgo", "gc", "other",
	"overflow"}

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
