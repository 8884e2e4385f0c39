// Package pinned reads a directory that may change its name meanwhile.
package pinned

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
)

// Files returns the files of the directory that now has a path. A program that begins a segment of context IDs
// exchanges the names of two directories; the files stay those of this one. No link is opened, nor a pipe, whose reader
// would wait for a writer. It keeps no file open.
func Files(path string) fs.FS {
	p := &dir{path: path}
	root, err := os.OpenRoot(path)
	if err != nil {
		p.err = err
		return p
	}
	defer root.Close()
	p.info, p.err = root.Stat(".")
	p.run = runIn(root)
	return p
}

// A dir is a directory by its identity: that of the file system, which a new directory may have when this one has
// been removed, and the run number.
type dir struct {
	info fs.FileInfo
	run  uint64 // 0 if it has no context IDs
	err  error  // of the first look at it

	mu   sync.Mutex
	path string // where it was last
}

// errMovedAway is the error of a directory that has no name like the one it had.
var errMovedAway = errors.New("another directory has taken its name")

// Open implements fs.FS. Of directories only this one can be opened.
func (p *dir) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if p.err != nil {
		return nil, p.err
	}
	root, err := p.root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if name == "." {
		return root.Open(name)
	}
	if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return nil, fmt.Errorf("%s: a link, want a file", name)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s: no regular file", name)
	}
	return f, nil
}

// root opens the directory, wherever it is. Names may change while they are looked at.
func (p *dir) root() (*os.Root, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const tries = 5
	for range tries {
		paths := []string{p.path}
		if p.run != 0 { // others keep their names, and one that comes later may have the number of one that has gone
			paths = append(paths, namesLike(p.path)...)
		}
		for _, path := range paths {
			root, err := os.OpenRoot(path)
			if err != nil {
				if path == p.path && !errors.Is(err, fs.ErrNotExist) {
					return nil, err
				}
				continue
			}
			info, err := root.Stat(".")
			if err == nil && os.SameFile(info, p.info) && (p.run == 0 || runIn(root) == p.run) {
				p.path = path
				return root, nil
			}
			root.Close()
		}
	}
	if _, err := os.Stat(p.path); err != nil {
		return nil, err
	}
	return nil, errMovedAway
}

// runIn returns the run number of a directory with context IDs, 0 if there is none.
func runIn(root *os.Root) uint64 {
	f, err := root.OpenFile(layout.FileIDs, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	var h layout.Header
	b := make([]byte, unsafe.Sizeof(h.Run))
	if _, err := f.ReadAt(b, int64(unsafe.Offsetof(h.Run))); err != nil {
		return 0
	}
	return raw.Load[uint64](b)
}

// namesLike returns the paths that a live directory or a segment may have when a segment begins: those of the live
// directory and of all segments beside it that are there, the newest first.
func namesLike(path string) (paths []string) {
	up, name := filepath.Split(filepath.Clean(path))
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i > 6 && isNumber(name[i+1:]) {
		name = name[:i]
	}
	entries, _ := os.ReadDir(filepath.Clean(up + ".")) // sorted; in part, if it fails
	for _, e := range slices.Backward(entries) {
		number, ok := strings.CutPrefix(e.Name(), name+".")
		if e.Name() == name || ok && isNumber(number) {
			paths = append(paths, up+e.Name())
		}
	}
	return paths
}

// isNumber reports whether s has digits only.
func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }
