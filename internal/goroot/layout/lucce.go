package layout

// The layout of engine lucce.
//
// The context of an invocation is a pair of words, the id c and the version v, in
// the frame at varp-8 and varp-16. Before a call the caller leaves them in g, with
// the address of the call site's cell.
//
// A cell of a function's data is the address of a layout.Step, of the first callee that the
// site had. As long as it had none, it is that of the function's own data, which is a step
// of no callee.
//
// # Live directory
//
// As for the other encoders, with the file log instead of epochs. A version leads to the
// number of an entry in nodes: paths that begin there have it. The id of
// an entry has 64 bits; the upper half is where others have the epoch. In a
// captured ID it has 62 bits; the upper 32 are where others have the epoch.
const (
	IDLimit = 1<<63 - 1
	// IDLost is the id of an invocation whose context is not known, which no step takes on.
	IDLost = 1 << 63

	// A version is the number of an entry in nodes, and in its upper half how many entries of the goroutine's ccStack
	// the invocation stands on. Where the number is 0, the topmost of these has it as soon as it is interned.
	VersionDepth  = 32
	VersionNumber = 1<<VersionDepth - 1
)

// A Step is what a call does to an id with engine lucce, in memory. It takes a caller's id
// c below the bound to the callee's, (c + c>>StepShift&Mask)*Mul + Add. Steps never
// change, but for those in a FuncData and for Begin, and ids of one callee are never those of two steps.
type Step struct {
	Callee uint64 // the callee's data
	Bound  uint64 // ids of the caller are below
	Mask   uint64 // all ones or 0
	Mul    uint64 // factor
	Add    uint64 // summand
	Cell   uint64 // address of the cell
	Site   uint32 // index of the site
	Grown  uint32 // how often the edge has got new ids
	Begin  uint64 // 1 + the id of paths that begin at the callee since this step did not take one; 0 before the first
}

// StepShift is what an id is shifted by for the masked part of a step.
const StepShift = 4

// A LogEntry is an entry of log, which tells one change of the call graph. Function and
// site are indexes; those of sites count on through all functions.
type LogEntry struct {
	Kind uint32 // a layout.Log constant
	Func uint32 // index of the function
	Site uint32 // index of the site
	N    uint32 // a number, see the kind
	A    uint64 // a number, see the kind
	B    uint64 // a number, see the kind
}

// Kinds of entries of log.
const (
	LogFunc = 1 // a is the ID of the function; its n cells are the sites from site on
	// ids [a, a+b) of the function belong to calls from the site: c' = c + a; an earlier one may be shorter
	LogInterval  = 2
	LogBegin     = 3 // id a of the function belongs to paths that begin there
	LogGroup     = 4 // ids of the function from a on belong to a group of n remainders, see below
	LogRemainder = 5 // remainder n of the last group belongs to calls from the site

	// LogShared as the n of a group: its first 16 of 17 remainders are those of one site,
	// c' = c + c>>4, so that the group costs the ids of that site a tenth of a bit.
	LogShared = 1<<32 - 1
)

// Groups. Id x of a group of n is that of remainder x%n with the caller's id x/n. The last
// remainder is that of no site: x/n is an id of the next group, if there is one.

// An EdgeTable is the beginning of the table of edges of engine lucce, in memory, which the
// assembly probes: numbers of Steps follow, 4 bytes each, open addressing.
type EdgeTable struct {
	Mask uint64 // places for numbers, less one
}

// EdgeSize is the size of a number in an EdgeTable.
const EdgeSize = 4
