// Package stemma tells a Go program its calling context.
//
// # Context IDs
//
// A context ID names the calling context of one moment: the call sites from
// main, or from wherever the goroutine and those that led to it began, down to
// here. It takes 24 bytes and a nanosecond or two to read, however deep the
// stack is, and is decoded later, elsewhere, to the full stack:
//
//	stemma build -engine=dacce -o srv ./cmd/srv
//	./srv 2>srv.log
//	stemma decode stemma.out <srv.log
//
// An ID says which run of which process it is from: it is decoded with the record of
// that run, or not at all.
//
// A program that is built with go build compiles and runs as well. There [Here]
// returns the zero ID, [SlogHandler] and [WrapError] return what they are given,
// and nothing is recorded: it costs nothing.
//
// All functions may be called by several goroutines at once.
package stemma

import _ "unsafe" // for go:linkname

// An api is what the runtime of an instrumented program provides.
type api struct {
	// Here returns the context of its caller, which it finds through the frame
	// pointer, and the run number of the process; or zeros.
	Here func() (hi, lo, run uint64)
	// Event records an event with the context of its caller.
	Event func(kind uint32, value uint64)
	// Dir returns the live directory, "" if there is none.
	Dir func() string
}

// runtimeAPI is nil in a normal build: then this is the only definition of the
// symbol. The extended runtime defines it, too, with a value, and the linker
// prefers a definition with a value to one without (cmd/link/internal/loader,
// addSym). So a program needs no flag for the one build or the other. The number at
// the end of the symbol is the version of api: a runtime of a stemma with another one
// does not define it.
//
//go:linkname runtimeAPI runtime.stemmaAPI2
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
	id.hi, id.lo, id.run = here2()
	return
}

// here2 returns the words of the ID of its caller's context. The extended compiler puts a
// call of the runtime in the place of each call of here2, for engines that can do
// with a few instructions, and so it must know the name, with the version of api.
func here2() (hi, lo, run uint64) {
	if runtimeAPI != nil {
		return runtimeAPI.Here()
	}
	return
}
