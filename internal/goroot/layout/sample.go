package layout

// Names of the files of samples: the tree of samples, which is the main file of records without contexts; and the
// places that its nodes are of.
const (
	FileSamples = "samples"
	FilePlaces  = "places"
)

// A SampleHeader is the beginning of the file samples.
type SampleHeader struct {
	Magic    [8]byte                // SampleMagic
	Version  uint32                 // SampleVersion
	Flags    uint32                 // layout.SmpFlag bits
	Max      uint64                 // nodes that fit
	Used     uint64                 // nodes in use
	Places   uint64                 // bytes of places in use
	Start    uint64                 // start of the program, nanoseconds since 1970
	Interval uint64                 // nanoseconds between samples that were asked for
	PID      uint32                 // process ID
	Sampler  uint8                  // a layout.Sampler constant
	Walk     uint8                  // a layout.Walk constant
	_        [2]byte                //
	Stats    [55]uint64             // what the sampler counted, by layout.Stat constant
	Run      uint64                 // the run number
	ArgsLen  uint32                 // bytes of Args
	GoVerLen uint32                 // bytes of GoVer
	GoVer    [56]byte               // the Go version
	_        [448]byte              //
	Latency  [LatencyBuckets]uint64 // samples by latency
	Rotation                        // what it says of segments
	_        [984]byte              //
	Args     [4096]byte             // command line, each argument with a NUL behind it
}

const (
	SampleMagic   = "stemma\x00\x03"
	SampleVersion = 3 // of samples and places
)

// Bits of the flags in a header of samples.
const (
	SmpFlagCheck    = 1 << 0 // incremental traces were compared with full walks
	SmpFlagPrologue = 1 << 1 // running goroutines were sampled in function prologues

	SmpFlagAccumulator = 1 << 2 // samples are of calls, and there is no exact tree
	SmpFlagFull        = 1 << 3 // of the accumulator: recursion is not folded
)

// Samplers, as the header spells them.
const (
	SamplerSTW  = 1
	SamplerSPS  = 2
	SamplerISPS = 3
	SamplerACCT = 4 // at function entries, as the accumulator's trigger says

	SamplerJVMTI = 5 // with the world stopped, of goroutines that run as of those that wait
)

// Kinds of walk, as the header spells them.
const (
	WalkUnwinder    = 1
	WalkFP          = 2
	WalkIncremental = 3
	WalkMarker      = 4
	WalkContext     = 5 // down to the innermost frame that has a node in the tree
)

// SamplerNames and WalkNames are the names by which the tool knows them.
var (
	SamplerNames = [...]string{SamplerSTW: "stw", SamplerSPS: "sps", SamplerISPS: "isps", SamplerACCT: "acct",
		SamplerJVMTI: "jvmti"}
	WalkNames = [...]string{WalkUnwinder: "unwinder", WalkFP: "fp", WalkIncremental: "incremental",
		WalkMarker: "marker", WalkContext: "context"}
)

// Counters in the header, the index into its Stats. Every request ends as exactly
// one of StatSamples and StatDropped; StatLate counts
// those of all that were not taken by the next tick.
const (
	StatTicks      = iota // times that the sampler woke
	StatRequests          // samples that the sampler asked for
	StatSamples           // on-CPU samples that were recorded
	StatWaiting           // waiting samples that were recorded
	StatLate              // requests that were not met by the next tick
	StatDropped           // requests that met a thread which had gone to sleep, or another goroutine at the stack guard
	StatFailed            // walks that did not reach the outermost frame: recorded under [truncated]
	StatMissed            // goroutines that were running, or dead, in their turn; calls that could not be sampled
	StatNodes             // samples that had no room for a node: recorded under [overflow]
	StatPlaces            // addresses whose place had no room
	StatReturns           // returns that the trampoline intercepted
	StatSlow              // those of StatReturns that took the slow path
	StatChecked           // incremental traces that were compared with a full walk
	StatMismatches        // those of StatChecked that differed
	StatRetrieved         // samples that a retrieve completed
	_                     // not used
	StatLostStacks        // samples that were lost because memory for a trace ran out
	StatSamplerCPU        // nanoseconds of CPU that the sampler thread used
	StatBusy              // waiting samples put off, as another thread examined the goroutine
	StatDead              // entries of frames that had gone without anybody telling
	StatStepped           // instructions of the trampoline from which the stack was walked
	StatRepeated          // requests that came where the goroutine could not stop, and were met when it could
	StatProcessCPU        // nanoseconds of CPU that the process used while it was sampled, without the sampler thread
	StatStops             // stops of the world for samples
	StatStopped           // nanoseconds for which the world stood still for them, or was on its way to
	NumStats
)

// StatNames are the names of the counters, as reports show them, "" of what is not used.
var StatNames = [NumStats]string{"ticks", "requests", "samples", "waiting", "late", "dropped", "failed", "missed",
	"overflow", "places", "returns", "slow", "checked", "mismatches", "retrieved", "", "lost", "samplerCPU",
	"busy", "dead", "stepped", "repeated", "processCPU", "stops", "stopped"}

// LatencyBuckets is how many ranges of latencies are told apart.
const LatencyBuckets = 256

// LatencyBucket returns the bucket in which a latency of ns nanoseconds counts:
// 4*log2(ns) + the next two bits.
func LatencyBucket(ns uint64) int {
	if ns < 4 {
		return int(ns)
	}
	exp := 0
	for v := ns; v > 1; v >>= 1 {
		exp++
	}
	return min(4*exp+int(ns>>(exp-2)&3), LatencyBuckets-1)
}

// LatencyFloor returns the smallest latency of a bucket.
func LatencyFloor(bucket int) uint64 {
	if bucket < 8 {
		return uint64(min(bucket, 4)) // buckets 4 to 7 would be fractions
	}
	return uint64(4+bucket&3) << (bucket/4 - 2)
}

// A SampleNode is a stack frame in its context. Node n lies behind the header and n
// others; node 0 is the root. Parent is written last: a node without is being created,
// or was created twice.
type SampleNode struct {
	PC      uint64    // an address in the frame's function, or a pseudo-address
	Key     uint32    // the parent, for whoever looks for the node
	Parent  uint32    // the parent + 1
	Next    uint32    // the next node of the same hash bucket
	Child   uint32    // the first of the list of children, for whoever looks for them
	Weights [2]Weight // on CPU and waiting, by layout.Weight constant
	Sibling uint32    // the next node of the list that the node is in, if it is in one
	Home    uint32    // the node that has the children in its place, where recursion is folded
}

// Pseudo-addresses stand for no code.
const (
	PCOverflow  = 1 // what had no room in the tree
	PCTruncated = 2 // frames further out could not be walked
	PCPending   = 3 // frames further out were not yet known when the program ended

	// What runs in no context, where samples are those of contexts.
	PCCollector = 4
	PCScheduler = 5 // also what else runs on the system stack of a thread without a goroutine
	PCRuntime   = 6 // other goroutines of the runtime
	PCForeign   = 7 // threads of C
	NumPseudo   = 8

	// PCNode is the mark of what stands for a node of the tree, by its offset.
	PCNode = 1 << 63
)

// PseudoNames are the names of the pseudo-addresses.
var PseudoNames = [NumPseudo]string{PCOverflow: "overflow", PCTruncated: "truncated", PCPending: "pending",
	PCCollector: "gc", PCScheduler: "scheduler", PCRuntime: "go", PCForeign: "cgo"}

// A Weight is what was sampled in a frame.
type Weight struct {
	Time    uint64 // nanoseconds
	Samples uint64 // number of samples
}

// Kinds of weight: index into the weights of a node.
const (
	WeightCPU  = 0
	WeightWait = 1
)

// A Place is the beginning of a record of places, which describes an address: its
// PlaceFrames follow, those that are inlined first, then those of the compiler's wrappers, which
// no traceback shows. Length is written last; a length of 0 ends the file.
type Place struct {
	Length   uint32 // bytes of the record, a multiple of 8
	Frames   uint16 // number of frames without wrappers
	Wrappers uint16 // number of frames of wrappers
	PC       uint64 // the address
}

// A PlaceFrame is a function at a place. The bytes of its name and of its file follow.
type PlaceFrame struct {
	Line    uint32 // of the call that is inlined here, or that the address is in
	Start   uint32 // the line where the function begins
	NameLen uint32 // bytes of the name
	FileLen uint32 // bytes of the file's name
}

// A Countdown is what the accumulator counts the calls of one function in, with the trigger func. The compiler
// lays it out, as zeros. It is in no file.
type Countdown struct {
	Left int64  // calls that are not sampled
	Seed uint64 // what the next length is drawn from; 0 before the first
}
