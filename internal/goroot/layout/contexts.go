package layout

// Names of the files of context IDs: the headers, which are the main file of such records; the interned entries of
// ccStacks; of dacce and pcce the epochs; of lucce the log of the call graph.
const (
	FileIDs    = "cce"
	FileNodes  = "nodes"
	FileEpochs = "epochs"
	FileLog    = "log"
)

// A ContextsHeader is the second page of the file cce, behind the Header.
type ContextsHeader struct {
	Text      uint64      // address that the PC of an ID is relative to
	NodesUsed uint64      // number of entries in nodes; entry 0 does not exist
	Functions uint64      // functions that were entered
	Edges     uint64      // edges of the call graph that were seen
	MaxID     uint64      // largest id that is in use
	Slow      uint64      // entries through the slow path in Go
	Truncated uint64      // contexts cut, because something was full
	_         [3]uint64   //
	Dacce     DacceHeader // of engines dacce and pcce
	Lucce     LucceHeader // of engine lucce
	_         [470]uint64 //
}

// ContextsSize is the size of the two pages of cce.
const ContextsSize = HeaderSize + ContextsHeaderSize

// A DacceHeader is what engines dacce and pcce count.
type DacceHeader struct {
	EpochsUsed uint64    // bytes of epochs in use
	Epoch      uint64    // the current epoch
	Encoded    uint64    // edges that the current epoch encodes
	Groups     uint64    // groups of dynamic sites
	Back       uint64    // back edges
	LeftOut    uint64    // edges left out to keep ids below layout.MaxNum
	Pushes     uint64    // ccStack pushes in all, counted in steps of layout.PushStep
	Depths     uint64    // sum of the depths at counted pushes
	MaxDepth   uint64    // deepest ccStack seen at a counted push
	Encodes    uint64    // re-encodings
	EncodeTime uint64    // nanoseconds spent in them
	MaxPause   uint64    // longest stop, nanoseconds
	Rewrites   uint64    // goroutines whose frames were rewritten
	Warm       uint64    // what the program started from, a layout.Source constant
	WarmNodes  uint64    // functions in the graph that it started from
	WarmEdges  uint64    // edges of that graph
	WarmKnown  uint64    // those of Edges that came from it
	_          [7]uint64 //
}

// PushStep is the unit in which pushes are counted.
const PushStep = 1024

// A LucceHeader is what engine lucce counts.
type LucceHeader struct {
	LogUsed uint64    // bytes of log in use
	Steps   uint64    // steps that were made
	Groups  uint64    // groups of remainders
	Open    uint64    // functions that have groups
	_       [4]uint64 //
}

// An Epoch is the beginning of a record of epochs: its EpochFuncs and EpochSites follow. It
// says what differs from the epoch before; epoch 0 encodes nothing. Length is written
// last.
//
// At function n of key k the ids of its callers' contexts are in
// [addition, addition + numCC(caller)) for each site that has n as its target
// and, if k is not 0, each site that has k as its target. These intervals are
// disjoint.
type Epoch struct {
	Length uint32 // bytes of the record
	Epoch  uint32 // number, from 1 on
	Funcs  uint32 // number of functions
	Sites  uint32 // number of sites
	Time   uint64 // nanoseconds since 1970
	MaxID  uint32 // largest id
	_      uint32 //
}

// An EpochFunc is what an epoch changes about a function.
type EpochFunc struct {
	Func  uint64 // function ID
	Key   uint32 // of its group, 0 for none
	NumCC uint32 // contexts that end at it
}

// An EpochSite is what an epoch changes about a site. The target is a function ID for a
// site that calls one function; for any other site it is the key of the functions that
// it may call, which is below layout.NumKeys, and so no function ID.
type EpochSite struct {
	Func     uint64 // function ID of the caller
	Cell     uint32 // cell of the site
	Addition uint32 // layout.NoAddition for a site that is not encoded any more
	Target   uint64 // function ID or key
}

// NoAddition is the addition of a site that is not encoded.
const NoAddition = 1<<32 - 1

// An Interned is an interned entry of a ccStack. It stands for everything from the root
// to the entry of the function target: the function that place lies in had this id in
// this epoch, on top of the entry parent (0 at a root). It is written before NodesUsed
// covers it.
//
// With engine lucce an id has 64 bits; the upper half is in Epoch.
type Interned struct {
	Parent uint32 // number of the entry further out, 0 at a root
	Epoch  uint32 // in which the id was valid
	ID     uint32 // id of the caller
	Kind   uint32 // a layout.Intern constant
	Place  uint64 // the return address of the call in the caller; or what the kind says, a layout.Cut constant say
	Target uint64 // function ID of what was entered
}

// Kinds of interned entries. The place is a return address, of a call or of a go
// statement, but where the kind says another thing.
const (
	InternCall  = 0
	InternGo    = 1 // a goroutine began: place is the return address of the go statement
	InternRoot  = 2 // target was entered from a root: place is its number
	InternFault = 3 // place is an instruction of the caller at which a run-time error rose
	InternCut   = 4 // what is further out is not known: place is a Cut reason
	InternAt    = 5 // not an entry but a captured context whose ID did not hold it; target is 0
	InternSite  = 6 // place is the index of a call site (engine lucce)
)

// Reasons of InternCut.
const (
	CutDepth    = 1 // the ccStack was full
	CutInterned = 2 // the file nodes was full
	CutLog      = 3 // the log, or a table, was full (engine lucce)
	CutSegment  = 4 // it is of an earlier segment, in which not all of it could be found
)

// InternedBytes is how many bytes the file nodes may have.
const InternedBytes = 1 << 30

// A StackEntry is an entry of a ccStack, in memory.
type StackEntry struct {
	Word     uint64 // the caller's
	Place    uint64 // as in an Interned
	Target   uint64 // as in an Interned
	Interned uint32 // number of the interned entry, 0 if it is not interned yet
	Kind     uint32 // a layout.Intern constant
}

// A PCEntry is an entry of the table that tells the assembly about return addresses, in
// memory: open addressing by ids.PCHash. Return is written last, but for Edge.
type PCEntry struct {
	Return uint64 // return address
	AV     uint64 // address of the site's addition value, 0 for a function that passes contexts through
	Site   uint64 // index of the site
	Edge   uint64 // address of the SeenEdge that was called along last while it was not encoded, 0 if there is none
}

// A SeenEdge is a call site and a function that it has called, in memory.
type SeenEdge struct {
	Site, Target uint32 // their indexes
	Hits         uint64 // times it was seen; counted without a lock, so a few may be missing
	Planned      uint64 // how many of them the last plan knew
	Weight       uint64 // calls a second, the best that is known
}

// SeenEdgeStep is how many times an edge is counted in assembly before it is looked at again, a power of two.
const SeenEdgeStep = 32

// The table of return addresses, of layout.PCEntries.
const (
	PCEntryLog    = 5 // of the size of an entry, which the assembly shifts by
	StackEntryLog = 5 // the same for entries of ccStacks
	PCBits        = 17
	PCMul         = 0x9E3779B97F4A7C15
)

const (
	_ = -(1<<PCEntryLog ^ PCEntrySize)
	_ = -(1<<StackEntryLog ^ StackEntrySize)
)
