// Package store finds, reads and writes the records of programs on disk.
package store

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/pinned"
	"github.com/stemma-go/stemma/profile"
)

// Where profiles are found and what they are called.
const (
	SealedSuffix = ".stemma"
	OutDir       = "stemma.out"
)

// ReadSealed reads a sealed file. Errors name the file once.
func ReadSealed(path string) (*record.Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Missing(path, err)
	}
	defer f.Close()
	from, size := progress.NewReader(f), int64(0)
	if info, err := f.Stat(); err == nil {
		size = info.Size()
	}
	defer progress.Step("reading "+path, "bytes", from.Of(size))()
	r := bufio.NewReaderSize(from, 1<<20)
	if head, _ := r.Peek(64); IsBaseline(head) {
		return nil, fmt.Errorf("%s: a baseline, which is text to compare with; only 'stemma diff' reads it, as BASE",
			path)
	}
	p, err := record.Read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// ReadLive reads a live directory: all of it, and without what else [Load] finds out. Errors name it once.
func ReadLive(path string) (*record.Record, error) {
	defer progress.Step("reading "+path, "", progress.Unknown)()
	p, err := record.Open(pinned.Files(path))
	if err != nil {
		return nil, In(path, err)
	}
	return p, nil
}

// IsBaseline reports whether a file that begins with head is meant to be a text of 'stemma baseline'.
func IsBaseline(head []byte) bool { return bytes.HasPrefix(head, []byte("stemma baseline")) }

// LiveDirs returns the live directories in dir. Segments are left out, unless the live directory of their run, which
// has all that they have, is not there.
// They are sorted by name. A directory that is not there has none, nor has one that cannot be read: to add records up,
// there is [FindLive].
func LiveDirs(dir string) []string {
	dirs, _ := FindLive(dir)
	return dirs
}

// FindLive is LiveDirs, but what is called as a record and cannot be looked at is an error: a sum without it is too
// low.
func FindLive(dir string) ([]string, error) {
	dirs, err := FindRecords(dir)
	return slices.DeleteFunc(dirs, isPart), err
}

// RecordDirs is LiveDirs with all segments.
func RecordDirs(dir string) []string {
	dirs, _ := FindRecords(dir)
	return dirs
}

// FindRecords is FindLive with all segments. With an error it returns what it has found nevertheless.
func FindRecords(dir string) (dirs []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if err = Missing(dir, err); isNone(err) {
			err = nil
		}
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		place, probing := Probe(path)
		switch {
		case probing == nil && place.Live() && isBegun(path):
			dirs = append(dirs, path)
		case probing != nil && !isNone(probing) && RecordName.MatchString(path):
			err = errors.Join(err, probing)
		}
	}
	return dirs, err
}

// RecordName is what a live directory is called: by program, process ID and run; and by number if it is a segment.
var RecordName = regexp.MustCompile(`.\.[0-9]+-[0-9a-z]{6}(\.[0-9]{6,})?$`)

// escapeGlob makes path match nothing but itself in filepath.Glob.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// In prefixes err with the path that it is about, unless it names one itself.
func In(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %s: %w", path, pe.Path, pe.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// Missing returns the error of a look at path as a message for its user: what was looked for, and why it is not there,
// and not the name of the system call.
func Missing(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	path = profile.Printable(base.WithoutCredentials(path))
	if base.IsURL(path) {
		return fmt.Errorf("%s: a URL, which is no path here; -store reads what is in a bucket, and report, diff, "+
			"view, info, export and similarity what a Pyroscope has (pyroscope://HOST:PORT?service=NAME)", path)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// MaxListed is how many live directories a message lists.
const MaxListed = 10

// ListDirs prints directories, relative to the current one where they are below it.
func ListDirs(w io.Writer, dirs []string) {
	for i, dir := range dirs {
		if i == MaxListed {
			fmt.Fprintf(w, "\tand %d more\n", len(dirs)-i)
			return
		}
		fmt.Fprintf(w, "\t%s\n", profile.Printable(Relative(dir)))
	}
}

// Relative returns a path relative to the current directory if it is below that.
func Relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// RecordDir returns where test binaries record. It is absolute, because each
// runs in the directory of its package.
func RecordDir() (string, error) { return filepath.Abs(Out()) }

// Out returns where programs that are started here record: $STEMMA_OUT, or else stemma.out.
func Out() string { return cmp.Or(os.Getenv("STEMMA_OUT"), OutDir) }
