// Package rt is the half of stemma that runs inside the instrumented program.
//
// It is version-neutral: it imports nothing but unsafe and its seam
// (env_host.go for tests, env_goroot.go when injected), and the same files are
// tested here as an ordinary package and overlaid into GOROOT as
// internal/runtime/stemma. The compiler imports it too, so that every constant
// that compiler, runtime and readers share is defined once, in this file.
//
// # Terminology
//
// The tree region is one reserved range of addresses at [Base]. An offset is a
// 32-bit distance from Base; offset 0 means "none". The region begins with a
// header page, then holds objects, all aligned to 8 bytes: nodes and tables.
//
// A node is one context: function, parent and one 4-byte cell for each call
// site through which the function may enter an instrumented one. A cell holds
// the offset of the child node, of a table (when the site has entered more
// than one function), or 0.
//
// A back edge is a call of a function that is on the path already. When
// recursion is folded the node of a back edge has no children: what the
// function calls hangs below its home, the node that it has on the path, and
// the cells of both lead to the same nodes.
//
// A counter of a node lies at the same offset as the node, but in a shard: a
// region of the same shape as the tree, one for each P. The address of counter
// c of node n for the P with shard offset s is Base + n + 8*c + s. Only the P's
// own M writes to its shard, so that plain increments are exact; a count is
// the sum over the shards. Counter 0 counts the node's own invocations.
//
// # Live directory
//
// The program's record is a directory of memory-mapped files:
//
//	tree      the tree region, from its header on
//	shard.N   the shard of P number N; the counters of the node at offset n of
//	          tree are the 64-bit words at offset n of this file
//	funcs     function records, one after another, see [FuncHeaderSize]
//	calls     every function entry in order, in a recording build only, see [CallsHeader]
//	check     records of the checker, in a verify build only, see [CheckHeaderSize]
//
// The files are sparse; only what [HdrUsed] covers has a meaning. All numbers
// are little-endian.
package rt

// Version is the version of everything below. A reader refuses any other.
const Version = 3

// Base is the address of the tree region. It is below 1<<31, so that it fits
// the displacement of an x86 address, and above where a non-PIE executable
// ends and the kernel begins the C heap: up to 1 GiB further, at random.
const Base = 0x60000000

// Every start of a process draws a run number of 64 random bits, never 0. It stands
// in the header of every kind of record, and an ID carries it: process IDs, and
// starts in a clock that was set back, come again.

// Offsets of the fields in the header at the beginning of the tree region.
const (
	HdrMagic     = 0   // 8 bytes: Magic
	HdrVersion   = 8   // u32: Version
	HdrFlags     = 12  // u32: HdrFlag bits
	HdrSize      = 16  // u64: bytes of the region that may be used
	HdrUsed      = 24  // u64: bytes in use; objects lie in [HdrEnd, used)
	HdrFuncsSize = 32  // u64: bytes of funcs that may be used
	HdrFuncsUsed = 40  // u64: bytes of funcs in use
	HdrShards    = 48  // u32: number of shards that exist
	HdrPID       = 52  // u32: process ID
	HdrStart     = 56  // u64: start of the program, nanoseconds since 1970
	HdrLost      = 64  // [NumLost]u64: what was lost, by kind
	HdrRun       = 184 // u64: the run number, never 0
	HdrArgsLen   = 192 // u32: bytes at HdrArgs
	HdrGoVerLen  = 196 // u32: bytes at HdrGoVer
	HdrGoVer     = 200 // [56]byte: the Go version
	HdrArgs      = 256 // [3840]byte: command line, arguments separated by NUL, cut if longer
	HdrEnd       = 4096
	HdrArgsMax   = HdrEnd - HdrArgs
	HdrGoVerMax  = HdrArgs - HdrGoVer
	Magic        = "stemma\x00\x01"
	HdrFlagFull  = 1 << 0 // recursion is not folded
	HdrFlagCheck = 1 << 1 // the checker is on
)

// Kinds of loss, the index into HdrLost.
const (
	LostNodes  = iota // node creations past the node budget, led to overflow nodes
	LostFuncs         // functions whose record did not fit funcs
	LostPages         // pages that the disk could not hold (SIGBUS)
	LostShards        // Ps without a shard of their own file
	LostTables        // sites with more targets than a table may hold
	LostChecks        // checks not written, because check was full
	LostPaths         // searches for recursion that a lost page has cut short
	LostEdges         // back edges that had no room for a node: their calls count at the function's first node
	LostDeep          // checks left out, see Checker.Due
	NumLost
)

// What compiler and runtime agree on.
const (
	// The fields of g lie behind all that Go has there, so that libraries that
	// read a g, and profilers, find what they look for. Go 1.26 and 1.27 have a g
	// of as many bytes; the first five words share a cache line.
	GWords = 456

	GCtx   = GWords      // address of the cell that the caller left
	GShard = GWords + 8  // address of this P's shard, less Base
	GFunc  = GWords + 16 // argument of the slow path: the function ID
	GNode  = GWords + 24 // its result: the offset of the node
	GStart = GWords + 32 // address of the cell that the goroutine began with

	// With calling context encoding GCtx is the word that the caller left,
	// GFunc the data of the function, GNode its word.
	GStack  = GWords + 40 // the ccStack, of entries of StackEntry bytes; entry 0 is not used
	GCap    = GWords + 48 // entries in it
	GPushes = GWords + 56 // pushes of the goroutine
	GEpoch  = GWords + 64 // the epoch of the words in its frames
	GFrom   = GWords + 72 // the lower half of the ID of the go statement; GStart is the upper

	// EnterAux is the auxiliary number of an SSA value WB that is not a write
	// barrier but a call of the slow path.
	EnterAux = 16

	// PlaceAux is that of a call of stemmaPlace.
	PlaceAux = 17

	// Bits of abi.FuncFlag: an instrumented function whose frame holds its
	// node at varp-8, and one that calls nothing and holds no node.
	FuncFlagSlot = 1 << 7
	FuncFlagLeaf = 1 << 6
)

// The layout of an object in the tree region. The low three bits of the first
// word tell the kind: 0 for a node (the word is a function ID), else a Tag.
const (
	// Node: { u64 function ID; u32 parent; u32 cell; [cells]u32 }.
	// parent is the offset of the parent node and cell the index of the cell
	// in it through which this node was first entered. The first word is
	// written first; a node whose parent is 0 is not complete (the root
	// alone has itself as its parent).
	NodeFunc   = 0
	NodeParent = 8
	NodeCell   = 12
	NodeCells  = 16

	// NoCell is the cell of a node that was not entered through a call site:
	// a place of a fault, see RecFault.
	NoCell = 1<<32 - 1

	// Table: { u32 TagTable; u32 size in bytes; u32 mask; u32 count; [mask+1]u32 }.
	// The entries are offsets of nodes, open addressing by Hash.
	TagTable     = 1
	TableSize    = 4
	TableMask    = 8
	TableCount   = 12
	TableEntries = 16
)

// RootFunc is the function ID of the root node, which lies at HdrEnd. Its cells are
// the named roots below; its record in funcs is an ordinary one.
const RootFunc = 8

// OverflowFunc is the function ID of the node under which overflow nodes hang: one
// for each function, entered when the node budget is used up.
const OverflowFunc = 16

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
var RootNames = [NumRoots]string{"main", "init", "go", "timer", "finalizer", "cleanup", "cgo", "gc", "other", "overflow"}

// The metadata that the compiler emits for each instrumented function, in
// read-only memory. Its address is the function ID. All offsets are in bytes.
//
//	{ u64 entry; u32 node size; u32 flags; u32 number of strings; u32 blob length;
//	  u32 recover cell + 1; u32 cells; [nstr]{ u64 address; u64 length }; blob }
//
// Node size covers cells and counters: max(NodeCells + 4*cells, 8*counters),
// rounded up to 8. Recover cell is the cell of the call of deferreturn that
// recovery jumps to.
const (
	MetaEntry      = 0
	MetaNodeSize   = 8
	MetaFlags      = 12
	MetaNumStrings = 16
	MetaBlobLen    = 20
	MetaRecover    = 24
	MetaCells      = 28
	MetaStrings    = 32

	MetaFlagWrapper = 1 << 0 // compiler-generated; elided from contexts
	MetaFlagSlot    = 1 << 1 // the frame holds the node at varp-8
	MetaFlagAsm     = 1 << 2 // an ABI wrapper that stands for a function in assembly
)

// A record of funcs:
//
//	{ u32 length; u32 kind; u64 ID; u32 node size; u32 flags;
//	  u32 number of strings; u32 blob length; [nstr]u32 string lengths;
//	  strings; blob; zero bytes up to a multiple of 8 }
//
// length counts the whole record and is written last; a length of 0 ends the
// file. flags are the MetaFlags of the function.
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
const (
	FuncHeaderSize = 32
	InlinedNumbers = 7 // how many numbers the blob has for an inlined call
	RecFunc        = 1
	RecFault       = 2
)

// Kinds of call sites.
const (
	SiteCall        = 1 // a call, static or not, to a function that counts itself
	SiteGo          = 2 // a go statement
	SiteDefer       = 3 // a deferred call made by the function's own exit code
	SiteNative      = 4 // a call of a native: a leaf, counted here
	SitePanic       = 5 // a native that may call back (panic, Goexit, a nosplit function): counted here; what it calls hangs below it
	SiteDeferReturn = 6 // runtime.deferreturn: deferred functions run below it
	SiteUnknown     = 7 // a call of a function without a Go body: counted here, and by the callee if it counts itself; the difference is native
)

// A record of check, which is written in a verify build only:
//
//	{ u32 length; u32 node; u64 events; u32 number of frames; u32 cell + 1;
//	  u32 start node; u32 start cell; frames... }
//
// It says that events times, when node was entered (cell + 1 is 0), or when
// node was about to leave through a cell, a walk of the stack found these
// frames. The frames reach down to where the goroutine, or the runtime for it,
// began: at the start cell of the start node. The frames, innermost first, are
// { u32 function; u32 file; u32 line; u32 flags }, where function and file are
// offsets in the file strings, of { u32 length; bytes }. length is written last.
//
// With calling context encoding, where node is 0 and cell + 1 is CheckID, it is
//
//	{ u32 length; u32 0; u64 events; u32 number of frames; u32 CheckID;
//	  u64 hi; u64 lo; u64 start hi; u64 start lo; frames... }
//
// and says that a walk found these frames where the ID hi, lo was captured. The
// frames reach down to where the goroutine began: at the go statement with the ID
// start, or at a root if that is 0. If the ID's return address is the entry of a
// function, it was captured on entry.
const (
	CheckHeaderSize = 32
	CheckID         = 1 << 31
	CheckIDHeader   = 56
	CheckInlined    = 1 << 0 // flag of a frame that is inlined into the next one
	CheckWrapper    = 1 << 1 // flag of a wrapper, which contexts do not show
)
