// Package collect is the agent: it uploads the records of a machine to a bucket, each once.
//
// # What may happen at any time
//
// The agent keeps nothing that it needs. A mark, a file below .collected beside a record, says that the record is in
// the store, which has acknowledged it and has given it back. Without the mark the agent uploads it again, to the same
// key, or finds it there. So it may be killed between any two steps, and several may work on one directory.
package collect

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/internal/record/store"
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

	bucket  *bucket.Bucket
	marks   string               // the directory of marks that are of this store, below .collected
	done    map[string]bool      // paths of items that are in the store; mostly they have a mark as well
	failed  map[string]*failure  // by path
	running map[string]time.Time // when a live directory was last seen to be of a program that runs
	waiting map[string]bool      // paths of items that were there and not done
}

// A failure is why a record could not be read, and when that is tried again.
type failure struct {
	said  string
	times int
	next  time.Time
}

// New returns an agent that uploads to a bucket.
func New(b *bucket.Bucket, o Options) *Agent {
	id := sha256.Sum256([]byte(b.Identity))
	return &Agent{Options: o, bucket: b, marks: hex.EncodeToString(id[:8]), done: make(map[string]bool),
		failed: make(map[string]*failure), running: make(map[string]time.Time), waiting: make(map[string]bool)}
}

// marksDir has the marks of all records of a directory. Nothing that looks for records looks there.
const marksDir = ".collected"

// Bounds of waiting, for a store that is away and for a record that cannot be read.
const (
	firstWait, longestWait = time.Second, 5 * time.Minute
	recordWait             = time.Hour
)

// Run collects until ctx is done. An upload that has begun is ended first.
func (a *Agent) Run(ctx context.Context) {
	for times := 0; ctx.Err() == nil; {
		wait, err := a.Pass(ctx)
		if err == nil {
			times = 0
			wait = max(wait, a.Every)
		} else {
			wait = backoff(times, longestWait)
			times++
			if ctx.Err() != nil {
				return
			}
			a.say("%v; tried again in %v, nothing is lost meanwhile", err, wait.Round(time.Second))
		}
		select {
		case <-ctx.Done():
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

// Once is one pass, with what is too young to be looked at when it begins.
func (a *Agent) Once(ctx context.Context) error {
	wait, err := a.Pass(ctx)
	if err == nil && wait > 0 {
		time.Sleep(wait)
		_, err = a.Pass(ctx)
	}
	if n := len(a.failed); err == nil && n > 0 {
		err = fmt.Errorf("%d records could not be collected", n)
	}
	return err
}

// Pass uploads what there is. The error is one of the store, or ctx has ended: what cannot be read is said, and stays.
// wait is how long it takes until something that is too young can be looked at, 0 if there is nothing.
func (a *Agent) Pass(ctx context.Context) (wait time.Duration, err error) {
	now := time.Now()
	var items []item
	for _, dir := range a.Dirs {
		found, w := a.find(dir, now)
		wait = max(wait, w)
		items = append(items, found...)
	}
	a.forget(items)
	defer func() { a.count(items) }()
	a.count(items)
	records, bytes, failures := 0, int64(0), 0
	for _, it := range items {
		if ctx.Err() != nil {
			err = ctx.Err()
			break
		}
		if a.isDone(it) {
			a.remove(it)
			continue
		}
		n, e := a.collect(ctx, it)
		if e != nil { // of this record, or of the store
			err = e
			if failures++; failures == maxFailures {
				break
			}
			continue
		}
		failures = 0
		if n > 0 {
			records, bytes = records+1, bytes+n
		}
	}
	if records > 0 {
		a.say("uploaded %s with %d bytes to %s", plural(records, "record"), bytes, a.bucket.URL)
	}
	return wait, err
}

// maxFailures is how many records one after the other the store may refuse, until a pass ends.
const maxFailures = 3

// collect seals and uploads an item, unless it was tried not long ago. It returns how many bytes were uploaded, 0 of
// what was there or cannot be read. The error is one of the store.
func (a *Agent) collect(ctx context.Context, it item) (int64, error) {
	if f := a.failed[it.path]; f != nil && time.Now().Before(f.next) {
		return 0, nil
	}
	p, m, err := a.read(it)
	if err != nil {
		a.unread(it, err)
		return 0, nil
	}
	file, err := spool(p)
	if err != nil {
		return 0, fmt.Errorf("%s: %w; the records are sealed in a temporary file: make room, or set TMPDIR", it.path,
			err)
	}
	defer file.Close()
	delete(a.failed, it.path)
	a.Numbers.sealed.Add(1)
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return 0, err
	}
	// Once begun, an upload is not given up when the agent is to end, but it has its time.
	const least = 64 << 10 // bytes a second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute+time.Duration(size/least)*time.Second)
	defer cancel()
	there, err := a.bucket.Put(ctx, m, bufferedSeeker{file})
	if err != nil {
		a.Numbers.fail(err)
		return 0, err
	}
	a.mark(it, m)
	if a.remove(it); there {
		a.Numbers.there.Add(1)
		return 0, nil
	}
	a.Numbers.uploaded.Add(1)
	a.Numbers.bytes.Add(m.Size)
	return m.Size, nil
}

// unread notes that an item cannot be read. What has gone is no failure of its own.
func (a *Agent) unread(it item, err error) {
	if errors.Is(err, errRuns) || gone(it.path) {
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

// forget drops what is known of items that are not there any more, and of running programs that have no record. What
// was waiting has been removed by its program, or by somebody else, before it was uploaded.
func (a *Agent) forget(items []item) {
	there := make(map[string]bool, len(items))
	for _, it := range items {
		there[it.path] = true
	}
	lost := 0
	for path := range a.waiting {
		if !there[path] && !store.IsLive(path) {
			lost++
		}
	}
	if lost > 0 {
		a.Numbers.lost.Add(int64(lost))
		a.say("%s gone before they were uploaded; keep more segments (STEMMA_ROTATE), or look at what delays uploads",
			plural(lost, "record"))
	}
	for path := range a.failed {
		if !there[path] {
			delete(a.failed, path)
		}
	}
	for path := range a.done {
		if !there[path] && !store.IsLive(path) {
			delete(a.done, path)
		}
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

// sweep removes marks of records that have gone, which another agent, or one before this, has left.
func (a *Agent) sweep(dir string) {
	if store.IsLive(dir) {
		dir = filepath.Dir(dir)
	}
	marks := filepath.Join(dir, marksDir, a.marks)
	list, _ := os.ReadDir(marks)
	for _, e := range list {
		if _, err := os.Lstat(filepath.Join(dir, e.Name())); os.IsNotExist(err) {
			_ = os.Remove(filepath.Join(marks, e.Name()))
		}
	}
}

// markPath returns where the mark of a record is.
func (a *Agent) markPath(path string) string {
	return filepath.Join(filepath.Dir(path), marksDir, a.marks, filepath.Base(path))
}

// isDone reports whether an item is in the store, as far as this machine knows.
func (a *Agent) isDone(it item) bool {
	if a.done[it.path] {
		return true
	}
	if _, err := os.Lstat(a.markPath(it.path)); err != nil {
		return false
	}
	a.done[it.path] = true
	return true
}

// mark notes that an item is in the store. Where no mark can be written the agent knows it until it ends, and asks the
// store when it is started again.
func (a *Agent) mark(it item, m *bucket.Manifest) {
	a.done[it.path] = true
	path := a.markPath(it.path)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(m.Key()+" "+m.SHA256+"\n"), 0o600)
	}
	if err != nil && a.Numbers.unmarked.Add(1) == 1 {
		a.say("%v: what is done is not noted there; a new agent will seal it again, and find it in the store", err)
	}
}

func (a *Agent) say(format string, args ...any) {
	fmt.Fprintf(a.Log, "stemma-fleet: "+format+"\n", args...)
}

// plural writes a number of things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// A bufferedSeeker reads a file in large steps.
type bufferedSeeker struct{ *os.File }

// WriteTo implements io.WriterTo.
func (f bufferedSeeker) WriteTo(w io.Writer) (int64, error) {
	return bufio.NewReaderSize(f.File, 1<<20).WriteTo(w)
}
