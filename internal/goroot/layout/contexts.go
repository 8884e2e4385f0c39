package layout

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
	Warm       uint64    // what the program started from, an layout.Warm constant
	WarmNodes  uint64    // functions in the graph that it started from
	WarmEdges  uint64    // edges of that graph
	WarmKnown  uint64    // those of Edges that came from it
	_          [7]uint64 //
}

// A LucceHeader is what engine lucce counts.
type LucceHeader struct {
	LogUsed uint64    // bytes of log in use
	Steps   uint64    // steps that were made
	Groups  uint64    // groups of remainders
	Open    uint64    // functions that have groups
	_       [4]uint64 //
}

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
	Kind   uint32 // an layout.Intern constant
	Place  uint64 // the return address of the call in the caller, or what the kind says
	Target uint64 // function ID of what was entered
}

// A StackEntry is an entry of a ccStack, in memory.
type StackEntry struct {
	Word     uint64 // the caller's
	Place    uint64 // as in an Interned
	Target   uint64 // as in an Interned
	Interned uint32 // number of the interned entry, 0 if it is not interned yet
	Kind     uint32 // an layout.Intern constant
}

// A PCEntry is an entry of the table that tells the assembly about return addresses, in
// memory: open addressing by ids.PCHash. Return is written last.
type PCEntry struct {
	Return uint64 // return address
	AV     uint64 // address of the site's addition value, 0 for a function that passes contexts through
	Site   uint64 // index of the site
	_      uint64 //
}

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

// A Step is what a call does to an id with engine lucce, in memory. It takes a caller's id
// c below the bound to the callee's, (c + c>>StepShift&Mask)*Mul + Add. Steps never
// change, but for those in a FuncData, and ids of one callee are never those of two steps.
type Step struct {
	Callee uint64 // the callee's data
	Bound  uint64 // ids of the caller are below
	Mask   uint64 // all ones or 0
	Mul    uint64 // factor
	Add    uint64 // summand
	Cell   uint64 // address of the cell
	Target uint32 // index of the callee
	Grown  uint32 // how often the edge has got new ids
	_      uint64 //
}

// StepShift is what an id is shifted by for the masked part of a step.
const StepShift = 4

// A LogEntry is an entry of log, which tells one change of the call graph. Function and
// site are indexes; those of sites count on through all functions.
type LogEntry struct {
	Kind uint32 // an layout.Log constant
	Func uint32 // index of the function
	Site uint32 // index of the site
	N    uint32 // a number, see the kind
	A    uint64 // a number, see the kind
	B    uint64 // a number, see the kind
}

// A WarmHeader is the beginning of a warm file: WarmFuncs and WarmEdges follow. Addresses
// are relative to runtime.text; callers and callees are indexes into the functions.
// The edges are acyclic, and the functions in a topological order of them, so that
// the plan need not look for cycles. Of a site that may call several functions there
// are only as many edges as it takes to make its group.
type WarmHeader struct {
	Magic   uint64 // layout.WarmMagic
	Version uint32 // layout.WarmVersion
	Funcs   uint32 // number of functions
	Edges   uint32 // number of edges
	Source  uint32 // an layout.Warm constant
	Nodes   uint64 // nodes of the graph
	Graph   uint64 // edges of the graph
}

// A WarmFunc is a function of a warm file.
type WarmFunc struct {
	Data  uint64 // address of its data
	Meta  uint64 // address of its metadata
	Entry uint64 // address of its code
	Cells uint32 // number of cells
	_     uint32 //
}

// A WarmEdge is a call of a warm file.
type WarmEdge struct {
	Caller uint32 // index of the caller
	Cell   uint32 // cell of the call
	Callee uint32 // index of the callee
	Weight uint32 // calls a second
}

// An EdgeTable is the beginning of the table of edges of engine lucce, in memory, which the
// assembly probes: numbers of Steps follow, 4 bytes each, open addressing.
type EdgeTable struct {
	Mask uint64 // places for numbers, less one
}

// EdgeSize is the size of a number in an EdgeTable.
const EdgeSize = 4
