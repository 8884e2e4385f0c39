package livedir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
)

// # Files that change while they are read
//
// A program makes a file longer before it counts what it writes there, and when it ends it cuts the file to what is
// counted. So a reader takes the count first and asks for the size of the file afterwards ([File.Has]): what is counted
// is there, whatever the program does meanwhile. A size that was taken before the count tells nothing. Therefore a File
// shows no size, and At looks again before it says that a file
// ends.

// A File reads one file of a live directory, mostly forwards.
// It holds one window of the file in memory; it is not for several goroutines.
type File struct {
	Name string

	f     fs.File
	r     io.ReaderAt
	size  int64 // at the last look; the file may be longer or shorter by now
	limit int64 // windows do not go beyond, unless asked to
	off   int64 // of window
	win   []byte
}

// windowSize is how many bytes are read at once, at least. Tests change it.
var windowSize int64 = 1 << 20

// longest is the size of the longest record that can be: lengths that are larger come from damaged files, which may be
// sparse and seem to have it all.
const longest = 64 << 20

// OpenFile opens a file of the directory. It must be a regular one: a device
// or a pipe under its name would make the reader wait.
func OpenFile(fsys fs.FS, name string) (*File, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", name)
	}
	r, ok := f.(io.ReaderAt)
	if err == nil && !ok {
		err = fmt.Errorf("%s: the file system cannot read at an offset", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &File{Name: name, f: f, r: r, size: info.Size(), limit: math.MaxInt64}, nil
}

// Close closes the file.
func (f *File) Close() { f.f.Close() }

// Has returns how many of the first n bytes the file has. Who has read n in a header asks afterwards: see above.
func (f *File) Has(n int64) (int64, error) {
	info, err := f.f.Stat()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.Name, err)
	}
	f.size = info.Size()
	return min(n, f.size), nil
}

// Records returns how many of n records of a size, which begin at an offset, the file has.
func (f *File) Records(begin int64, n uint64, size int64) (uint64, error) {
	end, err := f.Has(begin + int64(min(n, 1<<32))*size)
	if err != nil || end < begin {
		return 0, err
	}
	f.Limit(end)
	return uint64(end-begin) / uint64(size), nil
}

// Limit keeps what is read at once from going beyond end: there may be a large hole.
func (f *File) Limit(end int64) { f.limit = end }

// Head reads the first n bytes of the file anew, and nothing behind them: what they count is complete when that is
// read.
func (f *File) Head(n int) ([]byte, error) {
	f.Forget()
	limit := f.limit
	f.limit = 0
	defer f.Limit(limit)
	return f.At(0, n)
}

// Forget makes At read the file anew.
func (f *File) Forget() { f.win = f.win[:0] }

// Fail returns an error about offset off of the file.
func (f *File) Fail(off int64, format string, args ...any) error {
	return fmt.Errorf("%s: offset %d: %w", f.Name, off, fmt.Errorf(format, args...))
}

// At returns n bytes at off. They are valid until the next call.
// Bytes behind the end of the file are an error.
func (f *File) At(off int64, n int) ([]byte, error) {
	switch {
	case off < 0 || n < 0:
		return nil, f.Fail(off, "%d bytes are wanted there", n)
	case n > longest:
		return nil, f.Fail(off, "record of %d bytes, want at most %d", n, longest)
	case off >= f.off && off+int64(n) <= f.off+int64(len(f.win)):
		return f.win[off-f.off:][:n:n], nil
	}
	if ok, err := f.reaches(off + int64(n)); err != nil {
		return nil, err
	} else if !ok {
		return nil, f.Fail(off, "file ends at %d, want %d more bytes", f.size, n)
	}
	return f.read(off, n)
}

// reaches reports whether the file has its first n bytes. It looks unless the window has been there.
func (f *File) reaches(n int64) (bool, error) {
	if n <= f.off+int64(len(f.win)) {
		return true, nil
	}
	has, err := f.Has(n)
	return has == n, err
}

// read reads a window with n bytes at off. The program may end and cut the file: what is left must be enough.
func (f *File) read(off int64, n int) ([]byte, error) {
	size := max(int64(n), min(windowSize, min(f.size, f.limit)-off))
	f.win, f.off = slices.Grow(f.win[:0], int(size))[:size], off
	got, err := f.r.ReadAt(f.win, off)
	f.win = f.win[:got]
	switch {
	case got >= n:
		return f.win[:n:n], nil
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("file ends at %d, want %d more bytes", off+int64(got), n)
	}
	f.Forget()
	return nil, f.Fail(off, "%w", err)
}
