package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/pinned"
	"github.com/stemma-go/stemma/internal/safefile"
	"github.com/stemma-go/stemma/profile"
)

// Records are profiles, with what they were read from.
type Records struct {
	Profiles []*record.Record
	Sources  []Source

	noCounts error // see LoadCounts
}

// Load reads the profiles at paths, sealed files, live directories and directories
// of them. Without paths it takes the newest one in the working directory. Of several
// records of one run it keeps one.
func Load(paths []string) (*Records, error) {
	r := new(Records)
	err := r.readAll(paths, func(_ Place, p *record.Record, _ bool) { r.Profiles = append(r.Profiles, p) })
	if err != nil {
		return nil, err
	}
	r.Profiles, err = record.Snapshots(r.Profiles...)
	return r, err
}

// LoadEvents is Load of records with context IDs. Without a path it reads the newest one, with all segments of that
// run: each has events of its own. Where a segment ends or is removed meanwhile, it reads all once more.
func LoadEvents(paths []string) (*Records, error) {
	of := func() ([]string, error) { return paths, nil }
	if len(paths) == 0 {
		of = newestRun
	}
	const tries = 5
	for try := 1; ; try++ {
		paths, err := of()
		if err != nil {
			return nil, err
		}
		before := runsAt(paths)
		r, err := Load(paths)
		if now, e := of(); e == nil && sameRuns(before, runsAt(now)) {
			return r, err
		}
		if try == tries {
			return nil, fmt.Errorf("%s: segments end faster than all of them can be read; name some of them, or wait "+
				"until the program has ended", strings.Join(paths, " "))
		}
		time.Sleep(time.Duration(try) * 10 * time.Millisecond)
	}
}

// newestRun returns the path of the newest record, or of all that are of its run, if it has context IDs.
func newestRun() ([]string, error) {
	newest, err := newest()
	if err != nil {
		return nil, err
	}
	if p, err := Probe(newest); err != nil || !p.IDs() {
		return []string{newest}, nil
	}
	live, _, ok := SegmentOf(newest)
	if !ok {
		live = newest
	}
	all := Segments(live)
	if IsLive(live) {
		all = append(all, live)
	}
	return all, nil
}

// runsAt returns the live directories at paths, with the number of the run that records there, 0 without context IDs.
func runsAt(paths []string) map[string]uint64 {
	runs := make(map[string]uint64)
	for _, path := range finished(paths) {
		place, err := Probe(path)
		if err != nil || !place.Dir {
			continue
		}
		records, _ := place.Records()
		for _, path := range records {
			runs[path] = 0
			if place, err := Probe(path); err == nil {
				runs[path], _, _ = place.Run()
			}
		}
	}
	return runs
}

// sameRuns reports whether what was at some paths is there now, and no segment more. Where one of context IDs ends,
// directories exchange their names.
func sameRuns(before, now map[string]uint64) bool {
	for path, run := range before {
		if has, ok := now[path]; !ok || has != run {
			return false
		}
	}
	for path := range now {
		if _, had := before[path]; !had {
			if _, _, ok := SegmentOf(path); ok {
				return false
			}
		}
	}
	return true
}

// A keeping takes the record of a place, and whether its program ran when it was read.
type keeping func(place Place, p *record.Record, running bool)

// readAll calls keep with each record at paths, or the newest one, and notes where it is from.
func (r *Records) readAll(paths []string, keep keeping) error {
	if len(paths) == 0 {
		newest, err := newest()
		if err != nil {
			return err
		}
		paths = []string{newest}
	}
	for _, path := range finished(paths) {
		if err := r.read(path, keep); err != nil {
			return err
		}
	}
	return nil
}

// read calls keep with what is at path. Of a directory of directories, one that cannot be read is an
// error and not left out: the sum would be too low, and nobody would know.
func (r *Records) read(path string, keep keeping) error {
	place, err := Probe(path)
	if err != nil {
		return err
	}
	places, err := place.places()
	if err != nil {
		return err
	}
	if len(places) == 0 {
		return fmt.Errorf("%s: no record; want a live directory, a directory of live directories, or a *%s file",
			path, SealedSuffix)
	}
	var done atomic.Int64
	if len(places) > 1 {
		count := func() (int64, int64) { return done.Load(), int64(len(places)) }
		defer progress.Step("reading "+path, "records", count)()
	}
	for _, place := range places {
		running := place.Running() // when it was read; it may end meanwhile
		if r.noCounts != nil && place.hasIDs() {
			r.Sources = append(r.Sources, place.source())
			return r.noCounts
		}
		p, err := readOne(place)
		done.Add(1)
		if err != nil {
			return err
		}
		s := place.source()
		if s.Running {
			s.started = p.Processes[0].Start
		}
		r.Sources = append(r.Sources, s)
		if r.noCounts != nil && p.IDs != nil { // of a pipe, say
			return r.noCounts
		}
		keep(place, p, running)
	}
	return nil
}

// How large a record is for which memory is worth more than the collector's time. A sealed file is compressed: a
// context may take less than a byte there.
const (
	manyBytes       = 16 << 20
	manySealedBytes = 1 << 20
)

// beThrifty lets the heap grow by a fifth before it is collected, and not to twice its size, if the record is
// large. A large record is a few tables without pointers: to collect beside them costs little.
func beThrifty(place Place) {
	bytes, many := int64(0), int64(manySealedBytes)
	if place.Dir {
		many = manyBytes
	}
	_ = filepath.WalkDir(place.Path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // whoever reads it returns the error
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	if bytes > many {
		debug.SetGCPercent(20)
	}
}

// readOne reads a sealed file or a live directory.
func readOne(place Place) (*record.Record, error) {
	path := place.Path
	beThrifty(place)
	if !place.Dir {
		return ReadSealed(path)
	}
	defer progress.Step("reading "+path, "", nil)()
	p, err := openLive(place)
	if err != nil {
		return nil, In(path, err)
	}
	return p, nil
}

// openLive reads a live directory, or what is in none of its segments.
func openLive(place Place) (*record.Record, error) {
	if place.rest != "" {
		return record.OpenRest(pinned.Files(place.rest), hasEnded(place.rest))
	}
	return record.OpenRun(pinned.Files(place.Path), hasEnded(place.Path))
}

// ReadHeld reads a live directory that is open, or what is in none of its segments, and nothing that has taken its name
// since. The record may need the directory as long as it is used.
func ReadHeld(d *safefile.Dir, rest bool) (*record.Record, error) {
	beThrifty(Place{Path: d.Path, Dir: true})
	open := record.OpenRun
	if rest {
		open = record.OpenRest
	}
	p, err := open(d.Files(), hasEnded(d.Path))
	if err != nil {
		return nil, In(d.Path, err)
	}
	return p, nil
}

// newest returns the sealed file here, or the live directory of a program that was started here, that is to be
// taken where none is named. The error is one of usage.
func newest() (string, error) {
	paths, _ := filepath.Glob("*" + SealedSuffix)
	paths = slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.IsDir() // a checkout, say
	})
	live, err := FindLive(Out())
	if err != nil {
		return "", fmt.Errorf("the newest record may be one that cannot be read; name one: %w", err)
	}
	path := newestOf(append(paths, live...))
	if path == "" {
		return "", base.Usagef("no profile given, and neither *%s nor %s/* here; name a profile, or go to the "+
			"directory where the program ran", SealedSuffix, Out())
	}
	return path, nil
}

// newestOf returns the path of the newest record, "" if there is none.
func newestOf(paths []string) string {
	var newest Source
	for _, path := range paths {
		if s := SourceOf(path); newest.Path == "" || s.Newer(newest) {
			newest = s
		}
	}
	return newest.Path
}

// Suggest returns the end of a message that wants a record: the command with the newest live directory of programs that
// were started here, or nothing if there is none.
func Suggest(command string) string { return suggest(command, LiveDirs(Out())) }

// SuggestCounts is Suggest for a command that wants counts: of live directories and sealed files.
func SuggestCounts(command string) string {
	sealed, _ := filepath.Glob("*" + SealedSuffix)
	return suggest(command, slices.DeleteFunc(append(sealed, LiveDirs(Out())...), func(path string) bool {
		place, err := Probe(path)
		return err != nil || !place.hasCounts()
	}))
}

func suggest(command string, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	which := "the one here"
	if len(paths) > 1 {
		which = fmt.Sprintf("the newest of %d here", len(paths))
	}
	return fmt.Sprintf("; %s: stemma %s %s", which, command, base.Typed(newestOf(paths)))
}

// LoadRepeats reads several runs of the same work, each at a path of its own, one after the other, and finds what
// varies in them: see [profile.Repeats]. Its records are this one.
func LoadRepeats(paths []string) (*Records, *record.Record, error) {
	all := new(Records)
	var unread error // it names its path
	p, err := profile.Repeats(func(yield func(*profile.Profile, error) bool) {
		for _, path := range paths {
			var p *profile.Profile
			if p, unread = all.readRun(path); !yield(p, unread) {
				return
			}
		}
	})
	if unread != nil {
		return nil, nil, unread
	}
	if err != nil {
		return all, nil, err
	}
	rec := &record.Record{Profile: p}
	all.Profiles = []*record.Record{rec}
	return all, rec, nil
}

var errNothingVaries = errors.New("a record of context IDs has no counts that could vary")

// readRun returns the sum of what is at path, and keeps where that is.
func (r *Records) readRun(path string) (*profile.Profile, error) {
	run, p, err := LoadCounts([]string{path}, errNothingVaries)
	if err != nil {
		return nil, In(path, err)
	}
	r.Sources = append(r.Sources, run.Sources...)
	return p.Profile, nil
}
