package collect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
)

// remove removes an item that is in the store, if the agent is to do that.
func (a *Agent) remove(it item) {
	if !a.Delete || !a.removable(it) {
		return
	}
	if it.number == 0 {
		a.removeUnfinished(it.path)
	}
	err := removeRecord(it.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // its program was faster
	}
	if err != nil {
		if a.Numbers.kept.Add(1) == 1 {
			a.say("%v: what is in the store is not removed here", err)
		}
		return
	}
	// It stays among those that are done until the next pass, and its marks longer: it is not lost.
	a.Numbers.removed.Add(1)
}

// removable reports whether nothing needs an item any more. Whether a segment is there decides what a killed program
// has behind its segments, as long as the program has not begun the next one but one.
func (a *Agent) removable(it item) bool {
	if it.number == 0 || hasIDs(it.path) {
		place, err := store.Probe(it.path)
		return err == nil && !place.Running()
	}
	if !store.IsLive(it.live) {
		return true
	}
	if a.isDone(item{path: it.live}) {
		return true // all that was behind it is in the store
	}
	next, err := livedir.NextSegment(safefile.Files(it.live))
	return err == nil && it.number < next
}

// removeRecord removes a record, the file that makes it one last: what is left of an interrupted removal is a record
// that can be removed.
func removeRecord(path string) error {
	d, err := safefile.OpenItself(path)
	if err != nil {
		return err
	}
	defer d.Close()
	place, err := store.Probe(path)
	if err != nil {
		return err
	}
	files, err := d.Names()
	if err != nil {
		return err
	}
	last := filepath.Base(place.Main)
	for _, f := range files {
		if f.Name() != last && f.Type().IsRegular() {
			err = errors.Join(err, d.Remove(f.Name()))
		}
	}
	if place.Live() {
		err = errors.Join(err, d.Remove(last))
	}
	if err != nil {
		return err
	}
	return os.Remove(path)
}

// removeUnfinished removes the segments that a program was writing, or removing, when it was killed. What else is in a
// directory of such a name stays, with it. It comes before its live directory is removed, which shows whose they are.
func (a *Agent) removeUnfinished(live string) {
	for _, name := range names(filepath.Dir(live)) {
		path := filepath.Join(filepath.Dir(live), name)
		if of, _, ok := store.SegmentOf(path); ok && of == live && (!store.IsLive(path) || store.IsUnfinished(path)) {
			if err := removeParts(path); err != nil && a.Numbers.kept.Add(1) == 1 {
				a.say("%v: an unfinished segment is not removed", err)
			}
		}
	}
}

// removeParts removes a directory that has nothing but files of a segment that is not complete.
func removeParts(path string) error {
	d, err := safefile.OpenItself(path)
	if err != nil {
		return err
	}
	defer d.Close()
	files, err := store.UnfinishedFiles(d)
	for _, f := range files {
		err = errors.Join(err, d.Remove(f.Name()))
	}
	if err != nil {
		return err
	}
	return os.Remove(path)
}
