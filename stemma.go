// Package stemma gives a Go program its calling context.
//
// # Context IDs
//
// A context ID names the calling context of one moment: the call sites from main,
// or from the root of the goroutine and of those that led to it, down to here. It
// takes 24 bytes, and a nanosecond or two to read, however deep the stack is. The
// command stemma decodes it later, elsewhere, to the full stack:
//
//	stemma build -engine=dacce -o srv ./cmd/srv
//	./srv 2>srv.log
//	stemma decode stemma.out <srv.log
//
// An ID names the run of the process that made it. Only the record of that run
// decodes it.
//
// A program that is built with go build compiles and runs as well. There [Here]
// returns the zero ID, [SlogHandler] and [WrapError] return what they are given,
// and nothing is recorded. It costs nothing.
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
// symbol. The extended runtime also defines it, with a value, and the linker
// prefers a definition with a value to one without (cmd/link/internal/loader,
// addSym). So a program needs no flag for the one build or the other. The number at
// the end of the symbol is the version of api: a runtime of a stemma with another one
// does not define it.
//
//go:linkname runtimeAPI runtime.stemmaAPI2
var runtimeAPI *api

// Enabled reports whether the program was built to give context IDs.
func Enabled() bool { return runtimeAPI != nil }

// Here returns the calling context of the function that calls it, at this call.
// Equal IDs mean equal contexts. Equal contexts mostly have equal IDs, but a
// re-encoding gives a context a new ID. So an ID is a good map key for counting:
// count by ID, decode, then add up.
//
// In a normal build it returns the zero ID.
func Here() (id ID) {
	id.hi, id.lo, id.run = here2()
	return
}

// here2 returns the words of the ID of its caller's context. For engines that need a few
// instructions only, the extended compiler replaces each call of here2 by a call of the
// runtime. So it must know the name, with the version of api.
func here2() (hi, lo, run uint64) {
	if runtimeAPI != nil {
		return runtimeAPI.Here()
	}
	return
}
