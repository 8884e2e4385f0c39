package sample

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// This file is the record of samples that the program has asked for under identifiers of its
// own, as section 5.3 of the paper that trace.go names has it.
//
// A request has a number, from 0 on, and a slot of the file: its number modulo how many there
// are. So the newest ones are there, and the header shows how many there were. What a request
// wants to know is a node of the tree of samples. If that is not known yet, since the trace of
// the goroutine is incremental, the slot has the node of what is known, below the
// pseudo-frame PCPending, until Answer replaces it.
//
// # Concurrency
//
// Requests are made by any thread, on g0, without locks; they are answered there or in a signal
// handler. Whoever writes to a slot takes it first, by a bit in its number; one that finds it
// taken goes without, and then the number of the slot shows that a request is missing.

// RequestsMin is how many bytes the file of requests needs at least.
const RequestsMin = layout.RequestsHeaderSize + layout.RequestSize

// requests is the file of the Samples. The zero value has no room.
type requests struct {
	file memory.SharedSpan
	max  uint64 // slots
	done uint32 // the program ends: there is no room any more
	made uint64 // the number of the next request; the header has a copy, on a page that may be lost
}

// requestsLead is how much of the file is made usable before it is needed.
const requestsLead = 128 * layout.RequestSize

// InitRequests gives s a file of size bytes at base, zeros. Without it no request has room.
func (s *Samples) InitRequests(base unsafe.Pointer, size uintptr) {
	r := &s.requests
	r.file = memory.SharedSpan{Span: memory.NewSpan(base, uint64(size))}
	r.file.Need(RequestsMin)
	r.max = (uint64(size) - layout.RequestsHeaderSize) / layout.RequestSize
	h := r.header()
	copy(h.Magic[:], layout.RequestsMagic)
	h.Max = r.max
}

func (r *requests) header() *layout.RequestsHeader { return (*layout.RequestsHeader)(r.file.At(0)) }

// slot returns the place of request n.
func (r *requests) slot(n uint64) *layout.Request {
	return (*layout.Request)(r.file.At(layout.RequestsHeaderSize + n%r.max*layout.RequestSize))
}

// close ends the record, and returns how many bytes of the file are in use.
func (r *requests) close() uint64 {
	used := layout.RequestsHeaderSize + min(memory.Load64(&r.made), r.max)*layout.RequestSize
	memory.StoreRel32(&r.done, 1)
	return used
}

// Requests returns how many requests were made.
func (s *Samples) Requests() uint64 { return memory.Load64(&s.requests.made) }

// Request notes that the program asked for a sample under an identifier, at a time, in nanoseconds
// since it began, in a goroutine. The node is the answer, or, if it is not known, that of
// the part of it that is. It returns the number of the request.
func (s *Samples) Request(id, time, goroutine uint64, node uint32, known bool) uint64 {
	r := &s.requests
	n := memory.Add64(&r.made, 1) - 1
	if r.max == 0 || memory.Load32(&r.done) != 0 {
		return n
	}
	memory.Add64(&r.header().Made, 1)
	if !r.file.Room(layout.RequestsHeaderSize+min(n+1, r.max)*layout.RequestSize, requestsLead) {
		return n
	}
	p := r.slot(n)
	old := memory.Load64(&p.Number)
	if old > n || !memory.Cas64(&p.Number, old, layout.RequestTaken) {
		return n // another one has it, which is so much later, or is at it
	}
	p.ID, p.Time, p.Goroutine, p.Node, p.Known = id, time, goroutine, node, 0
	if known {
		p.Known = 1
	}
	memory.Store64(&p.Number, n+1)
	return n
}

// Answer gives request n its node. If its slot belongs to a later one by now it is forgotten.
func (s *Samples) Answer(n uint64, node uint32) {
	r := &s.requests
	if r.max == 0 || layout.RequestsHeaderSize+(n%r.max+1)*layout.RequestSize > r.file.Usable() {
		return
	}
	p := r.slot(n)
	if memory.Cas64(&p.Number, n+1, layout.RequestTaken) {
		p.Node, p.Known = node, 1
		memory.Store64(&p.Number, n+1)
	}
}
