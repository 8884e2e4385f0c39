package livedir

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/sealed"
	"github.com/stemma-go/stemma/profile"
)

// # Segments
//
// A live directory has the whole run, whatever segments the program has ended: nothing is taken out of it. A segment is
// a directory beside it that [Open] reads like any other. [OpenRest] reads what came behind the last one. A segment of
// context IDs is a record of its own.

// segmentOf returns what the header of a program that began at start says about segments, nil of one without any.
func segmentOf(h *layout.Rotation, start uint64) *profile.Segment {
	if h.Segment == 0 {
		return nil
	}
	s := &profile.Segment{Closed: h.Segment, Dropped: h.Dropped, Failed: h.Failed, Began: sealed.UnixNano(h.Began)}
	if h.Ended == 0 { // the live directory: the segment has not ended, and all from the start on is here
		s.Closed--
		s.Began = sealed.UnixNano(start)
		return s
	}
	s.Number, s.Ended = h.Segment, sealed.UnixNano(h.Ended)
	return s
}

// segmentOfIDs is segmentOf for a record of context IDs: the live directory is a segment as all others, but has not
// ended while its program ran.
func segmentOfIDs(h *layout.Rotation) *profile.Segment {
	return &profile.Segment{Number: h.Segment, Closed: h.Segment - 1, Dropped: h.Dropped, Failed: h.Failed,
		Began: sealed.UnixNano(h.Began), Ended: sealed.UnixNano(h.Ended)}
}

// errNoSegments is the error of a rest of a record without segments.
var errNoSegments = errors.New("the program ends no segments: it ran without STEMMA_ROTATE")

// errNoCounts is the error of a rest of a record of another kind.
var errNoCounts = errors.New("there are no segments with a rest: one with context IDs is a record of its own")

// errMoved is the error of a rest that was read while a segment ended.
var errMoved = errors.New("segments of the program end faster than its record can be read")

// OpenRest is [Open] of a live directory, without what the segments have that have ended: what the program has counted
// behind the last one. ended reports whether a segment is complete, which the program may be about to say in the header
// of the live directory; it may have been killed in between.
func OpenRest(fsys fs.FS, ended func(segment uint64) bool) (*Dir, error) {
	const tries = 5
	for range tries {
		l := newDir(fsys)
		now, err := l.current(ended)
		if err != nil {
			return nil, err
		}
		if now == 0 {
			return nil, errNoSegments
		}
		l.rest = now
		_, err = l.open()
		if then, e := l.current(ended); e != nil || then != now {
			continue
		}
		if err != nil {
			return nil, err
		}
		s := &profile.Segment{Number: now, Closed: now - 1, Dropped: l.Header.Dropped, Failed: l.Header.Failed,
			Began: sealed.UnixNano(l.Header.Began)}
		if now > l.Header.Segment { // it ended with what the sums say
			s.Began = l.earlier
		}
		l.Process().Segment = s
		return l, nil
	}
	return nil, errMoved
}

// OpenRun is [Open] of a directory that may have segments beside it. It counts a segment as well that is complete
// although the header does not report it; ended is as in [OpenRest].
func OpenRun(fsys fs.FS, ended func(segment uint64) bool) (*Dir, error) {
	// Counters are read in a while, in which segments may end: the record has all of those that had ended before.
	now, err := newDir(fsys).current(ended)
	if err != nil {
		now = 0 // it has no segments, or opening it says what is wrong
	}
	l, err := Open(fsys)
	if err != nil {
		return nil, err
	}
	if s := l.Process().Segment; s != nil && s.Number == 0 && now > 0 {
		s.Closed = now - 1
		s.Dropped = min(s.Dropped, s.Closed)
	}
	return l, nil
}

// NextSegment returns the number of the segment that a live directory is in, as its header says. Whether one with this
// number is there is of no account to any reader if the header has a higher one.
func NextSegment(fsys fs.FS) (uint64, error) {
	return newDir(fsys).current(func(uint64) bool { return false })
}

// current returns the number of the segment that is to come.
func (l *Dir) current(ended func(segment uint64) bool) (uint64, error) {
	h, err := l.rotation()
	if err != nil {
		return 0, err
	}
	if h.Segment > 0 && ended(h.Segment) {
		return h.Segment + 1, nil
	}
	return h.Segment, nil
}

// rotation reads what the main file says about segments.
func (l *Dir) rotation() (*layout.Rotation, error) {
	f, err := OpenFile(l.FS, layout.FileTree)
	if errors.Is(err, fs.ErrNotExist) {
		r := samplesReader{live: l}
		if r.f, err = OpenFile(l.FS, layout.FileSamples); errors.Is(err, fs.ErrNotExist) {
			return nil, errNoCounts
		}
		if err != nil {
			return nil, err
		}
		defer r.f.Close()
		return &r.head.Rotation, r.readHeader()
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var h Header
	return &h.Rotation, h.read(f)
}

// found takes back that calls were lost.
func (l *Dir) found(kind string, n uint64) {
	p := l.Process()
	p.Losses = slices.DeleteFunc(p.Losses, func(loss profile.Loss) bool { return loss.Kind == kind && loss.Count <= n })
	for i := range p.Losses {
		if p.Losses[i].Kind == kind {
			p.Losses[i].Count -= n
		}
	}
}

// openEarlier opens the sums at the end of the last segment that has ended: two files take turns. It returns the first
// size bytes, which begin with the number of the segment and the time of its end. The file must be closed.
func (l *Dir) openEarlier(name string, size int) (f *File, head []byte, err error) {
	if f, err = OpenFile(l.FS, fmt.Sprint(name, (l.rest-1)%2)); err != nil {
		return nil, nil, err
	}
	if head, err = f.Head(size); err == nil {
		if segment := raw.Load[uint64](head); segment != l.rest-1 {
			err = f.Fail(0, "the sums at the end of segment %d, want %d", segment, l.rest-1)
		}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	l.earlier = sealed.UnixNano(raw.Load[uint64](head[8:]))
	return f, head, nil
}

// subtractEarlier takes away what is in segments that have ended.
func (l *Dir) subtractEarlier() error {
	f, b, err := l.openEarlier(layout.FileEarlier, layout.EarlierHeaderSize)
	if err != nil {
		return err
	}
	defer f.Close()
	h := raw.Load[layout.EarlierHeader](b)
	for _, kind := range layout.SegmentLosses {
		l.found(lossKinds[kind], min(h.Lost[kind], l.Header.Lost[kind]))
	}
	end, err := f.Has(l.Header.Used)
	if err != nil {
		return err
	}
	f.Limit(end)
	at := func(off int64, size int) ([]byte, error) {
		if off+int64(size) > end { // nodes that came later
			return nil, nil
		}
		return f.At(off, size)
	}
	return l.eachCounter(at, func(to []uint64, b []byte) {
		for c := range to {
			to[c] -= min(to[c], raw.Load[uint64](b[layout.CounterSize*c:]))
		}
	})
}

// subtractEarlier takes away what was sampled in segments that have ended, of nodes and of what the header counts.
func (r *samplesReader) subtractEarlier() error {
	f, b, err := r.live.openEarlier(layout.FileEarlierSamples, layout.EarlierSamplesSize)
	if err != nil {
		return err
	}
	defer f.Close()
	h := raw.Load[layout.EarlierSamples](b)
	for i, n := range h.Stats {
		r.head.Stats[i] -= min(n, r.head.Stats[i])
	}
	for i, n := range h.Latency {
		r.head.Latency[i] -= min(n, r.head.Latency[i])
	}
	const size = numSampleValues * layout.CounterSize
	have, err := f.Records(layout.EarlierSamplesSize, h.Nodes, size)
	if err == nil && have < h.Nodes {
		err = f.Fail(16, "%d nodes, and the file has %d; it was cut", h.Nodes, have)
	}
	if err != nil {
		return err
	}
	for i := range r.nodes {
		n := &r.nodes[i]
		if uint64(n.id) >= h.Nodes { // those came later
			break
		}
		b, err := f.At(layout.EarlierSamplesSize+int64(n.id)*size, size)
		if err != nil {
			return err
		}
		for v := range n.values {
			n.values[v] -= min(n.values[v], raw.Load[uint64](b[layout.CounterSize*v:]))
		}
	}
	return nil
}
