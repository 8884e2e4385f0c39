// Package collect is the agent: it uploads the records of a machine to a bucket, and pushes them to sinks, each once. A
// record of context IDs is also uploaded while it grows, as often as it has.
//
// # What may happen at any time
//
// The agent keeps nothing that it needs. A mark, a file below .collected beside a record, says that the record is in
// the store, which has acknowledged it and has given it back. Without the mark the agent uploads it again, to the same
// key, or finds it there. The mark of a sink says how many parts of the record it has acknowledged. So the agent may be
// killed between any two steps, and several may work on one directory: a mark stays a while after its record, so that
// the others know where that has gone.
package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// Options say what an agent does.
type Options struct {
	Dirs    []string          // directories of live directories, or live directories
	Service string            // by default the name of the program
	Host    string            // of this machine
	Labels  map[string]string // of all records
	Every   time.Duration     // how long it waits when all is done
	Delete  bool              // records go when they are in the store
	Log     io.Writer         // a line for what a person should know
}

// An Agent uploads records. It is for one goroutine, but for its numbers.
type Agent struct {
	Options
	Numbers Numbers

	to        []*destination
	patience  time.Duration // with other agents, see Once
	growEvery time.Duration

	once    bool                 // see Once
	failed  map[string]*failure  // by path
	running map[string]time.Time // when a live directory was last seen to be of a program that runs
	growing map[string]*growing  // by path, see grow
	waiting map[string]bool      // paths of items that were there and not done
	past    map[string]uint64    // by live directory, the segments that are done or lost: all up to a number
	unseen  map[string]string    // directories that could not be looked at, and why
}

// A failure is why a record could not be read, and when that is tried again.
type failure struct {
	said  string
	times int
	next  time.Time
}

// New returns an agent that uploads to a bucket, unless that is nil, and to sinks.
func New(b *bucket.Bucket, sinks []*sink.Sink, o Options) *Agent {
	a := &Agent{Options: o, patience: time.Minute, growEvery: growEvery, failed: make(map[string]*failure),
		growing: make(map[string]*growing),
		running: make(map[string]time.Time), waiting: make(map[string]bool), past: make(map[string]uint64),
		unseen: make(map[string]string)}
	if b != nil {
		a.to = append(a.to, a.store(b))
	}
	for _, s := range sinks {
		a.to = append(a.to, a.sink(s))
	}
	a.Numbers.sinks = a.to[len(a.to)-len(sinks):]
	return a
}

// marksDir has the marks of all records of a directory. Nothing that looks for records looks there.
const marksDir = ".collected"

// markTime is how long a mark stays when its record has gone: other agents of the directory may still wait for that.
const markTime = time.Hour

// Bounds of waiting, for a store that is away and for a record that cannot be read.
const (
	firstWait, longestWait = time.Second, 5 * time.Minute
	recordWait             = time.Hour
)

// Run collects until ctx is done. An upload that has begun is ended first. A destination that fails rests a while, and
// the others go on.
func (a *Agent) Run(ctx context.Context) {
	for {
		wait, _ := a.Pass(ctx)
		if ctx.Err() != nil {
			return
		}
		wait = max(wait, a.Every)
		for _, d := range a.to {
			if d.err != nil {
				rest := d.rest(time.Now())
				a.say("%v; tried again in %v, nothing is lost meanwhile", d.err, rest.Round(time.Second))
			}
			if left := time.Until(d.next); d.times > 0 && (left > 0 || d.resting) {
				wait = min(wait, max(0, left)) // a rest may have ended in this pass
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// backoff returns how long to wait after so many failures before this one: twice as long each time, and up to a half
// more or less, so that agents do not come together.
func backoff(times int, longest time.Duration) time.Duration {
	wait := min(firstWait<<min(times, 20), longest)
	return wait/2 + rand.N(wait)
}

// Once is one pass, with what is too young to be looked at when it begins. What another agent has at the moment is
// waited for, as long as patience allows: without an error all is where it goes, but for what was refused
// before. An error of a destination names the records that did not come there.
func (a *Agent) Once(ctx context.Context) error {
	a.once = true
	wait, err := a.Pass(ctx)
	if wait > 0 && ctx.Err() == nil { // also if others have failed: the newest may be what was just recorded
		time.Sleep(wait)
		_, err = a.Pass(ctx)
	}
	err = a.others(ctx, err)
	for end := time.Now().Add(a.patience); err == nil && a.held() > 0 && time.Now().Before(end); {
		time.Sleep(a.patience / 60)
		_, err = a.Pass(ctx)
	}
	if n := a.held(); err == nil && n > 0 {
		err = fmt.Errorf("another agent has had %s for %v, and whether they are pushed is not known; run it again",
			humanize.Plural(n, "record"), a.patience)
	}
	for path, g := range a.growing {
		if err == nil && g.err != nil {
			err = fmt.Errorf("%s, whose program runs, was not uploaded: %w", path, g.err)
		}
	}
	if n := len(a.failed); err == nil && n > 0 {
		err = fmt.Errorf("%s could not be collected", humanize.Plural(n, "record"))
	}
	if n := len(a.unseen); err == nil && n > 0 {
		err = fmt.Errorf("%d of %d directories could not be looked at", n, len(a.Dirs))
	}
	for _, d := range a.to {
		if err == nil && d.allRefusals.parts > 0 {
			err = d.allRefusals.error(d.name)
		}
	}
	return err
}

// others goes on after a pass in which destinations have given up, with records that were not tried yet. It ends
// when all were tried, or when none has come for as long as patience allows: then the destination is away. The error
// names what is not there.
func (a *Agent) others(ctx context.Context, err error) error {
	for end := time.Now().Add(a.patience); err != nil && ctx.Err() == nil && time.Now().Before(end); {
		if !slices.ContainsFunc(a.to, func(d *destination) bool { return !d.goesOn() }) {
			break
		}
		failed := a.allFailed()
		_, err = a.Pass(ctx)
		switch came := slices.ContainsFunc(a.to, func(d *destination) bool { return d.came > 0 }); {
		case came:
			end = time.Now().Add(a.patience)
		case a.allFailed() <= failed:
			end = time.Time{} // these were all
		}
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	var errs []error
	for _, d := range a.to {
		errs = append(errs, d.allFailures())
	}
	return cmp.Or(errors.Join(errs...), err)
}

// allFailed returns how many items have failed when they were tried last, once for each destination.
func (a *Agent) allFailed() (n int) {
	for _, d := range a.to {
		n += len(d.failed)
	}
	return n
}

// held returns how many times another agent had an item in the last pass.
func (a *Agent) held() (n int) {
	for _, d := range a.to {
		n += d.held
	}
	return n
}

// Pass uploads what there is, to the destinations that do not rest. The error is one of those, or ctx has ended: what
// cannot be read is said, and stays. wait is how long it takes until something that is too young can be looked at, 0 if
// there is nothing.
func (a *Agent) Pass(ctx context.Context) (wait time.Duration, err error) {
	now := time.Now()
	var items []item
	for _, dir := range a.Dirs {
		found, w, err := a.find(dir, now)
		a.looked(dir, err)
		wait = max(wait, w)
		items = append(items, found...)
	}
	a.forget(items)
	// What has failed comes last: a few records that never come there must not be all that is ever tried.
	slices.SortStableFunc(items, func(x, y item) int { return cmp.Compare(a.failures(x), a.failures(y)) })
	defer func() { a.count(items) }()
	a.count(items)
	for _, d := range a.to {
		d.begin(now)
	}
	for _, it := range items {
		if ctx.Err() != nil {
			break
		}
		if a.isDone(it) {
			a.remove(it)
		} else {
			a.collect(ctx, it)
		}
	}
	a.grow(ctx, now)
	errs := []error{ctx.Err()}
	for _, d := range a.to {
		if errs = append(errs, d.err); d.records > 0 {
			a.say("%s %s to %s", d.verb, humanize.Plural(d.records, "record"), d.name)
		}
		if d.refusals.parts > 0 {
			a.say("%v", d.refusals.error(d.name))
		}
	}
	return wait, errors.Join(errs...)
}

// failures returns how many destinations an item did not come to when it was tried last.
func (a *Agent) failures(it item) (n int) {
	for _, d := range a.to {
		if d.failed[it.path] != nil {
			n++
		}
	}
	return n
}

// collect reads an item, unless that was tried not long ago, and brings it where it is not yet.
func (a *Agent) collect(ctx context.Context, it item) {
	if f := a.failed[it.path]; f != nil && time.Now().Before(f.next) {
		return
	}
	var todo []*destination
	for _, d := range a.to {
		if d.goesOn() && !d.isDone(it.path) {
			todo = append(todo, d)
		}
	}
	if len(todo) == 0 {
		return
	}
	dir, err := a.open(it)
	if err != nil {
		a.unread(it, err)
		return
	}
	defer dir.Close() // the record may need its files until it is where it goes
	p, m, err := a.read(dir, it)
	if err != nil {
		a.unread(it, err)
		return
	}
	for _, d := range todo {
		if err := d.take(ctx, it, p, m); err != nil {
			a.unread(it, err)
			return
		}
	}
	delete(a.failed, it.path)
	if a.isDone(it) {
		a.remove(it)
	}
}

// unread notes that an item cannot be read. What has gone is no failure of its own.
func (a *Agent) unread(it item, err error) {
	if passes(err) || gone(it.path) {
		return
	}
	a.Numbers.unreadable.Add(1)
	f := a.failed[it.path]
	if f == nil {
		f = new(failure)
		a.failed[it.path] = f
	}
	wait := backoff(f.times+3, recordWait)
	f.times, f.next = f.times+1, time.Now().Add(wait)
	if text := err.Error(); text != f.said {
		f.said = text
		a.say("%v; it stays, and is tried again in %v", err, wait.Round(time.Second))
	}
}

// passes reports whether an error is of what is about to become another thing.
func passes(err error) bool { return errors.Is(err, errRuns) || errors.Is(err, errGoes) }

// forget drops what is known of items that are not there any more, and of running programs that have no record. What
// was waiting has been removed by its program, or by somebody else, before it was uploaded.
func (a *Agent) forget(items []item) {
	there := make(map[string]bool, len(items))
	for _, it := range items {
		there[it.path] = true
	}
	lost := a.lostSegments(items)
	for path := range a.waiting {
		_, _, isSegment := store.SegmentOf(path)
		if !isSegment && !there[path] && !store.IsLive(path) && !a.isDone(item{path: path}) {
			lost++ // but not what another agent has removed: its marks are there
		}
	}
	if lost > 0 {
		a.Numbers.lost.Add(int64(lost))
		a.say("%s gone before they were uploaded; keep more segments (STEMMA_ROTATE), or look at what delays uploads",
			humanize.Plural(lost, "record"))
	}
	for path := range a.failed {
		if !there[path] {
			delete(a.failed, path)
		}
	}
	for _, d := range a.to {
		for path := range d.done {
			if !there[path] && !store.IsLive(path) {
				delete(d.done, path)
			}
		}
		maps.DeleteFunc(d.loose, func(path string, _ loose) bool { return !there[path] })
		maps.DeleteFunc(d.failed, func(path string, _ error) bool { return !there[path] })
	}
	for path := range a.running {
		if !store.IsLive(path) {
			delete(a.running, path)
		}
	}
	for _, dir := range a.Dirs {
		a.sweep(dir)
	}
}

// lostSegments returns how many segments have gone before they were done, since it was asked last. Programs number
// them, so that those are known as well that came and went while nobody looked: they lie between others that are here
// or have left a mark.
func (a *Agent) lostSegments(items []item) (lost int) {
	known := make(map[string][]uint64) // numbers, by live directory
	add := func(path string) {
		if live, number, ok := store.SegmentOf(path); ok {
			known[live] = append(known[live], number)
		}
	}
	for _, it := range items {
		add(it.path)
	}
	for path := range a.waiting {
		add(path)
	}
	for _, dir := range a.Dirs {
		dir = recordsIn(dir)
		for _, d := range a.to {
			for _, name := range names(filepath.Join(dir, marksDir, d.marks)) {
				add(filepath.Join(dir, name))
			}
		}
	}
	maps.DeleteFunc(a.past, func(live string, _ uint64) bool { return known[live] == nil })
	for live, numbers := range known {
		if _, ok := a.past[live]; !ok {
			a.past[live] = slices.Min(numbers) - 1
		}
		for last := slices.Max(numbers); a.past[live] < last; a.past[live]++ {
			path := store.SegmentPath(live, a.past[live]+1)
			if a.isDone(item{path: path}) {
				continue
			}
			if _, err := os.Lstat(path); !os.IsNotExist(err) {
				break // it may come there yet
			}
			lost++
		}
	}
	return lost
}

// recordsIn returns the directory that has records: that of a live directory that the agent was started for.
func recordsIn(dir string) string {
	if store.IsLive(dir) {
		return filepath.Dir(dir)
	}
	return dir
}

// sweep removes marks of records that have gone long ago.
func (a *Agent) sweep(dir string) {
	dir = recordsIn(dir)
	for _, d := range a.to {
		marks, err := openMarks(filepath.Join(dir, marksDir, d.marks), false)
		if err != nil {
			continue // there are none, or whoever writes one gets the error
		}
		list, _ := marks.Names()
		for _, e := range list {
			if _, err := os.Lstat(filepath.Join(dir, e.Name())); !os.IsNotExist(err) {
				continue
			}
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > markTime {
				_ = marks.Remove(e.Name())
			}
		}
		marks.Close()
	}
}

// isDone reports whether an item is wherever it goes to, as far as this machine knows.
func (a *Agent) isDone(it item) bool {
	for _, d := range a.to {
		if !d.isDone(it.path) {
			return false
		}
	}
	return true
}

// say prints a line. Names of records may be anybody's: they make no lines of their own.
func (a *Agent) say(format string, args ...any) {
	fmt.Fprintf(a.Log, "stemma-fleet: %s\n", profile.Printable(fmt.Sprintf(format, args...)))
}
