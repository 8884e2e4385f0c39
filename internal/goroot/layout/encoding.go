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
	KeyUnknown = 1<<14 - 2 // anything may be called
)

// NoWord in g leads every callee to the slow path: no function has its key. It fits into an instruction.
const NoWord = 1<<64 - 1

// FuncData is the beginning of the data of an instrumented function, in writable memory.
// Its cells follow, 8 bytes each: addition values, or with engine lucce addresses of
// Steps. With lucce, the data is the step of a cell that has led nowhere yet: its first
// words are those of a Step that no callee takes, and stay 0.
type FuncData struct {
	Key   uint64 // of its group, << layout.WordKey
	Limit uint64 // numCC << layout.WordID
	Func  uint64 // function ID
	Index uint64 // of the function, from 1 on; 0 until it is entered
}

// AVSize is the size of a cell of FuncData.
const AVSize = 8

// A captured context is { u64 hi; u64 lo } and the run number. hi is the number of the
// interned top of the ccStack in the upper half and the id in the lower; lo is
// epoch<<IDEpoch | IDMark | the return address of the capturing call, less ContextsHeader.Text.
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
