package collect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/stemma-go/stemma/internal/safefile"
)

// openMarks opens a directory of marks, DIR/.collected/DESTINATION, and makes it if that is wanted. Neither of these
// may be a link: whoever can write to DIR could lead the agent to other files of its user, which it would write, or
// remove as marks that are old.
func openMarks(path string, create bool) (*safefile.Dir, error) {
	up := filepath.Dir(path)
	return safefile.OpenBelow(filepath.Dir(up), create, filepath.Base(up), filepath.Base(path))
}

// readMark returns what a mark says. What is no file itself is no mark.
func readMark(path string) ([]byte, error) {
	marks, err := openMarks(filepath.Dir(path), false)
	if err != nil {
		return nil, err
	}
	defer marks.Close()
	f, err := marks.Open(filepath.Base(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// writeMark writes a mark at once, instead of what has its name.
func writeMark(path, text string) error {
	marks, err := openMarks(filepath.Dir(path), true)
	if err != nil {
		return err
	}
	defer marks.Close()
	name := filepath.Base(path)
	if err := marks.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := marks.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// openMark opens a mark that lines are added to.
func openMark(path string) (*os.File, error) {
	marks, err := openMarks(filepath.Dir(path), true)
	if err != nil {
		return nil, err
	}
	defer marks.Close()
	name := filepath.Base(path)
	f, err := marks.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	info, err := f.Stat()
	is, err2 := marks.Lstat(name)
	if err != nil || err2 != nil || !info.Mode().IsRegular() || !os.SameFile(is, info) {
		f.Close()
		return nil, fmt.Errorf("%s: no regular file", path)
	}
	return f, nil
}
