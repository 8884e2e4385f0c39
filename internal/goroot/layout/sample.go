package layout

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
	Sampler  uint8                  // an layout.Sampler constant
	Walk     uint8                  // an layout.Walk constant
	_        [2]byte                //
	Stats    [55]uint64             // what the sampler counted, by layout.Stat constant
	Run      uint64                 // the run number
	ArgsLen  uint32                 // bytes of Args
	GoVerLen uint32                 // bytes of GoVer
	GoVer    [56]byte               // the Go version
	_        [448]byte              //
	Latency  [LatencyBuckets]uint64 // samples by latency
	_        [1024]byte             //
	Args     [4096]byte             // command line, each argument with a NUL behind it
}

// LatencyBuckets is how many ranges of latencies are told apart.
const LatencyBuckets = 256

const (
	SampleMagic   = "stemma\x00\x03"
	SampleVersion = 3 // of samples and places
)

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

// A Countdown is what the accumulator counts the calls of one function in, with the trigger func. The compiler
// lays it out, as zeros. It is in no file.
type Countdown struct {
	Left int64  // calls that are not sampled
	Seed uint64 // what the next length is drawn from; 0 before the first
}

// A Weight is what was sampled in a frame.
type Weight struct {
	Time    uint64 // nanoseconds
	Samples uint64 // number of samples
}

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

// A RequestsHeader is the beginning of the file requests. Requests follow.
type RequestsHeader struct {
	Magic [8]byte  // RequestsMagic
	Max   uint64   // requests that fit
	Made  uint64   // requests that were made in all
	_     [40]byte //
}

const (
	RequestsMagic = "stemreq\x01"
	RequestTaken  = 1 << 63 // in the number of a Request: somebody writes it
)

// A Request is a sample that the program asked for under an identifier of its own. Request n,
// counted from 0, lies at place n modulo what fits. One with another number than its place asks
// for was being written, or has given way to a later one.
type Request struct {
	Number    uint64 // n + 1
	ID        uint64 // the program's identifier
	Time      uint64 // nanoseconds since the program began
	Goroutine uint64 // number of the goroutine
	Node      uint32 // a node of samples: the stack, or what is known of it below layout.PCPending
	Known     uint32 // 1 if Node is the whole stack
}
