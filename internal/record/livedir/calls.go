package livedir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// A CallKind is a kind of [CallEntry].
type CallKind uint8

// The kinds of entries.
const (
	CallEnter CallKind = iota // a goroutine entered a node
	CallExit                  // a goroutine ended
	CallGo                    // a go statement in a node started another goroutine
)

// A CallEntry is one entry of the log of calls. Goroutines are numbered from 1 on, not as
// the runtime numbers them, and no number is used again, but for threads of C.
type CallEntry struct {
	Kind      CallKind
	Goroutine uint32
	Node      uint32 // of CallEnter and CallGo: index into Profile.Nodes
	Child     uint32 // of CallGo: the goroutine that was started
	Offset    int64  // of the entry in its file
}

// ErrNoCalls is what [Dir.Calls] returns for a program that recorded none.
var ErrNoCalls = errors.New("no calls are recorded; build the program with -record=calls, and name its live " +
	"directory: a sealed profile has none")

// Calls are the calls that a program recorded, in order: every entry of an
// instrumented function. They are read as they are asked for. The zero Calls is
// not usable.
type Calls struct {
	live *Dir
	f    *File
	off  int64
	end  int64
	why  uint32
}

// callsEnd returns how much of calls was in use when l was opened, before its tree
// was read: all nodes that are named there are in the tree. It is 0 without calls.
func callsEnd(fsys fs.FS) (end int64, why uint32, err error) {
	f, err := OpenFile(fsys, layout.FileCalls)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	b, err := f.Head(layout.CallsHeaderSize)
	if err != nil {
		return 0, 0, err
	}
	h := raw.Load[layout.CallsHeader](b)
	if magic := string(h.Magic[:]); magic != layout.CallsMagic {
		return 0, 0, f.Fail(0, "not the header of recorded calls (have %q, want %q)", magic, layout.CallsMagic)
	}
	if h.Used < layout.CallsHeaderSize || h.Used > 1<<62 || h.Used%layout.CallSize != 0 {
		return 0, 0, f.Fail(int64(unsafe.Offsetof(h.Used)), "%d bytes in use, want a multiple of %d from %d on",
			h.Used, layout.CallSize, layout.CallsHeaderSize)
	}
	if h.End >= layout.NumCallsEnds {
		return 0, 0, f.Fail(int64(unsafe.Offsetof(h.End)), "unknown end %d of the log", h.End)
	}
	return int64(h.Used), h.End, nil
}

// Calls returns the recorded calls from the first one on. They must be closed.
func (l *Dir) Calls() (*Calls, error) {
	if l.callsErr != nil {
		return nil, l.callsErr
	}
	if l.callsEnd == 0 {
		return nil, ErrNoCalls
	}
	if !l.Process().Full {
		return nil, errors.New("calls: the tree has its recursion folded, so that nodes do not tell the paths of calls")
	}
	f, err := OpenFile(l.FS, layout.FileCalls)
	if err != nil {
		return nil, err
	}
	return &Calls{live: l, f: f, off: layout.CallsHeaderSize, end: l.callsEnd, why: l.callsWhy}, nil
}

// Close closes the file.
func (c *Calls) Close() error { return c.f.f.Close() }

// Cut returns why the log ends before the program did, "" if it does not.
func (c *Calls) Cut() string {
	switch c.why {
	case layout.CallsEndFull:
		return "the log of calls was full; a larger $STEMMA_CALLS_SIZE has room for more"
	case layout.CallsEndNodes:
		return "the tree had no room for more contexts; a larger -nodes or $STEMMA_TREE_SIZE has"
	}
	return ""
}

// Next returns the next entry, or io.EOF behind the last one. Other errors name the
// offset of an entry that is damaged or missing.
func (c *Calls) Next() (CallEntry, error) {
	if c.off >= c.end {
		return CallEntry{}, io.EOF
	}
	e := CallEntry{Offset: c.off}
	g, what, err := c.words()
	if err != nil {
		return CallEntry{}, err
	}
	e.Goroutine = g
	switch what & layout.CallsKinds {
	case layout.CallEnter:
		e.Node, err = c.node(what)
	case layout.CallExit:
		e.Kind = CallExit
	case layout.CallGo:
		e.Kind = CallGo
		if e.Node, err = c.node(what &^ layout.CallsKinds); err == nil {
			e.Child, err = c.child()
		}
	default:
		err = c.fail("entry of unknown kind %d", what&layout.CallsKinds)
	}
	return e, err
}

// fail returns an error about the entry that was read last.
func (c *Calls) fail(format string, args ...any) error {
	return c.f.Fail(c.off-layout.CallSize, format, args...)
}

// words reads the next entry.
func (c *Calls) words() (goroutine, what uint32, err error) {
	b, err := c.f.At(c.off, layout.CallSize)
	if err != nil {
		return 0, 0, err
	}
	c.off += layout.CallSize
	e := raw.Load[layout.Call](b)
	if e.Goroutine == 0 {
		return 0, 0, c.fail("entry of goroutine 0; the page may not have been written, because the disk was full")
	}
	return e.Goroutine, e.What, nil
}

// node returns the index of the node at an offset of the tree. The overflow node
// and what hangs there is on nobody's path.
func (c *Calls) node(offset uint32) (uint32, error) {
	n, ok := c.live.Node(offset)
	if !ok || n == 0 {
		return 0, c.fail("there is no node at offset %d of the tree", offset)
	}
	p := c.live.Profile
	if p.Funcs[p.Nodes[n].Func].Kind == profile.FuncOverflow ||
		p.Funcs[p.Nodes[p.Nodes[n].Parent].Func].Kind == profile.FuncOverflow {
		return 0, c.fail("node %d has no path", offset)
	}
	return uint32(n), nil
}

// child reads the second entry of a go statement.
func (c *Calls) child() (uint32, error) {
	if c.off >= c.end {
		return 0, fmt.Errorf("%s: offset %d: the log ends within a go statement", c.f.Name, c.off)
	}
	g, what, err := c.words()
	if err == nil && what != layout.CallChild {
		err = c.fail("entry of kind %d behind a go statement, want %d", what&layout.CallsKinds, layout.CallChild)
	}
	return g, err
}
