// Package safefile writes and removes files in directories that others may write to.
//
// Who can write to a directory may put a link where a file is going to be, guess the name of a temporary one, or let
// another directory take the name of one that is being removed. So files are made under names that nobody knows and
// that are not there yet, and all happens relative to directories that are open.
package safefile

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/stemma-go/stemma/internal/progress"
)

// Modes of new files, less the umask.
const (
	Private = fs.FileMode(0o600) // it holds command lines, or source
	Usual   = fs.FileMode(0o666)
)

// Write replaces the file at path by what write writes.
// It writes to a file beside it and renames that: path holds what it held, or all
// of the new contents, but never a part. What is no file, as /dev/null or a pipe, is written
// to as it is. The error names path.
func Write(path string, mode fs.FileMode, write func(io.Writer) error) error {
	defer progress.Step("writing "+path, "", nil)()
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return writeThrough(dir, path, write)
	}
	name := filepath.Base(path)
	tmp := fmt.Sprintf("%s.%s.tmp", name, rand.Text())
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return named(path, err)
	}
	defer dir.Remove(tmp) // fails after the rename, as it should
	if err := writeTo(f, path, write); err != nil {
		return err
	}
	looked(path)
	return named(path, dir.Rename(tmp, name))
}

// writeThrough writes to what is no file. Where all users may make one it must be this user's: a pipe in /tmp may have
// been made by somebody who waits for what comes. So must a link there: it may lead to a disk.
func writeThrough(dir *os.Root, path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	at, err2 := dir.Stat(".")
	is, err3 := dir.Lstat(filepath.Base(path))
	foreign := func(info fs.FileInfo) bool {
		return at.Mode()&0o002 != 0 && owner(info) != euid() && owner(info) != 0
	}
	link := err3 == nil && is.Mode()&fs.ModeSymlink != 0
	switch {
	case err != nil || err2 != nil || err3 != nil || info.Mode().IsRegular() || !link && !os.SameFile(is, info):
		err = fmt.Errorf("%s: another file has taken its name", path)
	case foreign(info):
		err = fmt.Errorf("%s: it belongs to user %d, who could read what is written; choose another file", path,
			owner(info))
	case link && foreign(is):
		err = fmt.Errorf("%s: a link of user %d, who has chosen what would be written to; choose another file", path,
			owner(is))
	default:
		return writeTo(f, path, write)
	}
	f.Close()
	return err
}

// writeTo writes to a file, and closes it; errors of writing name path.
func writeTo(f *os.File, path string, write func(io.Writer) error) error {
	w := bufio.NewWriter(f)
	err := write(w)
	if err == nil {
		err = w.Flush()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// named makes an error that is about a temporary file one about path.
func named(path string, err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return &fs.PathError{Op: e.Op, Path: path, Err: e.Err}
	case *os.LinkError:
		return &fs.PathError{Op: e.Op, Path: path, Err: e.Err}
	}
	return err
}

// euid is who this process acts for. Tests are somebody else.
var euid = os.Geteuid

// owner returns whose a file is.
func owner(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return euid()
}

// looked is called between a look at a path and what is done with it, for tests that change what is there.
var looked = func(path string) {}
