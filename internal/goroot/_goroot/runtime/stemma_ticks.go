// The clock of waits: three looks at it for each wait, which is why it is the processor's counter wherever the
// kernel itself tells the time by that. Then all processors agree on it, and it goes on at one rate.

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

// stemmaTicks says what a tick is. The rate becomes more exact as time passes: each time that twice as much has passed
// as at the last look, the program looks again. Errors of some 50 ns are less than a thousandth after 50 µs.
var stemmaTicks struct {
	on     bool // ticks of the processor are counted, else nanoseconds; set before there is a second thread
	ns0    int64
	t0     int64         // the same moment in ticks
	rate   atomic.Uint64 // the bits of a float64: nanoseconds a tick
	refine atomic.Int64  // when to look again, in ticks
}

// stemmaTicksInit finds out what to count. It runs in schedinit.
func stemmaTicksInit() {
	const file = "/sys/devices/system/clocksource/clocksource0/current_clocksource\x00"
	fd := open(unsafe.StringData(file), 0, 0)
	if fd < 0 {
		return
	}
	var name [4]byte
	n := read(fd, noescape(unsafe.Pointer(&name)), int32(len(name)))
	closefd(fd)
	if n != int32(len(name)) || name != [4]byte{'t', 's', 'c', '\n'} {
		return
	}
	t := &stemmaTicks
	t.on, t.ns0, t.t0 = true, nanotime(), cputicks()
	t.refine.Store(t.t0)
}

// stemmaTicksNow returns what the clock says: a number of ticks. It may run on any stack, with or without a P.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaTicksNow() int64 {
	if stemmaTicks.on {
		return cputicks()
	}
	return nanotime()
}

// stemmaNanoseconds returns how long so many ticks are, which a goroutine has counted up to now. It runs on the system
// stack.
func stemmaNanoseconds(ticks, now int64) uint64 {
	t := &stemmaTicks
	if !t.on {
		return uint64(ticks)
	}
	if now-t.refine.Load() >= 0 {
		stemmaRefine()
	}
	return uint64(float64(ticks)*float64frombits(t.rate.Load()) + 0.5)
}

// stemmaRefine finds out how long a tick is. Several threads may do so at once. If this one had no CPU between its
// looks at the two clocks, what is known already is better.
func stemmaRefine() {
	t := &stemmaTicks
	before := cputicks()
	ns := nanotime() - t.ns0
	after := cputicks()
	ticks := (before+after)/2 - t.t0
	if ns <= 0 || ticks <= 0 || after-before > ticks>>10 && t.rate.Load() != 0 {
		return
	}
	t.rate.Store(float64bits(float64(ns) / float64(ticks)))
	t.refine.Store(t.t0 + 2*ticks)
}
