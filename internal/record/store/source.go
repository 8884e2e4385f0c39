package store

import (
	"os"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/humanize"
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

// A Source is a sealed file or a live directory that was read, or a baseline.
type Source struct {
	Path     string
	Sealed   bool
	Baseline bool      // likewise, but a text of 'stemma baseline'
	Running  bool      // the program that records has not ended
	made     time.Time // when the last file was made in the directory
	Changed  time.Time // the file, or the last of those in the directory
	started  time.Time // of the program, if known
}

// SourceOf describes what is at path, which is there.
func SourceOf(path string) Source {
	place, _ := Probe(path)
	return place.source()
}

// source describes the place, as SourceOf does.
func (p Place) source() Source {
	path := p.Path
	if p.rest != "" {
		path = p.rest
	}
	s := Source{Path: p.Path, Sealed: true}
	if info, err := os.Stat(path); err == nil {
		s.made, s.Changed, s.Sealed = info.ModTime(), info.ModTime(), !info.IsDir()
	}
	if s.Sealed {
		return s
	}
	s.Running = p.Running()
	files, _ := os.ReadDir(path)
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.ModTime().After(s.Changed) {
			s.Changed = info.ModTime()
		}
	}
	return s
}

// Newer reports whether a report should rather be of s than of t: of programs that run the
// one that began last, else what was changed last.
func (s Source) Newer(t Source) bool {
	switch {
	case s.Running != t.Running:
		return s.Running
	case s.Running:
		return s.made.After(t.made)
	}
	return s.Changed.After(t.Changed)
}

// String returns the name and the age.
func (s Source) String() string {
	s.Path = profile.Printable(s.Path)
	age := humanize.Ago(time.Since(s.Changed))
	switch {
	case s.Baseline:
		return s.Path + " · baseline, written " + age
	case s.Sealed:
		return s.Path + " · sealed " + age
	case s.Running && !s.started.IsZero():
		return s.Path + " · started " + humanize.Ago(time.Since(s.started)) + ", still running"
	case s.Running:
		return s.Path + " · recorded " + age + ", still running"
	}
	return s.Path + " · recorded " + age
}

// SourceLines returns a line for each source, of many only for some.
func SourceLines(sources []Source) []string {
	var lines []string
	for i, s := range sources {
		if i == MaxListed && len(sources) > MaxListed+1 {
			return append(lines, "and "+humanize.Plural(len(sources)-i, "more record"))
		}
		lines = append(lines, "record "+s.String())
	}
	return lines
}

// PrintSources prints what a report is of, in front of it, each line behind prefix.
func PrintSources(w interface{ Write([]byte) (int, error) }, prefix string, sources []Source) {
	var b strings.Builder
	for _, line := range SourceLines(sources) {
		b.WriteString(prefix + line + "\n")
	}
	_, _ = w.Write([]byte(b.String())) // a bufio.Writer keeps the error, and standard error has none to go to
}
