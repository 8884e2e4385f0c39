package layout

// FileCalls is the log of function entries.
const FileCalls = "calls"

// A CallsHeader is the beginning of the file calls. Calls follow.
type CallsHeader struct {
	Magic [8]byte  // CallsMagic
	Used  uint64   // bytes in use, with the header
	End   uint32   // why the log ended before the program, a layout.CallsEnd constant
	_     [44]byte //
}

const CallsMagic = "stemcal\x01"

// Why a log ended before the program.
const (
	CallsEndNone  = iota
	CallsEndFull  // no room for another entry
	CallsEndNodes // no room for another node
	NumCallsEnds
)

// A Call is an entry of the log of function entries.
type Call struct {
	Goroutine uint32 // numbered from 1 on by the recorder
	What      uint32 // a layout.Call constant in the low three bits, in the others the offset of a node
}

// The low three bits of what an entry of calls says tell its kind; what is above them, a
// multiple of 8, is the offset of a node.
const (
	CallsKinds = 7

	CallEnter = 0 // the node was entered
	CallExit  = 1 // the goroutine has ended
	CallGo    = 2 // a go statement in the node; the next entry names what it started
	CallChild = 3 // the goroutine that was started
)
