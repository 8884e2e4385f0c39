// Package encoder has the calling context encoders in plain Go, each with its decoder, to compare
// with and to replay.
//
// # Terminology
//
// A [Program] is functions and call sites; the edges between them are what an
// encoder has to find out, except for pcce, which is given all of them. A
// program runs as goroutines, stacks of [Call]. A goroutine begins at [Root], or at
// a go statement of another one; then the context of that statement is the
// beginning of its own: the ancestry of a goroutine is part of each of its contexts. A [Context] is
// what an encoder hands out for an event, of fixed size; decoding it gives the calls that led to
// the event, outermost first.
//
// # Encoders
//
//   - [PCC] hashes: V = 3V + site (Bond and McKinley). It cannot be decoded.
//   - [NewPCCE] numbers a complete graph once, before the run, and [NewPCCEProfile] one with
//     weights and the targets of indirect calls.
//   - [NewDacceEdges] is DACCE with one addition value for each edge, as published, and
//     [NewDacceCounts] has its counts of repetitions as well.
//   - [NewDacce] is what stemma builds into programs: one addition value for
//     each call site, whatever the target. See [SiteTables].
//   - [Lucce] needs no stack; its graph has versions, as published. See there.
//   - [StableLucce] is what stemma builds in: the newest graph decodes all contexts.
//
// Those in the middle are one [Dacce] with different [Tables].
//
// # Unwinding
//
// No encoder does anything when a function returns: each frame keeps the state
// with which it was entered. So returns, panics and runtime.Goexit are one
// operation, [Encoder.Unwind].
package encoder

import (
	"fmt"
	"math"
	"math/bits"
	"time"
)

// A Func is a function, numbered from 0. Func 0 is [Root].
type Func uint32

// A Site is a call site, numbered from 0. It belongs to one function.
type Site uint32

// A Goroutine is numbered by whoever makes the events. Numbers may be reused
// after an exit.
type Goroutine uint32

// Root stands for what calls a program from outside. It is never called.
const Root Func = 0

// Main is the goroutine that exists from the beginning, at [Root]. Others begin
// there with [Encoder.Start], or at a go statement with [Encoder.Go].
const Main Goroutine = 0

// A SiteKind is how the target of a call site is determined.
type SiteKind uint8

// The kinds of call sites. A static site has one target, ever.
const (
	Static SiteKind = iota
	Dynamic
	Go
)

var siteKinds = [...]string{"static", "dynamic", "go"}

func (k SiteKind) String() string { return siteKinds[k] }

// A SiteInfo describes a call site.
type SiteInfo struct {
	Caller Func
	Kind   SiteKind
}

// A Program is what is known of a program without running it. It may grow
// between events, since functions can be met late; what is there stays.
type Program struct {
	Funcs int // functions are 0 to Funcs-1
	Sites []SiteInfo
}

// NewProgram returns a program that has only [Root].
func NewProgram() *Program { return &Program{Funcs: 1} }

// AddFunc adds a function.
func (p *Program) AddFunc() Func {
	p.Funcs++
	return Func(p.Funcs - 1)
}

// AddSite adds a call site to a function.
func (p *Program) AddSite(caller Func, kind SiteKind) Site {
	p.Sites = append(p.Sites, SiteInfo{caller, kind})
	return Site(len(p.Sites) - 1)
}

// A Call is one step of a calling context: a function, entered from a site.
type Call struct {
	Site Site
	Func Func
}

// A Context is a captured calling context. What Version and ID mean is the
// encoder's business; contexts that an encoder decodes differently differ.
type Context struct {
	Func      Func   // where it was captured
	Version   uint32 // epoch (dacce), graph version or entry (lucce)
	ID        uint64
	Node      uint32 // of the interned ccStack, 0 for the empty one
	Truncated bool   // the encoder had no room for it; it decodes to nothing
}

// An Encoder follows the events of a program.
// Events must be possible, see [Shadow]: encoders do not check them.
type Encoder interface {
	// Name is the name by which the encoder is selected.
	Name() string
	// Call enters callee from a static or dynamic site of g's current function.
	Call(g Goroutine, site Site, callee Func)
	// Unwind leaves frames until depth of them are left. A goroutine that a go
	// statement started keeps at least one, that of its entry; Root is no frame.
	Unwind(g Goroutine, depth int)
	// Start begins a goroutine at Root.
	Start(g Goroutine)
	// Go starts child with a call of entry, from a go site of g's function.
	Go(g Goroutine, site Site, entry Func, child Goroutine)
	// Exit ends a goroutine.
	Exit(g Goroutine)
	// Reencode asks for new addition values now. Encoders without epochs ignore it.
	Reencode()
	// Capture returns the context in which g is.
	Capture(g Goroutine) Context
	// Decode returns the calls that led to a context, outermost first. It knows
	// nothing of frames: contexts stay valid when these are gone.
	Decode(c Context) ([]Call, error)
	// Stats returns what the encoder has cost so far.
	Stats() Stats
}

// Stats are the figures of an encoder: the columns of table 1 of the DACCE
// paper, and those of the log that Lucce needs. What an encoder lacks is zero.
type Stats struct {
	Calls      uint64
	Nodes      int           // functions in the call graph
	Edges      int           // edges in the call graph
	Encoded    int           // edges that have an addition value
	LeftOut    int           // edges that would make ids too large
	NumCC      uint64        // sum over all functions: contexts that have an id of their own
	MaxID      uint64        // largest id
	StackOps   uint64        // pushes to ccStacks
	StackMean  float64       // depth of the ccStack after a call, mean
	StackMax   uint32        // and maximum
	Compares   uint64        // calls of dynamic sites that had to look their target up
	Epochs     int           // re-encodings, or graph versions
	EncodeTime time.Duration // spent re-encoding
	Interned   int           // ccStack entries that captures have interned
	LogEntries uint64
	LogBytes   uint64
	Bytes      uint64 // memory held, frames and contexts not included
	Truncated  uint64 // calls whose context has no representation
}

// A TruncatedError is the answer of Decode to a truncated context.
type TruncatedError struct{ Func Func }

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("context of function %d was truncated when it was captured", e.Func)
}

// reversed turns calls that were collected from the innermost one outwards.
func reversed(calls []Call) []Call {
	for i, j := 0, len(calls)-1; i < j; i, j = i+1, j-1 {
		calls[i], calls[j] = calls[j], calls[i]
	}
	return calls
}

// addCapped returns a+b, or the largest number there is.
func addCapped(a, b uint64) uint64 {
	if sum, carry := bits.Add64(a, b, 0); carry == 0 {
		return sum
	}
	return math.MaxUint64
}
