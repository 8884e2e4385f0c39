// Package memory is the memory of a record: reserved addresses that become usable when they are
// asked for. It also has the seam to the runtime, with atomics and threads.
package memory

import "unsafe"

// A Span is a range of reserved addresses. A part of it can be used, from its beginning up
// to have. Whoever writes to it asks need first, so that no access meets what is
// only reserved. A file is as large as its span can be used, and addresses that cannot be
// used are not locked by mlockall and not charged to the process.
//
// The memory that can be used is zero where nothing was written.
type Span struct {
	base  unsafe.Pointer
	have  uint64 // bytes that can be used; all but the owner read it without the lock
	size  uint64 // bytes that are reserved
	tries uint32 // times that growing failed since it last succeeded
}

// Extend makes more of the memory at base usable than its first have bytes: want bytes, or
// at least least bytes. It returns how many bytes can be used from now on, have if it can do
// nothing. It may be called with locks held, in a signal handler, without a P, on any stack
// with room for a few system calls. Without it, all memory is there.
var Extend func(base unsafe.Pointer, have, least, want uint64) uint64

const (
	spanPage = 4096
	// A span grows by half of what it is, so that it seldom grows, and neither by so
	// little that this takes time nor by so much that a disk or a page cache feels it.
	spanMinStep = 1 << 16
	spanMaxStep = 1 << 23
)

// NewSpan returns the span of size bytes at base.
func NewSpan(base unsafe.Pointer, size uint64) Span { return Span{base: base, size: size} }

// Need makes the first n bytes usable and reports whether they are.
func (s *Span) Need(n uint64) bool { return n <= s.have || s.grow(n) }

// grow makes the first n bytes usable, and some more. When that has failed it is tried again
// more and more seldom: a system call for each node would take too much time, but
// descriptors, say, may be free again.
func (s *Span) grow(n uint64) bool {
	if n > s.size {
		return false
	}
	if s.tries++; s.tries&(s.tries-1) != 0 {
		return false
	}
	step := min(max(s.have/2, spanMinStep), spanMaxStep)
	least := min((n+spanPage-1)&^(spanPage-1), s.size)
	want := min(max(least, s.have+step)&^(spanPage-1), s.size)
	have := s.size
	if Extend != nil {
		have = Extend(s.base, s.have, least, max(least, want))
	}
	Store64(&s.have, max(min(have, s.size), s.have))
	if s.have < n {
		return false
	}
	s.tries = 0
	return true
}

// Reset makes none of the memory usable, which is reserved and zero again.
func (s *Span) Reset() { s.have, s.tries = 0, 0 }

// Usable returns how many bytes can be used. It may be called without the lock.
func (s *Span) Usable() uint64 { return Load64(&s.have) }

// Size returns how many bytes are reserved.
func (s *Span) Size() uint64 { return s.size }

// A SharedSpan is a Span that many threads make grow, and signal handlers.
type SharedSpan struct {
	Span
	growing uint32 // the thread that makes it grow, or 0
}

// spanYields bounds how long one thread waits for another that makes a span grow.
const spanYields = 1 << 14

// Room reports whether the bytes up to end can be used, and makes room for lead more. One thread
// does that; others wait for it only if they need more than there is. A signal handler
// that has interrupted this very thread does not wait, and goes without.
func (s *SharedSpan) Room(end, lead uint64) bool {
	want := min(end+lead, s.size)
	if want <= Load64(&s.have) {
		return true
	}
	me := thread()
	for range spanYields {
		if Cas32(&s.growing, 0, me) {
			s.Need(want)
			StoreRel32(&s.growing, 0)
			break
		}
		if end <= Load64(&s.have) || Load32(&s.growing) == me {
			break
		}
		yield()
	}
	return end <= Load64(&s.have)
}

// At returns the address of the byte at an offset.
//
//go:nosplit
func (s *Span) At(off uint64) unsafe.Pointer { return unsafe.Add(s.base, uintptr(off)) }

// SetPointer stores a pointer to memory outside the Go heap. It has no write barrier, which a thread without a P cannot
// have.
func SetPointer(at *unsafe.Pointer, p unsafe.Pointer) { *(*uintptr)(unsafe.Pointer(at)) = uintptr(p) }

// Array returns a span for n things of the given size, for which addresses are reserved in a. It begins and ends at a
// page, whatever size the kernel's pages have.
func (a *Arena) Array(n, size uintptr) Span {
	const largest = 64 << 10
	begin := (a.used + largest - 1) &^ (largest - 1)
	end := (begin + uint64(n*size) + largest - 1) &^ (largest - 1)
	if end > a.size {
		return Span{}
	}
	a.used, a.have = end, max(a.have, end)
	return NewSpan(unsafe.Add(a.base, uintptr(begin)), end-begin)
}

// An Arena hands out zeroed memory that is never given back.
type Arena struct {
	Span
	used uint64
}

// Alloc returns n zero bytes, or nil.
func (a *Arena) Alloc(n uintptr) unsafe.Pointer {
	off, ok := a.Take(n)
	if !ok {
		return nil
	}
	return a.At(off)
}

// Take is Alloc, and returns the offset of the bytes. ok is false if there is no memory.
func (a *Arena) Take(n uintptr) (off uint64, ok bool) {
	off = a.used
	end := (off + uint64(n) + 63) &^ 63
	if !a.Need(end) {
		return 0, false
	}
	a.used = end
	return off, true
}

// Reset takes back all that was handed out. The memory is reserved and zero again.
func (a *Arena) Reset() {
	a.Span.Reset()
	a.used = 0
}

// Limit leaves n bytes of the memory that was not handed out yet.
func (a *Arena) Limit(n uint64) {
	a.size = min(a.size, a.used+n)
	a.have = min(a.have, a.size)
}
