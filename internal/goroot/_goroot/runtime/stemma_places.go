// The places of samples: what is at an address, described by one thread at a time.

package runtime

import (
	"internal/abi"
	"internal/runtime/stemma/sample"
)

// stemmaDrain describes the addresses of new nodes. It runs on the sampler
// thread, or, when the program ends, on the system stack of a goroutine.
//
//go:nowritebarrierrec
func stemmaDrain() {
	lock(&stemmaSmp.drain)
	for {
		pc, ok := stemmaSmp.NextPlace()
		if !ok {
			break
		}
		w := stemmaSmp.BeginPlace(pc)
		if f := findfunc(pc); f.valid() {
			stemmaFrames(&w, f, pc, false)
			stemmaFrames(&w, f, pc, true)
		}
		w.End()
	}
	unlock(&stemmaSmp.drain)
}

// stemmaFrames describes the frames at an address: those of wrappers, or the others.
//
//go:nowritebarrierrec
func stemmaFrames(w *sample.PlaceWriter, f funcInfo, pc uintptr, wrappers bool) {
	for u, uf := newInlineUnwinder(f, pc); uf.valid(); uf = u.next(uf) {
		if sf := u.srcFunc(uf); (sf.funcID == abi.FuncIDWrapper) == wrappers {
			file, line := u.fileLine(uf)
			w.Frame(sf.name(), file, uint32(line), uint32(sf.startLine), wrappers)
		}
	}
}
