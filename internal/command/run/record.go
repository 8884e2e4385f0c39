package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
)

// The life of a record.
//
// run makes a directory, here rather than in the system's temporary one, which
// may be small and in memory, and names it to the program in STEMMA_OUT. The
// program and its instrumented children each make a live directory in it. When
// the program has ended its own is sealed into the profile and removed, with the
// outer one if nothing else is in it. If stemma is killed in between, what was
// recorded is in NAME.live-* and can be sealed by hand.

// A Record is what a run of a program has left.
// Who has sealed or compared it removes it.
type Record struct {
	Base string // holds the live directories of the program and its children
	base *safefile.Dir
	pid  int
	Code int // exit code

	elapsed time.Duration // how long the program ran
	Keep    bool          // the live directory holds what is not sealed
}

// liveBase makes the directory for live directories: here, on the disk where the
// profile is going to be, or if that cannot be in the system's temporary one.
// The path is absolute: the program may run elsewhere, or change its directory.
func liveBase(name string) (*safefile.Dir, error) {
	wd, err := os.Getwd()
	if err == nil {
		var base *safefile.Dir
		if base, err = safefile.MakeDir(wd, name+".live-"); err == nil {
			return base, nil
		}
	}
	return safefile.MakeDir("", name+".live-")
}

// Remove removes the record, with all that is in its directory.
func (r *Record) Remove() error { return r.base.RemoveAll() }

// Seal turns the program's live directory into the profile outFile and removes
// it. Live directories of other instrumented processes stay.
// The directory is removed only when the profile is complete. Children may still
// be running; their records are listed, and not touched.
func (r *Record) Seal(e *base.Env, outFile string) error {
	own, others, err := r.liveDirs()
	if err != nil {
		return err
	}
	if own == "" {
		if len(others) == 0 {
			_ = r.base.RemoveEmpty()
		}
		err = errors.New("the program left no record: it did not start, could not write, or was not instrumented")
	} else if err = SealAndSummarize(e, own, outFile, r.elapsed); err != nil {
		return fmt.Errorf("%w; the record stays in %s", err, own)
	} else if r.Keep {
		fmt.Fprintf(e.Stderr, "stemma: the recorded calls are in the live directory; see 'stemma replay %s'\n",
			store.Relative(own))
	} else if len(others) == 0 {
		err = r.Remove()
	} else {
		err = r.base.Root.RemoveAll(filepath.Base(own))
	}
	if len(others) > 0 {
		fmt.Fprintf(e.Stderr, "stemma: %s, of children or of what the program was before it replaced itself:\n",
			humanize.Plural(len(others), "more record"))
		store.ListDirs(e.Stderr, others)
	}
	return err
}

// liveDirs returns the live directory of the program, and those of others.
// own is empty if the program left none. It is told by the process ID in its name: a
// wrapper that -exec names must replace itself by the program, unless there is one record
// only. A program that has replaced itself has left several; the last one is its own.
func (r *Record) liveDirs() (own string, others []string, err error) {
	dirs, err := r.base.Names()
	if err != nil {
		return "", nil, err
	}
	mine := regexp.MustCompile(fmt.Sprintf(`\.%d-[0-9a-z]+$`, r.pid))
	last := time.Time{}
	for _, d := range dirs {
		dir := filepath.Join(r.Base, d.Name())
		others = append(others, dir)
		if info, err := d.Info(); err == nil && mine.MatchString(d.Name()) && info.ModTime().After(last) {
			own, last = dir, info.ModTime()
		}
	}
	if own == "" && len(others) == 1 {
		own = others[0]
	}
	return own, slices.DeleteFunc(others, func(dir string) bool { return dir == own }), nil
}

// SealAndSummarize seals a live directory, which stays, into outFile and
// prints a summary to standard error.
// Losses are part of the summary: who reads only that must not miss them.
func SealAndSummarize(e *base.Env, liveDir, outFile string, elapsed time.Duration) error {
	work := progress.Begin(e.Stderr, "sealing the record")
	p, err := store.Seal([]string{liveDir}, outFile, elapsed)
	work.End()
	if err != nil {
		return err
	}
	return report.Summarize(e.Stderr, p, outFile)
}
