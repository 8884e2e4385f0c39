// STEMMA_DETERMINISTIC=clock gives a program a clock of its own, which goes on by what the program does. It begins with
// 2026 in each run. A look at it takes a microsecond, and so does a turn of a goroutine. When no goroutine can run,
// the program waits for the next timer as long as it would, and then that is what the clock says. All that package
// time knows comes from this clock, and all timers are set by it. The runtime's own times are not: how long a
// collection took, or a wait that is recorded.

package runtime

import (
	"internal/runtime/atomic"
	"unsafe"
)

const (
	stemmaNewYear = 1767225600 // seconds since 1970
	stemmaLook    = 1000       // nanoseconds that a look takes, or a turn
	stemmaLater   = 1e9        // nanoseconds by the clock that timers wait while goroutines can run
	stemmaNap     = 10e6       // nanoseconds after which a program that waits for a timer looks again
)

var stemmaHands atomic.Int64 // nanoseconds since stemmaNewYear

// stemmaTime is nanotime by the program's clock.
func stemmaTime() int64 { return stemmaHands.Add(stemmaLook) }

func stemmaNow() (sec int64, nsec int32, mono int64) {
	now := stemmaTime()
	return stemmaNewYear + now/1e9, int32(now % 1e9), now
}

// A stemmaTimerWait is the timer that comes next on a P, with the P's list locked.
type stemmaTimerWait struct {
	when int64  // by the program's clock
	due  int64  // by the real one, as it was when the timer was first seen
	tick uint32 // of the P, at the last look; who has the P uses it
}

// stemmaCheckTimers runs the timers of a P that are due by the program's clock. It takes the place of timers.check, in
// the scheduler: on g0, with a P, mostly that one. It returns now as it is, by the real clock, and pollUntil by the
// program's.
func stemmaCheckTimers(ts *timers, now int64) (rnow, pollUntil int64, ran bool) {
	pp := getg().m.p.ptr()
	stemmaHands.Add(int64(pp.schedtick-pp.stemma.timer.tick) * stemmaLook)
	pp.stemma.timer.tick = pp.schedtick
	if ts.wakeTime() == 0 {
		return now, 0, false
	}
	busy := !runqempty(pp) || !sched.runq.empty()
	owner := (*p)(unsafe.Pointer(uintptr(unsafe.Pointer(ts)) - unsafe.Offsetof(p{}.timers)))
	ts.lock()
	if !busy || int(ts.zombies.Load()) > int(ts.len.Load())/4 {
		ts.adjust(0, true)
	}
	if next := ts.wakeTime(); next != 0 && owner.stemma.timer.over(next, busy) {
		clock := stemmaHands.Load()
		ts.adjust(clock, false)
		for len(ts.heap) > 0 && ts.run(clock, nil) == 0 {
			ran = true
		}
	}
	ts.unlock()
	return now, ts.wakeTime(), ran // another P may take what can run here
}

// over reports whether the timer that comes next may run, and sets the clock to it. If goroutines can run, timers wait
// for them: but not for long by the clock, which goes on if they only look whether it is time, and not for long
// by the real one.
func (w *stemmaTimerWait) over(next int64, busy bool) bool {
	clock, now := stemmaHands.Load(), nanotime()
	if w.when != next {
		w.when, w.due = next, now+min(next-clock, 1<<62)
	}
	switch {
	case busy && clock-next < stemmaLater && now-w.due < stemmaOverdue, !busy && clock < next && now < w.due:
		return false
	case clock < next:
		stemmaHands.Add(next - clock)
	}
	return true
}

// stemmaUntil returns how long findRunnable is to wait for a timer or the network: not longer than it takes to notice
// that a wait is over. It runs on g0, without a P.
//
//go:nowritebarrierrec
func stemmaUntil(pollUntil int64) int64 { return min(pollUntil-stemmaHands.Load(), stemmaNap) }
