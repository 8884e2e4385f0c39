package tree

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
	"github.com/stemma-go/stemma/internal/goroot/rt/sample"
	"github.com/stemma-go/stemma/internal/goroot/rt/segment"
)

// # Rotation
//
// The tree and its shards go on when a segment ends: the running code sees nothing of it. What all shards have counted
// is written to one of two files of sums, in turn, and the difference from the other one to the segment. The segment is
// there when its file tree has its name, and at once all that it has belongs to it and to nothing else: a reader of the
// live directory subtracts the sums of the newest segment that is there. So the process may end between any two steps.

// A Rotator ends segments of a tree. It is used as a [segment.Rotator] is.
type Rotator struct {
	segment.Rotator
	Tree    *Tree
	Record  *recorder.Recorder
	Earlier [2]unsafe.Pointer // the sums, of the shape of a shard
	Buffer  unsafe.Pointer    // of SinkSize bytes: a node fits
	Beside  *sample.Sums      // samples beside the tree, nil if there are none

	lost, losing [len(layout.Header{}.Lost)]uint64 // as in the header, when the segment began and when it ends
}

// An End is a moment at which a segment ends. What it counts is complete.
type End struct {
	segment.End
	Used, Funcs uint64    // bytes of the tree, and of function records
	Shards      []uintptr // addresses, as long as the tree
	Samples     uint32    // nodes of the samples beside it, which stand for nodes of the tree up to Used
}

// Begin makes the first segment begin, when the record does.
func (r *Rotator) Begin(wall uint64) {
	r.Head = &r.Record.Header().Rotation
	r.Rotator.Begin(wall)
}

// Rotate ends a segment, and begins the next one. After an error the segment goes on.
func (r *Rotator) Rotate(files segment.Files, end *End) (errno uintptr) {
	errno = segment.LostHeader
	if end.Used > RootNode {
		errno = r.segmentOf(files, end)
	}
	if errno == 0 {
		r.lost = r.losing
	}
	return r.Next(&end.End, errno)
}

// segmentOf makes the files of the segment that ends.
func (r *Rotator) segmentOf(files segment.Files, end *End) (errno uintptr) {
	var x sample.Part
	if r.Beside != nil {
		x = r.Beside.Part(r.Number, end.Samples, files)
		if errno = x.Sum(&end.End); errno != 0 {
			return errno
		}
	}
	before, after := r.Earlier[(r.Number-1)%2], r.Earlier[r.Number%2]
	sums := (*layout.EarlierHeader)(after)
	memory.StoreFirst64(&sums.Segment, 0)
	part := max(piece/uint64(max(len(end.Shards), 1))&^7, 1<<9)
	for from := uint64(layout.HeaderSize); from < end.Used; from += part {
		addShards(after, end.Shards, uintptr(from), uintptr(min(from+part, end.Used)))
		if !files.Rest() {
			return segment.Left
		}
	}
	sums.Ended = end.Wall
	r.losing = r.Record.Header().Lost
	sums.Lost = r.losing
	memory.StoreRel64(&sums.Segment, r.Number)
	errno = segment.NoMemory
	if places := files.Memory(PlacesSize(end.Used) + x.PlacesSize()); places != nil {
		x.Contexts, x.ContextsEnd = places, uint32(end.Used)
		x.Places = unsafe.Add(places, PlacesSize(end.Used))
		errno = r.write(files, end,
			&Segment{Tree: r.Tree, Before: before, After: after, Used: end.Used, Places: places, Files: files}, &x)
	}
	files.Done(errno == 0)
	return errno
}

// write writes a segment.
func (r *Rotator) write(files segment.Files, end *End, s *Segment, x *sample.Part) (errno uintptr) {
	if r.Beside != nil && !x.Plan() {
		return segment.Left
	}
	size, ok := s.Plan()
	if !ok {
		return segment.Left
	}
	if errno = files.Create(r.Number); errno != 0 {
		return errno
	}
	if errno = segment.WriteAll(files, segment.Funcs, r.Record.Funcs(), end.Funcs); errno != 0 {
		return errno
	}
	if r.Beside != nil {
		if errno = x.Write(r.Of(&end.End)); errno != 0 {
			return errno
		}
	}
	buf := unsafe.Slice((*byte)(r.Buffer), SinkSize)
	for _, file := range [...]segment.File{segment.Shard, segment.Tree} {
		clear(buf[:layout.HeaderSize])
		if file == segment.Tree && !r.header((*layout.Header)(r.Buffer), end, size) {
			return segment.LostHeader
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
				return segment.Left
			}
			from, n = s.Fill(from, buf, file == segment.Shard)
		}
	}
	if errno = files.Commit(segment.Tree); errno == 0 && r.Beside != nil {
		_ = files.Commit(segment.Samples) // readers take it under the name that it has, beside a tree
	}
	return errno
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
	h.Rotation = r.Of(&end.End)
	return h.Version == layout.Version
}
