package ids_test

import (
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/rt/ids"
)

const (
	millisecond = 1_000_000
	second      = 1000 * millisecond
)

// a plan of a size whose cost is 130 µs: 1,858 slow entries.
const paceSize = 1000

// TestPaceDue has one reason after the other for a re-encoding, each with what just does not suffice.
func TestPaceDue(t *testing.T) {
	type due struct {
		after int64 // since the last re-encoding
		work  ids.Work
		want  bool
	}
	const many = 1 << 20
	for name, tests := range map[string][]due{
		"nothing": {{10 * second, ids.Work{}, false}},
		"too early": {
			{millisecond / 2, ids.Work{Missed: 1e6}, false},
			{2 * millisecond, ids.Work{Missed: 1e6}, true},
		},
		"slow entries": {
			{2 * millisecond, ids.Work{Missed: 1857}, false},
			{2 * millisecond, ids.Work{Missed: 1858}, true},
		},
		"new edges": {
			{second / 2, ids.Work{Unplanned: 1}, false},
			{2 * second, ids.Work{Unplanned: 1}, true},
		},
		"pushes": {
			{2 * millisecond, ids.Work{Pushes: 51_999}, false}, // eight times 130 µs
			{2 * millisecond, ids.Work{Pushes: 52_000}, true},
		},
		// 10,000 frames take 1.5 ms, and with the plan as much as 23,286 slow entries; 300,000 take 45 ms
		"frames": {
			{2 * millisecond, ids.Work{Missed: 23_285, Frames: 10_000}, false},
			{2 * millisecond, ids.Work{Missed: 23_286, Frames: 10_000}, true},
			{3 * second / 2, ids.Work{Unplanned: 1, Frames: 10_000}, false},
			{2 * second, ids.Work{Unplanned: 1, Frames: 10_000}, true},
			{45 * second, ids.Work{Unplanned: 1, Frames: 300_000}, false},
			{46 * second, ids.Work{Unplanned: 1, Frames: 300_000}, true},
			{20 * second, ids.Work{Pushes: many, Frames: 10_000}, true},
			{20 * second, ids.Work{Pushes: 2 * many, Frames: 300_000}, false},
			{20 * second, ids.Work{Pushes: 3 * many, Frames: 300_000}, true},
		},
	} {
		for i, d := range tests {
			var p ids.Pace
			p.Init(0)
			p.Done(0, 1, paceSize, 0, ids.Work{})
			if have := p.Due(1+d.after, d.work); have != d.want {
				t.Errorf("%s, %d: due: %v, want %v", name, i, have, d.want)
			}
		}
	}
}

// TestPaceHotPaths pushes at one rate. Each time they must have cost twice as much, until it is only for more than
// twice as many that a re-encoding is due before its time. That is a trigger of DACCE's (section 4).
func TestPaceHotPaths(t *testing.T) {
	var p ids.Pace
	p.Init(0)
	now, pushes := int64(1), uint64(0)
	reencode := func(edges uint32) { p.Done(now, now, paceSize, edges, ids.Work{Pushes: pushes}) }
	pass := func(d int64, rate uint64) bool { // pushes a millisecond
		now += d
		pushes += uint64(d/millisecond) * rate
		return p.Due(now, ids.Work{Pushes: pushes})
	}
	reencode(1)
	const rate, enough = 20_000, 6_500 // as many pushes cost as much as a plan
	for i := range 16 {
		wait := min(int64(4*enough<<i/rate), 10_000)
		if pass(wait*millisecond, rate) {
			t.Errorf("round %d: due after %d ms, though nothing has changed", i, wait)
		}
		if !pass(millisecond, rate) {
			t.Errorf("round %d: not due after %d ms", i, wait+1)
		}
		reencode(0)
	}
	// The rate is rounded to 2^20 ns, and what is left of a step: a hundredth, not more.
	if pass(200*millisecond, rate*198/100) {
		t.Error("due for less than twice the pushes")
	}
	reencode(0)
	if pass(200*millisecond, rate*198/100) || pass(0, rate) {
		t.Error("due for as many pushes as before")
	}
	reencode(0)
	if !pass(200*millisecond, rate*198*210/10000) {
		t.Error("not due for more than twice the pushes")
	}
	reencode(0)
	if pass(50*millisecond, rate*100) {
		t.Error("due before a tenth of a second has passed")
	}
	for range 20 {
		reencode(1)
	}
	if pass(millisecond, rate) || !pass(millisecond, rate) {
		t.Error("not patient after new edges")
	}
}

// TestPaceForced re-encodes at fixed times, whatever happens.
func TestPaceForced(t *testing.T) {
	var p ids.Pace
	p.Init(5 * millisecond)
	if !p.Due(1, ids.Work{}) {
		t.Error("not due at the beginning")
	}
	p.Done(second, second+3*millisecond, paceSize, 0, ids.Work{})
	if p.Due(second+5*millisecond-1, ids.Work{Missed: 1e9}) || !p.Due(second+5*millisecond, ids.Work{}) {
		t.Error("not due 5 ms after the last one began")
	}
}
