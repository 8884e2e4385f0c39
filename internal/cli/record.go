package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/profile"
)

// # Where a report comes from
//
// A reader must know which record a report is of: commands take the newest one that they
// find, and live directories lie beside files that were sealed from them. So each report
// begins with the names of what it read, and how old that is.
//
// A live directory that is being written is as new as can be. Whether it is cannot be
// told from the time of its files, which a mapping changes late or never, nor from the
// process ID, which may be another's: the program holds a lock on its main file, and
// the kernel takes it away when the program has ended.

// A source is a sealed file or a live directory that was read.
type source struct {
	path    string
	sealed  bool
	running bool      // the program that records has not ended
	made    time.Time // when the last file was made in the directory
	changed time.Time // the file, or the last of those in the directory
	started time.Time // of the program, if known
}

// sourceOf describes what is at path, which is there.
func sourceOf(path string) source {
	s := source{path: path, sealed: true}
	if info, err := os.Stat(path); err == nil {
		s.made, s.changed, s.sealed = info.ModTime(), info.ModTime(), !info.IsDir()
	}
	if s.sealed {
		return s
	}
	s.running = isHeld(recordFile(path))
	files, _ := os.ReadDir(path)
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.ModTime().After(s.changed) {
			s.changed = info.ModTime()
		}
	}
	return s
}

// newer tells whether a report should rather be of s than of t: of programs that run the
// one that began last, else what was changed last.
func (s source) newer(t source) bool {
	switch {
	case s.running != t.running:
		return s.running
	case s.running:
		return s.made.After(t.made)
	}
	return s.changed.After(t.changed)
}

// String returns the name and the age.
func (s source) String() string {
	s.path = profile.Printable(s.path)
	age := ago(time.Since(s.changed))
	switch {
	case s.sealed:
		return s.path + " · sealed " + age
	case s.running && !s.started.IsZero():
		return s.path + " · started " + ago(time.Since(s.started)) + ", still running"
	case s.running:
		return s.path + " · recorded " + age + ", still running"
	}
	return s.path + " · recorded " + age
}

// ago returns a duration in words, in the largest unit of which there are two.
func ago(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "days"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if d >= 2*u.unit {
			return fmt.Sprintf("%d %s ago", d/u.unit, u.name)
		}
	}
	return "just now"
}

// recordLines returns a line for each source, of many only for some.
func recordLines(sources []source) []string {
	var lines []string
	for i, s := range sources {
		if i == maxListed && len(sources) > maxListed+1 {
			return append(lines, "and "+plural(len(sources)-i, "more record"))
		}
		lines = append(lines, "record "+s.String())
	}
	return lines
}

// records are profiles, with what they were read from.
type records struct {
	profiles []*record.Record
	sources  []source
}

// loadRecords reads the profiles at paths, sealed files, live directories and directories
// of them. Without paths it takes the newest one in the working directory. Of several
// records of one run it keeps one.
func loadRecords(paths []string) (*records, error) {
	if len(paths) == 0 {
		newest, err := newestProfile(".")
		if err != nil {
			return nil, err
		}
		paths = []string{newest}
	}
	r := new(records)
	for _, path := range paths {
		if err := r.read(path); err != nil {
			return nil, err
		}
	}
	var err error
	r.profiles, err = record.Snapshots(r.profiles...)
	return r, err
}

// read adds what is at path. Of a directory of directories, one that cannot be read is an
// error and not left out: the sum would be too low, and nobody would know.
func (r *records) read(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	dirs := []string{path}
	if info.IsDir() && !isLiveDir(path) {
		if dirs = liveDirs(path); len(dirs) == 0 {
			return fmt.Errorf("%s: no record; want a live directory, a directory of live directories, or a *%s file", path, sealedSuffix)
		}
	}
	for _, dir := range dirs {
		p, err := loadOne(dir)
		if err != nil {
			return err
		}
		s := sourceOf(dir)
		if s.running {
			s.started = p.Processes[0].Start
		}
		r.profiles, r.sources = append(r.profiles, p), append(r.sources, s)
	}
	return nil
}

// merged returns the sum of the profiles.
func (r *records) merged() (*record.Record, error) {
	if len(r.profiles) == 1 {
		return r.profiles[0], nil
	}
	return record.Merge(r.profiles...)
}

// loadOne reads a sealed file or a live directory.
func loadOne(path string) (*record.Record, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return loadSealed(path)
	}
	p, err := record.Open(os.DirFS(path))
	if err != nil {
		return nil, in(path, err)
	}
	return p, nil
}

// newestProfile returns the sealed file or live directory in dir that is to be taken where
// none is named. The error is one of usage.
func newestProfile(dir string) (string, error) {
	paths, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*"+sealedSuffix))
	paths = append(paths, liveDirs(filepath.Join(dir, outDir))...)
	var newest source
	for _, path := range paths {
		if s := sourceOf(path); newest.path == "" || s.newer(newest) {
			newest = s
		}
	}
	if newest.path == "" {
		return "", usageError("no profile given, and neither *%s nor %s/* here; name a profile, or go to the directory where the program ran", sealedSuffix, outDir)
	}
	return newest.path, nil
}

// in prefixes err with the path that it is about, unless it names one itself.
func in(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %s: %w", path, pe.Path, pe.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// printRecords prints what a report is of, in front of it, each line behind prefix.
func printRecords(w interface{ Write([]byte) (int, error) }, prefix string, sources []source) {
	var b strings.Builder
	for _, line := range recordLines(sources) {
		b.WriteString(prefix + line + "\n")
	}
	_, _ = w.Write([]byte(b.String())) // a bufio.Writer keeps the error, and standard error has none to go to
}
