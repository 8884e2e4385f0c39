// Package decode decodes context IDs of any number of runs, alone or in a text.
package decode

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/fingerprint"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// How the record of an ID is found.
//
// An ID carries the number of its run. A Set knows the runs of all records
// below the path that it was given, from their headers, and opens a record when the
// first ID of its run comes. An ID of a run without a record makes it look for records
// that are new, so that it may be there before the program is. What it looks at again
// and again is the time of a directory's last change, and directories that have no
// record yet.

// A Set decodes the IDs of any number of runs. It is not for several goroutines.
type Set struct {
	roots []*contextRoot
	byRun map[uint64][]*contextRecord // the records of a run: a live directory and what was sealed of it
	open  int64                       // bytes of the records that are open
	limit int64                       // of open
	clock uint64                      // counts uses of records
	other string                      // a record that is none of context IDs
	here  bool                        // no path was given

	// Fetch finds the records of runs that are not at a path, in a store of a name. It may be nil. One call takes long,
	// whatever the number of runs, so that those of further IDs are asked for with the first.
	Fetch   func(runs ...uint64) ([]string, error)
	Store   string
	fetched map[uint64]time.Time // when that was asked for a run
	ahead   iter.Seq[uint64]     // runs whose IDs are about to come; nil if that is not known

	looks func() // for tests, before a path is looked at or opened

	fingerprints decode.Fingerprints
	seen         fingerprint.Set
}

// maxOpen is how many bytes of records are kept open. A record that is open takes two
// or three times its size in memory.
const maxOpen = 512 << 20

// A contextRecord is a live directory or a sealed file.
type contextRecord struct {
	path   string
	sealed bool
	open   *decode.Run // nil if it was not needed yet, or not for long
	size   int64       // of open
	used   uint64      // when it was used last, by the set's clock
	failed error       // of the last time that it was opened
	tried  time.Time   // when that was
}

// retryEvery is how often a record that cannot be read is tried again: each time takes
// as long as reading it.
const retryEvery = time.Second

// A contextRoot is a path that is looked at for records: one, or a directory of some.
type contextRoot struct {
	path    string
	files   bool // only sealed files in the directory count
	fetched bool // from a store; no user named it
	listed  time.Time
	known   map[string]bool
	pending map[string]bool   // entries that may become records
	newest  map[string]uint64 // by live directory: its newest segment when the directory was listed
}

// Open returns a set of the records at some paths: sealed files, live directories,
// or directories of either; without a path those in the working directory. There
// need not be any yet, unless it is clear that there will be none at one of the paths.
func Open(paths ...string) (*Set, error) {
	s := &Set{byRun: make(map[uint64][]*contextRecord), limit: maxOpen, looks: func() {}}
	for _, path := range paths {
		// The beginning has the number of its run. All of it is read when an ID of that run comes.
		if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			return nil, base.Usagef("%s is a pipe, which can be read once only; write it to a file and name that",
				profile.Printable(path))
		}
		s.roots = append(s.roots, newRoot(path))
	}
	if len(paths) == 0 {
		s.here = true
		s.roots = []*contextRoot{newRoot("."), newRoot(store.Out())}
		s.roots[0].files = true
	}
	s.scan()
	for _, path := range paths {
		if err := never(path); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// never returns an error if path has no context IDs, and will have none.
func never(path string) error {
	place, err := store.Probe(path)
	if err != nil {
		return nil // it may be made yet
	}
	if _, err := runOf(place); err != nil && (!place.Dir || errors.Is(err, ErrNoContexts)) {
		return store.In(path, err)
	}
	return nil // a directory may become a record yet, or get some
}

var ErrNoContexts = errors.New("no record of context IDs; build the program with " + engine.Giving(engine.IDs))

// Empty returns an error if no record was found.
func (s *Set) Empty() error {
	if len(s.byRun) > 0 {
		return nil
	}
	for _, r := range s.roots {
		place, err := store.Probe(r.path)
		if err == nil && !r.files {
			_, err = place.Records()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // what cannot be looked at may be the record
		}
	}
	path := s.roots[0].path
	if s.here {
		if s.other == "" {
			return base.Usagef("no record given, and neither *%s nor %s/* here; name a record, or a directory with "+
				"those of any number of runs", store.SealedSuffix, store.Out())
		}
		path = s.other
	}
	if _, err := os.Stat(path); err != nil {
		return err
	}
	return store.In(path, ErrNoContexts)
}

// Decode returns the context of an ID, without the frames of package stemma.
func (s *Set) Decode(id ctxid.ID) (_ decode.Stack, err error) {
	// A record may have another name, get the last one between a scan and its opening, and is there the third time.
	for range 3 {
		for _, r := range s.byRun[id.Run] {
			stack, failed := s.decodeIn(r, id)
			switch {
			case failed == nil:
				return stack.Trim(), nil
			case failed != errGone:
				err = cmp.Or(err, failed)
			}
		}
		known := len(s.byRun[id.Run]) // without those that have gone
		if s.scan(); len(s.byRun[id.Run]) <= known {
			break
		}
	}
	switch fetched, failed := s.fetch(id.Run); {
	case failed != nil:
		return decode.Stack{}, failed
	case fetched:
		return s.Decode(id)
	}
	if err != nil && s.grows(id.Run) {
		err = fmt.Errorf("%w: the record in the store may be older than this ID; 'stemma collect' uploads it again "+
			"while it grows, so try again in a minute or two", err)
	}
	return decode.Stack{}, cmp.Or(err, s.missing(id.Run))
}

// grows reports whether all that is known of a run came from a store, to which it was uploaded while its program ran:
// package bucket of stemma-fleet names it.
func (s *Set) grows(run uint64) bool {
	return s.Fetch != nil &&
		!slices.ContainsFunc(s.byRun[run], func(r *contextRecord) bool { return !isGrowing(r.path) })
}

// isGrowing reports whether the file of a store is a record that was uploaded while its program ran.
func isGrowing(path string) bool { return strings.HasPrefix(filepath.Base(path), "growing.") }

// maxFetched is how many runs are asked for at once: their numbers are an argument of a command.
const maxFetched = 1000

// fetchEvery is how often the records of a run are asked for that has none.
const fetchEvery = time.Minute

// fetch adds the records of a run that are elsewhere, and reports whether there are any that were not known.
func (s *Set) fetch(run uint64) (more bool, err error) {
	if s.Fetch == nil || time.Since(s.fetched[run]) < fetchEvery {
		return false, nil
	}
	if s.fetched == nil {
		s.fetched = make(map[uint64]time.Time)
	}
	runs := []uint64{run}
	s.fetched[run] = time.Now()
	if s.ahead != nil {
		for next := range s.ahead {
			if len(s.byRun[next]) > 0 || time.Since(s.fetched[next]) < fetchEvery {
				continue
			}
			runs = append(runs, next)
			if s.fetched[next] = time.Now(); len(runs) == maxFetched {
				break
			}
		}
	}
	paths, err := s.Fetch(runs...)
	s.replace(run, paths)
	known := len(s.byRun[run])
	for _, path := range paths {
		if !slices.ContainsFunc(s.roots, func(r *contextRoot) bool { return r.path == path }) {
			root := newRoot(path)
			root.fetched = true
			s.roots = append(s.roots, root)
		}
	}
	s.scan()
	return len(s.byRun[run]) > known, err
}

// replace forgets the records of a run that a store had before, and that have grown since, if it has others now.
func (s *Set) replace(run uint64, paths []string) {
	if len(paths) == 0 {
		return
	}
	old := func(path string) bool { return isGrowing(path) && !slices.Contains(paths, path) }
	s.byRun[run] = slices.DeleteFunc(s.byRun[run], func(r *contextRecord) bool {
		if !old(r.path) {
			return false
		}
		s.open -= r.size
		s.roots = slices.DeleteFunc(s.roots, func(root *contextRoot) bool {
			return root.fetched && root.path == r.path
		})
		return true
	})
	if len(s.byRun[run]) == 0 {
		delete(s.byRun, run)
	}
}

// newRoot returns a path that was not looked at yet.
func newRoot(path string) *contextRoot {
	return &contextRoot{path: path, known: make(map[string]bool), pending: make(map[string]bool)}
}

// missing returns the error for an ID of a run without a record.
func (s *Set) missing(run uint64) error {
	have := humanize.Plural(len(s.byRun), "run", "runs")
	if len(s.byRun) == 1 {
		for only := range s.byRun {
			have = fmt.Sprintf("run %016x", only)
		}
	}
	var paths []string
	for _, r := range s.roots {
		if !r.fetched {
			paths = append(paths, r.path)
		}
	}
	where, remedy := strings.Join(paths, " and "), "name the record of the run that wrote the log"
	if s.Fetch != nil {
		where = s.Store + ", nor in " + where
		remedy = "'stemma collect' beside the program puts it there, a minute or two after the program has begun"
	}
	return fmt.Errorf("ID of run %016x: no record of that run in %s (have %s); %s", run, where, have, remedy)
}

// decodeIn decodes an ID with one record, and opens the record if need be. One that has
// gone is forgotten.
func (s *Set) decodeIn(r *contextRecord, id ctxid.ID) (decode.Stack, error) {
	s.clock++
	r.used = s.clock
	if r.open == nil {
		if r.failed != nil && time.Since(r.tried) < retryEvery {
			return decode.Stack{}, r.failed
		}
		s.looks()
		if r.open, r.failed = openRecord(r.path, r.sealed); r.failed != nil {
			r.tried = time.Now()
			if _, err := os.Stat(r.path); err != nil {
				s.forget(r, id.Run)
				return decode.Stack{}, errGone
			}
			return decode.Stack{}, r.failed
		}
		if !r.sealed && r.open.Number() != id.Run { // names were exchanged, and may be once more
			r.open = nil
			s.forget(r, id.Run)
			return decode.Stack{}, errGone
		}
	}
	stack, err := r.open.Decode(id)
	if err != nil && !r.sealed && r.moved(id.Run) {
		s.open -= r.size
		s.forget(r, id.Run)
		return decode.Stack{}, errGone
	}
	size := r.open.Size()
	s.open += size - r.size
	if r.size = size; s.open > s.limit {
		s.shrink(r)
	}
	return stack, err
}

// moved reports whether another run records at the path of a live directory: its program has begun another segment, and
// the record has another name.
func (r *contextRecord) moved(run uint64) bool {
	place, err := store.Probe(r.path)
	if err != nil {
		return true
	}
	now, err := runOf(place)
	return err == nil && now != run
}

// errGone says that a record has gone since it was found.
var errGone = errors.New("the record has gone")

// openRecord reads a live directory or a sealed file.
func openRecord(path string, sealed bool) (*decode.Run, error) {
	read := store.ReadLive
	if sealed {
		read = store.ReadSealed
	}
	rec, err := read(path)
	if err != nil {
		return nil, err
	}
	run, err := decode.NewRun(rec)
	if err != nil {
		err = store.In(path, err)
	}
	return run, err
}

// forget takes a record out of the set, so that what is at its path is looked at anew.
func (s *Set) forget(r *contextRecord, run uint64) {
	rest := slices.DeleteFunc(slices.Clone(s.byRun[run]), func(other *contextRecord) bool { return other == r })
	if s.byRun[run] = rest; len(rest) == 0 {
		delete(s.byRun, run)
	}
	for _, root := range s.roots {
		if root.known[r.path] {
			delete(root.known, r.path)
			root.listed = time.Time{}
		}
	}
}

// shrink closes the records that were used longest ago, but for one, until those that
// are open are within the limit again by a margin: closing and opening one for each ID
// would take longer than anything else.
func (s *Set) shrink(but *contextRecord) {
	var list []*contextRecord
	for _, records := range s.byRun {
		for _, r := range records {
			if r.open != nil && r != but {
				list = append(list, r)
			}
		}
	}
	slices.SortFunc(list, func(a, b *contextRecord) int { return cmp.Compare(a.used, b.used) })
	for _, r := range list {
		if s.open <= s.limit*3/4 {
			return
		}
		s.open -= r.size
		r.open, r.size = nil, 0
	}
}

// scan looks for records that are new. A program may begin a segment meanwhile, or some: what has the name of its live
// directory gets that of a segment, and keeps it. So the live directory is looked at first, and then all segments that
// there are by then: what was in either is found.
func (s *Set) scan() {
	for _, root := range s.roots {
		if _, err := os.Stat(root.path); err != nil {
			continue
		}
		if place, _ := store.Probe(root.path); !place.Dir || !root.files && place.Live() {
			// It may be the record of another run now, and the former one a segment beside it.
			delete(root.known, root.path)
			s.look(root, root.path)
			segments := store.Segments(root.path)
			for i, path := range segments {
				if i >= len(segments)-2 {
					delete(root.known, path)
				}
				s.look(root, path)
			}
			continue
		}
		root.list()
		for path := range root.pending {
			if _, _, ok := store.SegmentOf(path); !ok {
				s.look(root, path)
			}
		}
		root.list()
		for path := range root.pending {
			s.look(root, path)
		}
	}
}

// list notes which entries of a directory are new, if it has changed.
func (r *contextRoot) list() {
	info, err := os.Stat(r.path)
	if err != nil {
		return
	}
	// A change shortly after the listing may have got the same time.
	changed := info.ModTime()
	if changed.Equal(r.listed) && time.Since(changed) >= 50*time.Millisecond {
		return
	}
	dir, err := os.Open(r.path)
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // in part, if it fails
	for _, name := range names {
		path := filepath.Join(r.path, name)
		if !r.known[path] && (!r.files || strings.HasSuffix(name, store.SealedSuffix)) {
			r.pending[path] = true
		}
	}
	if !r.files {
		r.lookAgain(names)
	}
	r.listed = changed
}

// lookAgain makes live directories that have segments be looked at again, and those of their segments that were the
// newest or have come since: they change their names when a segment begins.
func (r *contextRoot) lookAgain(names []string) {
	newest := make(map[string]uint64) // by live directory
	for _, name := range names {
		path := filepath.Join(r.path, name)
		live, number, ok := store.SegmentOf(path)
		if !ok {
			continue
		}
		newest[live] = max(newest[live], number)
		if number >= r.newest[live] {
			r.forget(path)
		}
	}
	for live := range newest {
		r.forget(live)
	}
	r.newest = newest
}

// forget makes a path be looked at again.
func (r *contextRoot) forget(path string) {
	if r.known[path] {
		delete(r.known, path)
		r.pending[path] = true
	}
}

// look looks at an entry of a root: it is a record, will never be one, or may still
// become one.
func (s *Set) look(root *contextRoot, path string) {
	if root.known[path] {
		return
	}
	s.looks()
	place, err := store.Probe(path)
	if err != nil {
		return // it has gone
	}
	run, err := runOf(place)
	switch {
	case err == nil:
		if !slices.ContainsFunc(s.byRun[run], func(r *contextRecord) bool { return r.path == path }) {
			s.byRun[run] = append(s.byRun[run], &contextRecord{path: path, sealed: !place.Dir})
		}
	case errors.Is(err, ErrNoContexts):
		s.other = path
	case !place.Dir && !strings.HasSuffix(path, store.SealedSuffix):
		// Some other file in the directory.
	default:
		return // it is being made, or has gone
	}
	root.known[path] = true
	delete(root.pending, path)
}

// runOf returns the run number of a live directory or a sealed file with context IDs.
func runOf(place store.Place) (uint64, error) {
	run, ok, err := place.Run()
	if err == nil && !ok {
		err = ErrNoContexts
	}
	return run, err
}
