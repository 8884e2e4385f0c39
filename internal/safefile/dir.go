package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A Dir is an open directory: it stays the same one, whatever takes its name. It must be closed.
type Dir struct {
	*os.Root
	Path string // by which it was opened
	up   *Dir   // that it was opened in, or nil
}

// OpenDir opens a directory. A link to one is followed.
func OpenDir(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{Root: root, Path: path}, nil
}

// OpenItself opens a directory that is there under its own name, and not by way of a link.
func OpenItself(path string) (*Dir, error) {
	up, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer up.Close()
	d, err := up.Sub(filepath.Base(path))
	if err != nil {
		return nil, named(path, err)
	}
	d.up, d.Path = nil, path
	return d, nil
}

// OpenBelow opens the directory that names lead to from dir, and follows no link on this way but dir itself. If create
// is set, it makes what is not there, for this user alone.
func OpenBelow(dir string, create bool, names ...string) (*Dir, error) {
	d, err := OpenDir(dir)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		if d, err = d.below(name, create); errors.Is(err, syscall.ENOTDIR) {
			err = fmt.Errorf("%w; want a directory, and no link to one", err)
		}
	}
	return d, err
}

// below is OpenBelow for one name. It closes this directory.
func (d *Dir) below(name string, create bool) (*Dir, error) {
	defer d.Close()
	if create {
		if err := d.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, named(filepath.Join(d.Path, name), err)
		}
	}
	sub, err := d.Sub(name)
	if err != nil {
		return nil, named(filepath.Join(d.Path, name), err)
	}
	sub.up = nil
	return sub, nil
}

// Sub opens a directory in this one, and no link. It must be closed before this one.
func (d *Dir) Sub(name string) (*Dir, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(d.Path, name)
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	looked(path)
	root, err := d.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	sub := &Dir{Root: root, Path: path, up: d}
	if now, err := root.Stat("."); err != nil || !os.SameFile(now, info) {
		root.Close()
		return nil, moved(path)
	}
	return sub, nil
}

func moved(path string) error { return fmt.Errorf("%s: another directory has taken its name", path) }

// Owner returns whose the directory is, and whether nobody else can enter it.
func (d *Dir) Owner() (uid int, private bool) {
	info, err := d.Stat(".")
	if err != nil {
		return -1, false
	}
	return owner(info), info.Mode()&0o077 == 0
}

// IsOwn reports whether the directory is this user's.
func (d *Dir) IsOwn() bool {
	uid, _ := d.Owner()
	return uid == euid()
}

// Names returns the entries.
func (d *Dir) Names() ([]fs.DirEntry, error) { return fs.ReadDir(d.FS(), ".") }

// OpenRegular opens a regular file in the directory or below it, for reading. Links that lead out of it are errors.
func (d *Dir) OpenRegular(name string) (*os.File, error) {
	f, err := d.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: no regular file", filepath.Join(d.Path, name))
	}
	return f, nil
}

// Open opens a regular file in the directory, for reading, and no link.
func (d *Dir) Open(name string) (*os.File, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	looked(filepath.Join(d.Path, name))
	f, err := d.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !now.Mode().IsRegular() || !os.SameFile(now, info) {
		f.Close()
		return nil, fmt.Errorf("%s: no regular file", filepath.Join(d.Path, name))
	}
	return f, nil
}

// Files returns the files of a directory that others may write to. Only what is a file itself can be opened: neither a
// link, which may lead to what these others cannot read, nor a pipe, whose reader would wait for a writer.
func Files(dir string) fs.FS { return files(dir) }

type files string // the path

// Open implements fs.FS. Directories can be opened as well.
func (f files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if name == "." {
		return os.Open(string(f))
	}
	file, err := os.OpenFile(filepath.Join(string(f), name), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s: a link, want a file", name)
	}
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			path.Path = name // as of os.DirFS
		}
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		file.Close()
		return nil, fmt.Errorf("%s: no regular file", name)
	}
	return file, nil
}

// Files is [Files] of this directory. It stays the same one until it is closed, whatever takes its name.
func (d *Dir) Files() fs.FS { return held{d} }

type held struct{ dir *Dir }

// Open implements fs.FS. Of directories only this one can be opened.
func (h held) Open(name string) (fs.File, error) {
	switch {
	case !fs.ValidPath(name):
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	case name == ".":
		return h.dir.Root.Open(name)
	}
	if info, err := h.dir.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s: a link, want a file", name)
	}
	f, err := h.dir.Open(name)
	if path := (*fs.PathError)(nil); err != nil && !errors.As(err, &path) {
		return nil, fmt.Errorf("%s: no regular file", name) // whoever has this FS names the directory
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// RemoveEmpty removes the directory, if it is empty and still has its name.
func (d *Dir) RemoveEmpty() error {
	up := d.up
	if up == nil {
		path, err := filepath.Abs(d.Path)
		if err != nil {
			return err
		}
		if up, err = OpenDir(filepath.Dir(path)); err != nil {
			return err
		}
		defer up.Close()
	}
	name := filepath.Base(d.Path)
	is, err := up.Lstat(name)
	info, err2 := d.Stat(".")
	if err = errors.Join(err, err2); err != nil {
		return err
	}
	if !os.SameFile(is, info) {
		return moved(d.Path)
	}
	looked(d.Path)
	return named(d.Path, up.Remove(name))
}

// RemoveAll removes the directory with all that is in it, and closes it.
func (d *Dir) RemoveAll() error {
	defer d.Close()
	list, err := d.Names()
	for _, entry := range list {
		looked(d.Path)
		err = errors.Join(err, d.Root.RemoveAll(entry.Name()))
	}
	if err != nil {
		return err
	}
	return d.RemoveEmpty()
}

// MakeDir makes a directory as [os.MkdirTemp] does, and opens it.
func MakeDir(in, pattern string) (*Dir, error) {
	path, err := os.MkdirTemp(in, pattern)
	if err != nil {
		return nil, err
	}
	d, err := OpenItself(path)
	if err != nil {
		return nil, err
	}
	list, err := d.Names()
	if uid, private := d.Owner(); err != nil || len(list) > 0 || uid != euid() || !private {
		d.Close()
		return nil, moved(path)
	}
	return d, nil
}
