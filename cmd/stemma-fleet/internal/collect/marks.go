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
// remove as marks that are old. Nor may another user write there: what he marks would not be collected, and removed.
func openMarks(path string, create bool) (*safefile.Dir, error) {
	up := filepath.Dir(path)
	names := []string{filepath.Base(up), filepath.Base(path)}
	for n := 1; ; n++ {
		d, err := safefile.OpenBelow(filepath.Dir(up), create, names[:n]...)
		if err != nil {
			return nil, err
		}
		if err = own(d); err == nil && n == len(names) {
			return d, nil
		}
		d.Close()
		if err != nil {
			return nil, err
		}
	}
}

// own returns an error unless a directory is this user's, and not everybody may write to it. A group may: a volume of
// Kubernetes with an fsGroup gives all that is on it to the group with each mount, and the agent makes its directories
// without that right.
func own(d *safefile.Dir) error {
	info, err := d.Stat(".")
	switch uid, _ := d.Owner(); {
	case err != nil:
		return err
	case !d.IsOwn():
		return fmt.Errorf("%s: it belongs to user %d, who may have marked what was never collected; remove it, or run "+
			"the agent as that user", d.Path, uid)
	case info.Mode()&0o002 != 0:
		return fmt.Errorf("%s: everybody may write to it, and mark what was never collected; remove it, or take "+
			"that right from others", d.Path)
	}
	return nil
}

// readMark returns what a mark says. What is no file itself is no mark.
func readMark(path string) ([]byte, error) {
	if _, err := os.Lstat(path); err != nil { // mostly it is not there, and that is cheaper to know
		return nil, err
	}
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
