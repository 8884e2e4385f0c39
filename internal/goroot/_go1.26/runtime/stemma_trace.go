// Incremental stack tracing.

package runtime

import "unsafe"

var stemmaTraceCheck bool

func stemmaTrace(gp *g, atGuard bool, weight uint64) {
	stemmaRecord(gp, atGuard, &getg().m.p.ptr().stemmaTicket.buf, 0, weight)
}

func stemmaRetrieveAll() {}

//go:nosplit
func stemmaReturn(gp *g, slot uintptr) uintptr { return *(*uintptr)(unsafe.Pointer(slot)) }
