package layout

// Version is the version of everything below. A reader refuses any other, but for OldestVersion and those behind it,
// which lack [MetaFlagAdapter], those before RotationVersion, which lack what a header says of rotation, and those
// before 8, which lack [MetaFlagNew].
const (
	Version         = 8
	OldestVersion   = 5
	RotationVersion = 7
)

// A Header is the first page of the files tree and cce.
type Header struct {
	Magic     [8]byte    // layout.Magic
	Version   uint32     // layout.Version
	Flags     uint32     // layout.HdrFlag bits
	Size      uint64     // bytes of the tree region that may be used
	Used      uint64     // bytes of the tree in use, from its header on
	FuncsSize uint64     // bytes of funcs that may be used
	FuncsUsed uint64     // bytes of funcs in use
	Shards    uint32     // number of shards that exist
	PID       uint32     // process ID
	Start     uint64     // start of the program, nanoseconds since 1970
	Lost      [15]uint64 // what was lost, by layout.Lost constant
	Run       uint64     // the run number, never 0
	ArgsLen   uint32     // bytes of Args
	GoVerLen  uint32     // bytes of GoVer
	GoVer     [56]byte   // the Go version
	Args      [3800]byte // command line, arguments separated by NUL, cut if longer
	Rotation             // what it says of segments
}

// FormerArgs is how many bytes of Args there were before [RotationVersion]: with what follows in the page.
const FormerArgs = 3840

// Every start of a process draws a run number of 64 random bits, never 0. It stands
// in the header of every kind of record, and an ID carries it: process IDs, and
// starts in a clock that was set back, come again.

// Magic begins tree and cce.
const Magic = "stemma\x00\x01"

// Flags of the header.
const (
	HdrFlagFull   = 1 << 0 // recursion is not folded
	HdrFlagCheck  = 1 << 1 // the checker is on
	HdrFlagCce    = 1 << 2 // the file is cce, not tree
	HdrFlagStatic = 1 << 3 // epochs do not change while the program runs (engine pcce)
	HdrFlagLucce  = 1 << 4 // the file is that of engine lucce
	HdrFlagAlloc  = 1 << 5 // allocations are counted
	HdrFlagWait   = 1 << 6 // waits are counted
	HdrFlagInuse  = 1 << 7 // reachable objects are counted, when the program ends or asks for it

	HdrFlagExisting = 1 << 8 // the goroutines that exist are listed
	HdrFlagLasting  = 1 << 9 // waits that last and goroutines that live are not counted yet
)

// Kinds of loss, the index into Lost of the header.
const (
	LostNodes    = iota // node creations past the node budget, led to overflow nodes
	LostFuncs           // functions whose record did not fit funcs
	LostPages           // pages that the disk could not hold (SIGBUS)
	LostShards          // Ps without a shard of their own file
	LostTables          // targets of a site that found no room in its table: it has as many as it may, or cannot grow
	LostChecks          // checks not written, because check was full
	LostPaths           // searches for recursion that a lost page has cut short
	LostEdges           // back edges that had no room for a node: their calls count at the function's first node
	LostDeep            // checks left out, see Checker.Due
	LostFaults          // faults at addresses that are not nil, recovered from: inlined calls behind may be counted
	LostLabels          // labels set with a value that came when their key had too many
	LostMetrics         // metrics made past MaxMetrics
	LostNegative        // negative numbers for a metric
	LostWaits           // goroutines whose last wait and run are missing: their clock was busy at the end
	NumLost
)
