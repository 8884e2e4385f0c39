package profile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"
)

// How records of context IDs are sealed.
//
// A sealed file of them is a container: nothing in the files is encoded anew, and
// DEFLATE takes care of their fixed-width numbers. What was in use when the record
// was read is sealed, also if the program has gone on, since the sizes are those of
// then and the header is the page that was read.

// writeContexts writes a sealed file of a program with context IDs: the files of
// its live directory, as far as they are in use, in a section each. So there is
// one reader, and one set of rules, for both.
func (p *Profile) writeContexts(w io.Writer) error {
	c := p.Contexts
	section := func(name string, data []byte) error {
		var e encoder
		e.string(name)
		return writeSection(w, secFile, append(e, data...))
	}
	if err := section(fileCce, c.header); err != nil {
		return err
	}
	for _, u := range c.files {
		f, err := openFile(c.fsys, u.name)
		if err != nil {
			return err
		}
		data, err := f.at(0, int(u.used))
		f.close()
		if err != nil {
			return err
		}
		if err := section(u.name, c.patchEvents(u.name, data)); err != nil {
			return err
		}
	}
	if c.Stats.Elapsed > 0 {
		if err := section(fileElapsed, binary.LittleEndian.AppendUint64(nil, uint64(c.Stats.Elapsed))); err != nil {
			return err
		}
	}
	return writeSection(w, secEnd, nil)
}

// SealedRun returns the run number of a sealed file of context IDs, and reads no more
// than its beginning. ok is false for a sealed profile without context IDs.
func SealedRun(r io.Reader) (run uint64, ok bool, err error) {
	sr := &sectionReader{r: r}
	if err := sr.fileHeader(); err != nil {
		return 0, false, err
	}
	h, err := sr.head("the first section")
	if err != nil || h.kind != secFile {
		return 0, false, err
	}
	d, err := sr.body(h)
	if err != nil {
		return 0, false, err
	}
	name := d.string("file name")
	if d.err != nil || name != fileCce {
		return 0, false, fmt.Errorf("offset %d: file %q comes first, want %s", h.start, name, fileCce)
	}
	run, err = LiveRun(memFS{fileCce: d.data[d.off:]})
	return run, err == nil, err
}

// readContexts reads what writeContexts wrote, behind the header of its first
// section. Checksums have been compared by body; the reader of live directories
// checks the rest, as it does when the files come from a disk.
func readContexts(sr *sectionReader, first sectionHead) (*Profile, error) {
	files := make(memFS)
	for h := first; h.kind != secEnd; {
		d, err := sr.body(h)
		if err != nil {
			return nil, err
		}
		name := d.string("file name")
		switch {
		case d.err != nil:
			return nil, d.err
		case files[name] != nil || !fs.ValidPath(name) || path.Dir(name) != ".":
			return nil, fmt.Errorf("offset %d: file %q is there twice, or is no name of a file", h.start, name)
		}
		files[name] = slices.Clip(d.data[d.off:])
		if files[name] == nil {
			files[name] = []byte{}
		}
		if h, err = sr.head("file or end"); err != nil {
			return nil, err
		}
		if h.kind != secFile && h.kind != secEnd {
			return nil, fmt.Errorf("offset %d: section %d, want %d (%s) or %d (%s)", h.start, h.kind, secFile, sectionNames[secFile], secEnd, sectionNames[secEnd])
		}
		if h.kind == secEnd {
			if d, err = sr.body(h); err == nil {
				err = d.end()
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if err := sr.atEOF(); err != nil {
		return nil, err
	}
	if files[fileCce] == nil {
		return nil, fmt.Errorf("section file: no file %s", fileCce)
	}
	return ReadLive(files)
}

// A memFS holds files by name, in no directories. The bytes are not changed. It is
// what a reader of live directories needs of a file system, and no more.
type memFS map[string][]byte

// Open implements fs.FS.
func (m memFS) Open(name string) (fs.File, error) {
	data, ok := m[name]
	switch {
	case name == ".":
		return &memDir{m: m}, nil
	case !ok:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memFile{bytes.NewReader(data), memInfo{name, int64(len(data)), 0}}, nil
}

// A memFile is an open file of a memFS.
type memFile struct {
	*bytes.Reader
	info memInfo
}

func (f *memFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *memFile) Close() error               { return nil }

// A memDir is the directory that all files of a memFS are in.
type memDir struct {
	m    memFS
	done bool
}

func (d *memDir) Stat() (fs.FileInfo, error) { return memInfo{".", 0, fs.ModeDir}, nil }
func (d *memDir) Close() error               { return nil }
func (d *memDir) Read([]byte) (int, error)   { return 0, fs.ErrInvalid }

// ReadDir implements fs.ReadDirFile, for fs.Glob. It returns all there is at once.
func (d *memDir) ReadDir(n int) (list []fs.DirEntry, err error) {
	if !d.done {
		for name, data := range d.m {
			list = append(list, fs.FileInfoToDirEntry(memInfo{name, int64(len(data)), 0}))
		}
	}
	if d.done && n > 0 {
		err = io.EOF
	}
	d.done = true
	return list, err
}

// A memInfo describes a file of a memFS.
type memInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return i.mode }
func (i memInfo) ModTime() time.Time { return time.Time{} }
func (i memInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memInfo) Sys() any           { return nil }
