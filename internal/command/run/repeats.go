package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record/store"
)

// Repeat runs the program several times, one run after the other, and seals the first with what
// varies in them. Each run reads the same standard input, if that is a file. It returns the exit code
// of the program. A run that fails ends it: that one is sealed, and compared with none.
func (p *Program) Repeat(e *base.Env, runs int, outFile string) (code int, err error) {
	begin := input(e)
	var done []*Outcome
	for i := range runs {
		begin()
		rec, err := p.Run(e)
		if err != nil {
			return 0, stays(err, done)
		}
		rec.Keep = p.Keep
		dirs, err := rec.liveDirs()
		if err != nil {
			return rec.Code, stays(err, append(done, rec))
		}
		if len(dirs) == 0 || rec.Code != base.ExitOK {
			endsRepeats(e, i, runs, rec.Code)
			if err := rec.Seal(e, outFile); err != nil {
				return rec.Code, stays(err, done)
			}
			return rec.Code, removeEnded(done)
		}
		done = append(done, rec)
	}
	var all []string // of each run the sum of its processes
	for _, rec := range done {
		all = append(all, rec.Base)
	}
	if err := SealRuns(e, all, outFile, 0); err != nil {
		return base.ExitOK, stays(err, done)
	}
	return base.ExitOK, removeEnded(done)
}

// stays adds to an error where the records of runs are that were not sealed.
func stays(err error, runs []*Outcome) error {
	var dirs []string
	for _, rec := range runs {
		dirs = append(dirs, rec.Base)
	}
	if len(dirs) == 0 {
		return err
	}
	return fmt.Errorf("%w; %s in %s", err, humanize.Noun(len(dirs), "the record of a run stays",
		"the records of runs stay"), strings.Join(dirs, ", "))
}

// removeEnded removes what runs have recorded that is sealed now, or not needed: but not the record of a process that
// still runs.
func removeEnded(runs []*Outcome) (err error) {
	for _, rec := range runs {
		dirs, listing := rec.liveDirs()
		if listing == nil && !rec.Keep && !slices.ContainsFunc(dirs, stillRuns) {
			err = errors.Join(err, rec.Remove())
		}
	}
	return err
}

// endsRepeats says that there is nothing to compare.
func endsRepeats(e *base.Env, i, runs, code int) {
	fmt.Fprintf(e.Stderr, "stemma: run %d of %d ended with exit code %d: the runs are not compared\n", i+1, runs, code)
}

// input returns a function that sets standard input back to where it is now. What is no file stays
// where it is.
func input(e *base.Env) func() {
	f, ok := e.Stdin.(*os.File)
	if !ok {
		return func() {}
	}
	at, err := f.Seek(0, 1)
	if err != nil {
		return func() {}
	}
	return func() { _, _ = f.Seek(at, 0) }
}

// Tests are runs of go test whose records go into one profile.
type Tests struct {
	Base string // where test binaries record
	held *heldDir
	Runs int
	Out  string // the profile
	Keep bool   // live directories hold what is not sealed
}

// checkOut reports an error if there will be no place for the file out: before anything runs for it.
func checkOut(out string) error {
	if out == "-" {
		return base.Usagef("-o -: a profile is written to a file, and standard output is the program's; name the file")
	}
	dir := filepath.Dir(out)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return base.Usagef("-o %s: no directory %s; make it first", out, dir)
	}
	const write = 2
	info, err := os.Stat(out)
	switch {
	case strings.HasSuffix(out, "/") || err == nil && info.IsDir():
		return base.Usagef("-o %s: a directory; name the file of the profile", out)
	case err == nil && !info.Mode().IsRegular(): // it is written to as it is
		err = syscall.Access(out, write)
	default: // a file beside it takes its name
		err = syscall.Access(dir, write)
	}
	if err != nil {
		return fmt.Errorf("-o %s: it cannot be written: %w; name a file elsewhere", out, err)
	}
	return nil
}

// NewTests makes the directory to record into. It must be closed. It is an error if there will be no place for out.
func NewTests(runs int, out string) (*Tests, error) {
	if err := checkOut(out); err != nil {
		return nil, err
	}
	dir, err := liveBase("tests")
	if err != nil {
		return nil, err
	}
	return &Tests{Base: dir.Path, held: dir, Runs: max(runs, 1), Out: out}, nil
}

// Close removes what was recorded.
func (t *Tests) Close() error {
	if t.Keep {
		return nil
	}
	return t.held.RemoveAll()
}

// Run calls test as often as there are runs, and seals what it recorded: the sum of all test binaries,
// of several runs with what varies. It returns the exit code of the tests; a run in which some
// fail is the last, and compared with none.
func (t *Tests) Run(e *base.Env, test func() (int, error)) (code int, err error) {
	var runs []string
	defer func() {
		if err != nil && len(runs) > 0 {
			t.Keep = true
			err = fmt.Errorf("%w; the records stay in %s", err, t.Base)
		}
	}()
	for i := range t.Runs {
		if code, err = test(); err != nil {
			return code, err
		}
		dir, err := t.take(i)
		if err != nil {
			return code, err
		}
		if dir == "" {
			return code, t.noRecord(e, code)
		}
		if runs = append(runs, dir); code != base.ExitOK && t.Runs > 1 {
			endsRepeats(e, i, t.Runs, code)
			runs = runs[i:]
			break
		}
	}
	return code, SealRuns(e, runs, t.Out, 0)
}

// noRecord reports that a run of the tests left nothing to seal. If the tests passed, it is the error: who goes on with
// the profile would take an older one for it.
func (t *Tests) noRecord(e *base.Env, code int) error {
	text := fmt.Sprintf("no record, and no new %s: no test binary ran, or none could write", t.Out)
	if code == base.ExitOK {
		return errors.New(text)
	}
	fmt.Fprintf(e.Stderr, "stemma: %s\n", text)
	return nil
}

// take moves the records of a run, which has ended, to a directory of their own. It is "" if there are none.
func (t *Tests) take(run int) (dir string, err error) {
	records, err := store.FindRecords(t.Base) // segments lie beside the record that they are of
	if err != nil || len(records) == 0 {
		return "", err
	}
	dir = filepath.Join(t.Base, fmt.Sprint("run", run+1))
	if err := t.held.Mkdir(filepath.Base(dir), 0o777); err != nil {
		return "", err
	}
	for _, r := range records {
		name := filepath.Base(r)
		if err := t.held.Rename(name, filepath.Join(filepath.Base(dir), name)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// SealRuns seals one run, or several with what varies in them, each a live directory or a directory of
// these, and prints a summary.
func SealRuns(e *base.Env, paths []string, outFile string, elapsed time.Duration) error {
	if len(paths) == 1 {
		return SealAndSummarize(e, paths[0], outFile, elapsed)
	}
	work := progress.Begin(e.Stderr, "sealing the records")
	p, err := store.SealRepeats(paths, outFile)
	work.End()
	if err != nil {
		return fmt.Errorf("%s: %w", humanize.Plural(len(paths), "run"), err)
	}
	if err := report.Summarize(e.Stderr, p, outFile); err != nil {
		return err
	}
	report.Stability(e.Stderr, p.Profile, len(paths), outFile)
	return nil
}
