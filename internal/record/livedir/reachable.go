package livedir

import (
	"errors"
	"io/fs"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// readInuse reads how many objects were reachable when the program counted them last. If it never has there are no
// such metrics, and a note reports it: it still runs, or was killed.
func (l *Dir) readInuse() error {
	f, err := OpenFile(l.FS, layout.FileInuse)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = OpenFile(l.FS, formerInuse)
	}
	if errors.Is(err, fs.ErrNotExist) {
		l.Note("%s: missing; it is not known what was reachable", layout.FileInuse)
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	const tries = 3
	for range tries {
		if has, err := f.Has(layout.InuseHeaderSize); err != nil {
			return err
		} else if has < layout.InuseHeaderSize {
			break // the program has just made it
		}
		before, err := inuseHeader(f)
		if err != nil {
			return err
		}
		if before.Counted == 0 {
			l.Note("%s: reachable objects are counted when the program ends in an orderly way, or calls "+
				"stemma.CountInuse; it has not yet", layout.FileInuse)
			return nil
		}
		objects, bytes, err := l.inuseCounts(f)
		if err != nil {
			return err
		}
		after, err := inuseHeader(f)
		if err != nil {
			return err
		}
		if before != after || before.Changes%2 != 0 {
			continue
		}
		for t, values := range map[profile.Metric][]uint64{profile.InuseObjects: objects, profile.InuseSpace: bytes} {
			c, err := l.Profile.AddColumn(t)
			if err != nil {
				return err
			}
			c.Values = values
		}
		return nil
	}
	l.Note("%s: the program is, or was, about to count reachable objects; they are left out", layout.FileInuse)
	return nil
}

// inuseHeader reads the beginning of the file anew, which the program may change.
func inuseHeader(f *File) (h layout.InuseHeader, err error) {
	b, err := f.Head(layout.InuseHeaderSize)
	if err != nil {
		return h, err
	}
	return raw.Load[layout.InuseHeader](b), nil
}

// inuseCounts reads the numbers of all nodes of allocations. Nodes behind the end of the file were made since.
func (l *Dir) inuseCounts(f *File) (objects, bytes []uint64, err error) {
	objects, bytes = make([]uint64, len(l.Profile.Nodes)), make([]uint64, len(l.Profile.Nodes))
	end, err := f.Has(l.Header.Used)
	if err != nil {
		return nil, nil, err
	}
	f.Limit(end)
	for i, off := range l.offsets.all() {
		n := l.nodes[i]
		if l.Profile.Funcs[l.Profile.Nodes[n].Func].Kind != profile.FuncAlloc {
			continue
		}
		if int64(off)+layout.InuseCountsSize > end {
			break
		}
		b, err := f.At(int64(off), layout.InuseCountsSize)
		if err != nil {
			return nil, nil, err
		}
		c := raw.Load[layout.InuseCounts](b)
		objects[n] += c.Objects
		bytes[n] += c.Bytes
	}
	return objects, bytes, nil
}
