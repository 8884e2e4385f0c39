package sample

import (
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// newRequests returns a recorder with room for so many requests.
func newRequests(slots int) *Samples {
	s := newSamples(1 << 10)
	size := layout.RequestsHeaderSize + slots*layout.RequestSize
	s.InitRequests(unsafe.Pointer(&make([]uint64, size/8)[0]), uintptr(size))
	return s
}

// request returns request n if its slot has it.
func (s *Samples) request(n uint64) (q layout.Request, ok bool) {
	q = *s.requests.slot(n)
	return q, q.Number == n+1
}

// TestRequests checks that the newest requests are there, and that an answer to one that has given way
// changes nothing.
func TestRequests(t *testing.T) {
	const slots = 8
	s := newRequests(slots)
	for i := range uint64(20) {
		if n := s.Request(100+i, i, 1, 1, i%2 == 0); n != i {
			t.Fatalf("request %d has number %d", i, n)
		}
	}
	for i := range uint64(20) {
		s.Answer(i, uint32(i))
		q, ok := s.request(i)
		if ok != (i >= 20-slots) {
			t.Errorf("request %d is there: %v", i, ok)
		}
		if ok && (q.ID != 100+i || q.Time != i || q.Node != uint32(i) || q.Known != 1) {
			t.Errorf("request %d is %+v", i, q)
		}
	}
	if h := s.requests.header(); s.Requests() != 20 || h.Made != 20 || h.Max != slots {
		t.Errorf("%d requests, header %+v", s.Requests(), h)
	}
	if _, _, used := s.Close(); used != layout.RequestsHeaderSize+slots*layout.RequestSize {
		t.Errorf("%d bytes in use", used)
	}
	if s.Request(1, 1, 1, 1, true); s.requests.header().Made != 20 {
		t.Error("a request behind the end")
	}
}

// TestRequestsTaken checks that nobody writes to a slot that another one is at.
func TestRequestsTaken(t *testing.T) {
	s := newRequests(1)
	s.Request(7, 0, 1, 1, false)
	s.requests.slot(0).Number |= layout.RequestTaken
	s.Request(8, 0, 1, 1, true)
	s.Answer(0, 3)
	if q := *s.requests.slot(0); q.ID != 7 || q.Node != 1 {
		t.Errorf("the slot is %+v", q)
	}
}

// TestRequestsParallel makes many requests at once: each slot has one of them whole.
func TestRequestsParallel(t *testing.T) {
	const slots, each = 64, 2000
	s := newRequests(slots)
	var wg sync.WaitGroup
	for g := range uint64(4) {
		wg.Go(func() {
			for range each {
				n := s.Request(g, g, g, uint32(g), false)
				s.Answer(n, uint32(100+g))
			}
		})
	}
	wg.Wait()
	for i := range uint64(slots) {
		q := *s.requests.slot(i)
		if q.Number == 0 || (q.Number-1)%slots != i || q.Time != q.ID || q.Goroutine != q.ID ||
			q.Known == 1 && uint64(q.Node) != 100+q.ID {
			t.Errorf("slot %d: %+v", i, q)
		}
	}
}

// TestTraceRequest plays what the runtime does for a request whose outer frames are not known: it is
// answered when they are, has no weight, and a sample of the same frame has its own.
func TestTraceRequest(t *testing.T) {
	s := newRequests(4)
	mem := func(n int) unsafe.Pointer {
		memory := make([]uint64, n/8+1)
		t.Cleanup(func() { runtime.KeepAlive(memory) }) // a Trace has integers for addresses
		return unsafe.Pointer(&memory[0])
	}
	var tr Trace
	tr.Init(s, 0, mem(PlainSize*8), 1, 2, mem(EntryPad+4*EntrySize), 4, mem(8*ObjSize), 8)
	skeleton := tr.Push(64, 0, 1001, NoRef)
	asked := tr.Child(s, skeleton, 2000)
	n := s.Request(9, 0, 1, s.Child(s.Child(0, layout.PCPending), 2000), false)
	tr.Request(n, asked, 0)
	tr.Sample(s, tr.Child(s, skeleton, 2000), 10, 0)
	if done, _ := tr.Flush(s); done != 0 {
		t.Errorf("%d samples are done before their callers are known", done)
	}
	if q, _ := s.request(n); q.Known != 0 {
		t.Errorf("request %+v", q)
	}
	tr.Link(skeleton, 0)
	if done, wrong := tr.Flush(s); done != 1 || wrong != 0 {
		t.Errorf("%d samples done, %d wrong", done, wrong)
	}
	node := s.Stack(0, []uintptr{2000, 1000})
	if q, _ := s.request(n); q.Known != 1 || q.Node != node {
		t.Errorf("request %+v, want node %d", q, node)
	}
	if ns, samples := s.weight(node, layout.WeightCPU); ns != 10 || samples != 1 {
		t.Errorf("%d ns of %d samples, want those of the sample alone", ns, samples)
	}
}
