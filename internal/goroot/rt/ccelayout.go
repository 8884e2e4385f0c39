package rt

// The layout of calling context encoding (engines dacce and pcce).
//
// # The word
//
// The context of an invocation is one word, in the frame and, on the way to a
// callee, in g:
//
//	key 14 bits | id 30 bits | ccStack depth 20 bits
//
// In a frame the key is 0. Before a call the caller adds the site's addition
// value: the id of the edge and the key of the callees that the site is encoded
// for. A callee subtracts its own key and compares with its limit; a word that
// is below is its context:
//
//	word - key<<WordKey < limit<<WordID
//
// # Live directory
//
//	cce       two pages of header, see Hdr and Cce
//	funcs     function records, as for the tree, and RecPCs
//	epochs    the dictionaries, see [EpochHeaderSize]
//	nodes     interned entries of ccStacks, see [InternSize]
//	counts.N  the events of P number N, added up, see [Counts]
//	events.N  the newest events of P number N, see [EventLog]
//	check, strings   as for the tree, in a verify build only
const (
	WordID  = 20
	WordKey = 50
	MaxNum  = 1 << (WordKey - WordID) // every id is below
	MaxDeep = 1<<WordID - 1           // the deepest ccStack
	NumKeys = 1<<14 - 8               // keys of groups are in [1, NumKeys)

	// Keys that no function has: the callee goes to the slow path.
	KeyPush    = 1<<14 - 1 // the edge is known and not encoded: push
	KeyUnknown = 1<<14 - 2 // anything may be called, or g's word is not valid
)

// The data of an instrumented function, in writable memory.
//
//	{ u64 key << WordKey; u64 limit << WordID; u64 function ID; u64 index;
//	  [cells]u64 addition values }
const (
	DataKey   = 0
	DataLimit = 8
	DataMeta  = 16
	DataIndex = 24 // of the function, from 1 on; 0 until it is entered
	DataAV    = 32

	// Dynamic in the first addition value of a cell says that the site may
	// call several functions.
	Dynamic = 1

	// PCDataSite is the PCDATA table that tells the site of a call: an index
	// into the sites of the function's metadata.
	PCDataSite = 5
)

// HdrFlagCce in HdrFlags: the file is cce, not tree. HdrFlagStatic: epochs do not
// change while the program runs (engine pcce).
const (
	HdrFlagCce    = 1 << 2
	HdrFlagStatic = 1 << 3
)

// Offsets of the fields in the second page of cce. All are u64.
const (
	CceText       = 4096 + 8*iota // address that the pc of an ID is relative to
	CceNodesUsed                  // number of nodes; node 0 does not exist
	CceEpochsUsed                 // bytes of epochs in use
	CceEpoch                      // the current epoch
	CceFuncs                      // functions that were entered
	CceEdges                      // edges <p,n,l> that were seen
	CceEncoded                    // edges that the current epoch encodes
	CceGroups                     // groups of dynamic sites
	CceBack                       // back edges
	CceLeftOut                    // edges left out to keep ids below MaxNum
	CceMaxID                      // largest id of the current epoch
	CcePushes                     // ccStack pushes in all, counted in steps of PushStep
	CceSlow                       // entries through the slow path in Go
	CceDepths                     // sum of the depths at counted pushes
	CceMaxDepth                   // deepest ccStack seen at a counted push
	CceEncodes                    // re-encodings
	CceEncodeTime                 // nanoseconds spent in them
	CceMaxPause                   // longest stop, nanoseconds
	CceRewrites                   // goroutines whose frames were rewritten
	CceTruncated                  // contexts cut, because the ccStack or nodes were full
	CceWarm                       // what the program started from, a Warm source
	CceWarmNodes                  // functions in the graph that it started from
	CceWarmEdges                  // edges of that graph
	CceWarmKnown                  // those of CceEdges that came from it
	CceEnd
	CceSize  = 8192
	PushStep = 1024
)

// A record of epochs:
//
//	{ u32 length; u32 epoch; u32 number of functions; u32 number of sites;
//	  u64 time, nanoseconds since 1970; u32 largest id; u32 reserved;
//	  functions: { u64 function ID; u32 key; u32 numCC }
//	  sites: { u64 function ID; u32 cell; u32 addition; u64 target } }
//
// It says what differs from the epoch before; epoch 0 encodes nothing. length
// is written last. The addition of a site that is not encoded any more is
// NoAddition. The target is a function ID for a site that calls one function;
// for any other site it is the key of the functions that it may call, which is
// below NumKeys, and so no function ID.
//
// At function n of key k the ids of its callers' contexts are in
// [addition, addition + numCC(caller)) for each site that has n as its target
// and, if k is not 0, each site that has k as its target. These intervals are
// disjoint.
const (
	EpochHeaderSize = 32
	EpochFunc       = 16
	EpochSite       = 24
	NoAddition      = 1<<32 - 1
)

// An interned entry of a ccStack:
//
//	{ u32 parent; u32 epoch; u32 id; u32 kind; u64 place; u64 target }
//
// It stands for everything from the root to the entry of the function target:
// the function that place lies in had this id in this epoch, on top of the
// entry parent (0 at a root). place is the return address of the call in the
// caller; or, for kind InternFault, the address of an instruction there; or, for
// kind InternRoot, the number of a root. The entry is written before CceNodesUsed
// covers it.
const (
	InternSize  = 32
	InternCall  = 0
	InternGo    = 1 // a goroutine began: place is the return address of the go statement
	InternRoot  = 2 // target was entered from a root
	InternFault = 3 // place is an instruction at which a run-time error rose
	InternCut   = 4 // what is further out is not known: place is a Cut reason
	InternAt    = 5 // not an entry but a captured context whose ID did not hold it; target is 0
)

// An entry of a ccStack: { u64 word; u64 place; u64 target; u32 node; u32 kind }.
// word is the caller's; node is the number of the interned entry, 0 if it is not
// interned yet.
const (
	StackWord   = 0
	StackPlace  = 8
	StackTarget = 16
	StackNode   = 24
	StackKind   = 28
	StackEntry  = 32
)

// The table that tells the assembly about return addresses: open addressing by
// PCHash, of { u64 return address; u64 address of the site's addition value, or 0
// for a function that passes contexts through; u64 index of the site; u64 0 }.
const (
	PCEntry = 32
	PCBits  = 17
	PCMul   = 0x9E3779B97F4A7C15
)

// Reasons of InternCut.
const (
	CutDepth = 1 // the ccStack was full
	CutNodes = 2 // the file nodes was full
)

// A captured context is { u64 hi; u64 lo } and the run number. hi is the number of the
// interned top of the ccStack in the upper half and the id in the lower; lo is
// epoch<<IDEpoch | IDMark | the return address of the capturing call, less CceText.
// If the address is 0, the node is of kind InternAt. For IDMark, lo is never 0. What
// belongs to a record, an event or an entry of a ccStack, does without the run number.
const (
	IDEpoch     = 32
	IDMark      = 1 << IDPCBits
	IDNodeBits  = 28
	IDIdBits    = 30
	IDEpochBits = 32
	IDPCBits    = 28
)

// RecPCs is the kind of a record of funcs that follows that of a function:
//
//	{ u32 length; u32 RecPCs; u64 function ID; u64 entry address; u32 code size;
//	  u32 number of pairs; pairs: { u32 return address - entry; u32 site index } }
//
// It tells the site of each call in the function. Calls that are not sites, of
// run-time checks say, are not in it.
const RecPCs = 3

// An event in the log, a file of which [EventLog] tells the header:
//
//	{ u32 kind; u32 number, modulo 1<<32; u64 value; u64 time; u64 hi; u64 lo }
//
// Event n lies at place n modulo the capacity. One with another number than its place
// asks for was being written, or is older than the log is long. time is nanoseconds
// since the program began.
const (
	EventSize  = 40
	EventAlloc = 1 // value: bytes that were asked for
	EventBlock = 2 // value: nanoseconds that the goroutine was parked
	EventGo    = 3 // value: ID of the new goroutine, in the log only
	EventPanic = 4
	EventError = 5 // an error was wrapped by package stemma
)
