package stemma

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/profile"
)

// # Reading one's own counts

// ErrNotBuilt is what [Snapshot] returns in a normal build.
var ErrNotBuilt = errors.New("stemma: nothing is recorded, since the program is not built by stemma; " +
	"build it with stemma build")

// Snapshot returns a copy of what this process has recorded up to now: where calls are counted (engine cct), its tree
// with all values that the build counts; where stacks are sampled, the samples. [Contexts] goes through it, and its
// method Write makes a file that stemma report reads.
//
// The program goes on meanwhile, and the copy is consistent in this sense: each context that there was when Snapshot
// was called is there, with those that led to it. Each count is at least what it was then and at most what it is
// when Snapshot returns, whichever Ps have counted it. So no count is less than in an earlier snapshot. Two counts may
// be of different moments in between: a function that runs at that time may have called more than it has been called.
// What is sampled is of some moment before the end: time at an address that was sampled for the first time may be that
// of a function (unknown) until the next snapshot. What is counted at the end of something, such as waits, is not there
// before.
//
// Snapshot reads the live directory of the process, whose files are the memory that the program counts in. It takes
// time and memory in proportion to the number of contexts. Its own work is not recorded, see [Bypass].
//
// It is an error in a normal build, in one with context IDs, which has no counts, and if there is no live directory:
// the program could not make one, or somebody has removed it.
func Snapshot() (*profile.Profile, error) {
	if recordingRuntime == nil {
		return nil, ErrNotBuilt
	}
	dir, err := Recording()
	if err != nil {
		return nil, err
	}
	var p *profile.Profile
	Bypass(func() {
		RetrieveSamples()
		p, err = readOwn(dir)
	})
	return p, err
}

// readOwn reads the counts in the live directory of this process.
func readOwn(dir string) (*profile.Profile, error) {
	r, err := record.Open(os.DirFS(dir))
	switch {
	case err != nil:
		return nil, fmt.Errorf("stemma: the record of this process, %s, cannot be read: %w; leave it alone while the "+
			"program runs", dir, err)
	case r.IDs != nil:
		return nil, fmt.Errorf("stemma: the program has context IDs and no counts, since it is built with -engine=%s; "+
			"build it with %s", r.Processes[0].Engine, engine.Giving(engine.Counts))
	}
	return r.Profile, nil
}

// Every calls f with a [Snapshot] every d, which must be positive, on a goroutine of its own: one call at a time, with
// snapshots left out while one takes longer. What f does is not recorded, see [Bypass]. Once f has got an error in
// place of a snapshot it is not called again; in a normal build that is the first time.
//
// stop ends it. It may be called several times, and by f. A call of f that has begun, or is about to, goes on.
func Every(d time.Duration, f func(p *profile.Profile, err error)) (stop func()) {
	ticks, end := time.NewTicker(d), make(chan struct{})
	Bypass(func() { go every(ticks, end, f) })
	return sync.OnceFunc(func() { close(end) })
}

// every calls f with a snapshot at each tick, until that fails or end is closed.
func every(ticks *time.Ticker, end <-chan struct{}, f func(*profile.Profile, error)) {
	defer ticks.Stop()
	for {
		select {
		case <-end:
			return
		case <-ticks.C:
		}
		p, err := Snapshot()
		select {
		case <-end:
			return
		default:
		}
		if f(p, err); err != nil {
			return
		}
	}
}

// Contexts goes through the contexts of a profile that have a value, "calls" say: their stacks, innermost function
// first, and how much of the value is their own, without what they call. The values that there are have names as in
// stemma report -metric; for one that the profile does not have the error lists them. The innermost frame has the place
// where its function begins.
//
// What is computed from several counts may be a little off in a [Snapshot] of a program that goes on: ops, and calls of
// functions of assembly through function values.
//
// It is recorded as any code of the program: call it from f of [Every], or in [Bypass].
func Contexts(p *profile.Profile, value string) (iter.Seq2[Stack, uint64], error) {
	t, err := cct.Of(p, value)
	if err != nil {
		return nil, err
	}
	return func(yield func(Stack, uint64) bool) {
		for i, n := range t.Nodes {
			if n.Count > 0 && !yield(stackOfFrames(t.Stack(uint32(i))), n.Count) {
				return
			}
		}
	}, nil
}

// stackOfFrames divides the frames of a context, of which the last one is what called it, into goroutines.
func stackOfFrames(frames []cct.Frame) Stack {
	s := Stack{Sections: []Section{{}}}
	for _, f := range frames {
		if strings.HasPrefix(f.Func, "[") {
			s.Root = strings.Trim(f.Func, "[]")
			continue
		}
		last := &s.Sections[len(s.Sections)-1]
		*last = append(*last, Frame{f.Func, f.File, f.Line, f.Via == cct.ViaInlined})
		if f.Via == cct.ViaGo {
			s.Sections = append(s.Sections, nil)
		}
	}
	if s.Root == layout.RootNames[layout.RootOverflow] {
		s.Root, s.Truncated = "", "there was no room for more contexts"
	}
	return s
}
