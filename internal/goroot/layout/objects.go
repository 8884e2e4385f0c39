package layout

// Version is the version of everything below. A reader refuses any other, but for OldestVersion and those behind it,
// which lack [MetaFlagAdapter], and those before RotationVersion, which lack what a header says of rotation.
const (
	Version         = 7
	OldestVersion   = 5
	RotationVersion = 7
)

// Base is the address of the tree region. It is below 1<<31, so that it fits
// the displacement of an x86 address, and above where a non-PIE executable
// ends and the kernel begins the C heap: up to 1 GiB further, at random.
const Base = 0x60000000

// CounterBase is what a displacement of a counter begins with, before 8*c. Where a thread's segment base cannot be set
// it is 0, and the shard that all Ps then share lies here: below Base, as long as an executable leaves room.
const CounterBase = 0x40000000

// Every start of a process draws a run number of 64 random bits, never 0. It stands
// in the header of every kind of record, and an ID carries it: process IDs, and
// starts in a clock that was set back, come again.

// The header of tree and cce, see layout.Header.
const (
	Magic        = "stemma\x00\x01"
	HdrFlagFull  = 1 << 0 // recursion is not folded
	HdrFlagCheck = 1 << 1 // the checker is on
	HdrFlagAlloc = 1 << 5 // allocations are counted
	HdrFlagWait  = 1 << 6 // waits are counted
	HdrFlagInuse = 1 << 7 // reachable objects are counted, when the program ends or asks for it

	HdrFlagExisting = 1 << 8 // the goroutines that exist are listed
)

// Kinds of loss, the index into Lost of the header.
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
	LostFaults        // faults at addresses that are not nil, recovered from: inlined calls behind them may be counted
	LostLabels        // labels set with a value that came when their key had too many
	NumLost
)

// What compiler and runtime agree on.
const (
	// EnterAux is the auxiliary number of an SSA value WB that is not a write
	// barrier but a call of the slow path.
	EnterAux = 16

	// PlaceAux is that of a call of stemmaPlace.
	PlaceAux = 17

	// Bits of abi.FuncFlag: an instrumented function whose frame holds its
	// node at varp-8, and one that calls nothing and holds no node.
	FuncFlagSlot = 1 << 7
	FuncFlagLeaf = 1 << 6

	// FuncFlagAdapter is the bit of abi.FuncFlag of an adapter, instrumented or not.
	FuncFlagAdapter = 1 << 5
)

// An object in the tree region is a layout.Node or a layout.Table. The low three bits of
// its first word tell which: 0 for a node (the word is a function ID), else a Tag.
const (
	TagTable = 1

	// NoCell is the cell of a node that was not entered through a call site:
	// a place of a fault, see RecFault.
	NoCell = 1<<32 - 1
)

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

// Flags of a function, in its metadata and its record.
const (
	MetaFlagWrapper = 1 << 0 // compiler-generated; elided from contexts
	MetaFlagSlot    = 1 << 1 // the frame holds the node at varp-8
	MetaFlagAsm     = 1 << 2 // an ABI wrapper that stands for a function in assembly
	MetaFlagNear    = 1 << 3 // in metadata alone: its strings are MetaAddrs, not MetaStrings
	MetaFlagAdapter = 1 << 4 // only passes a call on; see back edges
)

// Kinds of records of funcs, see layout.FuncRecord.
const (
	RecFunc   = 1
	RecFault  = 2
	RecAlloc  = 3
	RecWait   = 4
	RecHeld   = 5
	RecRun    = 6
	RecLabels = 7
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

// What records of check say, see layout.Check and layout.CheckOfID.
const (
	CheckID      = 1 << 31   // the mark of a layout.CheckOfID
	CheckEnd     = 1<<31 + 1 // the mark of the last record: Events is how many goroutines the end has stopped midway
	CheckInlined = 1 << 0    // flag of a frame that is inlined into the next one
	CheckWrapper = 1 << 1    // flag of a wrapper, which contexts do not show
)

// Why a log ended before the program.
const (
	CallsEndNone  = iota
	CallsEndFull  // no room for another entry
	CallsEndNodes // no room for another node
	NumCallsEnds
)

// The low three bits of what an entry of calls says tell its kind; what is above them, a
// multiple of 8, is the offset of a node.
const (
	CallsKinds = 7

	CallEnter = 0 // the node was entered
	CallExit  = 1 // the goroutine has ended
	CallGo    = 2 // a go statement in the node; the next entry names what it started
	CallChild = 3 // the goroutine that was started
)
