package livedir

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// A Check is a record of the checker: a node, and the stack that a walk found
// when the program entered it, or was about to leave it through a cell. The
// stack reaches down to where the goroutine began, which is a cell of another
// node. Nodes are indexes into Profile.Nodes, None if the profile lacks them.
type Check struct {
	Ended  bool // the program has ended, while Events goroutines were running or ready to; nothing else is set
	Node   int
	Cell   int // None at the entry
	Offset uint32
	Events uint64 // how often this happened
	Frames []CheckFrame

	Start, StartCell int // where the goroutine began

	// Of a program with context IDs, the ID that it captured instead of
	// the node and cell, and that of the context in which the goroutine was
	// started, zero at a root.
	ID, StartID ctxid.ID
}

// A CheckFrame is a frame of a Check, as runtime.CallersFrames returned it.
type CheckFrame struct {
	Func, File string
	Line       int
	Inlined    bool // into the next frame
	Wrapper    bool // made by the compiler; not in contexts
}

// Checks calls visit for each record of the checker, in the order in which
// they were written, until visit returns an error. Frames are innermost first;
// they are valid until visit returns. A directory without the file has none.
// A record of a node that the profile lacks is passed on with None: whether that
// is a mistake only the caller knows. A damaged record is an error that names the
// offset, and so is what visit returns.
func (l *Dir) Checks(visit func(*Check) error) error {
	f, err := OpenFile(l.FS, layout.FileCheck)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	str, err := OpenFile(l.FS, layout.FileStrings)
	if err != nil {
		return err
	}
	defer str.Close()
	r := &checkReader{live: l, f: f, table: stringFile{f: str, known: make(map[uint32]string)}}
	for off := int64(0); ; {
		if more, err := f.reaches(off + layout.CheckSize); err != nil || !more {
			return err
		}
		size, err := r.record(off)
		if err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
		if err := visit(&r.check); err != nil {
			return err
		}
		off += size
	}
}

// A checkReader is the state of Checks. The one check is used again for each
// record, so that a file of millions of them costs no memory.
type checkReader struct {
	live  *Dir
	f     *File
	table stringFile
	check Check
}

// record reads the record at off and returns its size, 0 at the end.
// The result is in r.check.
func (r *checkReader) record(off int64) (int64, error) {
	b, err := r.f.At(off, layout.CheckSize)
	if err != nil {
		return 0, err
	}
	h := raw.Load[layout.Check](b)
	size, frames := int64(h.Length), int64(h.Frames)
	if size == 0 {
		return 0, nil
	}
	head := int64(layout.CheckSize)
	if h.Cell == layout.CheckID {
		head = layout.CheckOfIDSize
	}
	if size != head+layout.CheckFrameSize*frames {
		return 0, r.f.Fail(off, "record of %d bytes with %d frames", size, frames)
	}
	if b, err = r.f.At(off, int(size)); err != nil {
		return 0, err
	}
	c := &r.check
	*c = Check{Events: h.Events, Frames: c.Frames[:0]}
	if h.Cell == layout.CheckID {
		of := raw.Load[layout.CheckOfID](b)
		c.Node, c.Start = profile.None, profile.None
		c.ID, c.StartID = r.live.contextID(of.Hi, of.Lo), r.live.contextID(of.StartHi, of.StartLo)
		return size, r.frames(b[head:])
	}
	if h.Cell == layout.CheckEnd {
		c.Ended = true
		return size, nil
	}
	c.Offset, c.Cell, c.StartCell = h.Node, int(h.Cell)-1, int(h.StartCell)
	c.Node, c.Start = r.live.nodeOrNone(h.Node), r.live.nodeOrNone(h.StartNode)
	return size, r.frames(b[head:])
}

// frames reads the frames of a record.
func (r *checkReader) frames(b []byte) (err error) {
	for ; len(b) > 0; b = b[layout.CheckFrameSize:] {
		v := raw.Load[layout.CheckFrame](b)
		fr := CheckFrame{Line: int(v.Line), Inlined: v.Flags&layout.CheckFrameInlined != 0,
			Wrapper: v.Flags&layout.CheckFrameWrapper != 0}
		if fr.Func, err = r.table.at(v.Func); err == nil {
			fr.File, err = r.table.at(v.File)
		}
		if err != nil {
			return err
		}
		r.check.Frames = append(r.check.Frames, fr)
	}
	return nil
}

// contextID returns the ID of the process with the given words. That of none is zero.
func (l *Dir) contextID(hi, lo uint64) ctxid.ID {
	id := ctxid.ID{Hi: hi, Lo: lo}
	if id != (ctxid.ID{}) {
		id.Run = l.Process().Run
	}
	return id
}

// nodeOrNone returns the node that stood at this offset, None if there is none.
func (l *Dir) nodeOrNone(offset uint32) int {
	if n, ok := l.Node(offset); ok {
		return n
	}
	return profile.None
}

// A stringFile holds strings by offset.
// Each is decoded once: the same few names occur in all stacks.
// A string is complete before a record refers to it, but what was read of its file may be older than the record.
type stringFile struct {
	f     *File
	known map[uint32]string
}

// at returns the string at off. What cannot be a string is an error, not memory
// for as many bytes as it asks for.
func (t *stringFile) at(off uint32) (string, error) {
	if s, ok := t.known[off]; ok {
		return s, nil
	}
	s, err := t.read(off)
	if err == nil && (s == "" || strings.ContainsRune(s, 0)) {
		t.f.Forget()
		s, err = t.read(off)
	}
	if err == nil {
		t.known[off] = s
	}
	return s, err
}

// read reads the string at off.
func (t *stringFile) read(off uint32) (string, error) {
	b, err := t.f.At(int64(off), layout.CheckStringSize)
	if err != nil {
		return "", err
	}
	n := int64(raw.Load[layout.CheckString](b).Len)
	if n > windowSize {
		return "", t.f.Fail(int64(off), "string of %d bytes, want at most %d", n, windowSize)
	}
	b, err = t.f.At(int64(off)+layout.CheckStringSize, int(n))
	return string(b), err
}
