package layout

// FileGoroutines is the file of the goroutines that exist.
const FileGoroutines = "goroutines"

// A GoroutinesHeader is the beginning of the file goroutines. An entry for each g of the runtime follows.
type GoroutinesHeader struct {
	Entries uint64                     // written when there is an entry more
	Lost    uint64                     // goroutines without an entry, for want of room
	End     uint64                     // of the program, nanoseconds since 1970, or 0
	Reasons [GoroutineReasons][48]byte // what the numbers mean, then zero bytes; empty for none
}

// A Goroutine is an entry of the file goroutines. It means something if ID and Again are equal, and not 0.
type Goroutine struct {
	ID     uint64 // the number that package runtime prints, 0 for no goroutine
	Since  uint64 // when it began to do what it does, nanoseconds since 1970
	Start  uint32 // the offset of the cell of its go statement, or of its root
	At     uint32 // that of where it waits; Start if it runs, or nobody knows
	Reason uint16 // why it does not run, an index of Reasons; or GoroutineRuns
	_      [3]uint16
	Again  uint64 // ID, written last, and made 0 first
}

// GoroutineReasons is more than package runtime has reasons. GoroutineRuns stands for none.
const (
	GoroutineReasons = 64
	GoroutineRuns    = GoroutineReasons
)
