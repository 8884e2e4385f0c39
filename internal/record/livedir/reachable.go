package livedir

import (
	"errors"
	"io/fs"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// readLive reads how many objects were reachable when the program counted them last. If it never has there are no
// such values, and a note reports it: it still runs, or was killed.
func (l *Dir) readLive() error {
	f, err := OpenFile(l.FS, fileLive)
	if errors.Is(err, fs.ErrNotExist) {
		l.Note("%s: missing; it is not known what was reachable", fileLive)
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	const tries = 3
	for range tries {
		if has, err := f.Has(layout.LiveHeaderSize); err != nil {
			return err
		} else if has < layout.LiveHeaderSize {
			break // the program has just made it
		}
		before, err := liveHeader(f)
		if err != nil {
			return err
		}
		if before.Counted == 0 {
			l.Note("%s: reachable objects are counted when the program ends in an orderly way, or calls "+
				"stemma.CountLive; it has not yet", fileLive)
			return nil
		}
		objects, bytes, err := l.liveCounts(f)
		if err != nil {
			return err
		}
		after, err := liveHeader(f)
		if err != nil {
			return err
		}
		if before != after || before.Changes%2 != 0 {
			continue
		}
		for t, values := range map[profile.ValueType][]uint64{profile.Objects: objects, profile.Live: bytes} {
			c, err := l.Profile.AddColumn(t)
			if err != nil {
				return err
			}
			c.Values = values
		}
		return nil
	}
	l.Note("%s: the program is, or was, about to count reachable objects; they are left out", fileLive)
	return nil
}

// liveHeader reads the beginning of the file anew, which the program may change.
func liveHeader(f *File) (h layout.LiveHeader, err error) {
	b, err := f.Head(layout.LiveHeaderSize)
	if err != nil {
		return h, err
	}
	return raw.Load[layout.LiveHeader](b), nil
}

// liveCounts reads the numbers of all nodes of allocations. Nodes behind the end of the file were made since.
func (l *Dir) liveCounts(f *File) (objects, bytes []uint64, err error) {
	objects, bytes = make([]uint64, len(l.Profile.Nodes)), make([]uint64, len(l.Profile.Nodes))
	end, err := f.Has(l.Header.Used)
	if err != nil {
		return nil, nil, err
	}
	f.Limit(end)
	for i, off := range l.offsets {
		n := l.nodes[i]
		if l.Profile.Funcs[l.Profile.Nodes[n].Func].Kind != profile.FuncAlloc {
			continue
		}
		if int64(off)+layout.LiveCountsSize > end {
			break
		}
		b, err := f.At(int64(off), layout.LiveCountsSize)
		if err != nil {
			return nil, nil, err
		}
		c := raw.Load[layout.LiveCounts](b)
		objects[n] += c.Objects
		bytes[n] += c.Bytes
	}
	return objects, bytes, nil
}
