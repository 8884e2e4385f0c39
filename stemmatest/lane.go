package stemmatest

import (
	"sync"
	"testing"

	"github.com/stemma-go/stemma"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// Lanes.
//
// Subtests that run at the same time mostly have one calling context: the test function
// starts each by the same call of t.Run. To distinguish what is below it, each test
// has a lane: three functions that call each other, each from one of 16 places. A place is a
// part of the context, so that contexts below different lanes differ, also in all goroutines
// that began there. A number of a lane comes again after 4,096 tests. A test before it whose
// goroutines still run, in the same context, would then count.

const (
	places   = 16
	numLanes = places * places * places
)

// Symbols of the functions of a lane.
const (
	firstName  = "github.com/stemma-go/stemma/stemmatest.first"
	secondName = "github.com/stemma-go/stemma/stemmatest.second"
	lastName   = "github.com/stemma-go/stemma/stemmatest.last"
)

// A lane belongs to one test, or is borrowed for one measurement.
type lane struct {
	number int
	used   bool // something was counted in it
	busy   bool // something is
}

var lanes = struct {
	sync.Mutex
	of   map[testing.TB]*lane
	next int
}{of: make(map[testing.TB]*lane)}

// take returns the lane of a test. It ends the test if the lane is in use: two
// measurements there would mix.
func take(t testing.TB) *lane {
	t.Helper()
	lanes.Lock()
	defer lanes.Unlock()
	l := lanes.of[t]
	if l == nil {
		l = newLane()
		lanes.of[t] = l
		t.Cleanup(func() {
			lanes.Lock()
			delete(lanes.of, t)
			lanes.Unlock()
		})
	}
	if l.busy {
		t.Fatal("stemmatest: Calls or Growth within another one, or beside it in another goroutine of the same test; " +
			"measure one after the other")
	}
	l.busy = true
	return l
}

// newLane returns the next lane. The lock of lanes is held.
func newLane() *lane {
	l := &lane{number: lanes.next % numLanes, used: lanes.next >= numLanes}
	lanes.next++
	return l
}

func (l *lane) release() {
	lanes.Lock()
	l.busy = false
	lanes.Unlock()
}

// count calls f in the lane and returns the tree of what it called: [main] down to f, and all
// contexts below, with one value. A lane that is new has no calls before.
func (l *lane) count(f func(), value string) (tree *cct.Tree, err error) {
	p, err := l.record(f)
	if err != nil {
		return nil, err
	}
	stemma.Bypass(func() { tree, err = cct.Of(p, value) })
	return tree, err
}

// record calls f in the lane and returns what it called, with all values. To read is not recorded: else each
// measurement would make the record larger that the next one reads.
func (l *lane) record(f func()) (p *profile.Profile, err error) {
	before := new(reading)
	if l.used {
		stemma.Bypass(func() { before, err = l.read() })
		if err != nil {
			return nil, err
		}
	}
	l.used = true
	first(l.number, f)
	stemma.Bypass(func() {
		var after *reading
		if after, err = l.read(); err == nil {
			after.subtract(before)
			p = after.profile
		}
	})
	return p, err
}

// first, second and last call f from the place that is the number of the lane. Their code is
// not to be inlined: it would be copied, and places found by line twice.
//
//go:noinline
func first(lane int, f func()) {
	switch lane / places / places {
	case 0:
		second(lane, f)
	case 1:
		second(lane, f)
	case 2:
		second(lane, f)
	case 3:
		second(lane, f)
	case 4:
		second(lane, f)
	case 5:
		second(lane, f)
	case 6:
		second(lane, f)
	case 7:
		second(lane, f)
	case 8:
		second(lane, f)
	case 9:
		second(lane, f)
	case 10:
		second(lane, f)
	case 11:
		second(lane, f)
	case 12:
		second(lane, f)
	case 13:
		second(lane, f)
	case 14:
		second(lane, f)
	case 15:
		second(lane, f)
	}
}

//go:noinline
func second(lane int, f func()) {
	switch lane / places % places {
	case 0:
		last(lane, f)
	case 1:
		last(lane, f)
	case 2:
		last(lane, f)
	case 3:
		last(lane, f)
	case 4:
		last(lane, f)
	case 5:
		last(lane, f)
	case 6:
		last(lane, f)
	case 7:
		last(lane, f)
	case 8:
		last(lane, f)
	case 9:
		last(lane, f)
	case 10:
		last(lane, f)
	case 11:
		last(lane, f)
	case 12:
		last(lane, f)
	case 13:
		last(lane, f)
	case 14:
		last(lane, f)
	case 15:
		last(lane, f)
	}
}

//go:noinline
func last(lane int, f func()) {
	switch lane % places {
	case 0:
		f()
	case 1:
		f()
	case 2:
		f()
	case 3:
		f()
	case 4:
		f()
	case 5:
		f()
	case 6:
		f()
	case 7:
		f()
	case 8:
		f()
	case 9:
		f()
	case 10:
		f()
	case 11:
		f()
	case 12:
		f()
	case 13:
		f()
	case 14:
		f()
	case 15:
		f()
	}
}
