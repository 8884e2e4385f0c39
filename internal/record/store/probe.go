package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/safefile"
	"github.com/stemma-go/stemma/profile"
)

// A Place is a path, and what it is to those who look for records.
type Place struct {
	Path string
	Dir  bool
	Main string // the file that makes a directory a live one, "" of other directories and of files
	rest string // the live directory, if the path names what it has behind its segments
}

// Probe says what a path is. It reads nothing of a record, which need not be complete. What is not a directory may be
// a sealed file: only reading it tells. If it cannot be told whether a directory is a record, that is an error: also if
// it is called as one, and its main file is a pipe, say.
func Probe(path string) (Place, error) {
	if live := restOf(path); live != "" {
		p, err := Probe(live)
		p.Path, p.rest = path, live
		return p, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Place{Path: path}, Missing(path, err)
	}
	p := Place{Path: path, Dir: info.IsDir()}
	if !p.Dir {
		return p, nil
	}
	for _, name := range engine.Files() {
		file := filepath.Join(path, name)
		switch info, err := os.Stat(file); {
		case err == nil && info.Mode().IsRegular():
			p.Main = file
			return p, nil
		case err == nil && RecordName.MatchString(filepath.Clean(path)):
			return p, fmt.Errorf("%s: whether it is a record is not known: %s: no regular file",
				profile.Printable(path), name)
		case err != nil && !isNone(err):
			err = fmt.Errorf("%s: whether it is a record is not known: %w", path, Missing(name, err))
			if errors.Is(err, fs.ErrPermission) {
				err = fmt.Errorf("%w; only its user can read it, or make a file for others of it with stemma seal", err)
			}
			return p, err
		}
	}
	return p, nil
}

// isNone reports whether the error of a look at a path means that nothing is there.
func isNone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// Live reports whether a program recorded, or records, into the directory.
func (p Place) Live() bool { return p.Main != "" }

// IDs reports whether it is a live directory with context IDs.
func (p Place) IDs() bool { return filepath.Base(p.Main) == layout.FileIDs }

// hasIDs reports whether the beginning of a record, sealed or not, is that of one with context IDs. What cannot be
// read is none: the error is for those who read all of it. Nor is a pipe, which can be read once.
func (p Place) hasIDs() bool {
	if p.Dir {
		return p.IDs()
	}
	_, ok, _ := p.runOfFile()
	return ok
}

// hasCounts reports whether the beginning of a record, sealed or not, is that of one with counts or samples.
func (p Place) hasCounts() bool {
	if p.Dir {
		return p.Live() && !p.IDs()
	}
	_, ids, err := p.runOfFile()
	return err == nil && !ids
}

// runOfFile is Run for a regular file; anything else is an error.
func (p Place) runOfFile() (run uint64, ok bool, err error) {
	if info, err := os.Stat(p.Path); err != nil || !info.Mode().IsRegular() {
		return 0, false, cmp.Or(err, fs.ErrInvalid)
	}
	return p.Run()
}

// Run returns the number of the run whose context IDs are in a record, and reads no more than the beginning for that.
// ok is false for a record of another kind. Of a directory that is none, the error is fs.ErrNotExist: it may become
// one.
func (p Place) Run() (run uint64, ok bool, err error) {
	if p.Dir {
		run, err = ids.LiveRun(safefile.Files(p.Path))
		if errors.Is(err, fs.ErrNotExist) {
			// A directory that has become live since it was looked at may have IDs.
			if now, _ := Probe(p.Path); now.Live() && !now.IDs() {
				return 0, false, nil
			}
		}
		return run, err == nil, err
	}
	f, err := os.Open(p.Path)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	return ids.SealedRun(f)
}

// Running reports whether it is the live directory of a program that has not ended.
func (p Place) Running() bool { return p.Live() && isHeld(p.Main) }

// Records returns the paths of the records there: a file or a live directory is one itself, any other directory has
// the live directories in it, as of [FindLive].
func (p Place) Records() ([]string, error) {
	if p.Dir && !p.Live() {
		return FindLive(p.Path)
	}
	return []string{p.Path}, nil
}

// places returns the same with what each is.
func (p Place) places() (list []Place, err error) {
	paths, err := p.Records()
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		one := p
		if path != p.Path {
			if one, err = Probe(path); err != nil {
				return nil, err
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// Begun reports whether what f reads begins as the main file of a live directory, or another file of stemma, does.
func Begun(f io.Reader) bool {
	const magic = "stemma\x00"
	have := make([]byte, len(magic))
	_, err := io.ReadFull(f, have)
	return err == nil && string(have) == magic
}

// IsLive reports whether path is the live directory of a program.
func IsLive(path string) bool {
	p, err := Probe(path)
	return err == nil && p.Live()
}
