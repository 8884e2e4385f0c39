// Package segment says when segments end, and which are kept.
//
// A segment is what a program has recorded in a while, in files of its own. The packages tree and sample write theirs,
// each as a difference of two sums: see their Rotators.
package segment

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// Files is where segments are. All errors are numbers of the kernel, 0 for none.
type Files interface {
	// Memory returns zeroed memory until Done, nil if there is none.
	Memory(n uint64) unsafe.Pointer
	// Create makes the directory of a segment, instead of one that is not complete.
	Create(segment uint64) uintptr
	// Write appends to a file of the segment that is being made, which it makes first if need be.
	Write(file File, p unsafe.Pointer, n uint64) uintptr
	// Commit gives Tree or Samples, which was written last, its final name.
	Commit(file File) uintptr
	// Done gives back the memory and, of a segment that is not complete, the files.
	Done(complete bool)
	Remover
}

// A Remover removes segments.
type Remover interface {
	// Remove removes a segment, and reports whether it was complete. After an error something of it is left.
	Remove(segment uint64) (was bool, errno uintptr)
	// Rest is called after each piece of the work, and may sleep: ending a segment keeps no CPU for long. It reports
	// whether to go on. Else the program ends, and who ends it takes over: what is half done is left.
	Rest() bool
}

// A File is a file of a segment.
type File uint8

// The files of a segment. Those from Tree on make one complete, of counts or of samples, when they get their final
// names.
const (
	Funcs File = iota
	Shard
	Places
	Tree
	Samples
	NumFiles
)

// Wanted marks in memory of places what a segment has, and has no new offset there yet.
const Wanted = 1

// Place returns where the new offset of an object of a tree is, in a memory of places: 0 if a segment has it not.
func Place(places unsafe.Pointer, off uint32) *uint32 {
	return (*uint32)(unsafe.Add(places, off/layout.CounterSize*layout.CellSize))
}

// Part is how many bytes of what is not counted are written between two rests.
const Part = 1 << 18

// WriteAll writes n bytes to a file, resting after each part, also where n is 0.
func WriteAll(files Files, file File, p unsafe.Pointer, n uint64) (errno uintptr) {
	for from := uint64(0); from == 0 || from < n; from += Part {
		if errno = files.Write(file, unsafe.Add(p, from), min(n-from, Part)); errno != 0 {
			return errno
		}
		if !files.Rest() {
			return Left
		}
	}
	return 0
}

// Numbers of errors that the kernel does not have, or that it has on all machines.
const (
	NoMemory   = 12
	LostHeader = 5       // the page of the header was lost
	Left       = 1 << 12 // the program ends: see Remover.Rest
)

// An End is a moment at which a segment ends.
type End struct {
	Wall uint64 // nanoseconds since 1970
	Now  int64  // on a clock that nobody sets
}

// A Rotator knows which segment is to come, and which are kept. Its methods are called by one thread at a time, which
// need not have a P. It is filled in when the record is made; what it points to is not in the Go heap.
type Rotator struct {
	Rotation
	Dirs   Remover          // removes segments
	Head   *layout.Rotation // in the header of the record
	Ends   unsafe.Pointer   // of EndsSize bytes: when segments ended, by number modulo MostKept
	Number uint64           // of the one that is to come
	Began  uint64           // when that did, nanoseconds since 1970

	oldest uint64 // that is kept

	stuck [mostStuck]uint64 // segments that could not be removed: each is tried again, 0 for none
}

// mostStuck is how many segments are tried again. Of more, the later ones stay.
const mostStuck = 16

// EndsSize is the size of Rotator.Ends.
const EndsSize = 8 * MostKept

// Begin makes the first segment begin, when the record does.
func (r *Rotator) Begin(wall uint64) {
	r.Number, r.oldest, r.Began = 1, 1, wall
	r.Head.Began, r.Head.Segment = wall, 1
}

// Next makes the next segment begin if the files of the last one were written without an error, and removes those that
// are not kept. Else that one goes on, and the failure is counted. It returns errno.
func (r *Rotator) Next(end *End, errno uintptr) uintptr {
	switch errno {
	case 0:
	case Left:
		return errno
	default:
		r.Head.Failed++
		return errno
	}
	*r.end(r.Number) = end.Now
	r.Number++
	r.Began = end.Wall
	r.Head.Began = end.Wall
	memory.StoreRel64(&r.Head.Segment, r.Number)
	r.drop(end.Now)
	return 0
}

// skipped is when a segment ended that does not exist.
const skipped = -1 << 63

// Skip leaves out a number, which a directory has that is none of the program's.
func (r *Rotator) Skip() {
	*r.end(r.Number) = skipped
	r.Number++
}

// Of returns what the header of the segment that ends says of it.
func (r *Rotator) Of(end *End) layout.Rotation {
	of := *r.Head
	of.Segment, of.Began, of.Ended = r.Number, r.Began, max(end.Wall, 1)
	return of
}

func (r *Rotator) end(segment uint64) *int64 {
	return (*int64)(unsafe.Add(r.Ends, segment%MostKept*layout.CounterSize))
}

// drop removes segments that are too many or too old, and those that it could not remove before.
func (r *Rotator) drop(now int64) {
	for i, segment := range r.stuck {
		if segment != 0 && r.Dirs.Rest() && r.remove(segment) {
			r.stuck[i] = 0
		}
	}
	for ; r.oldest < r.Number && r.Dirs.Rest(); r.oldest++ {
		if *r.end(r.oldest) == skipped {
			continue
		}
		if r.Number-r.oldest <= r.Keep && (r.Age == 0 || now-*r.end(r.oldest) <= r.Age) {
			return
		}
		if r.remove(r.oldest) {
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
func (r *Rotator) remove(segment uint64) bool {
	was, errno := r.Dirs.Remove(segment)
	if was {
		r.Head.Dropped++
	}
	return errno == 0
}
