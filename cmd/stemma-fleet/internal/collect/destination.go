package collect

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// A destination is where records go to: the store, or a sink.
type destination struct {
	name, verb string
	bucket     *bucket.Bucket   // nil of a sink
	marks      string           // the directory of its marks, below .collected
	done       map[string]bool  // paths of items that are there; mostly they have a mark as well
	failed     map[string]error // by the path of an item: why it failed when it was tried last
	loose      map[string]loose // by the path of an item: what is known of its mark, of a sink
	spans      map[string]span  // by the name of a mark: what is known of items that were pushed, to a sink
	// put brings an item there, and marks it. It returns false for one that another agent has at the moment.
	put func(ctx context.Context, it item, p *record.Record, m *bucket.Manifest) (done bool, err error)
	// complete reports whether a mark is one of an item that is there.
	complete func(mark string) bool

	// Of a pass.
	resting  bool
	records  int   // that have come there; to a sink, at least a part of them
	came     int   // that are there since, with those that were there before or were refused
	held     int   // that another agent had
	failures int   // one after the other
	err      error // the last one
	refusals refusals
	// Since the last success.
	times int
	next  time.Time

	allRefusals refusals // of all passes of [Agent.Once]

	pushed, parts, refused, notPushed, backlog atomic.Int64 // of a sink
}

// Refusals are how many parts a sink has refused, and the records that they belong to.
type refusals struct {
	parts   int
	records map[string]bool // by path
}

// add adds a part of a record.
func (r *refusals) add(path string) {
	if r.parts++; r.records == nil {
		r.records = make(map[string]bool)
	}
	r.records[path] = true
}

func (r *refusals) error(name string) error {
	return fmt.Errorf("%s refused %s of %s, and does not get them again", name, humanize.Plural(r.parts, "part"),
		humanize.Plural(len(r.records), "record"))
}

// A loose mark is one of an item that is not done. Something may be on its way to the sink, which an agent that was
// killed, or had an error, has sent by a time.
type loose struct {
	size int64 // of the mark
	by   time.Time
}

// settles reports whether something of an item may be on its way that the sink does not show yet. Whoever pushes
// writes to the mark before: of a size that this agent has not seen, another one may have had it until now.
func (d *destination) settles(path string, size int64, settle time.Duration) bool {
	now := time.Now()
	l, ok := d.loose[path]
	if !ok || l.size != size {
		l = loose{size, now}
		d.loose[path] = l
	}
	return now.Sub(l.by) < settle
}

// newDestination returns one with an identity that tells it apart from others of this machine.
func newDestination(name, verb, identity string) *destination {
	id := sha256.Sum256([]byte(identity))
	return &destination{name: name, verb: verb, marks: hex.EncodeToString(id[:8]), done: make(map[string]bool),
		failed: make(map[string]error), loose: make(map[string]loose), spans: make(map[string]span)}
}

// maxFailures is how many records one after the other a destination may refuse, until it has no more of a pass.
const maxFailures = 3

// begin begins a pass.
func (d *destination) begin(now time.Time) {
	d.resting, d.records, d.came, d.held, d.failures, d.err = now.Before(d.next), 0, 0, 0, 0, nil
	d.refusals = refusals{}
}

// goesOn reports whether the destination takes another record in this pass.
func (d *destination) goesOn() bool { return !d.resting && d.failures < maxFailures }

// rest lets the destination rest after a pass in which it has failed, and returns for how long.
func (d *destination) rest(now time.Time) time.Duration {
	if d.records > 0 {
		d.times = 0
	}
	wait := backoff(d.times, longestWait)
	d.times++
	d.next = now.Add(wait)
	return wait
}

// A readError is one of the record, since some of it is read when it is sealed, or of its place, which another one
// has: no destination has failed.
type readError struct{ error }

// take brings an item there. The error is of the item, if that cannot be read.
func (d *destination) take(ctx context.Context, it item, p *record.Record, m *bucket.Manifest) error {
	done, err := d.put(ctx, it, p, m)
	delete(d.failed, it.path)
	if unread, ok := errors.AsType[*readError](err); ok {
		return unread.error
	}
	switch {
	case err != nil:
		d.err = err
		d.failed[it.path] = err
		d.failures++
	case done:
		d.done[it.path] = true
		d.came++
		d.failures, d.times = 0, 0
	default:
		d.held++
	}
	return nil
}

// allFailures returns an error that names the items that failed when they were tried last, nil if none did. Why is told
// of the first one.
func (d *destination) allFailures() error {
	if len(d.failed) == 0 {
		return nil
	}
	paths := slices.Sorted(maps.Keys(d.failed))
	names := profile.Printable(strings.Join(paths[:min(len(paths), store.MaxListed)], ", "))
	if more := len(paths) - store.MaxListed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%s %s not %s to %s: %s: %w", humanize.Plural(len(paths), "record"),
		humanize.Noun(len(paths), "was", "were"), d.verb, d.name, names, d.failed[paths[0]])
}

// markPath returns where the mark of a record is.
func (d *destination) markPath(path string) string {
	return filepath.Join(filepath.Dir(path), marksDir, d.marks, filepath.Base(path))
}

// isDone reports whether an item is there, as far as this machine knows.
func (d *destination) isDone(path string) bool {
	if d.done[path] {
		return true
	}
	if !d.complete(d.markPath(path)) {
		return false
	}
	d.done[path] = true
	return true
}

// store returns a bucket as a destination.
func (a *Agent) store(b *bucket.Bucket) *destination {
	d := newDestination(b.URL, "uploaded", b.Identity)
	d.bucket = b
	d.complete = func(mark string) bool {
		_, err := readMark(mark)
		return err == nil
	}
	d.put = func(ctx context.Context, it item, p *record.Record, m *bucket.Manifest) (bool, error) {
		there, err := a.upload(ctx, b, it, p, m)
		if err != nil {
			return false, err
		}
		a.clear(ctx, b, m)
		if a.mark(d, it, m); there {
			a.Numbers.there.Add(1)
			return true, nil
		}
		d.records++
		a.Numbers.uploaded.Add(1)
		a.Numbers.bytes.Add(m.Size)
		return true, nil
	}
	return d
}

// upload seals an item and uploads it. there reports that it was in the store before.
func (a *Agent) upload(ctx context.Context, b *bucket.Bucket, it item, p *record.Record, m *bucket.Manifest) (
	there bool, err error) {
	file, err := spool(p)
	if unread, ok := errors.AsType[*readError](err); ok {
		if unread.error = fmt.Errorf("%s: %w", it.path, unread.error); gone(it.path) {
			unread.error = errGoes
		}
		return false, unread
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w; the records are sealed in a temporary file: make room, or set TMPDIR",
			it.path, err)
	}
	defer file.Close()
	a.Numbers.sealed.Add(1)
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return false, err
	}
	// Once begun, an upload is not given up when the agent is to end, but it has its time.
	const least = 64 << 10 // bytes a second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute+time.Duration(size/least)*time.Second)
	defer cancel()
	there, err = b.Put(ctx, m, bufferedSeeker{file})
	if errors.Is(err, bucket.ErrAnother) {
		return false, &readError{fmt.Errorf("%s: %w", it.path, err)}
	}
	if err != nil {
		a.Numbers.fail(err)
	}
	return there, err
}

// clear removes what a record takes the place of. A store that does not let it keeps that, and it is said once.
func (a *Agent) clear(ctx context.Context, b *bucket.Bucket, m *bucket.Manifest) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := b.Clear(ctx, m); err != nil && a.Numbers.cluttered.Add(1) == 1 {
		a.say("%v: what was uploaded of runs while they went on stays there, and nobody reads it; to list and to "+
			"remove objects must be allowed", err)
	}
}

// mark notes that an item is in the store. Where no mark can be written the agent knows it until it ends, and asks the
// store when it is started again.
func (a *Agent) mark(d *destination, it item, m *bucket.Manifest) {
	path := d.markPath(it.path)
	err := writeMark(path, m.Key()+" "+m.SHA256+"\n")
	if err != nil && !d.complete(path) && a.Numbers.unmarked.Add(1) == 1 {
		a.say("%v: what is done is not noted there; a new agent will seal it again, and find it in the store", err)
	}
}

// A bufferedSeeker reads a file in large steps.
type bufferedSeeker struct{ *os.File }

// WriteTo implements io.WriterTo.
func (f bufferedSeeker) WriteTo(w io.Writer) (int64, error) {
	return bufio.NewReaderSize(f.File, 1<<20).WriteTo(w)
}
