package tree_test

import (
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/tree"
)

// TestInuse counts twice: what was counted before is forgotten, and the header says that the program counts while it
// does.
func TestInuse(t *testing.T) {
	const used, node, other = layout.HeaderSize + 256, layout.HeaderSize + 64, layout.HeaderSize + 128
	mem := make([]uint64, used/8)
	at := unsafe.Pointer(&mem[0])
	header := (*layout.InuseHeader)(at)
	counts := func(node uintptr) layout.InuseCounts { return *(*layout.InuseCounts)(unsafe.Add(at, node)) }
	var l tree.Inuse
	l.Init(at)
	l.Begin(used)
	if header.Changes%2 != 1 || header.Counted != 0 {
		t.Errorf("while it counts the header is %+v", *header)
	}
	l.Add(node, 1, 16)
	l.Add(node, 2, 32)
	l.Add(other, 1, 8)
	l.End(77)
	if header.Changes%2 != 0 || header.Counted != 77 {
		t.Errorf("when it has counted the header is %+v", *header)
	}
	if have, want := counts(node), (layout.InuseCounts{Objects: 3, Bytes: 48}); have != want {
		t.Errorf("%+v, want %+v", have, want)
	}
	changes := header.Changes
	l.Begin(used)
	l.Add(node, 1, 16)
	l.End(78)
	if have, want := counts(node), (layout.InuseCounts{Objects: 1, Bytes: 16}); have != want ||
		counts(other).Objects != 0 {
		t.Errorf("%+v and %+v after a second time, want %+v and nothing", have, counts(other), want)
	}
	if header.Changes == changes {
		t.Error("a reader cannot tell that it has counted anew")
	}
}
