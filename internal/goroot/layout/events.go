package layout

// The names of the files of events, which the number of a P ends: what was added up, and the log of the newest.
const (
	FileCounts = "counts."
	FileEvents = "events."
)

// A CountsHeader is the beginning of a file counts.N. Counts follow.
type CountsHeader struct {
	Magic [8]byte  // CountsMagic
	Used  uint64   // entries in use
	Spilt uint64   // events whose context had no room
	_     [40]byte //
}

const CountsMagic = "stemcnt\x01"

// A Count adds up the events of one kind, size and context. Size is the number of bits
// of the values, 0 for value 0: they are at least 1<<(size-1) and less than 1<<size. A
// count without a kind was being made. One with Hi and Lo 0 counts what has no context,
// or had no room for it.
type Count struct {
	Kind  uint32 // a layout.Event constant
	Size  uint32 // number of bits of the values
	Hi    uint64 // the ID of the context, upper word
	Lo    uint64 // the ID of the context, lower word
	Count uint64 // number of events
	Sum   uint64 // of their values
	Max   uint64 // of their values
}

// Kinds of events.
const (
	EventAlloc = 1 // value: bytes that were asked for
	EventBlock = 2 // value: nanoseconds that the goroutine was parked
	EventGo    = 3 // value: ID of the new goroutine, in the log only
	EventPanic = 4
	EventError = 5 // an error was wrapped by package stemma
)

// An EventKind is what users call a kind of events, and the unit of the values that are added up; "" if none are.
type EventKind struct{ Name, Unit string }

// EventKinds has the kinds by number. A number without a name is none.
var EventKinds = [...]EventKind{
	EventAlloc: {"alloc", "bytes"},
	EventBlock: {"block", "nanoseconds"},
	EventGo:    {"go", ""},
	EventPanic: {"panic", ""},

	EventError: {"error", ""},
}

// An EventsHeader is the beginning of a file events.N. Events follow.
type EventsHeader struct {
	Magic    [8]byte  // EventsMagic
	Capacity uint64   // events that fit
	Written  uint64   // events that were written in all
	_        [40]byte //
}

const EventsMagic = "stemevt\x01"

// An Event is an entry of the log of the newest events. Event n lies at place n modulo the
// capacity. One with another number than its place asks for was being written, or is
// older than the log is long. Kind and number are written last, in one store.
type Event struct {
	Kind   uint32 // a layout.Event constant
	Number uint32 // of the event, modulo 1<<32
	Value  uint64 // what was counted: bytes, nanoseconds
	Time   uint64 // nanoseconds since the program began
	Hi     uint64 // the ID of the context, upper word
	Lo     uint64 // the ID of the context, lower word
}
