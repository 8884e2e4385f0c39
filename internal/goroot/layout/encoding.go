package layout

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
//	cce       two pages of header, a layout.Header and a layout.ContextsHeader
//	funcs     function records, as for the tree, and layout.PCsRecords
//	epochs    the dictionaries, see layout.Epoch
//	nodes     interned entries of ccStacks, see layout.Interned
//	counts.N  the events of P number N, added up, see events.Counts
//	events.N  the newest events of P number N, see events.EventLog
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

// What compiled code and the runtime have in a layout.FuncData.
const (
	// Dynamic in the first addition value of a cell says that the site may
	// call several functions.
	Dynamic = 1

	// PCDataSite is the PCDATA table that tells the site of a call: an index
	// into the sites of the function's metadata.
	PCDataSite = 5
)

// HdrFlagCce in the flags of the header: the file is cce, not tree. HdrFlagStatic: epochs do not
// change while the program runs (engine pcce).
const (
	HdrFlagCce    = 1 << 2
	HdrFlagStatic = 1 << 3
)

// ContextsSize is the size of the two pages of cce.
const ContextsSize = HeaderSize + ContextsHeaderSize

// PushStep is the unit in which pushes are counted.
const PushStep = 1024

// NoAddition is the addition of a site that is not encoded.
const NoAddition = 1<<32 - 1

// Kinds of interned entries. The place is a return address, of a call or of a go
// statement; for InternFault it is the address of an instruction in the caller, for
// InternRoot the number of a root.
const (
	InternCall  = 0
	InternGo    = 1 // a goroutine began: place is the return address of the go statement
	InternRoot  = 2 // target was entered from a root
	InternFault = 3 // place is an instruction at which a run-time error rose
	InternCut   = 4 // what is further out is not known: place is a Cut reason
	InternAt    = 5 // not an entry but a captured context whose ID did not hold it; target is 0
)

// The table of return addresses, of layout.PCEntries.
const (
	PCEntryLog    = 5 // of the size of an entry, which the assembly shifts by
	StackEntryLog = 5 // the same for entries of ccStacks
	PCBits        = 17
	PCMul         = 0x9E3779B97F4A7C15
)

// Reasons of InternCut.
const (
	CutDepth    = 1 // the ccStack was full
	CutInterned = 2 // the file nodes was full
)

// A captured context is { u64 hi; u64 lo } and the run number. hi is the number of the
// interned top of the ccStack in the upper half and the id in the lower; lo is
// epoch<<IDEpoch | IDMark | the return address of the capturing call, less CceText.
// If the address is 0, the entry is of kind InternAt. For IDMark, lo is never 0. What
// belongs to a record, an event or an entry of a ccStack, does without the run number.
const (
	IDEpoch        = 32
	IDMark         = 1 << IDPCBits
	IDInternedBits = 28
	IDIdBits       = 30
	IDEpochBits    = 32
	IDPCBits       = 28
)

const (
	_ = -(1<<PCEntryLog ^ PCEntrySize)
	_ = -(1<<StackEntryLog ^ StackEntrySize)
)

// InternedBytes is how many bytes the file nodes may have.
const InternedBytes = 1 << 30

// RecPCs is the kind of a layout.PCsRecord.
const RecPCs = 3

// Kinds of events.
const (
	EventAlloc = 1 // value: bytes that were asked for
	EventBlock = 2 // value: nanoseconds that the goroutine was parked
	EventGo    = 3 // value: ID of the new goroutine, in the log only
	EventPanic = 4
	EventError = 5 // an error was wrapped by package stemma
)

// What a warm file begins with, see layout.WarmHeader.
const (
	WarmMagic   = 0x316d7261776d7473 // "stmwarm1"
	WarmVersion = 1
)

// Sources of a warm file, as the headers have them.
const (
	WarmNone    = 0
	WarmStatic  = 1 // a call graph of the program's source
	WarmRun     = 2 // the record of a run
	WarmMissing = 3 // there is no file
	WarmWrong   = 4 // it was made for another program
)
