// Package stemma tells a Go program its calling context.
//
// # Context IDs
//
// A context ID names the calling context of one moment: the call sites from
// main, or from wherever the goroutine and those that led to it began, down to
// here. It takes 16 bytes and a nanosecond or two to read, however deep the
// stack is, and is decoded later, elsewhere, to the full stack:
//
//	stemma build -engine=dacce -o srv ./cmd/srv
//	./srv 2>srv.log
//	stemma decode stemma.out/srv.PID <srv.log
//
// A program that is built with go build compiles and runs as well. There [Here]
// returns the zero ID, [SlogHandler] and [WrapError] return what they are given,
// and nothing is recorded: it costs nothing.
//
// All functions may be called by several goroutines at once.
package stemma

import _ "unsafe" // for go:linkname

// An api is what the runtime of an instrumented program provides.
// Its first words are the same in all versions.
type api struct {
	Version uint64 // apiVersion
	// Here returns the context of its caller, which it finds through the frame
	// pointer.
	Here func() (hi, lo uint64)
	// At returns the context of the frame on the caller's stack whose call
	// returns to pc, zero if there is none. This version does not use it.
	At func(pc uintptr) (hi, lo uint64)
	// Event records an event with the context of its caller.
	Event func(kind uint32, value uint64)
	// Dir returns the live directory, "" if there is none.
	Dir func() string
}

// apiVersion is the version of api that this package knows. The runtime comes
// with the stemma that built the program and may be of another release: it
// provides this version, or leaves runtimeAPI nil.
const apiVersion = 1

// runtimeAPI is nil in a normal build: then this is the only definition of the
// symbol. The extended runtime defines it, too, with a value, and the linker
// prefers a definition with a value to one without (cmd/link/internal/loader,
// addSym). So a program needs no flag for the one build or the other.
//
//go:linkname runtimeAPI runtime.stemmaAPI
var runtimeAPI *api

// Enabled tells whether the program was built to give context IDs.
func Enabled() bool { return runtimeAPI != nil }

// Here returns the calling context of the function that calls it, at this call.
// Equal contexts mostly have equal IDs, and equal IDs mean equal contexts; but
// after a re-encoding the same context has a new ID, so that an ID is a good map
// key for counting, and what is counted is added up after decoding.
//
// In a normal build it returns the zero ID.
func Here() (id ID) {
	id.hi, id.lo = here()
	return
}

// here returns the words of the ID of its caller's context. The extended compiler puts a
// call of the runtime in the place of each call of here, for engines that can do
// with a few instructions, and so it must know the name.
func here() (hi, lo uint64) {
	if runtimeAPI != nil {
		return runtimeAPI.Here()
	}
	return
}
