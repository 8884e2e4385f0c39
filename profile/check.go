package profile

import (
	"encoding/binary"
	"errors"
	"io/fs"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// A Check is a record of the checker: a node, and the stack that a walk found
// when the program was in it.
type Check struct {
	Node   int // index into Profile.Nodes, None if the profile lacks the node
	Offset uint32
	Events uint64 // how often the node had this stack
	Frames []CheckFrame
}

// A CheckFrame is a frame of a Check, as runtime.CallersFrames returned it.
type CheckFrame struct {
	Func, File string
	Line       int
	Inlined    bool // into the next frame
}

// frameSize is the size of a frame in a record of check.
const frameSize = 16

// Checks calls visit for each record of the checker, in the order in which
// they were written, until visit returns an error. Frames are innermost first;
// they are valid until visit returns. A directory without the file has none.
func (l *Live) Checks(visit func(*Check) error) error {
	f, err := openFile(l.fsys, fileCheck)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.close()
	str, err := openFile(l.fsys, fileStrings)
	if err != nil {
		return err
	}
	defer str.close()
	r := &checkReader{live: l, f: f, table: stringFile{f: str, known: make(map[uint32]string)}}
	for off := int64(0); off+rt.CheckHeaderSize <= f.size; {
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
	return nil
}

type checkReader struct {
	live  *Live
	f     *liveFile
	table stringFile
	check Check
}

// record reads the record at off and returns its size, 0 at the end.
func (r *checkReader) record(off int64) (int64, error) {
	le := binary.LittleEndian
	b, err := r.f.at(off, rt.CheckHeaderSize)
	if err != nil {
		return 0, err
	}
	size, frames := int64(le.Uint32(b)), int64(le.Uint32(b[16:]))
	if size == 0 {
		return 0, nil
	}
	if size != rt.CheckHeaderSize+frameSize*frames || size > r.f.size-off {
		return 0, r.f.fail(off, "record of %d bytes with %d frames, but %d bytes follow", size, frames, r.f.size-off)
	}
	if b, err = r.f.at(off, int(size)); err != nil {
		return 0, err
	}
	c := &r.check
	*c = Check{None, le.Uint32(b[4:]), le.Uint64(b[8:]), c.Frames[:0]}
	if n, ok := r.live.Node(c.Offset); ok {
		c.Node = n
	}
	for b = b[rt.CheckHeaderSize:]; len(b) > 0; b = b[frameSize:] {
		fr := CheckFrame{Line: int(le.Uint32(b[8:])), Inlined: le.Uint32(b[12:])&1 != 0}
		if fr.Func, err = r.table.at(le.Uint32(b)); err == nil {
			fr.File, err = r.table.at(le.Uint32(b[4:]))
		}
		if err != nil {
			return 0, err
		}
		c.Frames = append(c.Frames, fr)
	}
	return size, nil
}

// A stringFile holds strings by offset.
type stringFile struct {
	f     *liveFile
	known map[uint32]string
}

func (t *stringFile) at(off uint32) (string, error) {
	if s, ok := t.known[off]; ok {
		return s, nil
	}
	b, err := t.f.at(int64(off), 4)
	if err != nil {
		return "", err
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n > t.f.size-int64(off)-4 || n > windowSize {
		return "", t.f.fail(int64(off), "string of %d bytes, but the file ends at %d", n, t.f.size)
	}
	if b, err = t.f.at(int64(off)+4, int(n)); err != nil {
		return "", err
	}
	s := string(b)
	t.known[off] = s
	return s, nil
}
