package recordtest

import (
	"io"
	"io/fs"
	"maps"
	"slices"
	"testing/fstest"
	"time"
)

// A Moving is the directory of a program that goes on while it is read: something happens before each step of the
// reader. Its files are longer than what is in use, as long as the program runs; when it has ended they are cut.
type Moving struct {
	Files func() map[string][]byte // what is in use
	Act   func(step int)           // what the program does before a step of the reader, counted from 0; may be nil
	Ended bool

	Steps int            // of the reader: it opens or lists something, or asks for a size, or reads
	Read  map[string]int // bytes that were read, by file
}

// ahead is by how much the files of a program are made longer at once.
const ahead = 512

func (m *Moving) step() {
	if m.Act != nil {
		m.Act(m.Steps)
	}
	m.Steps++
}

// size returns how long a file with that many used bytes is.
func (m *Moving) size(used int) int64 {
	if m.Ended {
		return int64(used)
	}
	return (int64(used)/ahead + 1) * ahead
}

// Open implements fs.FS.
func (m *Moving) Open(name string) (fs.File, error) {
	m.step()
	if _, ok := m.Files()[name]; !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &movingFile{m, name}, nil
}

// ReadDir implements fs.ReadDirFS.
func (m *Moving) ReadDir(string) ([]fs.DirEntry, error) {
	m.step()
	list := fstest.MapFS{}
	for _, name := range slices.Collect(maps.Keys(m.Files())) {
		list[name] = &fstest.MapFile{}
	}
	return list.ReadDir(".")
}

// Stat implements fs.StatFS.
func (m *Moving) Stat(name string) (fs.FileInfo, error) {
	f, err := m.Open(name)
	if err != nil {
		return nil, err
	}
	return f.Stat()
}

// A movingFile is an open file of the directory.
type movingFile struct {
	m    *Moving
	name string
}

// Stat returns how long the file is.
func (f *movingFile) Stat() (fs.FileInfo, error) {
	f.m.step()
	return sized{f.name, f.m.size(len(f.m.Files()[f.name]))}, nil
}
func (f *movingFile) Close() error             { return nil }
func (f *movingFile) Read([]byte) (int, error) { return 0, fs.ErrInvalid }

// A sized is what is said of a file: its size at that time.
type sized struct {
	name string
	size int64
}

func (s sized) Name() string       { return s.name }
func (s sized) Size() int64        { return s.size }
func (s sized) Mode() fs.FileMode  { return 0 }
func (s sized) ModTime() time.Time { return time.Time{} }
func (s sized) IsDir() bool        { return false }
func (s sized) Sys() any           { return nil }

// ReadAt implements io.ReaderAt.
func (f *movingFile) ReadAt(b []byte, off int64) (int, error) {
	f.m.step()
	data := f.m.Files()[f.name]
	n := max(0, min(int64(len(b)), f.m.size(len(data))-off))
	clear(b[:n])
	if off < int64(len(data)) {
		copy(b[:n], data[off:])
	}
	if f.m.Read == nil {
		f.m.Read = make(map[string]int)
	}
	f.m.Read[f.name] += int(n)
	if n < int64(len(b)) {
		return int(n), io.EOF
	}
	return int(n), nil
}
