package run

import (
	"errors"
	"fmt"
	"io"
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
// the program has ended the sum of all that have ended is sealed into the profile, and
// the directory is removed. What does not add up, or still runs, stays there and is
// listed. If stemma is killed in between, what was recorded is in NAME.live-* and can be
// sealed by hand. A lock on that directory keeps stemma clean from it meanwhile.

// An Outcome is what a run of a program has left.
// Who has sealed or compared it removes it.
type Outcome struct {
	Base string // holds the live directories of the program and its children
	held *heldDir
	pid  int
	Code int // exit code

	elapsed time.Duration // how long the program ran
	Keep    bool          // the live directory holds what is not sealed
}

// A heldDir is a directory that holds live directories. It is locked while it is in use, where the file system knows
// locks, so that stemma clean leaves it alone.
type heldDir struct {
	*safefile.Dir
	lock *os.File
}

// liveBase makes the directory for live directories: here, on the disk where the
// profile is going to be, or if that cannot be in the system's temporary one.
// The path is absolute: the program may run elsewhere, or change its directory.
func liveBase(name string) (*heldDir, error) {
	b := new(heldDir)
	wd, err := os.Getwd()
	if err == nil {
		b.Dir, err = safefile.MakeDir(wd, name+".live-")
	}
	if err != nil {
		if b.Dir, err = safefile.MakeDir("", name+".live-"); err != nil {
			return nil, err
		}
	}
	if b.lock, err = b.Root.Open("."); err != nil {
		return nil, err
	}
	_ = store.Hold(b.lock)
	return b, nil
}

// Remove removes the record, with all that is in its directory.
func (r *Outcome) Remove() error { return r.held.RemoveAll() }

// Seal turns the live directories of the program and of the processes that it started into the
// profile outFile, and removes them. Those that do not add up with the program's own, and those of
// processes that still run, stay and are listed. Directories are removed only when the profile is complete.
func (r *Outcome) Seal(e *base.Env, outFile string) error {
	dirs, err := r.liveDirs()
	if err != nil {
		return err
	}
	if len(dirs) == 0 {
		r.RemoveEmpty()
		return errors.New("the program left no record: it did not start, could not write, or was not instrumented")
	}
	var ended, running []string
	for _, dir := range dirs {
		if stillRuns(ofRun(dir)) {
			running = append(running, dir)
		} else {
			ended = append(ended, dir)
		}
	}
	if len(ended) == 0 {
		ended = running[:1] // as far as it is
	}
	notes := missing(len(processes(dirs))-len(processes(ended)), "still ran when it ended")
	sealed, apart, why, err := r.seal(e, ended, outFile, notes)
	switch {
	case err != nil:
		return fmt.Errorf("%w; the record stays in %s", err, r.Base)
	case r.Keep:
		fmt.Fprintf(e.Stderr, "stemma: the recorded calls are in the live directory; see 'stemma replay %s'\n",
			base.Typed(store.Relative(sealed[0])))
		apart = append(apart, sealed[1:]...)
	case len(apart) == 0 && len(running) == 0:
		return r.Remove()
	default:
		for _, dir := range sealed {
			if !slices.Contains(running, dir) {
				err = errors.Join(err, r.held.Root.RemoveAll(filepath.Base(dir)))
			}
		}
	}
	r.tellLeft(e.Stderr, apart, why, running, outFile)
	return err
}

// RemoveEmpty removes the directory in which the program was to record, and reports true, if nothing is in it.
func (r *Outcome) RemoveEmpty() bool { return r.held.RemoveEmpty() == nil }

// ofRun returns the live directory that dir is a segment of, or else dir. The program holds that one alone.
func ofRun(dir string) string {
	if live, _, ok := store.SegmentOf(dir); ok && store.IsLive(live) {
		return live
	}
	return dir
}

// processes returns dirs without segments that lie beside their live directory: one for each process.
func processes(dirs []string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return ofRun(dir) != dir })
}

// stillRuns reports whether the process that records into a live directory has not ended. One that has just begun
// makes its file, then locks it, and then writes what the file begins with. So a file without that is looked at again,
// for a second: its process begins, or was killed while it did. Where nothing runs for a while, a second is no time to
// begin: so it is looked at a hundred times at least.
func stillRuns(dir string) bool {
	end := time.Now().Add(time.Second)
	for looks := 1; ; looks++ {
		place, err := store.Probe(dir)
		if err != nil || !place.Live() {
			return false
		}
		written := begun(place.Main) // before the lock is looked at: from then on it tells
		if running := place.Running(); running || written || looks >= 100 && time.Now().After(end) {
			return running
		}
		time.Sleep(time.Millisecond)
	}
}

// begun reports whether a file begins as those of stemma do.
func begun(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	return store.Begun(f)
}

// missing returns a note on n records of processes that are not in the profile, none if all are. Who compares it with
// another one, later, has not seen what run prints.
func missing(n int, why string) []string {
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s that it started %s; %s left out of this profile",
		humanize.Plural(n, "process", "processes"), why, humanize.Noun(n, "its record was", "their records were"))}
}

// seal seals the sum of live directories, the program's own first, or that one alone if they do not add up. It returns
// which ones it took, and which it left and why.
func (r *Outcome) seal(e *base.Env, dirs []string, outFile string, notes []string) (
	sealed, left []string, why, err error) {
	if len(dirs) > 1 {
		if why = r.sealSum(e, dirs, outFile, notes); why == nil {
			return dirs, nil, nil, nil
		}
	}
	notes = append(notes, missing(len(dirs)-1, "cannot be added up with it")...)
	return dirs[:1], dirs[1:], why, SealAndSummarize(e, dirs[0], outFile, r.elapsed, notes...)
}

// sealSum seals the sum of several live directories.
func (r *Outcome) sealSum(e *base.Env, dirs []string, outFile string, notes []string) error {
	work := progress.Begin(e.Stderr, "sealing the records")
	p, err := store.Seal(dirs, outFile, r.elapsed, notes...)
	work.End()
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stderr, "stemma: the sum of %s; 'stemma info %s' lists them\n",
		humanize.Plural(len(p.Processes), "program that ran", "programs that ran"), base.Typed(outFile))
	return report.Summarize(e.Stderr, p, outFile)
}

// tellLeft says which records stay and why, and how all are read together.
func (r *Outcome) tellLeft(notes io.Writer, apart []string, why error, running []string, outFile string) {
	at := store.Relative(r.Base)
	if len(apart) > 0 {
		reason := ""
		if why != nil {
			reason = ": " + why.Error()
		}
		fmt.Fprintf(notes, "stemma: %s, of processes that it started, %s in %s%s; name %s and %s to read all of them\n",
			humanize.Plural(len(apart), "more record"), humanize.Noun(len(apart), "stays", "stay"), at, reason,
			base.Typed(outFile), base.Typed(at))
		store.ListDirs(notes, apart)
	}
	if running = processes(running); len(running) > 0 {
		fmt.Fprintf(notes, "stemma: %s that it started still %s into %s; name %s and %s to read all of them\n",
			humanize.Plural(len(running), "process", "processes"), humanize.Noun(len(running), "records", "record"), at,
			base.Typed(outFile), base.Typed(at))
		store.ListDirs(notes, running)
	}
}

// liveDirs returns the live directories of the program and of the processes that it started, its own first.
// That is told by the process ID in its name: a wrapper that -exec names must replace itself by the program, unless
// there is one record only. A program that has replaced itself has left several; the last one is its own.
func (r *Outcome) liveDirs() (dirs []string, err error) {
	entries, err := r.held.Names()
	if err != nil {
		return nil, err
	}
	mine := regexp.MustCompile(fmt.Sprintf(`\.%d-[0-9a-z]+$`, r.pid))
	own, last := "", time.Time{}
	for _, d := range entries {
		dir := filepath.Join(r.Base, d.Name())
		if !store.IsLive(dir) {
			continue
		}
		dirs = append(dirs, dir)
		if info, err := d.Info(); err == nil && mine.MatchString(d.Name()) && info.ModTime().After(last) {
			own, last = dir, info.ModTime()
		}
	}
	if i := slices.Index(dirs, own); i > 0 {
		dirs = slices.Insert(slices.Delete(dirs, i, i+1), 0, own)
	}
	return dirs, nil
}

// SealAndSummarize seals a live directory, which stays, into outFile and
// prints a summary to standard error.
// Losses are part of the summary: who reads only that must not miss them.
func SealAndSummarize(e *base.Env, liveDir, outFile string, elapsed time.Duration, notes ...string) error {
	work := progress.Begin(e.Stderr, "sealing the record")
	p, err := store.Seal([]string{liveDir}, outFile, elapsed, notes...)
	work.End()
	if err != nil {
		return err
	}
	return report.Summarize(e.Stderr, p, outFile)
}
