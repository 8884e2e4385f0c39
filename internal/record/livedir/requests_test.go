package livedir_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/sample"
	"github.com/stemma-go/stemma/profile"
)

// sampleName is the function whose frame is not part of what was asked for.
const sampleName = "github.com/stemma-go/stemma.Sample"

// requestedDir returns the live directory of a program with room for so many requests: two whose stacks
// are known, where the compiler has inlined the function that asks, and where not; one that
// was answered after it was made; and one that is pending.
func requestedDir(slots int) fstest.MapFS {
	var s sample.Samples
	dir := newSampledDir(&s)
	size := layout.RequestsHeaderSize + slots*layout.RequestSize
	mem := make([]uint64, size/8)
	data := unsafe.Slice((*byte)(unsafe.Pointer(&mem[0])), size)
	s.InitRequests(unsafe.Pointer(&mem[0]), uintptr(size))
	partial := func(pc uintptr) uint32 { return s.Child(s.Child(0, layout.PCPending), pc) }
	s.Request(1, 10, 5, s.Stack(0, []uintptr{inlinedAsk, 300}), true)
	s.Request(2, 20, 6, s.Stack(0, []uintptr{calledAsk, 200, 300}), true)
	n := s.Request(3, 30, 7, partial(inlinedAsk), false)
	s.Answer(n, s.Stack(0, []uintptr{inlinedAsk, 500}))
	s.Request(4, 40, 8, partial(602), false)
	describe(&s)
	dir["requests"] = &fstest.MapFile{Data: data}
	return dir
}

// stacks returns the requests of p with the names of their frames.
func stacks(p *profile.Profile) (list []string) {
	for _, r := range p.Requests {
		line := string(rune('0' + r.ID))
		for _, f := range p.Stack(r.Node) {
			line += " " + p.String(f.Func)
		}
		if r.Pending {
			line += " pending"
		}
		list = append(list, line)
	}
	return list
}

func TestRequests(t *testing.T) {
	p := readSampled(t, requestedDir(8))
	want := []string{"1 asker fu", "2 fw fu", "3 asker fq", "4 fp [pending] pending"}
	if have := stacks(p); !slices.Equal(have, want) {
		t.Errorf("have %q, want %q", have, want)
	}
	if q := p.Requests[1]; q.Time != 20 || q.Goroutine != 6 || q.Run != 7 {
		t.Errorf("request %+v", q)
	}
	// What was known of a request that has been answered since is in no context.
	pending := 0
	for _, n := range p.Nodes {
		if up := p.Funcs[p.Nodes[n.Parent].Func].Frames; len(up) > 0 && p.String(up[0].Func) == "[pending]" {
			pending++
		}
	}
	if pending != 1 {
		t.Errorf("%d stacks of which the outer frames are not known, want 1", pending)
	}
}

// TestRequestsLost reads requests after some have given way to newer ones.
func TestRequestsLost(t *testing.T) {
	p := readSampled(t, requestedDir(3))
	if have := stacks(p); len(have) != 3 || strings.HasPrefix(have[0], "1 ") {
		t.Errorf("have %q, want the newest 3", have)
	}
	if lost := p.Lost(); len(lost) != 1 || lost[0] != (profile.Loss{Kind: profile.LossRequests, Count: 1}) {
		t.Errorf("lost %v, want one request", lost)
	}
}

// TestRequestsDamaged reads requests that are none.
func TestRequestsDamaged(t *testing.T) {
	for what, damage := range map[string]func(*layout.RequestsHeader){
		"another file": func(h *layout.RequestsHeader) { h.Magic[0]++ },
		"no room":      func(h *layout.RequestsHeader) { h.Max = 0 },
	} {
		dir := requestedDir(4)
		damage((*layout.RequestsHeader)(unsafe.Pointer(&dir["requests"].Data[0])))
		if _, err := readInuse(dir); err == nil || !strings.Contains(err.Error(), "requests") {
			t.Errorf("%s: have error %v", what, err)
		}
	}
	dir := requestedDir(4)
	dir["requests"].Data = dir["requests"].Data[:layout.RequestsHeaderSize+layout.RequestSize+5]
	if p := readSampled(t, dir); len(p.Requests) != 1 || p.Lost()[0].Count != 3 {
		t.Errorf("of a file that was cut: %+v, lost %v", p.Requests, p.Lost())
	}
}
