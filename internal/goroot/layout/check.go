package layout

// Names of the files of the checker: its records, and the names of functions and files in them.
const (
	FileCheck   = "check"
	FileStrings = "strings"
)

// A Check is the beginning of a record of check, which is written in a verify build only:
// CheckFrames follow, innermost first. It says that so many times, when the node was
// entered (Cell is 0), or when it was about to be left through a cell, a walk of the stack
// found these frames. They reach down to where the goroutine, or the runtime for it,
// began. Length is written last. The last record, of a program that ended of its own will, says how many
// goroutines were running or ready to run, and may have been stopped anywhere.
type Check struct {
	Length uint32 // bytes of the record
	Node   uint32 // offset of the node
	Events uint64 // how many times
	Frames uint32 // number of frames
	// index of the cell + 1, 0 on entry; layout.CheckID in a CheckOfID, layout.CheckEnd in the last one
	Cell      uint32
	StartNode uint32 // offset of the node that the goroutine began in
	StartCell uint32 // and the cell of it
}

// A CheckOfID is the beginning of a record of check where contexts are encoded: a walk found
// these frames where the ID was captured. They reach down to where the goroutine
// began: at the go statement with the start ID, or at a root if that is 0. If the ID's
// return address is the entry of a function, it was captured on entry.
type CheckOfID struct {
	Length  uint32 // bytes of the record
	Zero    uint32 // 0
	Events  uint64 // how many times
	Frames  uint32 // number of frames
	Mark    uint32 // layout.CheckID
	Hi      uint64 // the ID, upper word
	Lo      uint64 // the ID, lower word
	StartHi uint64 // the ID of the go statement, upper word
	StartLo uint64 // the ID of the go statement, lower word
}

// Marks of records of check that are no [Check].
const (
	CheckID  = 1 << 31   // in Mark of a CheckOfID
	CheckEnd = 1<<31 + 1 // in Cell of the last record: Events is how many goroutines the end has stopped midway
)

// A CheckFrame is a frame of a record of check. Its strings are in the file strings, each
// behind a CheckString.
type CheckFrame struct {
	Func  uint32 // offset in strings
	File  uint32 // offset in strings
	Line  uint32 // line
	Flags uint32 // layout.CheckFrame bits
}

// Flags of a frame.
const (
	CheckFrameInlined = 1 << 0 // it is inlined into the next one
	CheckFrameWrapper = 1 << 1 // it is one of a wrapper, which contexts do not show
)

// A CheckString is the beginning of a string of the file strings. Its bytes follow, and zero
// bytes up to a multiple of 4.
type CheckString struct {
	Len uint32 // number of bytes
}
