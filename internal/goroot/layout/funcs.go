package layout

// FileFuncs has the records of functions, beside a tree and beside context IDs.
const FileFuncs = "funcs"

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

// Flags of a function, in its metadata and its record.
const (
	MetaFlagWrapper = 1 << 0 // compiler-generated; elided from contexts
	MetaFlagSlot    = 1 << 1 // the frame holds the node at varp-8
	MetaFlagAsm     = 1 << 2 // an ABI wrapper that stands for a function in assembly
	MetaFlagNear    = 1 << 3 // in metadata alone: its strings are MetaAddrs, not MetaStrings
	MetaFlagAdapter = 1 << 4 // only passes a call on; see back edges
	MetaFlagNew     = 1 << 5 // an adapter, or a wrapper, whose first on a path is new to it
)

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
//	number of counters that were placed for operations, then for each:
//	    counter + 1   that it has become, 0 for none
//
// The last list is not there if it is empty.
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
// A record of kind RecMetric stands for a metric that the program has made. Its blob is the metric's name and unit, two
// strings. Counter 0 of a node adds up what the call site that the node hangs below has added.
//
// A record of kind RecLabels stands for labels that a goroutine has. Its strings are their keys and values in turn, and
// its blob is their number and the index of each string. Its nodes have one cell, below which lies what runs with these
// labels, and counter 0 counts how often they were set.
type FuncRecord struct {
	Length   uint32 // bytes of the record
	Kind     uint32 // what it describes, a layout.Rec constant
	ID       uint64 // function ID
	NodeSize uint32 // as in the metadata
	Flags    uint32 // layout.MetaFlag bits
	Strings  uint32 // number of strings
	BlobLen  uint32 // bytes of the blob
}

// Kinds of records of funcs. What number 3 means the header says: beside a tree there are no return addresses, and
// beside cce no amounts.
const (
	RecFunc   = 1
	RecFault  = 2
	RecAlloc  = 3 // beside a tree
	RecPCs    = 3 // beside cce, with [HdrFlagCce]; the record is a [PCsRecord]
	RecWait   = 4
	RecHeld   = 5
	RecRun    = 6
	RecLabels = 7
	RecMetric = 8
)

// IsPCs reports whether a record of funcs of this kind is a [PCsRecord], beside a header with these flags.
func IsPCs(flags, kind uint32) bool { return kind == RecPCs && flags&HdrFlagCce != 0 }

const (
	BlobInlined = 7 // how many numbers the blob has for an inlined call
	BlobSite    = 7 // how many it has for a site
	BlobWeight  = 4 // how many it has for a weight
)

// Kinds of call sites.
const (
	SiteCall   = 1 // a call, static or not, to a function that counts itself
	SiteGo     = 2 // a go statement
	SiteDefer  = 3 // a deferred call made by the function's own exit code
	SiteNative = 4 // a call of a native: a leaf, counted here
	// a native that may call back (panic, Goexit, a nosplit function): counted here; what it calls hangs below it
	SitePanic       = 5
	SiteDeferReturn = 6 // runtime.deferreturn: deferred functions run below it
	// a call of a function without a Go body: counted here, and by the callee if it counts itself;
	// the difference is native
	SiteUnknown = 7
)

// A PCsRecord is the beginning of a record of funcs that follows that of a function: PCPairs
// follow. It tells the site of each call in the function. Calls that are not sites, of
// run-time checks say, are not in it.
type PCsRecord struct {
	Length uint32 // bytes of the record
	Kind   uint32 // layout.RecPCs
	ID     uint64 // function ID
	Entry  uint64 // address of the function
	Size   uint32 // bytes of its code
	Pairs  uint32 // number of pairs
}

// A PCPair is a return address with its site.
type PCPair struct {
	Return uint32 // return address, less Entry
	Site   uint32 // index of the site
}
