package collect

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
)

// An item is a live directory of a program that has ended, or a segment.
type item struct {
	path    string
	live    string // the live directory of the run
	number  uint64 // of a segment, else 0
	changed time.Time
	growing bool // its program runs
}

// hasIDs reports whether a path is a live directory with context IDs. A segment of these is a record of its own, with a
// run number of its own, and grows as long as its main file is locked.
func hasIDs(path string) bool {
	place, err := store.Probe(path)
	return err == nil && place.IDs()
}

// settled is how long ago a live directory must have changed: a program takes its lock when it begins, and who looks
// whether it has must not be in its way.
const settled = time.Second

// find returns the items in a directory, or of a live directory, the oldest first. Programs that run have
// segments only; what they have of context IDs is found by running. wait is how long it takes until all that is there
// can be looked at. With an error it returns what it could look at.
func (a *Agent) find(dir string, now time.Time) (items []item, wait time.Duration, err error) {
	place, err := store.Probe(dir)
	if err != nil {
		return nil, 0, err
	}
	if !place.Dir {
		return nil, 0, fmt.Errorf("%s: a file; want a directory of live directories, or a live directory", dir)
	}
	paths, err := store.FindRecords(dir)
	if place.Live() {
		paths = append(store.Segments(dir), dir)
	}
	for _, path := range paths {
		if info, e := os.Lstat(path); path != dir && e == nil && info.Mode()&fs.ModeSymlink != 0 {
			// It may lead to a record of somebody else. One that is not called as a record is for people.
			if store.RecordName.MatchString(path) {
				err = errors.Join(err, fmt.Errorf("%s: a link, want a directory", path))
			}
			continue
		}
		live, number, ok := store.SegmentOf(path)
		if !ok {
			live, number = path, 0
		}
		one := item{path: path, live: live, number: number, changed: changed(path)}
		if number > 0 && hasIDs(path) {
			if _, err := ids.LiveRun(safefile.Files(path)); err != nil {
				continue // it is being made, or goes
			}
			// What the program is about to begin, or has just ended, is locked.
			if place, err := store.Probe(path); err != nil || place.Running() {
				a.running[path] = now
				continue
			}
		}
		if number == 0 {
			if left := one.changed.Add(settled).Sub(now); left > 0 && left <= settled {
				wait = max(wait, left)
				continue
			}
			if place, err := store.Probe(path); err != nil || place.Running() {
				a.running[path] = now
				continue
			}
		}
		items = append(items, one)
	}
	// The oldest first: a program drops those.
	slices.SortStableFunc(items, func(x, y item) int {
		return cmp.Or(x.changed.Compare(y.changed), cmp.Compare(x.number, y.number))
	})
	return items, wait, err
}

// looked notes whether a directory could be looked at. One that is not there may come: that is said once, and is no
// failure of an agent that stays.
func (a *Agent) looked(dir string, err error) {
	if err == nil {
		delete(a.unseen, dir)
		return
	}
	if !errors.Is(err, fs.ErrNotExist) {
		a.Numbers.unseen.Add(1)
	}
	if text := err.Error(); a.unseen[dir] != text {
		a.unseen[dir] = text
		for _, one := range parts(err) {
			a.say("%v; nothing, or not all, is collected there until that changes", one)
		}
	}
}

// parts returns the errors that were joined to one.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var list []error
		for _, one := range joined.Unwrap() {
			list = append(list, parts(one)...)
		}
		return list
	}
	return []error{err}
}

// changed returns when something was made in a directory; the zero time if it has gone.
func changed(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// errRuns is the error of a program that was thought to have ended, and runs, or the other way round.
var errRuns = errors.New("the program still runs, or has ended")

// errGoes is the error of a record that lost files while it was read: its program or another agent removes it. It
// would have been read without what these files counted.
var errGoes = errors.New("the record is being removed")

// reading is called when a record is about to be read, for tests that remove it.
var reading = func(path string) {}

// names returns what is in a directory.
func names(dir string) (list []string) {
	entries, _ := os.ReadDir(dir) // of what has gone there are none
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// open opens an item: what is there under its own name, and no link, which may have taken the name of a record since it
// was found. A live directory that the agent was started for may be one.
func (a *Agent) open(it item) (*safefile.Dir, error) {
	if slices.Contains(a.Dirs, it.path) {
		return safefile.OpenDir(it.path)
	}
	return safefile.OpenItself(it.path)
}

// read reads an item, whose directory is d, as 'stemma seal' does, and describes it.
func (a *Agent) read(d *safefile.Dir, it item) (*record.Record, *bucket.Manifest, error) {
	kind := bucket.Whole
	if it.growing {
		kind = bucket.Growing
	} else if it.number > 0 && !hasIDs(it.path) {
		kind = bucket.Segment
	} else if next, err := livedir.NextSegment(d.Files()); err == nil && next > 0 {
		kind = bucket.Rest
	}
	files := names(it.path)
	reading(it.path)
	p, err := store.ReadHeld(d, kind == bucket.Rest)
	if !it.growing && !slices.Equal(files, names(it.path)) {
		return nil, nil, errGoes
	}
	if err != nil {
		return nil, nil, err
	}
	if len(p.Processes) != 1 || p.Processes[0].Run == 0 {
		return nil, nil, fmt.Errorf("%s: a record of %s, want one that has a run number", it.path,
			humanize.Plural(len(p.Processes), "process", "processes"))
	}
	if place, _ := store.Probe(it.path); (it.number == 0 || place.IDs()) && place.Running() != it.growing {
		return nil, nil, errRuns
	}
	m := a.describe(it, p)
	m.Kind = kind
	return p, m, nil
}

// describe returns the manifest of a record.
func (a *Agent) describe(it item, p *record.Record) *bucket.Manifest {
	proc := p.Processes[0]
	m := &bucket.Manifest{Host: a.Host, Run: fmt.Sprintf("%016x", proc.Run), PID: proc.PID, GoVersion: proc.GoVersion,
		Engine: proc.Engine, IDs: p.IDs != nil, Start: proc.Start, Began: proc.Start, Labels: a.Labels}
	if len(proc.Args) > 0 {
		m.Program = filepath.Base(proc.Args[0])
	}
	m.Service = cmp.Or(a.Service, m.Program, "unknown")
	if s := proc.Segment; s != nil {
		m.Segment, m.Began, m.Ended = s.Number, s.Began, s.Ended
	}
	if it.growing {
		m.Ended = time.Now().UTC()
	}
	if m.Ended.IsZero() {
		// Mapped files change their time late: a program that was seen to run has not ended before.
		m.Ended = store.SourceOf(it.path).Changed.UTC()
		for _, t := range []time.Time{a.running[it.path].UTC(), m.Began} {
			if t.After(m.Ended) {
				m.Ended = t
			}
		}
	}
	m.Sums = map[string]uint64{"record/functions": uint64(len(p.Funcs))}
	for _, c := range p.Columns {
		if !slices.Contains(m.Metrics, c.Name) {
			m.Metrics = append(m.Metrics, c.Name)
		}
		for _, v := range c.Values {
			m.Sums[c.Name] += v
		}
	}
	if e := p.IDs; e != nil {
		m.Sums["ids/entries"], m.Sums["ids/epochs"] = uint64(len(e.Interned)), e.Stats.Epoch
		m.Sums["ids/slow"] = e.Stats.Slow
	}
	return m
}

// spool writes a record to a file that has no name, and so is gone with this process, however that ends. A [readError]
// is one of the record.
func spool(p *record.Record) (*os.File, error) {
	f, err := os.CreateTemp("", "stemma-fleet-")
	if err != nil {
		return nil, err
	}
	if err = os.Remove(f.Name()); err == nil {
		w := bufio.NewWriterSize(f, 1<<20)
		failed := p.Write(w)
		if err = w.Flush(); err == nil && failed != nil { // it keeps the error of a write
			err = &readError{failed}
		}
	}
	if err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// gone reports whether a record has been removed, by its program or by somebody else.
func gone(path string) bool { return !store.IsLive(path) }
