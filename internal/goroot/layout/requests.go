package layout

// FileRequests is the file of samples that the program asked for.
const FileRequests = "requests"

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
