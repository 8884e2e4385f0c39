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

// ErrNotBuilt is the error of [Snapshot] and of [Counts] in a normal build.
var ErrNotBuilt = errors.New("stemma: nothing is recorded, since the program is not built by stemma; " +
	"build it with stemma build")

// Snapshot returns a copy of what this process has recorded up to now. Where calls are counted (engine cct) that is the
// tree with all metrics that the build counts; where stacks are sampled, the samples. [Contexts] iterates over it, and
// its method Write makes a file that stemma report reads.
//
// The program goes on meanwhile. The copy is consistent in this sense:
//   - Each context that existed when Snapshot was called is there, with those that led to it.
//   - Each count is at least what it was then, and at most what it is when Snapshot returns, whichever Ps have counted
//     it. So no count is less than in an earlier snapshot.
//   - Two counts may be of different moments in between: a function that runs at that time may have made more calls
//     than its own count of calls explains.
//   - Samples are of some moment before the end. Time at an address that was sampled for the first time may belong to a
//     function (unknown) until the next snapshot.
//   - What is counted at the end of something, such as a wait, is not there before.
//
// Snapshot reads the live directory of the process, whose files are the memory that the program counts in. It takes
// time and memory in proportion to the number of contexts. Its own work is not recorded, see [Bypass].
//
// Snapshot returns an error in a normal build, in a build with context IDs, which has no counts, and if there is no
// live directory: the program could not make one, or somebody has removed it.
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

// Every calls f with a [Snapshot] every d, on a goroutine of its own. d must be positive. There is one call at a time:
// while a call takes longer than d, snapshots are left out. What f does is not recorded, see [Bypass]. After an error
// f is not called again; in a normal build the first call has an error.
//
// stop ends the calls. It may be called several times, and by f. A call of f that has begun, or is about to, goes on.
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

var errNoProfile = errors.New("stemma: there is no profile, since nothing was recorded or measured; " +
	"look at the error of Snapshot, or at Counts.Err")

// Contexts iterates over the contexts of a profile that have an amount of a metric, such as "calls". It yields their
// stacks, innermost function first, and the amount that is their own, without what they call. Metrics have the names of
// stemma report -metric; if the profile lacks the metric, the error lists those that it has, and there is an error if p
// is nil, as that of [Counts] in a normal build. The innermost frame has the place where its function begins.
//
// In a [Snapshot] of a running program, metrics that are computed from several counts may be a little off: ops, and
// calls of functions of assembly through function values.
//
// Contexts is recorded like any code of the program: call it from f of [Every], or in [Bypass].
func Contexts(p *profile.Profile, metric string) (iter.Seq2[Stack, uint64], error) {
	if p == nil {
		return nil, errNoProfile
	}
	t, err := cct.Of(p, metric)
	if err != nil {
		return nil, err
	}
	return func(yield func(Stack, uint64) bool) {
		prints := t.Fingerprints()
		for i, n := range t.Nodes {
			if n.Count == 0 {
				continue
			}
			s := stackOfFrames(t.Stack(uint32(i)))
			s.sum = prints.Of(uint32(i))
			if !yield(s, n.Count) {
				return
			}
		}
	}, nil
}

// stackOfFrames divides the frames of a context into goroutines. The last frame is what called the context.
func stackOfFrames(frames []cct.Frame) Stack {
	s := Stack{Sections: []Section{{}}}
	for _, f := range frames {
		if strings.HasPrefix(f.Func, "[") {
			s.Root = strings.Trim(f.Func, "[]")
			continue
		}
		last := &s.Sections[len(s.Sections)-1]
		*last = append(*last, Frame{Func: f.Func, File: f.File, Line: f.Line, Inlined: f.Via == cct.ViaInlined})
		if f.Via == cct.ViaGo {
			s.Sections = append(s.Sections, nil)
		}
	}
	if s.Root == layout.RootNames[layout.RootOverflow] {
		s.Root, s.Truncated = "", "there was no room for more contexts"
	}
	return s
}
