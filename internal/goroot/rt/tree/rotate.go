package tree

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
)

// # Rotation
//
// The tree and its shards go on when a segment ends: the running code sees nothing of it. What all shards have counted
// is written to one of two files of sums, in turn, and the difference from the other one to the segment. The segment is
// there when its file tree has its name, and at once all that it has belongs to it and to nothing else: a reader of the
// live directory subtracts the sums of the newest segment that is there. So the process may end between any two steps.

// SegmentFiles is where segments are. All errors are numbers of the kernel, 0 for none.
type SegmentFiles interface {
	// Memory returns zeroed memory until Done, nil if there is none.
	Memory(n uint64) unsafe.Pointer
	// Create makes the directory of a segment, instead of one that is not complete.
	Create(segment uint64) uintptr
	// Write appends to a file of the segment that is being made, which it makes first if need be.
	Write(file SegmentFile, p unsafe.Pointer, n uint64) uintptr
	// Commit gives SegmentTree its final name.
	Commit() uintptr
	// Remove removes a segment, and reports whether it was complete. After an error something of it is left.
	Remove(segment uint64) (was bool, errno uintptr)
	// Rest is called after each piece of the work, and may sleep: ending a segment keeps no CPU for long. It reports
	// whether to go on. Else the program ends, and who ends it takes over: what is half done is left.
	Rest() bool
	// Done gives back the memory and, of a segment that is not complete, the files.
	Done(complete bool)
}

// A SegmentFile is a file of a segment.
type SegmentFile uint8

// The files of a segment. The last one makes it complete.
const (
	SegmentFuncs SegmentFile = iota
	SegmentShard
	SegmentTree
)

// A Rotator ends segments. Its methods are called by one thread at a time, which need not have a P. It is filled in
// when the record is made; what it points to is not in the Go heap.
type Rotator struct {
	Rotation
	Tree    *Tree
	Record  *recorder.Recorder
	Earlier [2]unsafe.Pointer // the sums, of the shape of a shard
	Buffer  unsafe.Pointer    // of SinkSize bytes: a node fits
	Ends    unsafe.Pointer    // of EndsSize bytes: when segments ended, by number modulo MostKept

	segment, oldest uint64 // the one that is to come, and the oldest that is kept
	began           uint64 // nanoseconds since 1970

	stuck [mostStuck]uint64 // segments that could not be removed: each is tried again, 0 for none

	lost, losing [len(layout.Header{}.Lost)]uint64 // as in the header, when segment began and when it ends
}

// mostStuck is how many segments are tried again. Of more, the later ones stay.
const mostStuck = 16

// EndsSize is the size of Rotator.Ends.
const EndsSize = 8 * MostKept

// An End is a moment at which a segment ends. What it counts is complete.
type End struct {
	Used, Funcs uint64    // bytes of the tree, and of function records
	Shards      []uintptr // addresses, as long as the tree
	Wall        uint64    // nanoseconds since 1970
	Now         int64     // on a clock that nobody sets
}

// Numbers of errors that the kernel does not have, or that it has on all machines.
const (
	NoMemory   = 12
	LostHeader = 5       // the page of the header was lost
	Left       = 1 << 12 // the program ends: see SegmentFiles.Rest
)

// Begin makes the first segment begin, when the record does.
func (r *Rotator) Begin(wall uint64) {
	r.segment, r.oldest, r.began = 1, 1, wall
	h := r.Record.Header()
	h.Began, h.Segment = wall, 1
}

// Rotate ends a segment, and begins the next one. After an error the segment goes on.
func (r *Rotator) Rotate(files SegmentFiles, end *End) (errno uintptr) {
	errno = LostHeader
	if end.Used > RootNode {
		errno = r.segmentOf(files, end)
	}
	h := r.Record.Header()
	switch errno {
	case 0:
	case Left:
		return errno
	default:
		h.Failed++
		return errno
	}
	*r.end(r.segment) = end.Now
	r.segment++
	r.began, r.lost = end.Wall, r.losing
	h.Began = end.Wall
	memory.StoreRel64(&h.Segment, r.segment)
	r.drop(files, end.Now)
	return 0
}

// segmentOf makes the files of the segment that ends.
func (r *Rotator) segmentOf(files SegmentFiles, end *End) (errno uintptr) {
	before, after := r.Earlier[(r.segment-1)%2], r.Earlier[r.segment%2]
	sums := (*layout.EarlierHeader)(after)
	memory.StoreFirst64(&sums.Segment, 0)
	part := max(piece/uint64(max(len(end.Shards), 1))&^7, 1<<9)
	for from := uint64(layout.HeaderSize); from < end.Used; from += part {
		addShards(after, end.Shards, uintptr(from), uintptr(min(from+part, end.Used)))
		if !files.Rest() {
			return Left
		}
	}
	sums.Ended = end.Wall
	r.losing = r.Record.Header().Lost
	sums.Lost = r.losing
	memory.StoreRel64(&sums.Segment, r.segment)
	errno = NoMemory
	if places := files.Memory(PlacesSize(end.Used)); places != nil {
		errno = r.write(files, end,
			&Segment{Tree: r.Tree, Before: before, After: after, Used: end.Used, Places: places, Files: files})
	}
	files.Done(errno == 0)
	return errno
}

func (r *Rotator) end(segment uint64) *int64 {
	return (*int64)(unsafe.Add(r.Ends, segment%MostKept*layout.CounterSize))
}

// drop removes segments that are too many or too old, and those that it could not remove before.
func (r *Rotator) drop(files SegmentFiles, now int64) {
	for i, segment := range r.stuck {
		if segment != 0 && files.Rest() && r.remove(files, segment) {
			r.stuck[i] = 0
		}
	}
	for ; r.oldest < r.segment && files.Rest(); r.oldest++ {
		if r.segment-r.oldest <= r.Keep && (r.Age == 0 || now-*r.end(r.oldest) <= r.Age) {
			return
		}
		if r.remove(files, r.oldest) {
			continue
		}
		for i, segment := range r.stuck {
			if segment == 0 {
				r.stuck[i] = r.oldest
				break
			}
		}
	}
}

// remove removes a segment, and reports whether nothing of it is left.
func (r *Rotator) remove(files SegmentFiles, segment uint64) bool {
	was, errno := files.Remove(segment)
	if was {
		r.Record.Header().Dropped++
	}
	return errno == 0
}

// write writes a segment.
func (r *Rotator) write(files SegmentFiles, end *End, s *Segment) (errno uintptr) {
	size, ok := s.Plan()
	if !ok {
		return Left
	}
	if errno = files.Create(r.segment); errno != 0 {
		return errno
	}
	const most = 1 << 18 // bytes that are written at once
	for from := uint64(0); from == 0 || from < end.Funcs; from += most {
		funcs := unsafe.Add(r.Record.Funcs(), from)
		if errno = files.Write(SegmentFuncs, funcs, min(end.Funcs-from, most)); errno != 0 {
			return errno
		}
		if !files.Rest() {
			return Left
		}
	}
	buf := unsafe.Slice((*byte)(r.Buffer), SinkSize)
	for _, file := range [...]SegmentFile{SegmentShard, SegmentTree} {
		clear(buf[:layout.HeaderSize])
		if file == SegmentTree && !r.header((*layout.Header)(r.Buffer), end, size) {
			return LostHeader
		}
		for from, n := uint32(0), layout.HeaderSize; ; {
			if n > 0 {
				errno = files.Write(file, r.Buffer, uint64(n))
			}
			if errno != 0 {
				return errno
			}
			if from >= uint32(end.Used) {
				break
			}
			if !files.Rest() {
				return Left
			}
			from, n = s.Fill(from, buf, file == SegmentShard)
		}
	}
	return files.Commit()
}

// header makes the header of a segment whose tree has size bytes, and reports whether it can. What is listed or counted
// anew each time is not in segments. Of layout.SegmentLosses it has its own.
func (r *Rotator) header(h *layout.Header, end *End, size uint32) bool {
	*h = *r.Record.Header()
	h.Lost = r.losing
	for _, kind := range layout.SegmentLosses {
		h.Lost[kind] -= min(h.Lost[kind], r.lost[kind])
	}
	h.Flags &^= layout.HdrFlagInuse | layout.HdrFlagExisting | layout.HdrFlagLasting
	h.Used, h.Size = uint64(size), uint64(size)
	h.FuncsUsed, h.FuncsSize = end.Funcs, end.Funcs
	h.Shards = 1
	h.Segment, h.Began, h.Ended = r.segment, r.began, max(end.Wall, 1)
	return h.Version == layout.Version
}
