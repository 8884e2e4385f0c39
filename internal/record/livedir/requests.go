package livedir

import (
	"errors"
	"io/fs"
	"time"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// sampleFunction is the function of package stemma that asks for a sample. It is not part of
// the stack that was asked for.
const sampleFunction = "github.com/stemma-go/stemma.Sample"

// A requestsReader reads the requests of the program.
type requestsReader struct {
	list    []layout.Request
	made    uint64          // how many there were
	partial map[uint32]bool // nodes of what is known of those whose stacks are not
	pending uint32          // the node of what is not known of stacks, plus 1
}

// readRequests reads the requests, if the program can make any. It comes before the count of nodes is
// read, so that the node of each request is among them.
func (r *requestsReader) readRequests(dir fs.FS) error {
	f, err := OpenFile(dir, layout.FileRequests)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := f.Head(layout.RequestsHeaderSize)
	if err != nil {
		return err
	}
	head := raw.Load[layout.RequestsHeader](b)
	if magic := string(head.Magic[:]); magic != layout.RequestsMagic {
		return f.Fail(int64(unsafe.Offsetof(head.Magic)), "not the requests of a live directory (have %q, want %q)",
			magic, layout.RequestsMagic)
	}
	if head.Max == 0 {
		return f.Fail(int64(unsafe.Offsetof(head.Max)), "no room for a request")
	}
	r.made, r.partial = head.Made, make(map[uint32]bool)
	slots, err := f.Records(layout.RequestsHeaderSize, min(head.Made, head.Max), layout.RequestSize)
	if err != nil {
		return err
	}
	for i := range slots {
		b, err := f.At(layout.RequestsHeaderSize+int64(i)*layout.RequestSize, layout.RequestSize)
		if err != nil {
			return err
		}
		q := raw.Load[layout.Request](b)
		n := q.Number - 1
		if q.Number == 0 || q.Number&layout.RequestTaken != 0 || n%head.Max != i || n+head.Max < head.Made {
			continue // being written, or on a page that was lost
		}
		r.list = append(r.list, q)
		if q.Known == 0 {
			r.partial[q.Node] = true
		}
	}
	return nil
}

// forgotten reports whether a node was made for what was known of a request, and the request has
// been answered since.
func (r *requestsReader) forgotten(id uint32, n layout.SampleNode) bool {
	if n.PC == layout.PCPending && n.Parent == 1 {
		r.pending = id + 1
		return len(r.partial) == 0
	}
	return n.Parent != 0 && n.Parent == r.pending && !r.partial[id]
}

// answer adds the requests to the profile. nodes are at the places that at tells, as attach has
// returned them.
func (r *samplesReader) answer(x *profile.NodeIndex, nodes []sampleNode, at []uint32) {
	p, run := r.live.Profile, r.live.Process().Run
	for _, q := range r.list {
		k := findNode(nodes, q.Node)
		if k < 0 {
			continue
		}
		p.Requests = append(p.Requests, profile.Request{ID: q.ID, Run: run, Time: time.Duration(q.Time & (1<<63 - 1)),
			Goroutine: q.Goroutine, Node: r.caller(x, at[k]-1), Pending: q.Known == 0})
	}
	if found := uint64(len(p.Requests)); r.made > found {
		r.live.Lose(profile.LossRequests, r.made-found)
	}
}

// caller returns the node of the stack of node n without the function that asked for it, which is its
// innermost frame, inlined or not.
func (r *samplesReader) caller(x *profile.NodeIndex, n uint32) uint32 {
	p := r.live.Profile
	node := p.Nodes[n]
	frames := p.Funcs[node.Func].Frames
	switch {
	case len(frames) == 0 || p.Strings[frames[0].Func] != sampleFunction:
		return n
	case len(frames) == 1:
		return node.Parent
	}
	return x.Node(node.Parent, 0, r.add(frames[1:]))
}
